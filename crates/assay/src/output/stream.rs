//! Standard output and error. A reader that has stopped reading does not keep the program from
//! ending: after Ctrl-C, what has no room is dropped.

use assay_engine::stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// The number of bytes that a pipe with room takes without waiting (`PIPE_BUF`).
const WITHOUT_WAITING: usize = 4096;
/// The time between two looks for an interrupt.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A stream without a buffer.
pub struct Stream<'f>(BorrowedFd<'f>);

impl<'f> Stream<'f> {
    /// Returns a stream to a standard file. The program must not have written to it in another way.
    pub fn to(file: &'f impl AsFd) -> Stream<'f> {
        Stream(file.as_fd())
    }

    /// Waits for room.
    ///
    /// # Errors
    /// If the program is asked to end meanwhile: of the kind [`io::ErrorKind::TimedOut`].
    fn wait(&self) -> io::Result<()> {
        loop {
            let mut files = [PollFd::new(&self.0, PollFlags::OUT)];
            // Whether there is room is looked at first: the program says why it ends, if it can.
            let is_over = stop::is_interrupted();
            let wait = if is_over { Timespec::default() } else { LOOK_AGAIN };
            match poll(&mut files, Some(&wait)) {
                Ok(0) if is_over => return Err(io::ErrorKind::TimedOut.into()),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
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
                Err(Errno::AGAIN) => {}
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
