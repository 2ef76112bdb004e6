//! Planes that do one thing at a time.
//!
//! A plane with an array and one register of its own keeps both for whatever it does, from the
//! first moment to the last: it is one server with one queue. What it does takes a time that is
//! known when it begins, but for what it waits for the bus; and when it will ask for that is known
//! then, too. So an operation has one event, its end, expected as if it got the bus at once. Who
//! had the bus before is settled when that comes, in the order of asking, of which nothing is open
//! any more; if the operation did wait, its end is put off.
//!
//! This is what `array.rs` and `bus.rs` do step by step, to the nanosecond, in fewer events. Steps
//! are told to observers, so an observed drive goes by them; drives drawn at random hold the two
//! together (`tests/random_drives.rs`).

use super::ops::Kind;
use super::{BEHIND, Cause, FlashEvent, NOBODY, Nand};
use crate::events::{Events, Moment, Queue};
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode};
use std::collections::VecDeque;

/// Something that a plane has to do.
#[derive(Clone, Copy)]
struct Work {
    /// Whom to tell.
    token: u64,
    /// How long the array takes for it.
    time: Nanos,
    kind: Kind,
    cause: Cause,
}

/// A plane.
struct Server {
    queue: VecDeque<Work>,
    bus: u32,
    /// What it does, if it is busy.
    now: Option<Work>,
    /// If that is a program that comes right behind copies: how long those take.
    copies: Option<Nanos>,
    /// When it asks for the bus, or is done if it does not; and when its data is through, if that
    /// is settled.
    asks: Nanos,
    through: Option<Nanos>,
    /// Operations of collection that wait here or are under way.
    collecting: u32,
}

/// A bus: since when it is free, and the planes that will ask for it, in order.
struct Bus {
    free: Nanos,
    asking: VecDeque<(Moment, u32)>,
}

/// All planes.
pub(super) struct PlaneFastPath {
    planes: Vec<Server>,
    buses: Vec<Bus>,
    /// The first event slot of planes that send a page, bus by bus; and of what else they do.
    first_sending: usize,
    first: usize,
    /// By plane the number of its slot for sending, and the other way round.
    sending: Vec<u32>,
    sender: Vec<u32>,
    /// How long arrays and buses had been busy at the last mark with what was under way.
    marked: [Nanos; 2],
    shift: Nanos,
    /// Of fast pages.
    program: Nanos,
}

impl PlaneFastPath {
    /// Whether the planes of `spec` do one thing at a time.
    pub(super) fn fit(spec: &NandSpec) -> bool {
        (spec.plane_mode == PlaneMode::Independent || spec.planes_per_die == 1)
            && !spec.cache_register
            && spec.pages_per_program == 1
            && spec.slc.is_none()
            && spec.suspend.is_none()
            && spec.read > Nanos::ZERO
    }

    fn new(nand: &Nand) -> PlaneFastPath {
        let planes = nand.planes.len() as u32;
        let mut sender: Vec<u32> = (0..planes).collect();
        sender.sort_by_key(|plane| nand.geometry.channel(*plane));
        let mut sending = vec![0; sender.len()];
        (0..).zip(&sender).for_each(|(slot, plane)| sending[*plane as usize] = slot);
        let server = |plane: u32| Server {
            queue: VecDeque::new(),
            bus: nand.geometry.channel(plane) as u32,
            now: None,
            copies: None,
            asks: Nanos::ZERO,
            through: None,
            collecting: 0,
        };
        let bus = |_: &_| Bus { free: Nanos::ZERO, asking: VecDeque::new() };
        PlaneFastPath {
            planes: (0..planes).map(server).collect(),
            buses: nand.channels.iter().map(bus).collect(),
            first_sending: nand.first_slot,
            first: nand.first_slot + planes as usize,
            sending,
            sender,
            marked: [Nanos::ZERO; 2],
            shift: nand.shift,
            program: nand.program[0],
        }
    }

    /// Whether `plane` has nothing to do.
    pub(super) fn is_idle(&self, plane: u32) -> bool {
        self.planes[plane as usize].now.is_none()
    }

    /// Whether no plane has.
    pub(super) fn are_idle(&self) -> bool {
        self.planes.iter().all(|server| server.now.is_none())
    }

    /// The moment at which an operation of `plane` asks for the bus by itself.
    #[inline]
    fn asks(&self, plane: u32, at: Nanos, events: &Events) -> Moment {
        events.moment_at(at, self.first + plane as usize)
    }

    /// Whether something of collection is before what is asked of `plane` now.
    #[inline]
    fn collects(&self, plane: u32, events: &Events) -> bool {
        let server = &self.planes[plane as usize];
        server.collecting > 0 && {
            let over =
                server.copies.is_some() && self.asks(plane, server.asks, events) < events.moment();
            server.collecting > u32::from(over)
        }
    }

    /// `plane`, which has nothing to do, begins what is next.
    #[inline]
    fn begin(&mut self, plane: u32, events: &mut Events) {
        let (now, slot) = (events.now(), self.first + plane as usize);
        let server = &mut self.planes[plane as usize];
        let Some(mut work) = server.queue.pop_front() else { return };
        match work.kind {
            Kind::Read => {
                server.asks = now + work.time;
                events.after(
                    Queue::Sense,
                    self.first_sending + self.sending[plane as usize] as usize,
                    work.time + self.shift,
                );
                self.ask(plane, events.moment_at(now + work.time, slot));
            }
            Kind::Program => {
                server.asks = now;
                let moment = events.moment();
                self.ask(plane, moment);
                let end = self.through(plane, moment) + work.time - now;
                let queue = match end == self.shift + work.time {
                    true if work.time == self.program => Queue::Program,
                    true => Queue::ProgramSlow,
                    false => Queue::Other,
                };
                events.after(queue, slot, end);
            }
            Kind::Copy => {
                let mut end = work.time;
                server.asks = now + end;
                let next = server.queue.front().copied();
                if let Some(program) = next.filter(|next| next.kind == Kind::Program) {
                    server.queue.pop_front();
                    server.copies = Some(work.time);
                    self.ask(plane, events.moment_at(now + work.time, slot));
                    work = program;
                    end += self.shift + work.time;
                }
                events.after(Queue::Other, slot, end);
            }
            Kind::Erase => server.asks = events.after(Queue::Other, slot, work.time),
        }
        self.planes[plane as usize].now = Some(work);
    }

    /// `plane` asks for its bus at `moment`.
    #[inline]
    fn ask(&mut self, plane: u32, moment: Moment) {
        let bus = self.planes[plane as usize].bus;
        let asking = &mut self.buses[bus as usize].asking;
        let later = asking.iter().rev().take_while(|(other, _)| *other > moment).count();
        match later {
            0 => asking.push_back((moment, plane)),
            _ => asking.insert(asking.len() - later, (moment, plane)),
        }
    }

    /// When the data of `plane`, which asks for its bus at `moment`, is through: all who ask before
    /// have it before, and they are known by now.
    #[inline]
    fn through(&mut self, plane: u32, moment: Moment) -> Nanos {
        let bus = &mut self.buses[self.planes[plane as usize].bus as usize];
        while let Some((_, other)) = bus.asking.front().copied().filter(|(asks, _)| *asks <= moment)
        {
            bus.asking.pop_front();
            let server = &mut self.planes[other as usize];
            bus.free = bus.free.max(server.asks) + self.shift;
            server.through = Some(bus.free);
        }
        self.planes[plane as usize].through.unwrap_or(Nanos::NEVER)
    }

    /// What `plane` does is expected to end now: if it does, what that was. If it had to wait for
    /// the bus, its end is put off.
    #[inline]
    fn end(&mut self, plane: u32, slot: usize, events: &mut Events) -> Option<Work> {
        let server = &self.planes[plane as usize];
        let work = server.now?;
        if matches!(work.kind, Kind::Read | Kind::Program) {
            let through = match server.through {
                Some(through) => through,
                None => self.through(plane, self.asks(plane, server.asks, events)),
            };
            let end = if work.kind == Kind::Read { through } else { through + work.time };
            if end > events.now() {
                events.after(Queue::Other, slot, end - events.now());
                return None;
            }
        }
        let server = &mut self.planes[plane as usize];
        (server.now, server.through) = (None, None);
        Some(work)
    }

    /// How long arrays and buses have been busy until `now` with what is under way.
    fn under_way(&self, now: Nanos) -> [Nanos; 2] {
        let mut through: Vec<Option<Nanos>> = self.planes.iter().map(|s| s.through).collect();
        for bus in &self.buses {
            let mut free = bus.free;
            for (_, plane) in &bus.asking {
                free = free.max(self.planes[*plane as usize].asks) + self.shift;
                through[*plane as usize] = Some(free);
            }
        }
        // Of what begins and takes so long.
        let passed = |begin: Nanos, time: Nanos| now.clamp(begin, begin + time) - begin;
        let (mut arrays, mut buses) = (Nanos::ZERO, Nanos::ZERO);
        for (server, through) in self.planes.iter().zip(through) {
            let Some(work) = server.now else { continue };
            let before = match work.kind {
                Kind::Program => server.copies.unwrap_or_default(),
                _ => work.time,
            };
            arrays += passed(server.asks - before, before);
            if let Some(through) = through {
                buses += passed(through - self.shift, self.shift);
                if work.kind == Kind::Program {
                    arrays += passed(through, work.time);
                }
            }
        }
        [arrays, buses]
    }

    /// Busy time of arrays and buses since the last mark, `ended` being that of what has ended.
    pub(super) fn busy(&self, ended: [Nanos; 2], now: Nanos) -> [Nanos; 2] {
        let under_way = self.under_way(now);
        [0, 1].map(|i| ended[i] + under_way[i] - self.marked[i])
    }

    /// Starts counting afresh.
    pub(super) fn mark(&mut self, now: Nanos) {
        self.marked = self.under_way(now);
    }
}

impl Nand {
    /// Whether planes are servers.
    #[cfg(test)]
    pub(crate) fn uses_plane_fast_path(&self) -> bool {
        self.fast_path.is_some()
    }

    /// Planes that do one thing at a time are taken for servers, as long as nobody looks: before
    /// the first request, of a drive that asks for nothing that waits for more than its turn on
    /// its plane, and that itself waits for the cells and not for registers.
    pub(crate) fn use_plane_fast_path(&mut self) {
        if self.fits_fast_path && self.observer.is_none() && self.ecc.is_none() {
            let fast_path = PlaneFastPath::new(self);
            self.events = Events::new(fast_path.first + self.planes.len());
            self.fast_path = Some(Box::new(fast_path));
        }
    }

    /// `plane`, which is a server, is asked for something that takes its array so long.
    #[inline]
    pub(super) fn serve(&mut self, kind: Kind, plane: u32, cause: Cause, token: u64, time: Nanos) {
        let Some(fast_path) = &mut self.fast_path else { return };
        self.pending += 1;
        fast_path.planes[plane as usize].collecting += u32::from(cause.collects());
        let mut token = token;
        if cause == Cause::Host && fast_path.collects(plane, &self.events) {
            token |= BEHIND;
            if kind == Kind::Read {
                self.behind_open[0] += 1;
                self.behind[0].begin(self.events.now() + self.read + self.shift);
            }
        }
        let server = &mut fast_path.planes[plane as usize];
        server.queue.push_back(Work { token, time, kind, cause });
        if server.now.is_none() {
            fast_path.begin(plane, &mut self.events);
        }
    }

    /// The same of a copy, which is one with those it comes right behind.
    #[inline(always)]
    pub(super) fn serve_copy(&mut self, plane: u32, cause: Cause, time: Nanos) {
        let Some(fast_path) = &mut self.fast_path else { return };
        match fast_path.planes[plane as usize].queue.back_mut() {
            Some(last) if last.kind == Kind::Copy && last.cause == cause => last.time += time,
            _ => self.serve(Kind::Copy, plane, cause, NOBODY, time),
        }
    }

    /// What the plane of `slot` does is expected to end now.
    #[inline]
    pub(super) fn on_plane_done(&mut self, slot: usize, flash_events: &mut Vec<FlashEvent>) {
        let Some(fast_path) = &mut self.fast_path else { return };
        let plane = match slot.checked_sub(fast_path.first) {
            Some(plane) => plane as u32,
            None => fast_path.sender[slot - fast_path.first_sending],
        };
        let Some(Work { token, time, kind, cause }) = fast_path.end(plane, slot, &mut self.events)
        else {
            return;
        };
        let server = &mut fast_path.planes[plane as usize];
        self.pending -= 1;
        server.collecting -= u32::from(cause.collects());
        self.array_total += time;
        if let Some(copies) = server.copies.take() {
            self.pending -= 1;
            server.collecting -= 1;
            self.array_total += copies;
        }
        match kind {
            Kind::Read => {
                self.channel_total += self.shift;
                if token != NOBODY {
                    flash_events.push(FlashEvent::Read(token));
                }
            }
            Kind::Program => {
                self.channel_total += self.shift;
                if token != NOBODY {
                    flash_events.push(FlashEvent::Programmed(token, plane));
                }
            }
            Kind::Copy | Kind::Erase => {}
        }
        fast_path.begin(plane, &mut self.events);
        if kind == Kind::Read && token != NOBODY && token & BEHIND != 0 {
            self.not_behind(0);
        }
    }
}
