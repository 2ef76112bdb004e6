//! The guest's clock, which is ours: `time-travel=ext` of User-Mode Linux.
//!
//! After `include/uapi/linux/um_timetravel.h` of Linux 6.12. The kernel runs until it has nothing
//! to do before a time it names, waits, and is told when it runs again. It may run freely up to the
//! next event of the drives; so the drives never see a request from their past.
//!
//! Two ways lead to the same times: a page of shared memory, in which the kernel notes what it
//! wants ([`Schedule::Shared`]), or a message for everything ([`Schedule::Messages`], the only way
//! of kernels before 6.12, and twice as slow).

use assay_spec::Nanos;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use vm_memory::{ByteValued, FileOffset, MmapRegion, VolatileMemory};

/// How times pass between the kernel and us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// In shared memory.
    #[default]
    Shared,
    /// In messages.
    Messages,
}

/// Bytes of a message.
pub const MESSAGE: usize = 16;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// The answer to any other.
    Ack = 0,
    /// The kernel is there.
    Start = 1,
    /// The kernel wants to run then.
    Request = 2,
    /// The kernel waits.
    Wait = 3,
    /// The kernel asks what time it is.
    Get = 4,
    /// The kernel says what time it is.
    Update = 5,
    /// The kernel may run.
    Run = 6,
    /// The kernel may run freely until then.
    FreeUntil = 7,
    /// The kernel asks for the date.
    GetDate = 8,
    /// For all who take part.
    Broadcast = 9,
}

/// A message of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// What for.
    pub kind: Kind,
    /// Comes back with the answer.
    pub sequence: u32,
    /// A time, or what else the kind says.
    pub time: u64,
}

impl Message {
    /// Reads a message; `None` if there is no such kind.
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

    /// As it is sent.
    pub fn bytes(self) -> [u8; MESSAGE] {
        let mut bytes = [0; MESSAGE];
        bytes[..4].copy_from_slice(&(self.kind as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }
}

/// The end of time: the kernel treats later times as an error.
pub const FOREVER: Nanos = Nanos(i64::MAX as u64 - 1);
/// Our number among those who share the memory.
pub const OWN_ID: u16 = 0;
/// The kernel's.
pub const KERNEL_ID: u16 = 1;
const CLIENTS: u16 = 2;
const HEADER: usize = 4096;
const CLIENT: usize = 128;
const VERSION: u32 = 2;
/// The client reads and writes times in the memory.
const TIME_SHARE: u32 = 1;
/// The client wants to run.
const WANTS_RUN: u32 = 1;

/// The shared memory. It is ours and sealed, so its mapping cannot lose what lies behind it; the
/// kernel is stopped while it is read or written here.
#[derive(Debug)]
pub struct Page {
    file: File,
    mapped: MmapRegion,
}

impl Page {
    /// A page at time zero; with [`Schedule::Messages`] one that no kernel understands, which makes
    /// it send messages.
    ///
    /// # Errors
    /// If the system has no memory files.
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

    /// Its descriptor, to be passed on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn put<T: ByteValued>(&self, at: usize, value: T) {
        self.mapped.get_ref(at).expect("inside the page").store(value);
    }

    fn get<T: ByteValued>(&self, at: usize) -> T {
        self.mapped.get_ref(at).expect("inside the page").load()
    }

    /// Sets how far whoever runs may go without asking, what time it is, and whose turn it is.
    pub fn set(&self, free_until: Nanos, now: Nanos, running: u16) {
        self.set_free_until(free_until);
        self.put(16, now.0);
        self.put(24, running);
    }

    /// The kernel may run up to then without asking.
    pub fn set_free_until(&self, until: Nanos) {
        self.put(8, until.0);
    }

    /// What time it is.
    pub fn now(&self) -> Nanos {
        Nanos(self.get(16))
    }

    /// When the kernel wants to run, if it does.
    pub fn request(&self) -> Option<Nanos> {
        let client = HEADER + CLIENT * usize::from(KERNEL_ID);
        let flags: u32 = self.get(client + 4);
        (flags & WANTS_RUN != 0).then(|| Nanos(self.get(client + 8)))
    }

    /// Whether the kernel uses the page at all.
    pub fn is_used(&self) -> bool {
        let capabilities: u32 = self.get(HEADER + CLIENT * usize::from(KERNEL_ID));
        capabilities & TIME_SHARE != 0
    }
}
