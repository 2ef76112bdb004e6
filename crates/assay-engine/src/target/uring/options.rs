//! The options of a target that is accessed through io_uring.

use crate::clock::Clock;
use crate::error::{Error, Result};
use assay_spec::Bytes;

/// The most entries that the kernel allows in a ring.
const DEPTH_MAX: u32 = 32_768;
/// The kernel's limit for the length of a request: 2 GiB less a page.
const LENGTH_MAX: Bytes = Bytes((1 << 31) - 4096);

/// The options of a [`UringTarget`](super::UringTarget).
#[derive(Clone, Copy, Debug)]
pub struct UringOptions {
    /// The most requests in flight: jobs × queue depth. Tags are below it.
    pub depth: u32,
    /// The length of the longest request.
    pub max_length: Bytes,
    /// The unit of requests: they start and end on multiples of it.
    pub granularity: Bytes,
    /// Whether writes will come: they need a second, filled buffer per tag.
    pub writes: bool,
    /// The seed for the contents of writes.
    pub seed: u64,
    /// The clock; several targets may share one.
    pub clock: Clock,
}

impl UringOptions {
    /// Checks that a target can have these options.
    ///
    /// # Errors
    /// If they make no sense.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: String, hint: &str| Err(Error::usage("uring-options", what, hint));
        if self.depth == 0 || self.depth > DEPTH_MAX {
            let what = format!("{} requests in flight are too few or too many", self.depth);
            return wrong(what, "set `jobs` × `queue_depth` to a number from 1 to 32768");
        }
        if self.granularity == Bytes::ZERO || self.max_length < self.granularity {
            let (length, unit) = (self.max_length, self.granularity);
            let what = format!(
                "requests of at most {length} are smaller than a block of the target, {unit}"
            );
            return wrong(what, "use requests that are whole multiples of the block size");
        }
        if self.max_length > LENGTH_MAX {
            let what = format!("requests of {} are larger than the kernel takes", self.max_length);
            return wrong(what, "use requests below 2GiB");
        }
        Ok(())
    }
}
