//! The declaration of how flash wears out.

use super::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;

/// How often blocks can be erased, and how many may go bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnduranceSpec {
    /// Erases that a block takes, in the mean.
    pub cycles: u32,
    /// Standard deviation of that from block to block, in per cent of it.
    pub spread: u32,
    /// Blocks of each plane that may go bad. When one more would, the drive takes no writes any
    /// more.
    pub spare_blocks: u32,
    /// Erases that each block has behind it when the drive is new, in per cent of `cycles`.
    pub used: u32,
}

impl EnduranceSpec {
    /// The same as a number.
    pub fn erased(&self) -> u32 {
        (u64::from(self.cycles) * u64::from(self.used) / 100) as u32
    }
}

pub(super) fn decode(top: &mut Section<'_>, values: &mut Values) -> Decoded<Option<EnduranceSpec>> {
    let Some(mut s) = top.optional_section("endurance", "endurance")? else { return Ok(None) };
    let cycles = values.count(&mut s, "endurance", "cycles", 1..10_000_001)?;
    // Six deviations below the mean a block still takes something.
    let spread = values.count(&mut s, "endurance", "spread", 0..16)?;
    let spare_blocks = values.count(&mut s, "endurance", "spare_blocks", 0..1_000_001)?;
    let per_cent =
        |values: &mut Values, s: &mut Section<'_>, key| values.count(s, "endurance", key, 0..101);
    let used = values.optional(&mut s, "used", 0, per_cent)?;
    // Blocks differ by no more than six deviations.
    let most = 99_u32.saturating_sub(6 * spread);
    if used > most {
        let message = format!("blocks that differ by {spread} % may be worn before {used} %");
        let e = s.error(Kind::Impossible, s.key_span_of("used"), message, "");
        return Err(with_hint(e, format!("lower `used` to {most} at most, or `spread`")));
    }
    s.finish()?;
    Ok(Some(EnduranceSpec { cycles, spread, spare_blocks, used }))
}
