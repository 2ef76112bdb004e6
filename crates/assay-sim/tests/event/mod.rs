//! A plain event-by-event simulator of a page-mapped drive, to hold the time-lines against.
//!
//! Written for clarity and slowness: every step of every operation is an event, every resource a
//! queue that is served when it falls idle, every table a plain vector. It shares nothing with the
//! model but the declaration of the drive. Only what the comparison needs is here: one frontier,
//! greedy victims, collection spread over the host's writes, copy-back, a DRAM buffer, no cache
//! register, whole pages.

use assay_spec::device::{DeviceKind, DeviceSpec, SsdSpec};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

pub mod map;
use map::{Map, Move};

/// What happens at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The firmware has looked at a request.
    Decoded(usize),
    /// A transfer over the link has ended.
    LinkDone,
    /// A shift over a channel has ended.
    ChannelDone(usize),
    /// A plane's array has finished.
    ArrayDone(usize),
}

/// An operation of a plane.
#[derive(Clone, Copy, Debug)]
enum PlaneOp {
    /// Sense and shift out, for this request.
    Read(usize),
    /// Shift in and program; a buffer slot is free at its end.
    Program,
    CopyBack,
    Erase,
}

/// Who waits for a bus.
#[derive(Clone, Copy, Debug)]
enum Transfer {
    /// Data of a write request comes over the link.
    In(usize),
    /// Data of a read request goes over the link.
    Out(usize),
    /// A plane shifts a page in.
    ShiftIn(usize),
    /// A plane shifts a page out, for this request.
    ShiftOut(usize, usize),
}

#[derive(Default)]
struct Bus {
    queue: VecDeque<Transfer>,
    now: Option<Transfer>,
}

#[derive(Default)]
struct Plane {
    queue: VecDeque<PlaneOp>,
    array: Option<PlaneOp>,
    /// A shift in or out is under way or waited for.
    register_busy: bool,
}

#[derive(Clone, Copy)]
struct Ask {
    write: bool,
    page: u32,
    since: u64,
    slot: usize,
}

/// The drive and its clock.
pub struct Reference {
    spec: SsdSpec,
    command: u64,
    link_time: u64,
    shift: u64,
    now: u64,
    sequence: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    asks: Vec<Ask>,
    firmware: VecDeque<usize>,
    firmware_busy: bool,
    waiting_for_slot: VecDeque<usize>,
    slots_free: usize,
    link: Bus,
    channels: Vec<Bus>,
    planes: Vec<Plane>,
    map: Map,
    finished: Vec<(usize, u64)>,
}

impl Reference {
    pub fn new(device: &DeviceSpec) -> Reference {
        let DeviceKind::Ssd(spec) = &device.kind else { panic!("a flash drive") };
        let assay_spec::device::BufferSpec::Dram { size, .. } = spec.buffer else {
            panic!("a buffer")
        };
        let page = spec.nand.page;
        Reference {
            command: device.link.command.0,
            link_time: page.time_at(device.link.rate).0,
            shift: page.time_at(spec.nand.bus).0,
            now: 0,
            sequence: 0,
            events: BinaryHeap::new(),
            asks: Vec::new(),
            firmware: VecDeque::new(),
            firmware_busy: false,
            waiting_for_slot: VecDeque::new(),
            slots_free: (size.0 / page.0) as usize,
            link: Bus::default(),
            channels: (0..spec.nand.channels).map(|_| Bus::default()).collect(),
            planes: (0..spec.nand.planes()).map(|_| Plane::default()).collect(),
            map: Map::new(spec, (device.capacity.0 / page.0) as u32),
            finished: Vec::new(),
            spec: **spec,
        }
    }

    /// Brings the map to its steady state without any time passing.
    pub fn age(&mut self, pages: impl Iterator<Item = u32>) {
        let mut moves = Vec::new();
        for page in pages {
            moves.clear();
            self.map.write(page, &mut moves);
        }
    }

    /// A closed loop: returns the latencies, and the time all of it took.
    pub fn run(
        &mut self,
        depth: usize,
        count: usize,
        ask: impl Fn(usize) -> (bool, u32),
    ) -> (Vec<u64>, u64) {
        let (mut latencies, mut issued, start) = (Vec::with_capacity(count), 0, self.now);
        self.asks.clear();
        self.asks.resize(depth, Ask { write: false, page: 0, since: 0, slot: 0 });
        for slot in 0..depth.min(count) {
            let (write, page) = ask(issued);
            issued += 1;
            self.submit(Ask { write, page, since: self.now, slot });
        }
        while latencies.len() < count {
            let Reverse((at, _, event)) = self.events.pop().expect("something is under way");
            self.now = at;
            self.handle(event);
            for (slot, since) in std::mem::take(&mut self.finished) {
                latencies.push(self.now - since);
                if issued < count {
                    let (write, page) = ask(issued);
                    issued += 1;
                    self.submit(Ask { write, page, since: self.now, slot });
                }
            }
        }
        (latencies, self.now - start)
    }

    fn after(&mut self, duration: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((self.now + duration, self.sequence, event)));
    }

    fn submit(&mut self, ask: Ask) {
        self.asks[ask.slot] = ask;
        self.firmware.push_back(ask.slot);
        self.serve_firmware();
    }

    fn serve_firmware(&mut self) {
        if self.firmware_busy {
            return;
        }
        if let Some(slot) = self.firmware.pop_front() {
            self.firmware_busy = true;
            self.after(self.command, Event::Decoded(slot));
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Decoded(slot) => {
                self.firmware_busy = false;
                self.serve_firmware();
                self.decoded(slot);
            }
            Event::LinkDone => {
                let done = self.link.now.take().expect("a transfer");
                self.link_done(done);
                self.serve_link();
            }
            Event::ChannelDone(channel) => {
                let done = self.channels[channel].now.take().expect("a shift");
                self.serve_channel(channel);
                self.shifted(done);
            }
            Event::ArrayDone(plane) => self.array_done(plane),
        }
    }

    fn decoded(&mut self, slot: usize) {
        if self.asks[slot].write {
            self.waiting_for_slot.push_back(slot);
            return self.give_slots();
        }
        match self.map.plane_of(self.asks[slot].page) {
            Some(plane) => self.plane_ask(plane, PlaneOp::Read(slot)),
            None => self.link_ask(Transfer::Out(slot)),
        }
    }

    fn give_slots(&mut self) {
        while self.slots_free > 0 {
            let Some(slot) = self.waiting_for_slot.pop_front() else { return };
            self.slots_free -= 1;
            self.link_ask(Transfer::In(slot));
        }
    }

    fn link_ask(&mut self, transfer: Transfer) {
        self.link.queue.push_back(transfer);
        self.serve_link();
    }

    fn serve_link(&mut self) {
        if self.link.now.is_none() {
            self.link.now = self.link.queue.pop_front();
            if self.link.now.is_some() {
                self.after(self.link_time, Event::LinkDone);
            }
        }
    }

    fn link_done(&mut self, transfer: Transfer) {
        let (Transfer::In(slot) | Transfer::Out(slot)) = transfer else { panic!("not a link's") };
        let ask = self.asks[slot];
        self.finished.push((slot, ask.since));
        if matches!(transfer, Transfer::Out(_)) {
            return;
        }
        let mut moves = Vec::new();
        let plane = self.map.write(ask.page, &mut moves);
        for one in moves {
            let op = match one {
                Move::Copy => PlaneOp::CopyBack,
                Move::Erase => PlaneOp::Erase,
            };
            self.plane_ask(plane, op);
        }
        self.plane_ask(plane, PlaneOp::Program);
    }

    fn plane_ask(&mut self, plane: usize, op: PlaneOp) {
        self.planes[plane].queue.push_back(op);
        self.serve_plane(plane);
    }

    /// Begins a plane's next operation, if its parts are free.
    fn serve_plane(&mut self, plane: usize) {
        let p = &mut self.planes[plane];
        let Some(op) = p.queue.front().copied() else { return };
        if p.array.is_some() || (p.register_busy && !matches!(op, PlaneOp::Erase)) {
            return;
        }
        p.queue.pop_front();
        let nand = &self.spec.nand;
        let duration = match op {
            PlaneOp::Program => {
                // The array is spoken for while the data comes in.
                p.array = Some(op);
                p.register_busy = true;
                return self.channel_ask(plane, Transfer::ShiftIn(plane));
            }
            PlaneOp::Read(_) => nand.read,
            PlaneOp::CopyBack => nand.read + nand.program.fast,
            PlaneOp::Erase => nand.erase,
        };
        p.array = Some(op);
        self.after(duration.0, Event::ArrayDone(plane));
    }

    fn channel_ask(&mut self, plane: usize, transfer: Transfer) {
        let channel = plane % self.channels.len();
        self.channels[channel].queue.push_back(transfer);
        self.serve_channel(channel);
    }

    fn serve_channel(&mut self, channel: usize) {
        let bus = &mut self.channels[channel];
        if bus.now.is_none() {
            bus.now = bus.queue.pop_front();
            if bus.now.is_some() {
                self.after(self.shift, Event::ChannelDone(channel));
            }
        }
    }

    fn shifted(&mut self, transfer: Transfer) {
        match transfer {
            Transfer::ShiftIn(plane) => {
                let program = self.spec.nand.program.fast.0;
                self.after(program, Event::ArrayDone(plane));
            }
            Transfer::ShiftOut(plane, slot) => {
                self.planes[plane].register_busy = false;
                self.link_ask(Transfer::Out(slot));
                self.serve_plane(plane);
            }
            Transfer::In(_) | Transfer::Out(_) => panic!("not a channel's"),
        }
    }

    fn array_done(&mut self, plane: usize) {
        match self.planes[plane].array.take().expect("it was busy") {
            PlaneOp::Read(slot) => {
                self.planes[plane].register_busy = true;
                self.channel_ask(plane, Transfer::ShiftOut(plane, slot));
            }
            PlaneOp::Program => {
                self.planes[plane].register_busy = false;
                self.slots_free += 1;
                self.give_slots();
            }
            PlaneOp::CopyBack | PlaneOp::Erase => {}
        }
        self.serve_plane(plane);
    }

    /// Flash pages programmed for each page of the host, since the start.
    pub fn write_amplification(&mut self) -> f64 {
        self.map.take_amplification()
    }
}
