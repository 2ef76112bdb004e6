//! The declaration of bit errors in the cells, and of how the drive corrects them.

use super::values::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos};

/// The share of wrong bits, the number that a codeword corrects, and the cost of reads with more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EccSpec {
    /// The size of a codeword: the data that is corrected together.
    pub codeword: Bytes,
    /// The number of wrong bits in a codeword that can be corrected.
    pub corrects: u32,
    /// The share of wrong bits in a block that has never been erased.
    pub fresh: f64,
    /// The share of wrong bits in a block that has been erased `endurance.cycles` times: as often
    /// as a block can be erased, in the mean.
    pub worn: f64,
    /// The exponent of wear: the share of wrong bits grows from `fresh` to `worn` as this power of
    /// the number of erases.
    pub growth: f64,
    /// The time of each further attempt at a read, with other read voltages.
    pub retry: Nanos,
    /// The factor by which each further attempt divides the share of wrong bits.
    pub gain: f64,
    /// The number of further attempts before the drive gives up a page.
    pub retries: u32,
}

pub(super) fn decode(top: &mut Section<'_>, values: &mut Values) -> Decoded<Option<EccSpec>> {
    let Some(mut s) = top.optional_section("ecc", "ecc")? else { return Ok(None) };
    let spec = EccSpec {
        codeword: values.size(&mut s, "ecc", "codeword")?,
        corrects: values.count(&mut s, "ecc", "corrects", 1..65_537)?,
        fresh: values.number(&mut s, "ecc", "fresh", 0.0, 0.1)?,
        worn: values.number(&mut s, "ecc", "worn", 0.0, 0.1)?,
        growth: values.number(&mut s, "ecc", "growth", 0.1, 10.0)?,
        retry: values.time(&mut s, "ecc", "retry")?,
        gain: values.number(&mut s, "ecc", "gain", 1.0, 100.0)?,
        retries: values.count(&mut s, "ecc", "retries", 0..101)?,
    };
    if u64::from(spec.corrects) >= spec.codeword.0 * 8 {
        let message = format!(
            "a code that corrects {} bits corrects every bit of a codeword of {}",
            spec.corrects, spec.codeword
        );
        let e = s.error(Kind::Impossible, s.key_span_of("corrects"), message, "");
        return Err(with_hint(
            e,
            "lower `ecc.corrects`: codes correct about a hundredth of the bits",
        ));
    }
    if spec.worn < spec.fresh {
        let message = format!(
            "a worn block has fewer wrong bits ({}) than a new one ({})",
            spec.worn, spec.fresh
        );
        let e = s.error(Kind::Impossible, s.key_span_of("worn"), message, "");
        return Err(with_hint(e, "raise `ecc.worn` to at least `ecc.fresh`"));
    }
    s.finish()?;
    Ok(Some(spec))
}
