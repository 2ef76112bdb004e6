//! The drives of a machine: their models, and their contents.
//!
//! A guest's request consists of one or several operations of a drive. Its data is moved when the
//! request is submitted; the request ends when the model ends its last operation. Operations that
//! a model's queue has no room for wait here, in order. If the model fails a write, the old data
//! is restored.
//!
//! *Invariants.* Every submitted ticket comes back once, when its last operation ends. Time never
//! runs back.

mod slab;

use crate::store::Store;
use crate::vhost::block::{BlockOperation, BlockRequest, Range, Status};
use crate::vhost::memory::Memory;
use crate::vhost::message::Malformed;
use crate::vhost::ring::Piece;
use crate::vhost::session::Ticket;
use assay_sim::{Accept, Counters, Drive};
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use slab::Slab;
use std::collections::VecDeque;

/// A completed operation of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The number of the drive, from 0.
    pub disk: usize,
    /// The kind of operation.
    pub op: Op,
    /// The first byte.
    pub offset: Bytes,
    /// The number of bytes.
    pub length: Bytes,
    /// The time at which the kernel sent it, counted from the begin of the watch.
    pub submit: Nanos,
    /// The time at which it ended, counted from the begin of the watch.
    pub complete: Nanos,
    /// 0, or the errno of its failure.
    pub error: i32,
}

/// The number of tags of a process, and the limit of operations under way at a time.
pub const TAGS_PER_PROCESS: u32 = 1 << 20;

/// A function that gets every operation that ends while drives are watched, in order.
pub type Watch<'w> = Box<dyn FnMut(&Traced) + 'w>;

/// A drive of the machine, seen from the guest.
pub struct DiskSetup {
    /// The number of the model that serves it.
    pub model: usize,
    /// The offset of its first byte on that model.
    pub base: Bytes,
    /// The size.
    pub capacity: Bytes,
    /// Whether it supports discards.
    pub discards: bool,
    /// Whether its model may fail writes when it is worn out.
    pub wears_out: bool,
    /// The contents.
    pub store: Store,
}

/// A request under way.
struct Pending {
    disk: usize,
    ticket: Ticket,
    operations: u32,
    status: Status,
    /// The old data that it overwrites, by offset, on a drive that may fail the write.
    before: Vec<(Bytes, Vec<u8>)>,
}

/// An operation under way.
#[derive(Clone, Copy)]
struct InFlight {
    pending: u32,
    process: u32,
    op: Op,
    range: Range,
    submit: Nanos,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The number of its drive.
    pub disk: usize,
    /// The identity of the request.
    pub ticket: Ticket,
    /// The status.
    pub status: Status,
}

/// All drives of a machine.
pub struct Disks<'w> {
    models: Vec<Box<dyn Drive>>,
    disks: Vec<DiskSetup>,
    waiting: Vec<VecDeque<u32>>,
    pending: Slab<Pending>,
    operations: Slab<InFlight>,
    /// Whether the tags of a model's requests tell the process.
    by_process: bool,
    ended: Vec<Ended>,
    clock: Nanos,
    watch: Watch<'w>,
    /// The begin of the watch, if drives are watched.
    watched: Option<Nanos>,
    /// The models' counters at the end of the watch.
    counted: Option<Vec<CounterValues>>,
    buffer: Vec<u8>,
    completions: Vec<Completion>,
    /// The first drive whose contents could not be kept, and why.
    lost: Option<(usize, std::io::Error)>,
}

/// The counters of a model: (name, value).
pub type CounterValues = Vec<(String, f64)>;

impl<'w> Disks<'w> {
    /// Creates the drives `disks`, which `models` serve. They are watched from time zero on.
    pub fn new(models: Vec<Box<dyn Drive>>, disks: Vec<DiskSetup>, watch: Watch<'w>) -> Self {
        let waiting = models.iter().map(|_| VecDeque::new()).collect();
        Disks {
            models,
            disks,
            waiting,
            pending: Slab::default(),
            operations: Slab::default(),
            by_process: false,
            ended: Vec::new(),
            clock: Nanos::ZERO,
            watch,
            watched: Some(Nanos::ZERO),
            counted: None,
            buffer: Vec::new(),
            completions: Vec::new(),
            lost: None,
        }
    }

    /// Makes the tags of a model's requests tell the process: each has [`TAGS_PER_PROCESS`] tags.
    #[must_use]
    pub fn by_process(mut self) -> Self {
        self.by_process = true;
        self
    }

    /// Returns the drives, in order.
    pub fn disks(&self) -> &[DiskSetup] {
        &self.disks
    }

    /// Returns the models, e.g. for their statistics.
    pub fn models(&mut self) -> &mut [Box<dyn Drive>] {
        &mut self.models
    }

    /// Begins the watch of operations at `now`, with new statistics of the models, or ends it.
    pub fn set_watched(&mut self, now: Nanos, watched: bool) {
        self.counted = (!watched).then(|| self.counters());
        self.watched = watched.then_some(now);
        if watched {
            self.models.iter_mut().for_each(Counters::mark);
        }
    }

    /// Returns the models' own counters over the last watch.
    pub fn counters(&self) -> Vec<CounterValues> {
        let now = || self.models.iter().map(|model| model.counters()).collect();
        self.counted.clone().unwrap_or_else(now)
    }

    /// Returns the time of the next event, if there is one.
    pub fn next_event(&self) -> Option<Nanos> {
        if !self.ended.is_empty() {
            return Some(self.clock);
        }
        self.models.iter().filter_map(|model| model.next_event()).min()
    }

    /// Submits a request of the guest at `now`, and moves its data.
    ///
    /// # Errors
    /// If it names memory that the guest does not have, or if too many operations are under way.
    pub fn submit(
        &mut self,
        now: Nanos,
        disk: usize,
        ticket: Ticket,
        request: &BlockRequest,
        memory: &Memory,
    ) -> Result<(), Malformed> {
        self.clock = self.clock.max(now);
        let before = self.before(disk, request);
        let status = self.move_data(disk, request, memory)?;
        let operations = request.operations(self.disks[disk].capacity);
        let operations = operations.filter(|all| status == Status::Fine && !all.is_empty());
        let Some(operations) = operations else {
            self.ended.push(Ended { disk, ticket, status });
            return Ok(());
        };
        let count = operations.len() as u32;
        let pending = Pending { disk, ticket, operations: count, status: Status::Fine, before };
        let pending = self.pending.insert(pending);
        for (op, range) in operations {
            let process = request.process;
            let flying = InFlight { pending, process, op, range, submit: now };
            let tag = self.operations.insert(flying);
            if tag >= TAGS_PER_PROCESS {
                return Err(Malformed("more requests than any queue is deep".into()));
            }
            let model = self.disks[disk].model;
            self.waiting[model].push_back(tag);
            self.feed(model, now);
        }
        Ok(())
    }

    /// Reads the data that `request` overwrites, if the drive may fail the write.
    fn before(&self, disk: usize, request: &BlockRequest) -> Vec<(Bytes, Vec<u8>)> {
        let DiskSetup { capacity, wears_out, store, .. } = &self.disks[disk];
        let operations = request.operations(*capacity).filter(|_| *wears_out).into_iter().flatten();
        let changes = operations.filter(|(op, _)| matches!(op, Op::Write | Op::Trim));
        changes
            .filter_map(|(_, range)| {
                let mut bytes = vec![0; range.length.0 as usize];
                store.read(range.offset, &mut bytes).ok()?;
                Some((range.offset, bytes))
            })
            .collect()
    }

    /// Ends a request that no model serves, at `now`.
    pub(crate) fn end(&mut self, now: Nanos, disk: usize, ticket: Ticket, status: Status) {
        self.clock = self.clock.max(now);
        self.ended.push(Ended { disk, ticket, status });
    }

    /// Submits waiting operations to a model until its queue is full.
    fn feed(&mut self, model: usize, now: Nanos) {
        while let Some(tag) = self.waiting[model].front().copied() {
            let InFlight { pending, process, op, range, .. } = *self.operations.get(tag);
            let base = self.disks[self.pending.get(pending).disk].base;
            let offset = base + range.offset;
            let process = if self.by_process { process } else { 0 };
            let tag = process * TAGS_PER_PROCESS + tag;
            let request = Request { tag, op, offset, length: range.length, fua: false };
            if self.models[model].submit(now, request) == Accept::QueueFull {
                return;
            }
            self.waiting[model].pop_front();
        }
    }

    /// Moves the data of a request between memory and store. Returns the status.
    fn move_data(
        &mut self,
        disk: usize,
        request: &BlockRequest,
        memory: &Memory,
    ) -> Result<Status, Malformed> {
        const NAME: usize = 20;
        let setup = &mut self.disks[disk];
        if request.operations(setup.capacity).is_none() {
            return Ok(Status::Failed);
        }
        let store = &mut setup.store;
        let buffer = &mut self.buffer;
        let moved = match &request.operation {
            BlockOperation::Read(pieces) => each(pieces, request.offset, |offset, piece| {
                buffer.resize(piece.length as usize, 0);
                let read = store.read(offset, buffer);
                memory.write(piece.guest, buffer).map(|()| read)
            }),
            BlockOperation::Write(pieces) => each(pieces, request.offset, |offset, piece| {
                buffer.resize(piece.length as usize, 0);
                memory.read(piece.guest, buffer).map(|()| store.write(offset, buffer))
            }),
            BlockOperation::Discard(_) if !setup.discards => return Ok(Status::Unsupported),
            BlockOperation::Discard(ranges) | BlockOperation::WriteZeroes(ranges) => {
                Ok(ranges.iter().try_for_each(|r| store.clear(r.offset, r.length)))
            }
            BlockOperation::Flush => Ok(Ok(())),
            BlockOperation::Name(piece) => {
                let name = format!("assay-{disk}");
                let mut bytes = vec![0; NAME.min(piece.length as usize)];
                bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
                memory.write(piece.guest, &bytes)?;
                Ok(Ok(()))
            }
            BlockOperation::Unknown => return Ok(Status::Unsupported),
        }?;
        Ok(match moved {
            Ok(()) => Status::Fine,
            Err(e) => {
                self.lost.get_or_insert((disk, e));
                Status::Failed
            }
        })
    }

    /// Returns the drive whose contents could not be kept, and why, if there is one.
    pub(crate) fn take_lost(&mut self) -> Option<(usize, std::io::Error)> {
        self.lost.take()
    }

    /// Advances the models to `to`, and appends the requests that have ended by then to `ended`.
    pub fn advance(&mut self, to: Nanos, ended: &mut Vec<Ended>) {
        self.clock = self.clock.max(to);
        ended.append(&mut self.ended);
        for model in 0..self.models.len() {
            let mut completions = std::mem::take(&mut self.completions);
            self.models[model].advance(to, &mut completions);
            let any = !completions.is_empty();
            for completion in completions.drain(..) {
                self.complete(completion, ended);
            }
            self.completions = completions;
            if any {
                self.feed(model, to);
            }
        }
    }

    fn complete(&mut self, completion: Completion, ended: &mut Vec<Ended>) {
        let tag = completion.tag % TAGS_PER_PROCESS;
        let InFlight { pending: index, op, range, submit, .. } = self.operations.remove(tag);
        let pending = self.pending.get_mut(index);
        let Completion { at: complete, error, .. } = completion;
        if let Some(since) = self.watched {
            (self.watch)(&Traced {
                disk: pending.disk,
                op,
                offset: range.offset,
                length: range.length,
                submit: submit.saturating_sub(since),
                complete: complete.saturating_sub(since),
                error,
            });
        }
        if error != 0 {
            pending.status = Status::Failed;
        }
        pending.operations -= 1;
        if pending.operations == 0 {
            let Pending { disk, ticket, status, before, .. } = self.pending.remove(index);
            if status == Status::Failed {
                for (offset, bytes) in before {
                    // If this fails, too, the guest learns of the failed write all the same.
                    let _ = self.disks[disk].store.write(offset, &bytes);
                }
            }
            ended.push(Ended { disk, ticket, status });
        }
    }
}

/// Calls `one` for each piece with its offset on the drive: the pieces follow one another there.
/// Stops at the first error.
fn each<E>(
    pieces: &[Piece],
    offset: Bytes,
    mut one: impl FnMut(Bytes, &Piece) -> Result<std::io::Result<()>, E>,
) -> Result<std::io::Result<()>, E> {
    let mut offset = offset;
    for piece in pieces {
        if let Err(e) = one(offset, piece)? {
            return Ok(Err(e));
        }
        offset += Bytes(u64::from(piece.length));
    }
    Ok(Ok(()))
}
