//! The guest's clock, which assay keeps: `time-travel=ext` of User-Mode Linux.
//!
//! After `include/uapi/linux/um_timetravel.h` of Linux 6.12. The kernel runs until it has nothing
//! to do before its next timer, names that time, and waits to be told to run. It may run without
//! asking up to the next event of the drives, so the drives never get a request from their past.
//!
//! There are two ways, which give the same times: shared memory, in which the kernel notes the
//! time at which it wants to run ([`Schedule::Shared`]), or messages only ([`Schedule::Messages`],
//! the only way of kernels before 6.12, and twice as slow).

use assay_spec::Nanos;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use vm_memory::{ByteValued, FileOffset, MmapRegion, VolatileMemory};

/// The way in which the kernel and its clock exchange times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Shared memory, and messages where one side waits.
    #[default]
    Shared,
    /// Messages only.
    Messages,
}

/// The size of a message, in bytes.
pub const MESSAGE: usize = 16;

/// The kind of a message, with its number in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// An acknowledgement of any other message.
    Ack = 0,
    /// The kernel's first message.
    Start = 1,
    /// A time at which the kernel wants to run.
    Request = 2,
    /// The kernel waits.
    Wait = 3,
    /// The kernel asks what time it is.
    Get = 4,
    /// The kernel says what time it is.
    Update = 5,
    /// The kernel may run, from this time on.
    Run = 6,
    /// The kernel may run without asking until this time.
    FreeUntil = 7,
    /// The kernel asks for the date.
    GetDate = 8,
    /// A message to all participants of the clock; here a signal of the guest (`guest::Signal`).
    Broadcast = 9,
}

/// A message of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The kind.
    pub kind: Kind,
    /// The number that the acknowledgement repeats.
    pub sequence: u32,
    /// A time in ns, or another value, depending on the kind.
    pub time: u64,
}

impl Message {
    /// Parses a message. Returns `None` if its kind is unknown.
    pub fn parse(bytes: &[u8; MESSAGE]) -> Option<Message> {
        const KINDS: [Kind; 10] = [
            Kind::Ack,
            Kind::Start,
            Kind::Request,
            Kind::Wait,
            Kind::Get,
            Kind::Update,
            Kind::Run,
            Kind::FreeUntil,
            Kind::GetDate,
            Kind::Broadcast,
        ];
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let kind = *KINDS.get(word(0) as usize)?;
        let time = u64::from_ne_bytes(bytes[8..].try_into().expect("8 bytes"));
        Some(Message { kind, sequence: word(4), time })
    }

    /// Returns the message in the form in which it is sent.
    pub fn bytes(self) -> [u8; MESSAGE] {
        let mut bytes = [0; MESSAGE];
        bytes[..4].copy_from_slice(&(self.kind as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }
}

/// The latest time: the kernel treats later ones as an error.
pub const FOREVER: Nanos = Nanos(i64::MAX as u64 - 1);
/// The number of assay among the clients of the page.
pub const OWN_ID: u16 = 0;
/// The number of the kernel among the clients of the page.
pub const KERNEL_ID: u16 = 1;
const CLIENTS: u16 = 2;
const HEADER: usize = 4096;
const CLIENT: usize = 128;
const VERSION: u32 = 2;
/// The capability of a client that keeps its times on the page.
const TIME_SHARE: u32 = 1;
/// The flag of a client that wants to run at the time it has noted.
const WANTS_RUN: u32 = 1;

/// The page of shared memory: a header and an entry for each client.
///
/// Its file is assay's and sealed, so that no one can truncate it under the mapping. The kernel
/// waits while assay reads or writes it.
#[derive(Debug)]
pub struct Page {
    file: File,
    mapped: MmapRegion,
}

impl Page {
    /// Creates a page at time zero. With [`Schedule::Messages`] it has a version that no kernel
    /// knows, which makes the kernel send messages.
    ///
    /// # Errors
    /// If the system cannot make or map a memory file.
    pub fn new(schedule: Schedule) -> io::Result<Page> {
        let fd = memfd_create("assay-time", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let length = HEADER + CLIENT * usize::from(CLIENTS);
        ftruncate(&fd, length as u64)?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let file = File::from(fd);
        let mapped = FileOffset::new(file.try_clone()?, 0);
        let mapped = MmapRegion::from_file(mapped, length).map_err(io::Error::other)?;
        let page = Page { file, mapped };
        let version = if schedule == Schedule::Shared { VERSION } else { u32::MAX };
        page.put(0, version);
        page.put(4, length as u32);
        page.put(26, CLIENTS);
        page.put(HEADER, TIME_SHARE);
        page.set(FOREVER, Nanos::ZERO, KERNEL_ID);
        Ok(page)
    }

    /// Returns the descriptor of the page's file, for the kernel.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn put<T: ByteValued>(&self, at: usize, value: T) {
        self.mapped.get_ref(at).expect("inside the page").store(value);
    }

    fn get<T: ByteValued>(&self, at: usize) -> T {
        self.mapped.get_ref(at).expect("inside the page").load()
    }

    /// Sets the time up to which the running client needs not ask, the current time, and the number
    /// of the running client.
    pub fn set(&self, free_until: Nanos, now: Nanos, running: u16) {
        self.set_free_until(free_until);
        self.put(16, now.0);
        self.put(24, running);
    }

    /// Sets the time up to which the running client needs not ask.
    pub fn set_free_until(&self, until: Nanos) {
        self.put(8, until.0);
    }

    /// Returns the current time.
    pub fn now(&self) -> Nanos {
        Nanos(self.get(16))
    }

    /// Returns the time at which the kernel wants to run, or `None` if it has noted none.
    pub fn request(&self) -> Option<Nanos> {
        let client = HEADER + CLIENT * usize::from(KERNEL_ID);
        let flags: u32 = self.get(client + 4);
        (flags & WANTS_RUN != 0).then(|| Nanos(self.get(client + 8)))
    }

    /// Returns `true` if the kernel keeps its times on the page.
    pub fn is_used(&self) -> bool {
        let capabilities: u32 = self.get(HEADER + CLIENT * usize::from(KERNEL_ID));
        capabilities & TIME_SHARE != 0
    }
}
