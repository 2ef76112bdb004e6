//! The declaration of wear levelling.

use super::values::Values;
use crate::decode::{Decoded, Section};

/// The way erases are spread over the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WearSpec {
    /// No levelling: free blocks are used in the order in which they became free.
    None,
    /// Dynamic levelling: the free block with the fewest erases is used first.
    Dynamic,
    /// Static levelling: like `Dynamic`, and a block that lies `spread` erases behind the most worn
    /// one is emptied.
    Static {
        /// The number of erases between the most and the least worn block of a plane.
        spread: u32,
    },
}

pub(super) fn decode(top: &mut Section<'_>, values: &mut Values) -> Decoded<WearSpec> {
    let Some(mut s) = top.optional_section("wear", "wear")? else { return Ok(WearSpec::None) };
    s.goes_with(&["spread"], "levelling `static`");
    let spec = match values.choice(&mut s, "wear", "levelling", &["none", "dynamic", "static"])? {
        0 => WearSpec::None,
        1 => WearSpec::Dynamic,
        _ => WearSpec::Static { spread: values.count(&mut s, "wear", "spread", 2..1_000_001)? },
    };
    s.finish()?;
    Ok(spec)
}
