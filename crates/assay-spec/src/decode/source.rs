//! A text with its name, and the diagnostics about it.

use crate::diagnostic::{Diagnostic, Kind, Place};
use std::ops::Range;

/// The result of decoding. The error is boxed because it is large and rare.
pub type Decoded<T> = Result<T, Box<Diagnostic>>;

/// A text with its name, for diagnostics.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file name, as the user knows it.
    pub file: &'a str,
    /// The whole text.
    pub text: &'a str,
}

impl Source<'_> {
    /// Makes the diagnostic of a mistake at `span`.
    pub fn error(
        &self,
        kind: Kind,
        span: Range<usize>,
        message: impl Into<String>,
        expected: impl Into<String>,
    ) -> Box<Diagnostic> {
        Box::new(Diagnostic {
            kind,
            message: message.into(),
            expected: expected.into(),
            hint: String::new(),
            file: self.file.to_owned(),
            place: Some(Place::of(self.text, span)),
        })
    }
}

/// Adds a hint to a diagnostic.
pub fn with_hint(mut diagnostic: Box<Diagnostic>, hint: impl Into<String>) -> Box<Diagnostic> {
    diagnostic.hint = hint.into();
    diagnostic
}
