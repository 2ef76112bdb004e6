//! A controller: the processor and the link that the drives on a card share.
//!
//! Each of the two serves one thing at a time, in the order of the calls. The processor spends
//! `command` on each request; the link moves the payload, and is also busy for `stripe` before each
//! member request of an array that the controller makes itself. So n drives give n times the
//! bandwidth of one, up to the link's rate; there is at most one request in each `command`; and
//! small stripes cost time on the link. Not modelled: the card's cache, and its own read-ahead.

use assay_spec::device::ControllerSpec;
use assay_spec::{Bytes, Nanos};

/// A server with one queue: it serves one thing at a time, in order.
#[derive(Clone, Copy, Debug, Default)]
struct Server {
    free: Nanos,
    busy: Nanos,
}

impl Server {
    /// Queues something at `now` that takes `duration`; returns when it ends.
    fn serve(&mut self, now: Nanos, duration: Nanos) -> Nanos {
        self.free = self.free.max(now) + duration;
        self.busy += duration;
        self.free
    }
}

/// A controller of drives.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    spec: ControllerSpec,
    processor: Server,
    link: Server,
}

impl Controller {
    pub(crate) fn new(spec: ControllerSpec) -> Controller {
        Controller { spec, processor: Server::default(), link: Server::default() }
    }

    pub(crate) fn queue_depth(&self) -> usize {
        self.spec.queue_depth as usize
    }

    /// Processes a request; returns when that has ended.
    pub(crate) fn command(&mut self, now: Nanos) -> Nanos {
        self.processor.serve(now, self.spec.command)
    }

    /// Sets up a member request on the link; returns when that has ended.
    pub(crate) fn stripe(&mut self, now: Nanos) -> Nanos {
        self.link.serve(now, self.spec.stripe)
    }

    /// Moves `length` of payload over the link; returns when that has ended.
    pub(crate) fn transfer(&mut self, now: Nanos, length: Bytes) -> Nanos {
        self.link.serve(now, length.time_at(self.spec.rate))
    }

    /// Computes parities for `length` of writes; returns when that has ended.
    pub(crate) fn parity(&mut self, now: Nanos, length: Bytes) -> Nanos {
        self.processor.serve(now, length.time_at(self.spec.parity))
    }

    /// Returns the busy times of the link and of the processor since the last `mark`.
    pub(crate) fn busy(&self) -> (Nanos, Nanos) {
        (self.link.busy, self.processor.busy)
    }

    pub(crate) fn mark(&mut self) {
        (self.link.busy, self.processor.busy) = (Nanos::ZERO, Nanos::ZERO);
    }
}
