//! The event slots of the parts of a drive.

/// The slot of the firmware.
pub(super) const FIRMWARE: usize = 0;
/// The slot of the host link.
pub(super) const LINK: usize = 1;
/// The slot of the idle timer.
pub(super) const TIMER: usize = 2;
/// The first slot of the flash.
pub(super) const FLASH: usize = 3;
