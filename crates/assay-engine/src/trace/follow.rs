//! Follows a trace from its inputs to its requests.

use super::event::{Action, Event, Of};
use super::pair::Pairing;
use super::source::{EventStream, Format, Input};
use super::window::SortingWindow;
use crate::error::{Error, Result};
use crate::stop::{interrupted, is_interrupted};
use assay_spec::trace::{Device, DeviceCount, EventCount, SCHEMA, TraceRecord, TraceRow};
use assay_spec::trace::{TraceSource, Unpaired};
use std::collections::BTreeMap;

/// The most devices that an error lists.
const LISTED: usize = 20;
/// The most devices of a trace.
const DEVICES_MOST: usize = 1 << 16;
/// The most requests in flight at a time: more than the queue of any device holds.
const UNFINISHED_MOST: u64 = 1 << 20;
/// The number of processors whose sequence numbers are checked.
const PROCESSORS: usize = 4096;

/// Reads inputs to their ends. Calls `done` with each request of the device, in the order in which
/// they end. Without `wanted`, the trace must be of one device.
///
/// # Errors
/// If an input cannot be read or is no trace, or the trace is of several devices and none is
/// `wanted`.
pub fn follow(
    inputs: Vec<Input>,
    wanted: Option<Device>,
    done: &mut impl FnMut(TraceRow),
) -> Result<TraceRecord> {
    let mut streams =
        inputs.into_iter().map(EventStream::open).collect::<Result<Vec<EventStream>>>()?;
    let format = common_format(&streams)?;
    let mut follower = Follower { wanted, ..Follower::default() };
    match &mut streams[..] {
        [one] => follower.one(one, done)?,
        several => follower.several(several, done)?,
    }
    follower.drain(done);
    follower.record(&streams, format)
}

/// Returns the format of all inputs. Text and records cannot be mixed: times in text count from the
/// beginning of the trace, those in records do not.
fn common_format(streams: &[EventStream]) -> Result<Format> {
    let none = || Error::usage("trace-missing", "no trace is named", "name a file, or `-`");
    let first = streams.first().ok_or_else(none)?.format();
    let is_text = |stream: &EventStream| stream.format() == Format::Text;
    if streams.iter().any(|s| is_text(s) != (first == Format::Text)) {
        let text = "some of the files are text, others are binary";
        let hint = "import the files one by one: times in text count from the start of the trace, \
                    times in binary records do not";
        return Err(Error::usage("trace-mixed", text, hint));
    }
    Ok(first)
}

/// The state of reading a trace.
#[derive(Default)]
struct Follower {
    wanted: Option<Device>,
    window: SortingWindow,
    devices: Devices,
    /// The device whose requests are paired, the wanted or the first one, and its requests.
    pairing: Option<(Device, Pairing)>,
    /// Whether another device has requests too although none is wanted.
    is_unclear: bool,
    /// The time of the first event, in ns on the trace's clock.
    start: Option<u64>,
    /// The number of events that ftrace says it lost.
    lost: u64,
}

impl Follower {
    fn one(&mut self, stream: &mut EventStream, done: &mut impl FnMut(TraceRow)) -> Result<()> {
        while stream.refill()? {
            while let Some(event) = stream.next() {
                self.sort(event, done);
            }
            self.between(stream, done)?;
        }
        Ok(())
    }

    /// Reads several streams, always the one with the earliest event.
    fn several(
        &mut self,
        streams: &mut [EventStream],
        done: &mut impl FnMut(TraceRow),
    ) -> Result<()> {
        for stream in streams.iter_mut() {
            self.ready(stream, done)?;
        }
        loop {
            let head = |stream: &EventStream| stream.peek().map(|event| event.time);
            let heads = streams.iter().enumerate().filter_map(|(i, s)| Some((head(s)?, i)));
            let Some((_, first)) = heads.clone().min() else { return Ok(()) };
            let others = heads.filter(|(_, index)| *index != first);
            let until = others.map(|(time, _)| time).min().unwrap_or(u64::MAX);
            let stream = &mut streams[first];
            while let Some(event) = stream.peek().filter(|e| e.time <= until).copied() {
                stream.next();
                self.sort(event, done);
            }
            self.ready(stream, done)?;
        }
    }

    /// Decodes more of a stream until it has a next event or ends.
    fn ready(&mut self, stream: &mut EventStream, done: &mut impl FnMut(TraceRow)) -> Result<()> {
        while stream.peek().is_none() {
            self.between(stream, done)?;
            if !stream.refill()? {
                break;
            }
        }
        Ok(())
    }

    /// Does the work between two batches of a stream: checks for an interruption, too many requests
    /// in flight and too many devices, and forgets these if events were lost.
    fn between(&mut self, stream: &mut EventStream, done: &mut impl FnMut(TraceRow)) -> Result<()> {
        if is_interrupted() {
            let hint = "run the same command again";
            return Err(Error { hint: hint.to_owned(), ..interrupted() });
        }
        if self.pairing.as_ref().is_some_and(|(_, pairing)| pairing.unfinished() > UNFINISHED_MOST)
        {
            let message =
                format!("more than {UNFINISHED_MOST} requests of the trace have no completion");
            let hint = "check that the trace has the completions (`C`) of its device";
            return Err(Error::usage("trace-too-many-open", message, hint));
        }
        if self.devices.all.len() > DEVICES_MOST {
            let message = format!("the trace has events of more than {DEVICES_MOST} devices");
            let hint = "check that it is a trace: no machine has so many devices";
            return Err(Error::usage("trace-devices", message, hint));
        }
        let lost = stream.take_lost();
        if lost > 0 {
            self.lost += lost;
            self.drain(done);
            if let Some((_, pairing)) = &mut self.pairing {
                pairing.forget();
            }
        }
        Ok(())
    }

    /// Puts an event into the window, and handles the one that leaves it.
    #[inline]
    fn sort(&mut self, event: Event, done: &mut impl FnMut(TraceRow)) {
        if let Some(event) = self.window.push(event) {
            self.take(&event, done);
        }
    }

    /// Handles all events that are left in the window.
    fn drain(&mut self, done: &mut impl FnMut(TraceRow)) {
        while let Some(event) = self.window.pop() {
            self.take(&event, done);
        }
    }

    /// Counts an event, and pairs it if it belongs to a request of the device.
    #[inline]
    fn take(&mut self, event: &Event, done: &mut impl FnMut(TraceRow)) {
        self.devices.count(event);
        if event.action == Action::Notify {
            return;
        }
        let start = *self.start.get_or_insert(event.time);
        if !event.action.is_of_request() || event.of == Of::Nothing {
            return;
        }
        match &mut self.pairing {
            Some((device, pairing)) if *device == event.device => pairing.take(event, done),
            Some(_) => self.is_unclear |= self.wanted.is_none(),
            None if self.wanted.is_none_or(|wanted| wanted == event.device) => {
                let mut pairing = Pairing::new(start);
                pairing.take(event, done);
                self.pairing = Some((event.device, pairing));
            }
            None => {}
        }
    }

    /// Returns the description of the trace, for `trace.json`.
    fn record(self, streams: &[EventStream], format: Format) -> Result<TraceRecord> {
        let devices = self.devices.list();
        let list = || {
            let mut known: Vec<&DeviceCount> =
                devices.iter().filter(|d| d.of_requests > 0).collect();
            known.sort_by_key(|d| std::cmp::Reverse(d.of_requests));
            let said = |d: &&DeviceCount| format!("{} ({} events)", d.device, d.of_requests);
            let all: Vec<String> = known.iter().take(LISTED).map(said).collect();
            all.join(", ")
        };
        if self.is_unclear {
            let text = format!("the trace has requests of several devices: {}", list());
            return Err(Error::usage("trace-devices", text, "choose one with `--device 8,0`"));
        }
        let Some((device, pairing)) = self.pairing else {
            let (text, hint) = match self.wanted {
                Some(wanted) if devices.iter().any(|d| d.of_requests > 0) => (
                    format!("the trace has no requests of {wanted}"),
                    format!("choose a device of the trace: {}", list()),
                ),
                _ => (
                    "the trace has no requests".to_owned(),
                    "trace again with events of requests (Q, I, D, C), or with some of these"
                        .to_owned(),
                ),
            };
            return Err(Error::usage("trace-no-requests", text, hint));
        };
        let of = self.devices.of(device);
        let (requests, happened, mut unpaired) = pairing.finish();
        let note = |what: &str, count: u64, why: &str| {
            let (what, why) = (what.to_owned(), why.to_owned());
            (count > 0).then_some(Unpaired { what, count, why })
        };
        let missing = of.map_or(0, |of| of.missing);
        let others: u64 = streams.iter().map(EventStream::others).sum();
        unpaired.extend(note("lost events", self.lost, "ftrace reports them: its buffer was full"));
        let why = "the trace lost these events, or a filter left them out";
        unpaired.extend(note("missing sequence numbers", missing, why));
        let why = "they stand long after later events, as in files of several processors that \
                   were joined into one";
        unpaired.extend(note("late events", self.window.late(), why));
        unpaired.extend(note("lines that are not events", others, "headings, summaries, blanks"));
        for cut in streams.iter().filter_map(EventStream::cut) {
            let why = format!("{} ends within a record, which begins at byte {}", cut.name, cut.at);
            unpaired.extend(note("bytes at a cut-off end", cut.bytes, &why));
        }
        let start_ns = self.start.unwrap_or(0);
        Ok(TraceRecord {
            schema: SCHEMA,
            assay: env!("CARGO_PKG_VERSION").to_owned(),
            command: Vec::new(),
            source: source(streams, format),
            device,
            start_ns,
            length_ns: of.map_or(0, |of| of.last.saturating_sub(start_ns)),
            events: of.map_or_else(Vec::new, DeviceEvents::by_action),
            devices,
            requests,
            happened,
            unpaired,
        })
    }
}

fn source(streams: &[EventStream], format: Format) -> TraceSource {
    let order = match format {
        Format::Records(order) => Some(order.name().to_owned()),
        Format::Text => None,
    };
    TraceSource {
        files: streams.iter().map(|s| s.name().to_owned()).collect(),
        format: if order.is_some() { "blktrace" } else { "blkparse" }.to_owned(),
        byte_order: order,
        bytes: streams.iter().map(EventStream::bytes).sum(),
    }
}

/// The counts of events of all devices.
#[derive(Default)]
struct Devices {
    /// By device: its index in `all`.
    places: BTreeMap<Device, usize>,
    all: Vec<(Device, DeviceEvents)>,
    /// The index of the last event's device, which is most likely also the next one's.
    last: usize,
}

/// The counts of a device's events.
#[derive(Clone)]
struct DeviceEvents {
    /// By action: the number of events.
    count: [u64; Action::ALL.len()],
    /// The number of events of requests.
    of_requests: u64,
    /// The time of the last event, in ns.
    last: u64,
    /// By processor: the last sequence number, or 0.
    sequence: Vec<u32>,
    /// The number of sequence numbers that are missing.
    missing: u64,
}

impl Devices {
    #[inline]
    fn count(&mut self, event: &Event) {
        if self.all.get(self.last).is_none_or(|(device, _)| *device != event.device) {
            self.last = *self.places.entry(event.device).or_insert_with(|| {
                let (count, sequence) = ([0; Action::ALL.len()], Vec::new());
                let (of_requests, last, missing) = (0, 0, 0);
                let none = DeviceEvents { count, of_requests, last, sequence, missing };
                self.all.push((event.device, none));
                self.all.len() - 1
            });
        }
        self.all[self.last].1.take(event);
    }

    fn of(&self, device: Device) -> Option<&DeviceEvents> {
        self.places.get(&device).map(|place| &self.all[*place].1)
    }

    fn list(&self) -> Vec<DeviceCount> {
        let count = |(device, place): (&Device, &usize)| {
            let of = &self.all[*place].1;
            let events = of.count.iter().sum();
            DeviceCount { device: *device, events, of_requests: of.of_requests }
        };
        self.places.iter().map(count).collect()
    }
}

impl DeviceEvents {
    #[inline]
    fn take(&mut self, event: &Event) {
        self.count[event.action as usize] += 1;
        if event.action == Action::Notify {
            return;
        }
        self.last = self.last.max(event.time);
        let of_request = event.action.is_of_request() && event.of != Of::Nothing;
        self.of_requests += u64::from(of_request);
        let cpu = event.cpu as usize;
        if event.sequence == 0 || cpu >= PROCESSORS {
            return;
        }
        if self.sequence.len() <= cpu {
            self.sequence.resize(cpu + 1, 0);
        }
        let before = std::mem::replace(&mut self.sequence[cpu], event.sequence);
        if before != 0 && event.sequence > before {
            self.missing += u64::from(event.sequence - before - 1);
        }
    }

    fn by_action(&self) -> Vec<EventCount> {
        let counted = Action::ALL.into_iter().zip(self.count).filter(|(_, count)| *count > 0);
        let named = |(action, count): (Action, u64)| {
            let (letters, name) = action.names();
            EventCount { action: letters.to_owned(), name: name.to_owned(), count }
        };
        counted.map(named).collect()
    }
}
