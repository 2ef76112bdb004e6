//! The declaration of a cache of one bit a cell.

use super::Values;
use super::nand::NandSpec;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos};

/// Blocks of one bit a cell that the host's data is written to first, to be folded into others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcCacheSpec {
    /// Data in such blocks, at most.
    pub size: Bytes,
    /// So much of it is there however full the drive is: blocks are kept free for it.
    pub fixed: Bytes,
    /// So long after the last request it is folded.
    pub fold_after: Nanos,
}

impl SlcCacheSpec {
    /// Blocks of a plane for `data`, at one bit a cell; one more than it has if they are too few.
    pub fn blocks(data: Bytes, nand: &NandSpec) -> u32 {
        let bits = nand.slc.map_or(1, |slc| slc.bits);
        let block = nand.page * u64::from(nand.pages_per_block / bits) * u64::from(nand.planes());
        data.0.div_ceil(block.0).min(u64::from(nand.blocks_per_plane) + 1) as u32
    }
}

pub(super) fn decode(top: &mut Section<'_>, values: &mut Values) -> Decoded<Option<SlcCacheSpec>> {
    let Some(mut s) = top.optional_section("slc", "slc")? else { return Ok(None) };
    let size = values.size(&mut s, "slc", "size")?;
    let of = |values: &mut Values, s: &mut Section<'_>, key| values.size(s, "slc", key);
    let fixed = values.optional(&mut s, "fixed", Bytes::ZERO, of)?;
    let fold_after = values.time(&mut s, "slc", "fold_after")?;
    if fixed > size {
        let message = format!("of a cache of {size} at most, {fixed} cannot be fixed");
        let e = s.error(Kind::Impossible, s.key_span_of("fixed"), message, "");
        return Err(with_hint(e, "lower `fixed`, or raise `size`"));
    }
    s.finish()?;
    Ok(Some(SlcCacheSpec { size, fixed, fold_after }))
}
