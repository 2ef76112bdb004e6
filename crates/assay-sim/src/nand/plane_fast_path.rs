//! The fast path for planes that do one operation at a time.
//!
//! A plane with an array of its own and a single register keeps both for each operation from its
//! first moment to its last: it is a server with one queue. The time of an operation is known when
//! it begins, except for the wait for the bus; when it will request the bus is known then, too. So
//! an operation has one event, its end, scheduled as if the bus were free. When that event comes,
//! all requests for the bus before its own are known, and the bus is granted in their order; if the
//! operation did wait, its end is put off.
//!
//! The result equals that of `dispatch.rs` and `bus.rs`, to the nanosecond, in fewer events.
//! Observers need every step, so an observed drive does not use the fast path. Tests compare both
//! ways on random drives (`tests/random_drives.rs`).

use super::chips::Chips;
use super::counts::CollectionWait;
use super::observe::Cause;
use super::ops::OpKind;
use super::token::{FlashEvent, Token};
use crate::events::{Events, Moment, Queue};
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode};
use std::collections::VecDeque;

/// An operation of a plane.
#[derive(Clone, Copy)]
struct FastOp {
    /// The token in the events of the operation.
    token: Token,
    /// The time that the operation takes on the array.
    time: Nanos,
    kind: OpKind,
    cause: Cause,
}

/// A plane: its queue and the operation under way.
struct FastPlane {
    /// The operations that have not begun.
    queue: VecDeque<FastOp>,
    /// The number of its bus.
    bus: u32,
    /// The operation under way.
    now: Option<FastOp>,
    /// The time of the copies right before the program under way, if they share its event.
    copies: Option<Nanos>,
    /// When the operation under way requests the bus, or ends if it does not need the bus.
    bus_request_at: Nanos,
    /// When the transfer of the operation under way ends, once the bus has been granted.
    transfer_end: Option<Nanos>,
    /// The number of operations of collection that wait on this plane or are under way.
    collecting: u32,
}

/// A bus.
struct Bus {
    /// When the last granted transfer ends.
    free: Nanos,
    /// The planes that will request the bus and when, in that order.
    asking: VecDeque<(Moment, u32)>,
}

/// All planes and buses of a drive on the fast path.
pub(super) struct PlaneFastPath {
    planes: Vec<FastPlane>,
    buses: Vec<Bus>,
    /// The first event slot of planes that read and send a page, ordered by bus.
    first_sending: usize,
    /// The first event slot of planes for all other operations.
    first: usize,
    /// By plane: the number of its slot for sending.
    slot_of_plane: Vec<u32>,
    /// By number of the slot for sending: its plane.
    plane_of_slot: Vec<u32>,
    /// The busy times, before the last mark, of arrays and buses with operations then under way.
    marked: [Nanos; 2],
    /// The time to transfer a page over the bus.
    page_transfer: Nanos,
    /// The time to program a fast page.
    program: Nanos,
}

impl PlaneFastPath {
    /// Returns `true` if the planes of `spec` do one operation at a time.
    pub(super) fn fit(spec: &NandSpec) -> bool {
        (spec.plane_mode == PlaneMode::Independent || spec.planes_per_die == 1)
            && !spec.cache_register
            && spec.pages_per_program == 1
            && spec.slc.is_none()
            && spec.suspend.is_none()
            && spec.read > Nanos::ZERO
    }

    /// Builds the planes and buses of `chips`, all idle.
    pub(super) fn new(chips: &Chips) -> PlaneFastPath {
        let (geometry, planes) = (&chips.geometry, chips.geometry.planes());
        let mut plane_of_slot: Vec<u32> = (0..planes).collect();
        plane_of_slot.sort_by_key(|plane| geometry.channel(*plane));
        let mut slot_of_plane = vec![0; plane_of_slot.len()];
        (0..).zip(&plane_of_slot).for_each(|(slot, plane)| slot_of_plane[*plane as usize] = slot);
        let fast_plane = |plane: u32| FastPlane {
            queue: VecDeque::new(),
            bus: geometry.channel(plane) as u32,
            now: None,
            copies: None,
            bus_request_at: Nanos::ZERO,
            transfer_end: None,
            collecting: 0,
        };
        let bus = |_| Bus { free: Nanos::ZERO, asking: VecDeque::new() };
        PlaneFastPath {
            planes: (0..planes).map(fast_plane).collect(),
            buses: (0..chips.channels.len()).map(bus).collect(),
            first_sending: geometry.channel_slot(0),
            first: geometry.channel_slot(0) + planes as usize,
            slot_of_plane,
            plane_of_slot,
            marked: [Nanos::ZERO; 2],
            page_transfer: chips.chip.page_transfer,
            program: chips.chip.program[0],
        }
    }

    /// Returns the number of event slots, with those of the drive around the planes.
    pub(super) fn slots(&self) -> usize {
        self.first + self.planes.len()
    }

    /// Queues an operation that takes its array `time` on `plane`.
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        chips: &mut Chips,
        kind: OpKind,
        plane: u32,
        cause: Cause,
        token: Token,
        time: Nanos,
    ) {
        chips.pool.pending += 1;
        self.planes[plane as usize].collecting += u32::from(cause.collects());
        let mut token = token;
        if cause == Cause::Host && self.is_collection_ahead(plane, &chips.events) {
            token = token.behind_collection();
            if kind == OpKind::Read {
                let alone = chips.chip.read + chips.chip.page_transfer;
                let begin = chips.events.now() + alone;
                chips.counts.begin_collection_wait(CollectionWait::Read, begin);
            }
        }
        let fast_plane = &mut self.planes[plane as usize];
        fast_plane.queue.push_back(FastOp { token, time, kind, cause });
        if fast_plane.now.is_none() {
            self.begin(plane, &mut chips.events);
        }
    }

    /// Queues a copy of `time` on `plane`, merged with the copy right before it for the same cause.
    #[inline(always)]
    pub(super) fn enqueue_copy(
        &mut self,
        chips: &mut Chips,
        plane: u32,
        cause: Cause,
        time: Nanos,
    ) {
        match self.planes[plane as usize].queue.back_mut() {
            Some(last) if last.kind == OpKind::Copy && last.cause == cause => last.time += time,
            _ => self.enqueue(chips, OpKind::Copy, plane, cause, Token::NONE, time),
        }
    }

    /// Handles the event of `slot`: ends the operation of its plane, or puts the end off.
    #[inline]
    pub(super) fn on_event(
        &mut self,
        chips: &mut Chips,
        slot: usize,
        flash_events: &mut Vec<FlashEvent>,
    ) {
        let plane = match slot.checked_sub(self.first) {
            Some(plane) => plane as u32,
            None => self.plane_of_slot[slot - self.first_sending],
        };
        let Some(FastOp { token, time, kind, cause }) = self.end(plane, slot, &mut chips.events)
        else {
            return;
        };
        let fast_plane = &mut self.planes[plane as usize];
        chips.pool.pending -= 1;
        fast_plane.collecting -= u32::from(cause.collects());
        chips.counts.array_busy += time;
        if let Some(copies) = fast_plane.copies.take() {
            chips.pool.pending -= 1;
            fast_plane.collecting -= 1;
            chips.counts.array_busy += copies;
        }
        match kind {
            OpKind::Read => {
                chips.counts.channel_busy += chips.chip.page_transfer;
                if token != Token::NONE {
                    flash_events.push(FlashEvent::Read(token));
                }
            }
            OpKind::Program => {
                chips.counts.channel_busy += chips.chip.page_transfer;
                if token != Token::NONE {
                    flash_events.push(FlashEvent::Programmed(token, plane));
                }
            }
            OpKind::Copy | OpKind::Erase => {}
        }
        self.begin(plane, &mut chips.events);
        if kind == OpKind::Read && token != Token::NONE && token.is_behind_collection() {
            chips.counts.end_collection_wait(CollectionWait::Read, chips.events.now());
        }
    }

    /// Returns `true` if `plane` has no operation under way or waiting.
    pub(super) fn is_idle(&self, plane: u32) -> bool {
        self.planes[plane as usize].now.is_none()
    }

    /// Returns `true` if no plane has an operation under way or waiting.
    pub(super) fn are_idle(&self) -> bool {
        self.planes.iter().all(|fast_plane| fast_plane.now.is_none())
    }

    /// Returns the moment at which an operation of `plane` requests the bus at time `at` by itself.
    #[inline]
    fn bus_request_at(&self, plane: u32, at: Nanos, events: &Events) -> Moment {
        events.moment_at(at, self.first + plane as usize)
    }

    /// Returns `true` if collection is before an operation that is requested of `plane` now.
    #[inline]
    fn is_collection_ahead(&self, plane: u32, events: &Events) -> bool {
        let fast_plane = &self.planes[plane as usize];
        fast_plane.collecting > 0 && {
            let over = fast_plane.copies.is_some()
                && self.bus_request_at(plane, fast_plane.bus_request_at, events) < events.moment();
            fast_plane.collecting > u32::from(over)
        }
    }

    /// Begins the next operation of `plane`, which is idle.
    #[inline]
    fn begin(&mut self, plane: u32, events: &mut Events) {
        let (now, slot) = (events.now(), self.first + plane as usize);
        let fast_plane = &mut self.planes[plane as usize];
        let Some(mut op) = fast_plane.queue.pop_front() else { return };
        match op.kind {
            OpKind::Read => {
                fast_plane.bus_request_at = now + op.time;
                events.after(
                    Queue::Sense,
                    self.first_sending + self.slot_of_plane[plane as usize] as usize,
                    op.time + self.page_transfer,
                );
                self.request_bus(plane, events.moment_at(now + op.time, slot));
            }
            OpKind::Program => {
                fast_plane.bus_request_at = now;
                let moment = events.moment();
                self.request_bus(plane, moment);
                let end = self.transfer_end(plane, moment) + op.time - now;
                let queue = match end == self.page_transfer + op.time {
                    true if op.time == self.program => Queue::Program,
                    true => Queue::ProgramSlow,
                    false => Queue::Other,
                };
                events.after(queue, slot, end);
            }
            OpKind::Copy => {
                let mut end = op.time;
                fast_plane.bus_request_at = now + end;
                let next = fast_plane.queue.front().copied();
                if let Some(program) = next.filter(|next| next.kind == OpKind::Program) {
                    fast_plane.queue.pop_front();
                    fast_plane.copies = Some(op.time);
                    self.request_bus(plane, events.moment_at(now + op.time, slot));
                    op = program;
                    end += self.page_transfer + op.time;
                }
                events.after(Queue::Other, slot, end);
            }
            OpKind::Erase => fast_plane.bus_request_at = events.after(Queue::Other, slot, op.time),
        }
        self.planes[plane as usize].now = Some(op);
    }

    /// Enters `plane` among those that request its bus, at `moment`.
    #[inline]
    fn request_bus(&mut self, plane: u32, moment: Moment) {
        let bus = self.planes[plane as usize].bus;
        let asking = &mut self.buses[bus as usize].asking;
        let later = asking.iter().rev().take_while(|(other, _)| *other > moment).count();
        match later {
            0 => asking.push_back((moment, plane)),
            _ => asking.insert(asking.len() - later, (moment, plane)),
        }
    }

    /// Returns when the transfer of `plane`, which requests its bus at `moment`, ends. All planes
    /// that request the bus before are known by now and are granted it first.
    #[inline]
    fn transfer_end(&mut self, plane: u32, moment: Moment) -> Nanos {
        let bus = &mut self.buses[self.planes[plane as usize].bus as usize];
        while let Some((_, other)) =
            bus.asking.front().copied().filter(|(bus_request_at, _)| *bus_request_at <= moment)
        {
            bus.asking.pop_front();
            let fast_plane = &mut self.planes[other as usize];
            bus.free = bus.free.max(fast_plane.bus_request_at) + self.page_transfer;
            fast_plane.transfer_end = Some(bus.free);
        }
        self.planes[plane as usize].transfer_end.unwrap_or(Nanos::NEVER)
    }

    /// Ends the operation of `plane`, whose event has come, and returns it. If the operation had to
    /// wait for the bus, puts its end off and returns `None`.
    #[inline]
    fn end(&mut self, plane: u32, slot: usize, events: &mut Events) -> Option<FastOp> {
        let fast_plane = &self.planes[plane as usize];
        let op = fast_plane.now?;
        if matches!(op.kind, OpKind::Read | OpKind::Program) {
            let transfer_end = match fast_plane.transfer_end {
                Some(transfer_end) => transfer_end,
                None => self.transfer_end(
                    plane,
                    self.bus_request_at(plane, fast_plane.bus_request_at, events),
                ),
            };
            let end = if op.kind == OpKind::Read { transfer_end } else { transfer_end + op.time };
            if end > events.now() {
                events.after(Queue::Other, slot, end - events.now());
                return None;
            }
        }
        let fast_plane = &mut self.planes[plane as usize];
        (fast_plane.now, fast_plane.transfer_end) = (None, None);
        Some(op)
    }

    /// Returns the time that arrays and buses have been busy until `now` with operations under way.
    fn under_way(&self, now: Nanos) -> [Nanos; 2] {
        let mut transfer_end: Vec<Option<Nanos>> =
            self.planes.iter().map(|s| s.transfer_end).collect();
        for bus in &self.buses {
            let mut free = bus.free;
            for (_, plane) in &bus.asking {
                free = free.max(self.planes[*plane as usize].bus_request_at) + self.page_transfer;
                transfer_end[*plane as usize] = Some(free);
            }
        }
        // The part of a step of length `time`, begun at `begin`, that has passed.
        let passed = |begin: Nanos, time: Nanos| now.clamp(begin, begin + time) - begin;
        let (mut arrays, mut buses) = (Nanos::ZERO, Nanos::ZERO);
        for (fast_plane, transfer_end) in self.planes.iter().zip(transfer_end) {
            let Some(op) = fast_plane.now else { continue };
            let before = match op.kind {
                OpKind::Program => fast_plane.copies.unwrap_or_default(),
                _ => op.time,
            };
            arrays += passed(fast_plane.bus_request_at - before, before);
            if let Some(transfer_end) = transfer_end {
                buses += passed(transfer_end - self.page_transfer, self.page_transfer);
                if op.kind == OpKind::Program {
                    arrays += passed(transfer_end, op.time);
                }
            }
        }
        [arrays, buses]
    }

    /// Returns the busy time of arrays and buses since the last mark; `ended` is that of operations
    /// that have ended since then.
    pub(super) fn busy(&self, ended: [Nanos; 2], now: Nanos) -> [Nanos; 2] {
        let under_way = self.under_way(now);
        [0, 1].map(|i| ended[i] + under_way[i] - self.marked[i])
    }

    /// Sets a mark: busy times begin at zero from now on.
    pub(super) fn mark(&mut self, now: Nanos) {
        self.marked = self.under_way(now);
    }
}
