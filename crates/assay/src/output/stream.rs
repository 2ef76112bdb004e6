//! Standard output and error. A reader that has stopped reading does not keep the program from
//! ending: some time after Ctrl-C, what has no room is dropped.

use assay_engine::stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fmt;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The number of bytes that a pipe with room takes without waiting (`PIPE_BUF`).
const WITHOUT_WAITING: usize = 4096;
/// The time between two looks for an interrupt.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A stream without a buffer: that of the standard library would wait for room.
pub struct Stream<'f>(BorrowedFd<'f>);

/// When a wait for room first saw that the user wants to end the program.
static INTERRUPTED: OnceLock<Instant> = OnceLock::new();

/// The reason why text was dropped: the user asked the program to end, and nobody reads.
#[derive(Debug)]
struct Dropped;

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted while nobody reads the output")
    }
}

impl std::error::Error for Dropped {}

/// Returns `true` if a stream returned `error` because the user has asked the program to end.
pub fn is_dropped(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<Dropped>())
}

impl<'f> Stream<'f> {
    /// Returns a stream to a standard file, whose buffer in the standard library must be empty.
    pub fn to(file: &'f impl AsFd) -> Stream<'f> {
        Stream(file.as_fd())
    }

    /// Waits for room.
    ///
    /// # Errors
    /// If there is none, and [`stop::PATIENCE`] is over since the user asked the program to end
    /// (see [`is_dropped`]).
    fn wait(&self) -> io::Result<()> {
        loop {
            let mut files = [PollFd::new(&self.0, PollFlags::OUT)];
            let ready = poll(&mut files, Some(&LOOK_AGAIN));
            if matches!(ready, Ok(1..)) {
                return Ok(());
            }
            let waited = || INTERRUPTED.get_or_init(Instant::now).elapsed();
            if stop::is_interrupted_by_user() && waited() > stop::PATIENCE {
                return Err(io::Error::other(Dropped));
            }
            // Where a filter of system calls refuses to wait here, the write itself waits.
            if ready.is_err_and(|e| e != Errno::INTR) {
                return Ok(());
            }
        }
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.wait()?;
            match rustix::io::write(self.0, &bytes[..bytes.len().min(WITHOUT_WAITING)]) {
                // Another program has filled it since.
                Err(Errno::AGAIN) => std::thread::sleep(Duration::from_millis(1)),
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn more_than_a_pipe_holds_arrives_in_order() {
        let (mut reader, writer) = io::pipe().unwrap();
        let text: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        let sent = text.clone();
        let thread = std::thread::spawn(move || Stream::to(&writer).write_all(&sent));
        let mut got = Vec::new();
        reader.read_to_end(&mut got).unwrap();
        thread.join().unwrap().unwrap();
        assert_eq!(got, text);
    }

    #[test]
    fn a_reader_that_has_gone_is_an_error() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let error = Stream::to(&writer).write_all(b"text").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
