//! The host link of a disk: one transfer at a time.

use assay_spec::device::LinkSpec;
use assay_spec::{Bytes, Nanos};

/// Data that comes off the platter. The link may begin at `at`; if it is free then, it ends at
/// `delivered`.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiskTransfer {
    pub(super) at: Nanos,
    pub(super) delivered: Nanos,
    pub(super) sectors: u64,
    /// The order of arrival of the command.
    pub(super) number: u64,
    pub(super) tag: u32,
}

/// The speed of the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkRate {
    per_sector: Nanos,
}

impl LinkRate {
    /// Returns the speed of the link of `spec`.
    pub(super) fn new(spec: LinkSpec) -> LinkRate {
        LinkRate { per_sector: Bytes(512).time_at(spec.rate) }
    }

    /// Returns the time that the link takes for `sectors` sectors.
    #[inline]
    pub(super) fn time(self, sectors: u64) -> Nanos {
        self.per_sector * sectors
    }
}

/// The link, and the transfers that it will begin.
pub(super) struct DiskLink {
    rate: LinkRate,
    /// When the link has moved everything so far.
    free: Nanos,
    /// Data that the link takes when it has come off the platter.
    transfers: Vec<DiskTransfer>,
}

impl DiskLink {
    /// Creates the idle link of `spec`.
    pub(super) fn new(spec: LinkSpec) -> DiskLink {
        DiskLink { rate: LinkRate::new(spec), free: Nanos::ZERO, transfers: Vec::new() }
    }

    /// Returns the time that the link takes for `sectors` sectors.
    pub(super) fn time(&self, sectors: u64) -> Nanos {
        self.rate.time(sectors)
    }

    /// Moves `sectors` from `ready` on, or when the link is free; returns the start and the end.
    #[inline]
    pub(super) fn transfer(&mut self, ready: Nanos, sectors: u64) -> (Nanos, Nanos) {
        let start = ready.max(self.free);
        self.free = start + self.time(sectors);
        (start, self.free)
    }

    /// Moves data that comes off the platter; returns the start and the end.
    pub(super) fn deliver(&mut self, transfer: &DiskTransfer) -> (Nanos, Nanos) {
        let held_up = self.free.saturating_sub(transfer.at);
        let start = self.free.max(transfer.at);
        self.free = match held_up {
            Nanos::ZERO => transfer.delivered,
            _ => transfer.delivered.max(self.free + self.time(transfer.sectors)),
        };
        (start, self.free)
    }

    /// Adds a transfer that begins later.
    pub(super) fn add(&mut self, transfer: DiskTransfer) {
        self.transfers.push(transfer);
    }

    /// Returns the number of transfers to come.
    pub(super) fn waiting(&self) -> usize {
        self.transfers.len()
    }

    /// Returns when the next transfer is due.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.transfers.iter().map(|transfer| transfer.at).min()
    }

    /// Removes and returns a transfer that is due by `at`.
    pub(super) fn take_due(&mut self, at: Nanos) -> Option<DiskTransfer> {
        let index = self.transfers.iter().position(|transfer| transfer.at <= at)?;
        Some(self.transfers.remove(index))
    }
}
