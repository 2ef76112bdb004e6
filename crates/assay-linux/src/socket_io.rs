//! The sockets between a kernel and assay: connections, waiting, bytes, and file descriptors that
//! come with them.

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::vhost::message::{HEADER, Header, Malformed};
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// The time that a peer may take for the rest of a message that it has begun, or to take an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Accepts a connection and limits the time of its reads and writes.
pub(crate) fn accept(listener: &UnixListener) -> Result<UnixStream> {
    let (stream, _) = listener.accept().map_err(|e| Error::system("a connection", e))?;
    set_patience(&stream)?;
    Ok(stream)
}

/// Limits the time of each read and write of `stream` to [`PATIENCE`].
pub(crate) fn set_patience(stream: &UnixStream) -> Result<()> {
    let set = stream.set_read_timeout(Some(PATIENCE));
    let set = set.and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    set.map_err(|e| Error::system("a connection", e))
}

/// Waits until one of `fds` is ready to be read, and returns its value; of several, the last one's.
///
/// Returns an error if `limits.stop` says so, or if none is ready within `limits.silence`.
pub(crate) fn poll<T: Copy>(fds: &[(T, BorrowedFd<'_>)], limits: &Limits) -> Result<T> {
    /// The time between two calls of `limits.stop`.
    const STRETCH: Duration = Duration::from_millis(500);
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|(_, fd)| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let mut silent = Duration::ZERO;
    loop {
        if (limits.stop)() {
            return Err(Error::stopped());
        }
        let stretch = Timespec::try_from(STRETCH).expect("half a second");
        match event::poll(&mut polled, Some(&stretch)) {
            Ok(0) => silent += STRETCH,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(Error::system("waiting for the kernel", e.into())),
            Ok(_) => {
                let last = polled.iter().rposition(|fd| !fd.revents().is_empty());
                return Ok(fds[last.expect("poll says that one is")].0);
            }
        }
        if silent >= limits.silence {
            return Err(Error::silent(limits.silence));
        }
    }
}

/// Waits until `fd` or one of `others` is ready, and returns `true` if it is `fd`. If
/// `limits.silence` is zero it does not wait, and looks at `fd` only.
pub(crate) fn is_ready(
    others: [BorrowedFd<'_>; 2],
    fd: BorrowedFd<'_>,
    limits: &Limits,
) -> Result<bool> {
    if limits.silence == Duration::ZERO {
        return Ok(is_ready_within(Duration::ZERO, fd));
    }
    poll(&[(false, others[0]), (false, others[1]), (true, fd)], limits)
}

/// Returns `true` if `fd` is ready to be read now or within `time`.
pub(crate) fn is_ready_within(time: Duration, fd: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let time = Timespec::try_from(time).expect("a short time");
    event::poll(&mut polled, Some(&time)).is_ok_and(|count| count > 0)
}

/// Sends `bytes` together with two file descriptors.
pub(crate) fn send(stream: &UnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>; 2]) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut passed = SendAncillaryBuffer::new(&mut space);
    passed.push(SendAncillaryMessage::ScmRights(fds));
    let sent = sendmsg(stream, &[IoSlice::new(bytes)], &mut passed, SendFlags::NOSIGNAL);
    sent.map(|_| ()).map_err(|e| Error::system("the kernel's clock", e.into()))
}

/// A vhost-user message to a drive.
pub(crate) struct Received {
    /// The header: the request and the size of the payload.
    pub(crate) header: Header,
    /// The bytes after the header.
    pub(crate) payload: Vec<u8>,
    /// The file descriptors that came with the message.
    pub(crate) fds: Vec<OwnedFd>,
}

/// Receives the next message to a drive. Returns `None` if the connection has ended or failed.
pub(crate) fn receive(stream: &mut UnixStream) -> Result<Option<Received>> {
    let mut head = [0; HEADER];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut passed = RecvAncillaryBuffer::new(&mut space);
    let mut into = [IoSliceMut::new(&mut head)];
    let received = recvmsg(&*stream, &mut into, &mut passed, RecvFlags::CMSG_CLOEXEC);
    let got = received.map_or(0, |message| message.bytes);
    if got == 0 {
        return Ok(None);
    }
    let mut fds = Vec::new();
    for message in passed.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            fds.extend(passed);
        }
    }
    let cut = |_| Error::from(Malformed("a message to a drive that is cut off".into()));
    stream.read_exact(&mut head[got..]).map_err(cut)?;
    let header = Header::parse(&head)?;
    let mut payload = vec![0; header.size];
    stream.read_exact(&mut payload).map_err(cut)?;
    Ok(Some(Received { header, payload, fds }))
}
