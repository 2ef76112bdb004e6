//! Signals from a guest to its host.

use super::tools::write;
use crate::error::Result;
use assay_spec::Nanos;

/// A signal that a guest broadcasts with its clock's protocol. The number sent is the guest's time
/// in ns with the signal in the last two bits: while the guest runs freely, the host does not know
/// its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Signal {
    /// The end of the time in which drives are watched.
    Unwatch = 0,
    /// The begin of the time in which drives are watched.
    Watch = 1,
    /// The time alone.
    Time = 2,
}

impl Signal {
    const BITS: u64 = 2;

    /// Splits a number that was sent into the signal and the time, whose last two bits are zero.
    pub fn parse(message: u64) -> (Signal, Nanos) {
        let signal = match message & ((1 << Self::BITS) - 1) {
            0 => Signal::Unwatch,
            1 => Signal::Watch,
            _ => Signal::Time,
        };
        (signal, Nanos(message >> Self::BITS << Self::BITS))
    }

    /// Sends the signal. Called in the guest.
    ///
    /// # Errors
    /// If the kernel has no clock of this kind.
    pub fn send(self) -> Result<()> {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let message = now >> Self::BITS << Self::BITS | self as u64;
        write("/sys/kernel/um-ext-time/bc-message", &message.to_string())
    }
}
