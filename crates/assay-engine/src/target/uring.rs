//! A real file or block device, accessed through io_uring.
//!
//! *Hot path.* `submit` writes a queue entry, and sends the queue when it has a few. `poll` makes
//! one `io_uring_enter`, which sends the rest, runs the completions and waits; then it reads the
//! clock once for the whole batch. Neither allocates or makes another system call (a finite `until`
//! costs one more clock reading). File and buffers are registered, so that the kernel looks up
//! nothing per request.
//!
//! *Timer resolution.* All completions reaped by one `poll` carry the same time: the end of that
//! `poll`'s wait. A completion that was ready earlier in the batch is timed late by at most the
//! time the caller spent between two polls.
//!
//! *Invariants.* A tag is in flight at most once and below `depth`; reads and writes have separate
//! buffers per tag, so a write never carries data that was read; the buffers are unmapped only
//! when nothing is in flight. One thread creates and uses a target (it is not `Send`).
//!
//! *Not for* files opened without `O_DIRECT`, where it would measure the page cache, nor for tmpfs,
//! where the kernel hands every request to a worker thread.

use super::{ModelHints, Submit, Target};
use crate::error::{Error, Result};
use crate::stop;
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

pub(crate) mod buffers;
mod options;
mod ring;

pub use options::UringOptions;

use buffers::Region;
use ring::{build_ring, no_io_uring};

/// The most buffers that the kernel registers.
const REGISTERED_MAX: usize = 1 << 14;
/// The number of queued requests that are sent at once; fewer go out in the system call of the next
/// `poll`. Compared with fio, random 4 KiB reads at depth 32: holding a whole batch back leaves the
/// device idle (0.82 of fio's IOPS); sending each request alone costs more CPU time than fio.
const SEND_AT: usize = 4;
/// The expected result of a tag that is not in flight.
const FREE: i32 = -1;
/// The registered file.
const FILE: Fixed = Fixed(0);

/// A target on an open file or block device.
pub struct UringTarget {
    // `Drop` drops the ring before the buffers, or neither, as the kernel may still write to them.
    ring: ManuallyDrop<IoUring>,
    reads: ManuallyDrop<Region>,
    writes: ManuallyDrop<Option<Region>>,
    /// By tag: the result that means success, or `FREE` if the tag is not in flight.
    expected: Vec<i32>,
    /// The completions of requests that were not sent because they do not fit the target.
    refused: Vec<Completion>,
    in_flight: u32,
    /// The bytes of all writes and trims that were queued.
    written: Bytes,
    /// Whether a request has failed.
    has_failed: bool,
    /// The error after which the ring is not used any more; every request ends with it.
    broken: Option<i32>,
    registered: bool,
    stamp: u64,
    capacity: Bytes,
    options: UringOptions,
    _file: File,
}

impl UringTarget {
    /// Creates a target on `file`, opened with `O_DIRECT`, of which `capacity` is addressable.
    ///
    /// Also sets the calling thread's timer slack to its minimum: with the default of 50 µs, waits
    /// for an arrival time would end that much late.
    ///
    /// # Errors
    ///
    /// `uring-options` if the options make no sense, `no-io-uring` if the kernel refuses a ring,
    /// `no-memory` if the buffers do not fit.
    pub fn new(file: File, capacity: Bytes, options: UringOptions) -> Result<UringTarget> {
        options.check()?;
        let ring = build_ring(options.depth).map_err(no_io_uring)?;
        ring.submitter().register_files(&[file.as_raw_fd()]).map_err(no_io_uring)?;
        let map = || Region::new(options.depth, options.max_length).map_err(no_memory);
        let reads = map()?;
        let mut writes = if options.writes { Some(map()?) } else { None };
        if let Some(region) = &mut writes {
            region.fill(options.seed);
        }
        let registered = register(&ring, &reads, writes.as_ref());
        // SAFETY: this prctl takes a plain number and affects only the calling thread's timers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
        Ok(UringTarget {
            ring: ManuallyDrop::new(ring),
            reads: ManuallyDrop::new(reads),
            writes: ManuallyDrop::new(writes),
            expected: vec![FREE; options.depth as usize],
            refused: Vec::new(),
            in_flight: 0,
            written: Bytes::ZERO,
            has_failed: false,
            broken: None,
            registered,
            stamp: 0,
            capacity,
            options,
            _file: file,
        })
    }

    /// Returns the data of the last read with `tag`, or `None` while anything is in flight.
    pub fn read_data(&mut self, tag: u32, length: Bytes) -> Option<&[u8]> {
        let stride = self.reads.stride();
        if self.in_flight > 0 || tag >= self.options.depth || length.0 > stride as u64 {
            return None;
        }
        let start = tag as usize * stride;
        Some(&self.reads.bytes()[start..start + length.0 as usize])
    }

    /// Returns the bytes written and trimmed until now, or `None` if that is not known: requests
    /// are in flight, or some have failed.
    pub fn written(&self) -> Option<Bytes> {
        (self.in_flight == 0 && !self.has_failed).then_some(self.written)
    }

    /// Returns `true` if the request fits the target and its buffers.
    fn fits(&self, request: &Request) -> bool {
        let end = request.offset.0.checked_add(request.length.0);
        let in_range = end.is_some_and(|end| end <= self.capacity.0);
        let unit = self.options.granularity;
        let aligned = request.offset.is_multiple_of(unit) && request.length.is_multiple_of(unit);
        let transfers = matches!(request.op, Op::Read | Op::Write);
        let has_buffer = !transfers || request.length <= self.options.max_length;
        let usable = self.broken.is_none();
        usable
            && in_range
            && aligned
            && has_buffer
            && (request.op != Op::Write || self.writes.is_some())
    }

    /// Returns the queue entry for `request`, which fits.
    #[inline]
    fn entry(&mut self, request: &Request) -> squeue::Entry {
        let tag = request.tag as usize;
        let (offset, length) = (request.offset.0, request.length.0);
        match (request.op, &*self.writes) {
            (Op::Write, Some(region)) => {
                self.stamp += 1;
                // SAFETY: the tag is free (`submit` asserts it), so nothing is in flight on it.
                unsafe { region.stamp(tag, request.offset, length as usize, self.stamp) };
                let from = region.slot(tag).cast_const();
                // If the device has no FUA writes, the kernel sends a flush after each.
                let flags = if request.fua { libc::RWF_DSYNC } else { 0 };
                if self.registered {
                    let index = (self.options.depth as usize + tag) as u16;
                    let write = opcode::WriteFixed::new(FILE, from, length as u32, index);
                    write.offset(offset).rw_flags(flags).build()
                } else {
                    let write = opcode::Write::new(FILE, from, length as u32);
                    write.offset(offset).rw_flags(flags).build()
                }
            }
            (Op::Read | Op::Write, _) => {
                let into = self.reads.slot(tag);
                if self.registered {
                    let read = opcode::ReadFixed::new(FILE, into, length as u32, tag as u16);
                    read.offset(offset).build()
                } else {
                    opcode::Read::new(FILE, into, length as u32).offset(offset).build()
                }
            }
            // For a block device the kernel turns this into write-zeroes with unmap.
            (Op::Trim, _) => opcode::Fallocate::new(FILE, length)
                .offset(offset)
                .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
                .build(),
            (Op::Flush, _) => opcode::Fsync::new(FILE).flags(FsyncFlags::DATASYNC).build(),
        }
    }

    /// Calls `io_uring_enter` once: sends the queue and waits for a completion until `until`.
    fn enter(&mut self, until: Nanos) {
        let entered = if until == Nanos::NEVER {
            self.ring.submitter().submit_and_wait(1)
        } else {
            let left = until.saturating_sub(self.options.clock.now());
            let left = Timespec::from(std::time::Duration::from_nanos(left.0));
            self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&left))
        };
        if let Err(error) = entered {
            // A timeout or a signal ends the wait; a lack of memory passes, and unsent requests
            // stay queued for the next call. After any other error nothing is known of the ring.
            let passing = [libc::ETIME, libc::EINTR, libc::EAGAIN, libc::EBUSY, libc::ENOMEM];
            let code = error.raw_os_error().unwrap_or(libc::EIO);
            if !passing.contains(&code) {
                self.broken = Some(code);
            }
        }
    }

    /// Appends the completions that are there, all with the present time, and returns it.
    fn reap(&mut self, completions: &mut Vec<Completion>) -> Nanos {
        let finished = self.ring.completion();
        // The clock is read after the queue's end, so no completion gets a time before its own.
        let at = self.options.clock.now();
        for entry in finished {
            let (tag, result) = (entry.user_data() as u32, entry.result());
            let expected = std::mem::replace(&mut self.expected[tag as usize], FREE);
            debug_assert_ne!(expected, FREE, "tag {tag} completed twice");
            self.in_flight -= 1;
            let error = match result {
                _ if result == expected => 0,
                _ if result < 0 => -result,
                // A short transfer has no errno of its own.
                _ => libc::EIO,
            };
            self.has_failed |= error != 0;
            completions.push(Completion { tag, at, error });
        }
        if let Some(error) = self.broken {
            self.give_up(at, error, completions);
        }
        at
    }

    /// Ends all requests in flight with `error`, because the ring tells no more of them.
    fn give_up(&mut self, at: Nanos, error: i32, completions: &mut Vec<Completion>) {
        for (tag, expected) in (0..).zip(&mut self.expected) {
            if std::mem::replace(expected, FREE) != FREE {
                completions.push(Completion { tag, at, error });
            }
        }
        self.in_flight = 0;
        self.has_failed = true;
    }
}

impl Target for UringTarget {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn granularity(&self) -> Bytes {
        self.options.granularity
    }

    fn now(&mut self) -> Nanos {
        self.options.clock.now()
    }

    /// Queues `request`; it is sent with the next `poll` at the latest. A request that does not fit
    /// the target (range, alignment, longer than `max_length`, a write without write buffers) ends
    /// with `EINVAL`; once the ring is broken, every request ends with its error. A tag out of
    /// range or in flight is a bug of the caller and panics.
    fn submit(&mut self, _now: Nanos, request: Request) -> Submit {
        let tag = request.tag as usize;
        // The kernel will write to this tag's buffer, so these checks are needed for safety.
        assert!(tag < self.expected.len(), "tag {tag}, depth {}", self.expected.len());
        assert_eq!(self.expected[tag], FREE, "tag {tag} is in flight");
        if !self.fits(&request) {
            let (tag, at) = (request.tag, Nanos::ZERO);
            let error = self.broken.unwrap_or(libc::EINVAL);
            self.refused.push(Completion { tag, at, error });
            return Submit::Accepted;
        }
        let entry = self.entry(&request).user_data(u64::from(request.tag));
        // SAFETY: the buffer belongs to the tag alone, and `Drop` keeps it until the end of the
        // request; the file is registered with the ring.
        let mut pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            // The queue is full only if the kernel did not take it all before; now it may.
            let _ = self.ring.submit();
            // SAFETY: as above.
            pushed = unsafe { self.ring.submission().push(&entry) };
        }
        if pushed.is_err() {
            return Submit::Full;
        }
        let transfers = matches!(request.op, Op::Read | Op::Write);
        self.expected[tag] = if transfers { request.length.0 as i32 } else { 0 };
        self.in_flight += 1;
        if matches!(request.op, Op::Write | Op::Trim) {
            self.written += request.length;
        }
        if self.ring.submission().len() >= SEND_AT {
            let _ = self.ring.submit();
        }
        Submit::Accepted
    }

    /// Sends, waits and reaps. May return early without completions when a signal arrives, so that
    /// the caller sees Ctrl-C at once: it should look at the flag, then poll again.
    fn poll(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        let anything_refused = !self.refused.is_empty();
        if self.in_flight == 0 && !anything_refused {
            assert_ne!(until, Nanos::NEVER, "nothing in flight and nothing to wait for");
            return self.options.clock.sleep_until(until);
        }
        if self.in_flight > 0 {
            self.enter(if anything_refused { Nanos::ZERO } else { until });
        }
        let at = self.reap(completions);
        if anything_refused {
            completions.extend(self.refused.drain(..).map(|refused| Completion { at, ..refused }));
        }
        at
    }
}

impl ModelHints for UringTarget {}

impl Drop for UringTarget {
    /// Waits for all requests in flight, because the kernel writes to the buffers. If the program
    /// is to end and the device does not answer, or the ring is broken, ring and buffers stay until
    /// the process ends.
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.in_flight > 0 {
            let waited = stop::waited();
            if waited.is_some_and(|waited| waited > stop::PATIENCE) {
                return;
            }
            self.enter(match waited {
                None => Nanos::NEVER,
                Some(_) => self.options.clock.now() + Nanos::from_millis(100),
            });
            self.reap(&mut completions);
            completions.clear();
        }
        // The kernel may still write to the buffers of a ring of which nothing is known.
        if self.broken.is_some() {
            return;
        }
        // The kernel frees a ring later, and would keep the file open until then. An error means
        // that it does so.
        let _ = self.ring.submitter().unregister_files();
        // SAFETY: dropped once, here, with nothing in flight, and not used after it.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.writes);
            ManuallyDrop::drop(&mut self.reads);
        }
    }
}

/// Registers all buffers, reads first, then writes. Returns `false` if the kernel refuses.
fn register(ring: &IoUring, reads: &Region, writes: Option<&Region>) -> bool {
    let vectors: Vec<_> =
        reads.vectors().chain(writes.into_iter().flat_map(Region::vectors)).collect();
    debug_assert!(vectors.len() >= reads.slots());
    if vectors.len() > REGISTERED_MAX {
        return false;
    }
    // SAFETY: the regions live as long as the ring, which is dropped before them.
    unsafe { ring.submitter().register_buffers(&vectors) }.is_ok()
}

fn no_memory(cause: io::Error) -> Error {
    let hint = "use fewer jobs, a lower queue depth or smaller requests: each request in flight \
                has a buffer for the longest request, and two if the workload writes";
    Error::environment("no-memory", "there is no memory for the I/O buffers", hint).caused_by(cause)
}
