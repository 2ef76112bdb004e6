//! The declaration of how flash wears out.

use super::values::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;

/// The number of erases that blocks take, and the number of blocks that may go bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnduranceSpec {
    /// The mean number of erases that a block takes.
    pub cycles: u32,
    /// The standard deviation of the erases that a block takes, in per cent of `cycles`.
    pub spread: u32,
    /// The number of blocks of each plane that may go bad. When one more goes bad, the drive
    /// accepts no more writes.
    pub spare_blocks: u32,
    /// The erases that each block has behind it when the drive is new, in per cent of `cycles`.
    pub used: u32,
}

impl EnduranceSpec {
    /// Returns `used` as a number of erases.
    pub fn erased(&self) -> u32 {
        (u64::from(self.cycles) * u64::from(self.used) / 100) as u32
    }
}

pub(super) fn decode(top: &mut Section<'_>, values: &mut Values) -> Decoded<Option<EnduranceSpec>> {
    let Some(mut s) = top.optional_section("endurance", "endurance")? else { return Ok(None) };
    let cycles = values.count(&mut s, "endurance", "cycles", 1..10_000_001)?;
    // With a spread of at most 15 %, a block six deviations below the mean still takes some erases.
    let spread = values.count(&mut s, "endurance", "spread", 0..16)?;
    let spare_blocks = values.count(&mut s, "endurance", "spare_blocks", 0..1_000_001)?;
    let per_cent =
        |values: &mut Values, s: &mut Section<'_>, key| values.count(s, "endurance", key, 0..101);
    let used = values.optional(&mut s, "used", 0, per_cent)?;
    // The endurance of a block lies at most six deviations below the mean.
    let most = 99_u32.saturating_sub(6 * spread);
    if used > most {
        let message = format!(
            "with a spread of {spread} %, some blocks may be worn out before {used} % of their \
             life is used"
        );
        let e = s.error(Kind::Impossible, s.key_span_of("used"), message, "");
        return Err(with_hint(e, format!("lower `used` to at most {most}, or lower `spread`")));
    }
    s.finish()?;
    Ok(Some(EnduranceSpec { cycles, spread, spare_blocks, used }))
}
