//! Counts the failed requests of a phase, and decides whether they are too many.

use crate::error::Error;
use assay_spec::experiment::ErrorLimit;
use std::io;

/// The counts of completed and failed requests in a phase.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Failures {
    pub(super) completed: u64,
    failed: u64,
    /// The `errno` of the first failure.
    first: i32,
}

impl Failures {
    /// The number of completions after which failures can end a phase that is still running.
    pub(super) const ENOUGH: u64 = 100;

    /// Counts a completion; `error` is its `errno`, or 0.
    pub(super) fn count(&mut self, error: i32) {
        self.completed += 1;
        if error != 0 {
            self.failed += 1;
            self.first = if self.first == 0 { error } else { self.first };
        }
    }

    /// Returns `true` if more requests have failed than `limit` allows.
    pub(super) fn exceed(&self, limit: ErrorLimit) -> bool {
        self.failed > 0 && limit.is_exceeded(self.failed, self.completed)
    }

    /// Returns the error for a phase in which too many requests failed.
    pub(super) fn error(&self) -> Error {
        let cause = io::Error::from_raw_os_error(self.first);
        let (id, what) = match self.failed == self.completed {
            true => ("all-failed", format!("all {} requests", self.completed)),
            false => ("too-many-errors", format!("{} of {} requests", self.failed, self.completed)),
        };
        let hint = "check the kernel's log; to measure in spite of errors, write `errors = \
                    \"count\"` in the experiment";
        Error::environment(id, format!("{what} failed; the error of the first is"), hint)
            .caused_by(cause)
    }
}
