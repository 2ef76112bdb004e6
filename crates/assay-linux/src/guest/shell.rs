//! A shell in the guest, for a user at a terminal on the host.
//!
//! The shell runs on a pseudo-terminal. Two threads carry its input and output to and from the
//! last drive, which is the host's terminal (`console`). When the shell waits for a command, or a
//! program for keys, the guest tells the host, which stops the clock until the user types.
//! Computing takes no virtual time, so once the clock has moved at all, the guest has done all that
//! followed from the last key.

use super::job::{Caller, Terminal};
use super::program;
use super::tools::{make, no_program};
use crate::console::{CLOSE, INPUT, LOAD, OUTPUT, PROMPT};
use crate::error::{Error, Result};
use crate::vhost::block::SECTOR;
use assay_spec::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::mount::{MountFlags, mount};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcgetpgrp, tcsetwinsize};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::Child;

/// The time without output after which the shell's state is checked.
const SETTLED: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// The interval between further checks.
const LATER: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Runs a shell until it ends, and returns how it ended. `drives` is the number of drives before
/// the console.
pub(super) fn run(terminal: &Terminal, caller: &Caller, drives: usize) -> Result<String> {
    let failed = |e: rustix::io::Errno| Error::system("a terminal in the guest", e.into());
    make("/dev/pts")?;
    let options = std::ffi::CString::new("mode=620,ptmxmode=666").expect("no zero in it");
    mount("devpts", "/dev/pts", "devpts", MountFlags::empty(), options.as_c_str())
        .map_err(failed)?;
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).map_err(failed)?;
    grantpt(&master).and_then(|()| unlockpt(&master)).map_err(failed)?;
    let name = ptsname(&master, Vec::new()).map_err(failed)?;
    let (ws_row, ws_col) = terminal.size;
    tcsetwinsize(&master, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })
        .map_err(failed)?;
    let name = name.to_str().map_err(|_| failed(rustix::io::Errno::INVAL))?;
    let slave = File::options().read(true).write(true).open(name);
    let slave = slave.map_err(|e| Error::system("a terminal in the guest", e))?;
    let line = Line::open(drives)?;
    let shell = start(terminal, caller, &slave)?;
    drop(slave);
    talk(&line, &master, shell)
}

/// Starts the shell on its terminal.
fn start(terminal: &Terminal, caller: &Caller, slave: &File) -> Result<Child> {
    let twin = || slave.try_clone().map_err(|e| Error::system("a terminal in the guest", e));
    let mut last = None;
    for words in [&["bash", "--noprofile", "--norc", "-i"][..], &["sh", "-i"]] {
        let mut command = program::command("setsid", caller)?;
        // `-c` makes it the controlling terminal, so that keys such as Ctrl-C send signals.
        command.arg("-c").args(words);
        command.env("TERM", &terminal.kind).env("PS1", "\\t \\w# ");
        command.stdin(twin()?).stdout(twin()?).stderr(twin()?);
        if crate::kernel::tool_path(words[0]).is_none() {
            continue;
        }
        match command.spawn() {
            Ok(child) => return Ok(child),
            Err(e) => last = Some(e),
        }
    }
    Err(no_program("sh", last.unwrap_or_else(|| std::io::ErrorKind::NotFound.into())))
}

/// Carries input and output until the shell ends. Returns how it ended.
fn talk(line: &Line, master: &OwnedFd, mut shell: Child) -> Result<String> {
    let failed = |e| Error::system("a terminal in the guest", e);
    let mut keys = File::from(master.try_clone().map_err(failed)?);
    let mut said = File::from(master.try_clone().map_err(failed)?);
    let typing = Line { device: line.device.try_clone().map_err(failed)? };
    let typist = std::thread::Builder::new().spawn(move || {
        while let Ok(text) = typing.read() {
            if text.is_empty() || keys.write_all(&text).is_err() {
                return;
            }
        }
    });
    let typist = typist.map_err(failed)?;
    let ended = listen(line, master, &mut said, &mut shell);
    line.write(CLOSE, &[])?;
    // `CLOSE` has ended its read, so the thread ends.
    let _ = typist.join();
    ended?;
    shell.wait().map(program::end).map_err(failed)
}

/// Passes output on until the shell ends, and tells the host when it waits for the user. It does
/// not wait for the end of the output: a process that the shell leaves may keep the terminal open.
fn listen(line: &Line, master: &OwnedFd, said: &mut File, shell: &mut Child) -> Result<()> {
    let failed = |e| Error::system("a terminal in the guest", e);
    let mut wait = SETTLED;
    let mut bytes = [0; LOAD];
    loop {
        let mut polled = [PollFd::new(master, PollFlags::IN)];
        let ready = poll(&mut polled, Some(&wait)).map_err(|e| failed(e.into()))?;
        if ready > 0 {
            // A read fails when no process has the terminal open any more.
            let Ok(count @ 1..) = said.read(&mut bytes) else { return Ok(()) };
            line.write(OUTPUT, &bytes[..count])?;
            wait = SETTLED;
            continue;
        }
        if shell.try_wait().map_err(failed)?.is_some() {
            return Ok(());
        }
        if waits_for_keys(master, shell) {
            line.write(PROMPT, &[])?;
        }
        wait = LATER;
    }
}

/// Returns `true` if a program reads single keys, as shells do for a command, or if the shell is in
/// the foreground, sleeps, and has no child process that it could wait for.
fn waits_for_keys(master: &OwnedFd, shell: &Child) -> bool {
    let by_key = |modes: LocalModes| !modes.contains(LocalModes::ICANON);
    if tcgetattr(master.as_fd()).is_ok_and(|t| by_key(t.local_modes)) {
        return true;
    }
    let is_shell = tcgetpgrp(master).is_ok_and(|g| g.as_raw_nonzero().get() as u32 == shell.id());
    let sleeps = |(state, _): (char, u32)| state == 'S';
    is_shell && process(&shell.id().to_string()).is_some_and(sleeps) && !has_children(shell)
}

fn has_children(shell: &Child) -> bool {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|e| e.file_name());
    let parents = names.filter_map(|name| process(name.to_str()?)).map(|(_, parent)| parent);
    parents.into_iter().any(|parent| parent == shell.id())
}

/// Reads the state and the parent of a process.
fn process(number: &str) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The process name, in parentheses, may contain any characters.
    let mut words = text.rsplit_once(')')?.1.split_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

/// The drive that is the host's terminal (`console`).
struct Line {
    device: File,
}

impl Line {
    /// Opens the drive after `drives` others.
    fn open(drives: usize) -> Result<Line> {
        let name = format!("/dev/vd{}", char::from(b'a' + drives as u8));
        let mut options = File::options();
        options.read(true).write(true).custom_flags(OFlags::DIRECT.bits() as i32);
        let device = options.open(&name).map_err(|e| Error::system(&name, e))?;
        Ok(Line { device })
    }

    fn read(&self) -> std::io::Result<Vec<u8>> {
        let mut sector = Sector::new();
        self.device.read_exact_at(&mut sector.0, INPUT.0)?;
        let length = usize::from(u16::from_le_bytes([sector.0[0], sector.0[1]]));
        Ok(sector.0[2..2 + length.min(LOAD)].to_vec())
    }

    fn write(&self, at: Bytes, text: &[u8]) -> Result<()> {
        let mut sector = Sector::new();
        sector.0[..2].copy_from_slice(&(text.len() as u16).to_le_bytes());
        sector.0[2..2 + text.len()].copy_from_slice(text);
        let written = self.device.write_all_at(&sector.0, at.0);
        written.map_err(|e| Error::system("the terminal", e))
    }
}

/// A buffer for direct I/O of a sector. It has to be on a stack: the heap is not in the guest's
/// memory (`program.rs`), so drives cannot reach it.
#[repr(align(512))]
struct Sector([u8; SECTOR as usize]);

impl Sector {
    fn new() -> Sector {
        Sector([0; SECTOR as usize])
    }
}
