//! The limits of a guest's run.

use assay_spec::Nanos;
use std::time::Duration;

/// The limits of a guest's run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest virtual time.
    pub time: Nanos,
    /// The longest wall-clock time without a message: the kernel computes, its clock stands still.
    pub silence: Duration,
    /// A function that is called now and then, and returns `true` if the run is to stop.
    pub stop: fn() -> bool,
}
