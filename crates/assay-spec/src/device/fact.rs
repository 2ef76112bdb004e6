//! A value of a spec, and where it is from.

use crate::from_claim::FromClaim;

/// A value of a spec, with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The place in the spec, e.g. `nand.read`.
    pub path: String,
    /// The value as written.
    pub value: String,
    /// The words that the value may be, if it is a word; otherwise empty.
    pub words: Vec<&'static str>,
    /// The origin of the value.
    pub origin: Origin,
    /// The claims that were known when the value was chosen.
    pub from_claim: Vec<FromClaim>,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Published. Holds the text of the source.
    Source(String),
    /// Derived from published values. Holds how.
    Derived(String),
    /// Assumed. Holds why.
    Assumed(String),
}
