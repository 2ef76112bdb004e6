//! What passes through the sockets between a kernel and us: bytes, and descriptors beside them.

use crate::error::{Error, Result};
use crate::machine::Limits;
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

/// How long a peer may take for the rest of a message it has begun.
const PATIENCE: Duration = Duration::from_secs(10);

/// Takes a connection.
pub(crate) fn accept(listener: &UnixListener) -> Result<UnixStream> {
    let (stream, _) = listener.accept().map_err(|e| Error::system("a connection", e))?;
    set_patience(&stream)?;
    Ok(stream)
}

/// Whoever has begun a message must end it soon, and take the answer.
pub(crate) fn set_patience(stream: &UnixStream) -> Result<()> {
    let set = stream.set_read_timeout(Some(PATIENCE));
    let set = set.and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    set.map_err(|e| Error::system("a connection", e))
}

/// Waits until one of several is ready, and says which; the last of those that are.
pub(crate) fn poll<T: Copy>(fds: &[(T, BorrowedFd<'_>)], limits: &Limits) -> Result<T> {
    /// How long a wish to stop may go unheard.
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

/// Whether `fd` is ready, now or before `limits` say that it has been silent for too long; false if
/// one of `others` is ready first.
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

/// Whether `fd` is ready, now or in so short a time.
pub(crate) fn is_ready_within(time: Duration, fd: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let time = Timespec::try_from(time).expect("a short time");
    event::poll(&mut polled, Some(&time)).is_ok_and(|count| count > 0)
}

/// Sends bytes with two descriptors.
pub(crate) fn send(stream: &UnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>; 2]) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut passed = SendAncillaryBuffer::new(&mut space);
    passed.push(SendAncillaryMessage::ScmRights(fds));
    let sent = sendmsg(stream, &[IoSlice::new(bytes)], &mut passed, SendFlags::NOSIGNAL);
    sent.map(|_| ()).map_err(|e| Error::system("the kernel's clock", e.into()))
}

/// A message to a drive.
pub(crate) struct Received {
    /// What it is.
    pub(crate) header: Header,
    /// What follows it.
    pub(crate) payload: Vec<u8>,
    /// What came beside it.
    pub(crate) fds: Vec<OwnedFd>,
}

/// The next message to a drive; `None` if there will be none.
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
