//! The ring of requests and completions that is shared with the kernel.

use crate::error::Error;
use io_uring::IoUring;
use std::io;

/// Creates the cheapest ring that the kernel offers; older ones refuse newer flags with `EINVAL`.
pub(super) fn build_ring(depth: u32) -> io::Result<IoUring> {
    let entries = depth.next_power_of_two();
    let set_ups: [fn(&mut io_uring::Builder); 4] = [
        |b| {
            b.setup_single_issuer().setup_defer_taskrun().setup_no_sqarray();
        },
        |b| {
            b.setup_single_issuer().setup_defer_taskrun();
        },
        |b| {
            b.setup_coop_taskrun();
        },
        |_| (),
    ];
    let mut refused = None;
    for set_up in set_ups {
        let mut builder = IoUring::builder();
        set_up(&mut builder);
        // A child process must not write to a ring that the parent measures with.
        builder.dontfork();
        match builder.build(entries) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = Some(error),
            built => return built,
        }
    }
    Err(refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL)))
}

/// Returns the error for a kernel that gives no ring.
pub(super) fn no_io_uring(cause: io::Error) -> Error {
    let message = "the kernel does not provide io_uring";
    let hint = "use Linux 5.11 or newer, and check that io_uring is not switched off: \
                /proc/sys/kernel/io_uring_disabled, or the container's seccomp profile";
    Error::environment("no-io-uring", message, hint).caused_by(cause)
}
