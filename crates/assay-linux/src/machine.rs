//! The machine that a kernel runs on: serves its clock and its drives until the kernel ends.
//!
//! The kernel is one thread in one process, and each of its messages is answered before it goes
//! on. So one loop serves the clock and all drives without locks.
//!
//! *Rules.* An event of a drive comes before the kernel's own at the same time. A completion is
//! delivered only while the kernel waits. The kernel never runs past the next event of a drive. If
//! the kernel waits with no event to come, says nothing for longer than the watchdog allows, or
//! exceeds its virtual time, it is ended with an error that says why.

mod clock_link;
mod clock_protocol;

use crate::clock::{FOREVER, KERNEL_ID, Kind, Message, OWN_ID, Page, Schedule};
use crate::console::{self, Console};
use crate::disks::{Disks, Ended};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::socket_io::{self, Received};
use crate::vhost::message::{Ask, HEADER, Malformed, call};
use crate::vhost::session::Session;
use assay_spec::date::Date;
use assay_spec::{Bytes, Nanos};
use clock_link::ClockLink;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// The virtual time for which a guest with a console may run without a look for typed keys.
const UNHEARD: Nanos = Nanos::from_secs(1);

/// The listening sockets that a kernel connects to.
pub struct Sockets {
    /// The clock's socket.
    pub clock: UnixListener,
    /// The sockets of the drives, in order, and then the console's, if there is one.
    pub disks: Vec<UnixListener>,
}

/// The connection of a drive.
struct Link {
    listener: UnixListener,
    stream: Option<UnixStream>,
    /// The socket for the device's own requests to the kernel.
    backend: Option<UnixStream>,
    session: Session,
}

/// The clock and the drives of a kernel.
pub struct Machine<'w> {
    disks: Disks<'w>,
    console: Option<Console>,
    links: Vec<Link>,
    clock: ClockLink,
    now: Nanos,
    date: Date,
    limits: Limits,
    /// The kernel's pidfd, which shows its end. Its sockets do not always: a process that it had
    /// begun to start may still hold them.
    process: Option<OwnedFd>,
    ended: Vec<Ended>,
    has_connected: bool,
}

/// The kind of a descriptor that is ready to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    Connect,
    Control,
    ConnectDisk(usize),
    Disk(usize),
    Gone,
}

impl<'w> Machine<'w> {
    /// Creates a machine that serves `disks`, and the console if there is one, at `sockets`.
    /// `sector` is the block size of the drives, and the kernel boots at the beginning of `date`.
    ///
    /// # Errors
    /// If the system cannot make the memory file for the clock.
    pub fn new(
        disks: Disks<'w>,
        console: Option<Console>,
        sockets: Sockets,
        sector: Bytes,
        schedule: Schedule,
        date: Date,
        limits: Limits,
    ) -> Result<Self> {
        let session = |d: &crate::disks::DiskSetup| Session::new(d.capacity, sector, d.discards);
        let talk = console.iter().map(|_| Session::new(console::CAPACITY, sector, false));
        let sessions = disks.disks().iter().map(session).chain(talk);
        let link = |(listener, session)| Link { listener, stream: None, backend: None, session };
        let links = sockets.disks.into_iter().zip(sessions).map(link).collect();
        Ok(Machine {
            disks,
            console,
            links,
            clock: ClockLink {
                listener: sockets.clock,
                stream: None,
                page: Page::new(schedule).map_err(|e| Error::system("memory for the clock", e))?,
                is_shared: false,
                request: None,
                freed: Nanos::ZERO,
                is_waiting: false,
                sequence: 0,
            },
            now: Nanos::ZERO,
            date,
            limits,
            process: None,
            ended: Vec::new(),
            has_connected: false,
        })
    }

    /// Returns the drives.
    pub fn disks(&mut self) -> &mut Disks<'w> {
        &mut self.disks
    }

    /// Returns the virtual time that the machine knows of.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Serves the kernel until it ends. `process` is its pidfd.
    ///
    /// # Errors
    /// If the kernel waits for nothing, breaks a protocol, or exceeds the limits.
    pub fn serve(&mut self, process: BorrowedFd<'_>) -> Result<()> {
        let kept = process.try_clone_to_owned();
        self.process = Some(kept.map_err(|e| Error::system("the kernel's process", e))?);
        loop {
            match self.wait(process)? {
                Ready::Connect => {
                    let control = socket_io::accept(&self.clock.listener)?;
                    self.clock.stream = Some(control);
                    self.has_connected = true;
                }
                Ready::ConnectDisk(disk) => {
                    self.links[disk].stream = Some(socket_io::accept(&self.links[disk].listener)?);
                }
                Ready::Control => self.control_message()?,
                Ready::Disk(disk) => self.disk_message(disk)?,
                Ready::Gone => return Ok(()),
            }
            if self.clock.is_waiting {
                self.go_on()?;
            }
        }
    }

    /// Waits until a descriptor is ready, and returns its kind.
    fn wait(&self, process: BorrowedFd<'_>) -> Result<Ready> {
        let mut ready = Vec::with_capacity(self.links.len() + 2);
        // First, as `poll` returns the last that is ready: messages come before the kernel's end.
        ready.push((Ready::Gone, process));
        for (disk, link) in self.links.iter().enumerate() {
            ready.push(match &link.stream {
                Some(stream) => (Ready::Disk(disk), stream.as_fd()),
                None => (Ready::ConnectDisk(disk), link.listener.as_fd()),
            });
        }
        match &self.clock.stream {
            Some(control) => ready.push((Ready::Control, control.as_fd())),
            None if self.has_connected => {}
            None => ready.push((Ready::Connect, self.clock.listener.as_fd())),
        }
        socket_io::poll(&ready, &self.limits)
    }

    /// Lets the drives work, while the kernel waits, until it is time for the kernel to run.
    fn go_on(&mut self) -> Result<()> {
        let mut wanted = self.wanted()?;
        loop {
            self.listen(wanted)?;
            let event = self.disks.next_event();
            match (event, wanted) {
                (Some(at), _) if wanted.is_none_or(|wanted| at <= wanted) => {
                    // Most events of a drive end nothing, and the kernel does not know of them.
                    if self.step(at)? {
                        wanted = self.wanted()?;
                    }
                }
                (_, Some(wanted)) => return self.run(wanted.max(self.now)),
                _ => return Err(Error::asleep(self.now)),
            }
            if self.clock.stream.is_none() {
                return Ok(());
            }
        }
    }

    /// Returns the time at which the waiting kernel wants to run, or `None` if it has set no timer.
    fn wanted(&self) -> Result<Option<Nanos>> {
        let wanted = match self.clock.is_shared {
            true => self.clock.page.request(),
            false => self.clock.request,
        };
        Ok(wanted.filter(|at| *at < FOREVER))
    }

    /// Gives typed text to the console's guest, while the kernel waits. Virtual time stands still
    /// while the guest waits for the user.
    fn listen(&mut self, wanted: Option<Nanos>) -> Result<()> {
        let Some(console) = &mut self.console else { return Ok(()) };
        // A kernel that runs freely does not say how far it got: this is the latest it can be.
        let now = self.now.max(self.clock.freed.min(wanted.unwrap_or(FOREVER)));
        let disk = self.links.len() - 1;
        let memory = self.links[disk].session.memory();
        while !console.hand_over(now, disk, memory, &mut self.disks)? && console.listens() {
            let Some(source) = console.source() else { break };
            // A user may take any time.
            let (Some(control), Some(process)) = (&self.clock.stream, &self.process) else { break };
            let silence = if console.is_prompting() { Duration::MAX } else { Duration::ZERO };
            // A kernel that waits sends nothing: if its socket is ready, it has ended.
            let limits = Limits { silence, ..self.limits };
            if !socket_io::is_ready([process.as_fd(), control.as_fd()], source, &limits)? {
                break;
            }
            console.take_up()?;
        }
        Ok(())
    }

    /// Handles the drives' next event, at `at`. Returns `true` if a request of the kernel ended.
    fn step(&mut self, at: Nanos) -> Result<bool> {
        self.set_now(at)?;
        let mut ended = std::mem::take(&mut self.ended);
        self.disks.advance(self.now, &mut ended);
        if self.clock.is_shared && !ended.is_empty() {
            // The kernel reads the time from the page, and notes there when it wants to run.
            self.clock.page.set(FOREVER, self.now, OWN_ID);
        }
        for disk in 0..self.links.len() {
            let mut any = false;
            for one in ended.iter().filter(|one| one.disk == disk) {
                self.links[disk].session.end(one.ticket, one.status)?;
                any = true;
            }
            if any {
                self.call(disk)?;
            }
        }
        let any = !ended.is_empty();
        ended.clear();
        self.ended = ended;
        Ok(any)
    }

    fn set_now(&mut self, at: Nanos) -> Result<()> {
        self.now = self.now.max(at);
        if self.now > self.limits.time {
            return Err(Error::too_long(self.limits.time));
        }
        Ok(())
    }

    /// Tells the kernel that requests of a drive have ended, and waits for its reply.
    fn call(&mut self, disk: usize) -> Result<()> {
        let hung_up = |_| broken("a drive hung up");
        let backend = self.backend(disk)?;
        backend.write_all(&call(0)).map_err(|e| Error::system("the kernel's drive", e))?;
        let mut answer = [0; HEADER + 8];
        let mut got = 0;
        if self.clock.is_shared {
            // The kernel sends nothing else meanwhile, as the time is in shared memory: no `poll`
            // is needed. If it takes too long, `await_answer` waits with the watchdog.
            got = self.backend(disk)?.read(&mut answer).unwrap_or(0);
        }
        if got == 0 {
            self.await_answer(disk)?;
        }
        self.backend(disk)?.read_exact(&mut answer[got..]).map_err(hung_up)
    }

    fn backend(&mut self, disk: usize) -> Result<&mut UnixStream> {
        let gone = || broken("a drive that cannot ask back");
        self.links[disk].backend.as_mut().ok_or_else(gone)
    }

    /// Handles the kernel's messages about time until its reply to a drive arrives.
    fn await_answer(&mut self, disk: usize) -> Result<()> {
        loop {
            let limits = self.limits;
            let control = self.clock.stream.as_ref().ok_or_else(|| broken("the clock is gone"))?;
            let backend = self.links[disk].backend.as_ref();
            let backend = backend.ok_or_else(|| broken("a drive that cannot ask back"))?;
            let process = self.process.as_ref().ok_or_else(|| broken("no kernel"))?;
            let (gone, asks, answers) = (Ready::Gone, Ready::Control, Ready::Disk(disk));
            let ready =
                [(gone, process.as_fd()), (asks, control.as_fd()), (answers, backend.as_fd())];
            match socket_io::poll(&ready, &limits)? {
                Ready::Gone => return Err(broken("the kernel is gone")),
                Ready::Control => self.control_message()?,
                _ => return Ok(()),
            }
        }
    }

    /// Returns the time up to which the kernel may run without asking: the next event of a drive,
    /// the end of its virtual time or, with a console, [`UNHEARD`] from now.
    fn free_until(&self) -> Nanos {
        let event = self.disks.next_event().unwrap_or(FOREVER);
        let key = self.console.as_ref().map_or(FOREVER, |_| self.now + UNHEARD);
        event.min(self.limits.time).min(key)
    }

    /// Lets the kernel run from `at` on, without asking up to the next event of a drive.
    fn run(&mut self, at: Nanos) -> Result<()> {
        self.set_now(at)?;
        let free = self.free_until();
        self.clock.freed = free;
        self.clock.request = None;
        if self.clock.is_shared {
            self.clock.page.set(free, at, KERNEL_ID);
            self.clock.is_waiting = false;
            self.clock.sequence = self.clock.sequence.wrapping_add(1);
            return self.tell(Message {
                kind: Kind::Run,
                sequence: self.clock.sequence,
                time: at.0,
            });
        }
        self.tell_and_wait(Kind::FreeUntil, free)?;
        self.clock.is_waiting = false;
        self.tell_and_wait(Kind::Run, at)
    }

    /// Receives one message to a drive, and answers it.
    fn disk_message(&mut self, disk: usize) -> Result<()> {
        let stream = self.links[disk].stream.as_mut();
        let stream = stream.ok_or_else(|| broken("a drive that is gone"))?;
        let Some(Received { header, payload, fds }) = socket_io::receive(stream)? else {
            self.links[disk].stream = None;
            self.links[disk].backend = None;
            return Ok(());
        };
        let ask = Ask::parse(header.request, &payload)?;
        let answer =
            self.links[disk].session.answer(header.request, ask, header.wants_reply, fds)?;
        if let Some(backend) = answer.backend {
            let backend = UnixStream::from(backend);
            socket_io::set_patience(&backend)?;
            self.links[disk].backend = Some(backend);
        }
        if answer.is_kick {
            self.kick(disk)?;
        }
        if let (Some(reply), Some(stream)) = (answer.reply, &mut self.links[disk].stream) {
            stream.write_all(&reply).map_err(|e| Error::system("the kernel's drive", e))?;
        }
        Ok(())
    }

    /// Takes the new requests from a drive's ring, and submits them.
    fn kick(&mut self, disk: usize) -> Result<()> {
        let now = self.time()?;
        let before = self.free_until();
        self.links[disk].session.look()?;
        while let Some((ticket, request)) = self.links[disk].session.take()? {
            let memory = self.links[disk].session.memory();
            if let Some(console) = self.console.as_mut().filter(|_| disk + 1 == self.links.len()) {
                console.request(now, disk, (ticket, request), memory, &mut self.disks)?;
                continue;
            }
            self.disks.submit(now, disk, ticket, &request, memory)?;
            if let Some((disk, cause)) = self.disks.take_lost() {
                return Err(Error::lost(disk, cause));
            }
        }
        let free = self.free_until();
        if free == before || self.clock.is_waiting {
            return Ok(());
        }
        self.clock.freed = free;
        match self.clock.is_shared {
            true => self.clock.page.set_free_until(free),
            false => self.tell_and_wait(Kind::FreeUntil, free)?,
        }
        Ok(())
    }
}

fn broken(what: &str) -> Error {
    Error::from(Malformed(what.to_owned()))
}
