//! The interface of studies.

use crate::finding::statement::Finding;
use crate::load::Run;
use crate::report::figures::describe::Document;

/// A study with a document.
pub(crate) trait Study: Sync {
    /// Returns the figures of its document.
    fn document(&self) -> &'static Document;

    /// Returns the answers for a target to the questions of the study, of any run that has its
    /// experiments.
    fn answers(&self, _run: &Run, _target: &str) -> Vec<Finding> {
        Vec::new()
    }
}
