//! The connection between a kernel and its clock.

use crate::clock::Page;
use assay_spec::Nanos;
use std::os::unix::net::{UnixListener, UnixStream};

/// The connection of the clock.
pub(super) struct ClockLink {
    pub(super) listener: UnixListener,
    pub(super) stream: Option<UnixStream>,
    pub(super) page: Page,
    /// Whether the kernel has the page.
    pub(super) is_shared: bool,
    /// The time at which the kernel wants to run, if it said so in a message.
    pub(super) request: Option<Nanos>,
    /// The kernel was last told that it may run without asking until this time.
    pub(super) freed: Nanos,
    /// Whether the kernel waits to be told to run.
    pub(super) is_waiting: bool,
    /// The number of the last message to the kernel.
    pub(super) sequence: u32,
}
