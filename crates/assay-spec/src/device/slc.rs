//! The declaration of an SLC cache: blocks with one bit a cell.

use super::nand::NandSpec;
use super::values::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos};

/// Blocks with one bit a cell to which the host's data is written first. The drive later folds the
/// data into other blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcCacheSpec {
    /// The largest amount of data in the cache.
    pub size: Bytes,
    /// The part of `size` that is available however full the drive is: blocks are kept free for it.
    pub fixed: Bytes,
    /// The idle time after which the drive folds the cached data.
    pub fold_after: Nanos,
}

impl SlcCacheSpec {
    /// Returns the number of blocks of a plane that hold `data` with one bit a cell. If the plane
    /// has too few, returns one more than it has.
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
        let message = format!("the fixed part, {fixed}, is larger than the whole cache of {size}");
        let e = s.error(Kind::Impossible, s.key_span_of("fixed"), message, "");
        return Err(with_hint(e, "lower `fixed`, or raise `size`"));
    }
    s.finish()?;
    Ok(Some(SlcCacheSpec { size, fixed, fold_after }))
}
