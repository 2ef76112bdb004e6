//! Boots a guest, and serves it until it has done its job.
//!
//! Every guest has a directory of its own with its sockets. In it lies the shared directory, to
//! which it writes its result: the only part of the host that the guest can change. The guest sees
//! the same command line, environment and paths each time (`command`), so that two runs give the
//! same result to the byte.
//!
//! *Invariant.* After the run, however it ends, the kernel's processes and the directory are gone.
//! If this process is killed, the next boot of a guest removes the directory.

use crate::c_library::{ANY_PROCESSOR, TUNABLES};
use crate::child::{Group, WATCHED};
use crate::clock::Schedule;
use crate::console::Console;
use crate::disks::Disks;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, tool_path};
use crate::limits::Limits;
use crate::machine::{Machine, Sockets};
use crate::program::{Program, REGION};
use crate::socket_io;
use assay_fs::{Scratch, changeable_by_others};
use assay_spec::date::Date;
use assay_spec::device::WorkCosts;
use assay_spec::experiment::UserTime;
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

/// The directory that a guest shares with its host, in the directory that its kernel runs in. The
/// kernel knows it by this name (`kernel.patch`) and lets the guest change nothing outside it.
const SHARED: &str = "shared";
/// The file in the shared directory that the guest writes when its job is done.
pub const RESULT: &str = "result.json";

/// The file in the shared directory with the changes that a guest keeps (`Job::keeps_changes`).
pub const CHANGES: &str = "changes.tar";
/// The file with the reason, as JSON, if it could not keep them: message and hint.
pub const CHANGES_ERROR: &str = "changes.error";

/// The search path for programs in the guest.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The parameters of a guest.
pub struct Boot<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The job as JSON (`Job::text`). The guest does it as `assay linux init`.
    pub job: String,
    /// The guest's memory.
    pub memory: Bytes,
    /// The time that the kernel's work takes. `None` if it takes none.
    pub work: Option<WorkCosts>,
    /// What concerns programs of the user's in a cell; `None` if there are none.
    pub programs: Option<Programs>,
    /// The most requests of a drive at a time.
    pub queue_depth: u32,
    /// Block size of the drives.
    pub sector: Bytes,
    /// The way in which the kernel and its clock exchange times.
    pub schedule: Schedule,
    /// The day on which it boots.
    pub date: Date,
    /// The limits of its run.
    pub limits: Limits,
    /// Whether the guest says when its drives are watched. Otherwise they are from the start.
    pub watches_itself: bool,
}

/// What concerns programs of the user's in a cell.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The directory with the image of the files that they begin with ([`Directory::shared`]).
    pub image: Option<PathBuf>,
    /// The seed of the kernel's random numbers, which programs get.
    pub seed: u64,
    /// The time that the programs' computing takes.
    pub user_time: UserTime,
}

/// The host's path that the guest mounts: [`SHARED`], by a path that is the same in every guest.
pub(crate) const SHARED_BY_HOST: &str = "/proc/self/cwd/shared";
/// A link to the directory with the image, which the guest mounts too. It cannot change that.
const IMAGE: &str = "image";
pub(crate) const IMAGE_BY_HOST: &str = "/proc/self/cwd/image";

/// The result of a guest's run.
pub struct Outcome {
    /// The guest's directory, which is removed when this is dropped.
    pub directory: Directory,
    /// The contents of [`RESULT`].
    pub result: String,
    /// The virtual time at the guest's end.
    pub virtual_time: Nanos,
    /// The wall-clock time of the run.
    pub wall: Duration,
}

/// The directory of one guest. It is removed when the value is dropped or, if this process is
/// killed, at the next boot.
#[derive(Debug)]
pub struct Directory(Scratch);

impl Directory {
    fn new() -> Result<Directory> {
        // A Unix socket's path is at most 107 bytes long, and the guest has a /dev of its own.
        let is_fit = |d: &PathBuf| {
            let real = d.canonicalize().unwrap_or_default();
            d.as_os_str().len() < 60 && !real.starts_with("/dev")
        };
        let named = Some(std::env::temp_dir()).filter(|d| !d.as_os_str().is_empty());
        let base = named.filter(is_fit);
        let base = base.unwrap_or_else(|| PathBuf::from("/tmp"));
        let unusable = |e| {
            let message = format!("assay cannot make a directory in {}", base.display());
            let hint = "check that it exists and has free space, or set `TMPDIR` to another \
                        directory";
            Error::new("linux-system", message, hint).caused_by(e)
        };
        base.metadata().map_err(unusable)?;
        // Sockets, and what the kernel opens, are found by their names.
        if let Some(open) = changeable_by_others(&base) {
            let message = format!("another user may change {}", open.display());
            let hint = "set `TMPDIR` to a directory in which no other user can replace files, e.g. \
                        /tmp";
            return Err(Error::new("linux-system", message, hint));
        }
        let made = Scratch::new(&base, "assay-linux", |_| true);
        made.map(Directory).map_err(unusable)
    }

    /// Returns the path of the shared directory.
    pub fn shared(&self) -> PathBuf {
        self.0.path().join(SHARED)
    }

    /// Opens a file that the guest has written to the shared directory. Refuses symbolic links,
    /// which could lead anywhere, and pipes and devices, whose reader could wait for ever.
    ///
    /// # Errors
    /// If there is no regular file of this name.
    pub fn open(&self, name: &str) -> std::io::Result<File> {
        let mut at = OwnedFd::from(File::open(self.shared())?);
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

/// A processor for one kernel and its drives, to which this thread is bound.
///
/// The two take turns and never work at the same time. On two processors each turn would have to
/// wake the other processor, which takes three times as long.
struct Core {
    number: usize,
    before: CpuSet,
}

/// The processors that guests of this process run on.
static TAKEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

impl Core {
    /// Binds this thread to a processor without another guest. Returns `None` if there is none.
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
        // If this fails, the thread stays on its processor.
        let _ = sched_setaffinity(None, &self.before);
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// Boots a guest and serves it until its end. Returns its outcome, and the machine with `disks`
/// and their statistics. A user can talk to the guest by `console`, its last drive.
///
/// # Errors
/// If the guest cannot be booted, is ended, ends early, or leaves no result.
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
    let program = Program::with_job(&boot.job)?;
    prepare(boot, &program, path).map_err(|e| Error::system("the guest's directory", e))?;
    let mut machine =
        Machine::new(disks, console, sockets, boot.sector, boot.schedule, boot.date, boot.limits)?;
    let said = File::create(path.join("console"));
    let said = said.map_err(|e| Error::system("the guest's console", e))?;
    let no_process = |e| Error::system("the kernel's process", e);
    let processes = Group::start(&mut command(boot, path, count, &said)?).map_err(no_process)?;
    let process = processes.process().map_err(no_process)?;
    let served = machine.serve(process.as_fd());
    // If the kernel ended just before, its end is the cause of such an error.
    let broke_off = |e: &Error| ["linux-system", "linux-protocol"].contains(&e.id);
    let soon = Duration::from_millis(100);
    let has_ended =
        served.as_ref().is_err_and(broke_off) && socket_io::is_ready_within(soon, process.as_fd());
    drop(processes);
    let ended = || {
        let message = "the guest ended before its job was done";
        let hint = "check with `assay linux status` whether the kernel can run";
        Error::new("linux-ended", message, hint)
    };
    let with_last_words = |e: Error| {
        let last = last_words(&path.join("console"));
        let hint = match last.contains("Out of memory") {
            true => "give the guest more memory (`--memory`, `memory=`): it was full".into(),
            false => e.hint,
        };
        Error { message: e.message + &last, hint, ..e }
    };
    served.map_err(|e| with_last_words(if has_ended { ended() } else { e }))?;
    let result = directory.open(RESULT).and_then(std::io::read_to_string);
    let result = result.map_err(|_| with_last_words(ended()))?;
    let (virtual_time, wall) = (machine.now(), begun.elapsed());
    Ok((Outcome { directory, result, virtual_time, wall }, machine))
}

/// A reservation of room for a guest's memory on the file system where the kernel keeps it.
///
/// Both sides map the memory. If there is no room for a page, SIGBUS kills the process that
/// touches it, without a message.
struct MemoryReservation(u64);

/// The bytes that running guests have reserved, and those that were free before the first of them.
static ROOM: Mutex<[u64; 2]> = Mutex::new([0, 0]);
static LEFT: Condvar = Condvar::new();

impl MemoryReservation {
    /// Waits until other guests leave enough room, and reserves it.
    ///
    /// # Errors
    /// If there is not enough room even without other guests.
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

/// Returns the free bytes where the kernel keeps a guest's memory. Returns an error if they are
/// fewer than `memory`.
fn free_room(memory: Bytes) -> Result<u64> {
    /// `f_type` of a tmpfs.
    const TMPFS: u32 = 0x0102_1994;
    // The kernel chooses in this way, as it gets no `TMPDIR`.
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
    let message =
        format!("the guest's memory of {memory} is a file in {place}, which has only {free} left");
    let hint = "give the guest less memory (`--memory`, `memory=`), or free space there";
    Err(Error::new("linux-room", message, hint))
}

/// Fills the guest's directory: links to its first program, to the memory with `program`, and to
/// an image.
fn prepare(boot: &Boot<'_>, program: &Program, path: &Path) -> std::io::Result<()> {
    let shared = path.join(SHARED);
    fs::create_dir(&shared)?;
    symlink(&boot.kernel.init, path.join("init"))?;
    if let Some(image) = boot.programs.as_ref().and_then(|programs| programs.image.as_ref()) {
        symlink(image, path.join(IMAGE))?;
    }
    // The kernel opens the memory by this link, whose name is the same for every guest.
    let memory = format!("/proc/{}/fd/{}", std::process::id(), program.memory().as_raw_fd());
    symlink(memory, path.join("program"))
}

/// Returns the command that runs the kernel. It ends when its standard input closes.
///
/// Sockets and the guest's first program have relative paths, so that the kernel's command line is
/// always the same: its random numbers depend on it. Addresses are not randomised, because the
/// place of memory decides which requests can be merged. With the kernel its whole process group is
/// killed: a process that it has just begun to trace would stay stopped for ever.
fn command(boot: &Boot<'_>, path: &Path, disks: usize, console: &File) -> Result<Command> {
    let find = |tool: &str, package: &str| {
        tool_path(tool).ok_or_else(|| crate::kernel::missing(tool, package))
    };
    let mut command = Command::new(find("sh", "dash")?);
    command.args(["-c", WATCHED, "sh"]);
    // The shell may add to the environment, whose length moves the kernel's stack.
    command.arg(find("env", "coreutils")?).args(["-i", "HOME=/run"]);
    command.arg("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
    command.arg(find("setarch", "util-linux")?).arg("-R").arg(&boot.kernel.path);
    command.arg(format!("mem={}M", boot.memory.0 >> 20));
    command.args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]);
    command.args(["init=/proc/self/cwd/init", "con=null", "con0=null,fd:1", "ssl=null"]);
    command.args(["quiet", "norandmaps", "panic=-1", "umid=guest", "uml_dir=./uml/"]);
    command.arg(format!("virtio_blk.queue_depth={}", boot.queue_depth));
    command.arg("time-travel=ext:tt").arg(format!("iomem={REGION},program"));
    command.args((0..disks).map(|i| format!("virtio_uml.device=blk{i}:2")));
    if let Some(costs) = boot.work {
        command.args(crate::work::parameters(costs));
    }
    if let Some(Programs { seed, user_time, .. }) = &boot.programs {
        let [call, moved, fault] = user_time.costs();
        command.arg(format!("program={call},{moved},{fault}"));
        // The kernel mixes its command line into its random numbers.
        command.arg(format!("seed={seed}"));
    }
    // The kernel passes parameters that it does not know to the environment of the first program.
    command.arg(format!("PATH={PATH}"));
    command.arg(format!("{TUNABLES}={ANY_PROCESSOR}"));
    command.args(["--", "linux", "init"]);
    command.current_dir(path).env_clear();
    let twin = |file: &File| file.try_clone().map_err(|e| Error::system("the guest's console", e));
    command.stdin(Stdio::piped()).stdout(twin(console)?).stderr(twin(console)?);
    Ok(command)
}

/// Returns the last lines of the kernel's console, for an error message.
fn last_words(console: &Path) -> String {
    const LINES: usize = 60;
    // Every guest prints this: the driver is there, but has no drive (see the recipe).
    const OF_EVERY_GUEST: &str = "Failed to initialize ubd device";
    let text = fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let counts = |line: &&str| !line.is_empty() && !line.starts_with(OF_EVERY_GUEST);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(counts).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    last.iter().map(|line| format!("\n  guest: {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::WATCHED;
    use crate::socket_io::is_ready_within;
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    /// A kernel that is killed as it begins to trace a process leaves that process stopped.
    #[test]
    fn a_stopped_process_ends_with_assay() {
        let kernel = "sh -c 'echo; kill -STOP $$' & sleep 1000";
        // In a session of its own: otherwise the system itself ends a stopped group that is left.
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", WATCHED, "sh", "sh", "-c", kernel]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0]).unwrap();
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        // The pipe is at its end when no process of the group has it any more.
        assert!(is_ready_within(Duration::from_secs(30), stdout.as_fd()), "a process is left");
        assert_eq!(stdout.read(&mut [0]).unwrap(), 0);
    }
}
