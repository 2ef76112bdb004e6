//! A controller: the processor and the link that drives share.
//!
//! Each serves in the order in which it is asked, one thing at a time. The processor spends
//! `command` on each request; the link moves the payload and stands still for `stripe` before each
//! member request of an array that the controller makes itself. So n drives give n times as much as
//! one up to the link's rate, requests come at most each `command`, and small stripes cost the link
//! time. Not modelled: the card's cache, and its own reading ahead.

use assay_spec::device::ControllerSpec;
use assay_spec::{Bytes, Nanos};

/// Something that serves one at a time, in order.
#[derive(Clone, Copy, Debug, Default)]
struct Server {
    free: Nanos,
    busy: Nanos,
}

impl Server {
    fn serve(&mut self, now: Nanos, duration: Nanos) -> Nanos {
        self.free = self.free.max(now) + duration;
        self.busy += duration;
        self.free
    }
}

/// A controller at work.
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

    /// Takes a request; returns when that is done.
    pub(crate) fn command(&mut self, now: Nanos) -> Nanos {
        self.processor.serve(now, self.spec.command)
    }

    /// Sets up a member request.
    pub(crate) fn stripe(&mut self, now: Nanos) -> Nanos {
        self.link.serve(now, self.spec.stripe)
    }

    /// Moves payload.
    pub(crate) fn transfer(&mut self, now: Nanos, length: Bytes) -> Nanos {
        self.link.serve(now, length.time_at(self.spec.rate))
    }

    /// Computes parities of so much.
    pub(crate) fn parity(&mut self, now: Nanos, length: Bytes) -> Nanos {
        self.processor.serve(now, length.time_at(self.spec.parity))
    }

    /// Time the link was busy, and the processor, since the last `mark`.
    pub(crate) fn busy(&self) -> (Nanos, Nanos) {
        (self.link.busy, self.processor.busy)
    }

    pub(crate) fn mark(&mut self) {
        (self.link.busy, self.processor.busy) = (Nanos::ZERO, Nanos::ZERO);
    }
}
