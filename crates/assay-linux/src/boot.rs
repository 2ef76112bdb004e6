//! From a kernel and drives to a guest that does a job.
//!
//! Every guest has a directory of its own: its sockets, and in a second one, which is all of the
//! host that it can change, the job and what comes of it. All that a guest could see of where and
//! when it runs is the same each time (`command`): that is what makes two runs the same to the
//! byte.
//!
//! *Invariant.* However this ends, the kernel's processes are gone after it, and the directory is;
//! if this process is killed, when the next one boots a guest.

use crate::child::Group;
use crate::clock::Schedule;
use crate::console::Console;
use crate::disks::Disks;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, tool_path};
use crate::machine::{Limits, Machine, Sockets};
use crate::program::{Program, REGION};
use crate::socket_io;
use assay_fs::Scratch;
use assay_spec::{Bytes, Nanos};
use rustix::fs::{Mode, OFlags, openat, statfs, statvfs};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a guest shares with its host, in the directory that its kernel runs in. The kernel knows it
/// by this name (`kernel.patch`) and lets nothing outside be changed.
const SHARED: &str = "shared";
/// What a guest finds its job in, there, and where it leaves what came of it.
pub const JOB: &str = "job.json";
/// What the guest leaves when its job is done.
pub const RESULT: &str = "result.json";

/// Where programs are found, by the kernel's process and in the guest.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A guest, as asked for.
pub struct Boot<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The job, in words of this program's own: it does it as `assay linux init`.
    pub job: String,
    /// The guest's memory.
    pub memory: Bytes,
    /// Requests that a drive has at a time.
    pub queue_depth: u32,
    /// Block size of the drives.
    pub sector: Bytes,
    /// How the clock is kept.
    pub schedule: Schedule,
    /// What it may use up.
    pub limits: Limits,
    /// Whether the guest says when its drives are to be watched; else they are from the start.
    pub watches_itself: bool,
}

/// What the guest mounts: [`SHARED`], in the same words in every guest.
pub(crate) const SHARED_BY_HOST: &str = "/proc/self/cwd/shared";

/// What a guest left.
pub struct Outcome {
    /// The directory with everything; removed when this is dropped.
    pub directory: Directory,
    /// What the guest left as its result.
    pub result: String,
    /// How long it lived.
    pub virtual_time: Nanos,
    /// How long that took.
    pub wall: Duration,
}

/// A directory for one guest, gone with the value or, if this process is killed, at the next boot.
#[derive(Debug)]
pub struct Directory(Scratch);

impl Directory {
    fn new() -> Result<Directory> {
        // A socket's path has room for a hundred letters.
        let base = Some(std::env::temp_dir()).filter(|d| d.as_os_str().len() < 60);
        let base = base.unwrap_or_else(|| PathBuf::from("/tmp"));
        let made = Scratch::new(&base, "assay-linux", |_| true);
        made.map(Directory).map_err(|e| {
            let message = format!("no directory can be made in {}", base.display());
            let hint = "make it, with room in it, or let `TMPDIR` name another";
            Error::new("linux-system", message, hint).caused_by(e)
        })
    }

    /// Opens a file that the guest has left. It may be a link to anywhere, or what would have its
    /// reader wait for ever: such are refused.
    ///
    /// # Errors
    /// If there is no plain file of this name.
    pub fn open(&self, name: &str) -> std::io::Result<File> {
        let mut at = OwnedFd::from(File::open(self.0.path().join(SHARED))?);
        for part in name.split('/') {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            at = openat(&at, part, flags, Mode::empty())?;
        }
        let file = File::from(at);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(std::io::ErrorKind::InvalidInput.into()),
        }
    }
}

/// A processor for one kernel and its drives. They take turns and never work at the same time; on
/// two processors each turn would wake the other one up, which takes three times as long.
struct Core {
    number: usize,
    before: CpuSet,
}

static TAKEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

impl Core {
    /// Moves this thread to a processor that no other guest is on, if there is one.
    fn take() -> Option<Core> {
        let before = sched_getaffinity(None).ok()?;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = (0..CpuSet::MAX_CPU).filter(|n| before.is_set(*n) && !taken.contains(n));
        let number = free.next()?;
        let mut only = CpuSet::new();
        only.set(number);
        sched_setaffinity(None, &only).ok()?;
        taken.insert(number);
        Some(Core { number, before })
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // If it fails the thread stays where it is.
        let _ = sched_setaffinity(None, &self.before);
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// Boots a guest and serves it until its end. `disks` come back with what they have counted.
/// Somebody may talk to it by `console`, its last drive.
///
/// # Errors
/// If the guest cannot be booted, breaks off, or leaves no result.
pub fn boot<'w>(
    boot: &Boot<'_>,
    mut disks: Disks<'w>,
    console: Option<Console>,
) -> Result<(Outcome, Machine<'w>)> {
    let _core = Core::take();
    let _reservation = MemoryReservation::take(boot.memory)?;
    let directory = Directory::new()?;
    disks.set_watched(Nanos::ZERO, !boot.watches_itself);
    let begun = Instant::now();
    let path = directory.0.path();
    let listen =
        |name: &str| UnixListener::bind(path.join(name)).map_err(|e| Error::system("a socket", e));
    let count = disks.disks().len() + usize::from(console.is_some());
    let sockets = Sockets {
        clock: listen("tt")?,
        disks: (0..count).map(|i| listen(&format!("blk{i}"))).collect::<Result<_>>()?,
    };
    let program = Program::this()?;
    prepare(boot, &program, path).map_err(|e| Error::system("the guest's directory", e))?;
    let mut machine =
        Machine::new(disks, console, sockets, boot.sector, boot.schedule, boot.limits)?;
    let said = File::create(path.join("console"));
    let said = said.map_err(|e| Error::system("the guest's console", e))?;
    let no_process = |e| Error::system("the kernel's process", e);
    let processes = Group::start(&mut command(boot, path, count, &said)?).map_err(no_process)?;
    let process = processes.process().map_err(no_process)?;
    let served = machine.serve(process.as_fd());
    // What it broke off by ending is its end.
    let broke_off = |e: &Error| ["linux-system", "linux-protocol"].contains(&e.id);
    let soon = Duration::from_millis(100);
    let has_ended =
        served.as_ref().is_err_and(broke_off) && socket_io::is_ready_within(soon, process.as_fd());
    drop(processes);
    let last_words = || last_words(&path.join("console"));
    let ended = || {
        let message = format!("the guest ended before its job was done{}", last_words());
        Error::new("linux-ended", message, "`assay linux status` says whether the kernel can run")
    };
    served.map_err(|e| match has_ended {
        true => ended(),
        false => Error { message: format!("{}{}", e.message, last_words()), ..e },
    })?;
    let result = directory.open(RESULT).and_then(std::io::read_to_string).map_err(|_| ended())?;
    let (virtual_time, wall) = (machine.now(), begun.elapsed());
    Ok((Outcome { directory, result, virtual_time, wall }, machine))
}

/// Room for a guest's memory where the kernel keeps it. It is mapped there by both sides, and a
/// mapping that finds no room ends whoever touches it, without a word.
struct MemoryReservation(u64);

/// What living guests may fill, and what was free before the first of them.
static ROOM: Mutex<[u64; 2]> = Mutex::new([0, 0]);
static LEFT: Condvar = Condvar::new();

impl MemoryReservation {
    /// Waits until other guests leave enough of it.
    ///
    /// # Errors
    /// If it would not be enough without them.
    fn take(memory: Bytes) -> Result<MemoryReservation> {
        let mut room = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if room[0] == 0 {
                room[1] = free_room(memory)?;
            }
            if memory.0 <= room[1].saturating_sub(room[0]) {
                room[0] += memory.0;
                return Ok(MemoryReservation(memory.0));
            }
            room = LEFT.wait(room).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        ROOM.lock().unwrap_or_else(PoisonError::into_inner)[0] -= self.0;
        LEFT.notify_all();
    }
}

/// What is free where the kernel keeps a guest's memory; as much as `memory` at least.
fn free_room(memory: Bytes) -> Result<u64> {
    /// `f_type` of a tmpfs.
    const TMPFS: u32 = 0x0102_1994;
    // As the kernel chooses, to which no `TMPDIR` is passed on.
    let is_tmpfs = |place: &&str| statfs(*place).is_ok_and(|s| s.f_type as u32 == TMPFS);
    let place = Some("/dev/shm").filter(is_tmpfs).unwrap_or("/tmp");
    let space = statvfs(place).map_err(|e| Error::system(place, e.into()))?;
    // A tmpfs without a limit has no blocks at all.
    let free = match space.f_blocks {
        0 => u64::MAX,
        _ => space.f_bavail.saturating_mul(space.f_frsize),
    };
    if memory.0 <= free {
        return Ok(free);
    }
    let free = Bytes(free);
    let message = format!("the guest's memory of {memory} lies in {place}, which has {free} left");
    let hint = "give it less (`--memory`, `memory=`), or make room there";
    Err(Error::new("linux-room", message, hint))
}

/// What the guest finds.
fn prepare(boot: &Boot<'_>, program: &Program, path: &Path) -> std::io::Result<()> {
    let shared = path.join(SHARED);
    fs::create_dir(&shared)?;
    fs::write(shared.join(JOB), &boot.job)?;
    symlink(&boot.kernel.init, path.join("init"))?;
    // The kernel opens it by itself, by a name that is the same for every guest.
    let memory = format!("/proc/{}/fd/{}", std::process::id(), program.memory().as_raw_fd());
    symlink(memory, path.join("program"))
}

/// The command that runs the kernel. Sockets and the guest's first program are named from the
/// directory that it runs in, so that the kernel's command line, which its random numbers are drawn
/// from, is always the same. Addresses are not randomised: where memory lies decides which requests
/// can be merged. It dies with the thread that started it.
fn command(boot: &Boot<'_>, path: &Path, disks: usize, console: &File) -> Result<Command> {
    let find =
        |tool: &str| tool_path(tool).ok_or_else(|| crate::kernel::missing(tool, "util-linux"));
    let mut command = Command::new(find("setpriv")?);
    command.args(["--pdeathsig", "KILL"]).arg(find("setarch")?).arg("-R").arg(&boot.kernel.path);
    command.arg(format!("mem={}M", boot.memory.0 >> 20));
    command.args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]);
    command.args(["init=/proc/self/cwd/init", "con=null", "con0=null,fd:1", "ssl=null"]);
    command.args(["quiet", "norandmaps", "panic=-1", "umid=guest", "uml_dir=./uml/"]);
    command.arg(format!("virtio_blk.queue_depth={}", boot.queue_depth));
    command.arg("time-travel=ext:tt").arg(format!("iomem={REGION},program"));
    command.args((0..disks).map(|i| format!("virtio_uml.device=blk{i}:2")));
    // What the kernel does not know goes to the first program's environment.
    command.arg(format!("PATH={PATH}"));
    command.args(["--", "linux", "init"]);
    command
        .current_dir(path)
        .env_clear()
        .env("HOME", "/run")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let twin = |file: &File| file.try_clone().map_err(|e| Error::system("the guest's console", e));
    command.stdin(Stdio::null()).stdout(twin(console)?).stderr(twin(console)?);
    Ok(command)
}

/// The end of what the kernel said, for an error.
fn last_words(console: &Path) -> String {
    const LINES: usize = 60;
    let text = fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    last.iter().map(|line| format!("\n  guest: {line}")).collect()
}
