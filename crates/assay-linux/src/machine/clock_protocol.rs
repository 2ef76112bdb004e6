//! The messages between the kernel and its clock, after `um_timetravel.h` (`clock.rs`).

use super::{Machine, broken};
use crate::clock::{KERNEL_ID, Kind, MESSAGE, Message};
use crate::error::{Error, Result};
use crate::guest::signal::Signal;
use crate::socket_io;
use assay_spec::Nanos;
use std::io::{Read, Write};

impl Machine<'_> {
    /// Receives one message about time, and answers it.
    pub(super) fn control_message(&mut self) -> Result<()> {
        let Some(message) = self.read_control()? else {
            self.clock.stream = None;
            return Ok(());
        };
        self.handle(message)
    }

    fn read_control(&mut self) -> Result<Option<Message>> {
        let control = self.clock.stream.as_mut().ok_or_else(|| broken("the clock is gone"))?;
        let mut bytes = [0; MESSAGE];
        match control.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(_) => return Ok(None),
        }
        Message::parse(&bytes).map(Some).ok_or_else(|| broken("a message about time of no kind"))
    }

    /// Handles a message of the kernel about time, and acknowledges it.
    fn handle(&mut self, message: Message) -> Result<()> {
        let mut time = 0;
        match message.kind {
            Kind::Start => return self.welcome(message),
            Kind::Get => time = self.time()?.0,
            Kind::GetDate => time = self.date.nanoseconds(),
            Kind::Update => self.set_now(Nanos(message.time))?,
            Kind::Request => self.clock.request = Some(Nanos(message.time)),
            Kind::Wait => {
                self.time()?;
                self.clock.is_waiting = true;
                if self.clock.is_shared {
                    return Ok(());
                }
            }
            Kind::Broadcast => {
                let (signal, at) = Signal::parse(message.time);
                self.time()?;
                self.set_now(at)?;
                if signal != Signal::Time {
                    self.disks.set_watched(self.now, signal == Signal::Watch);
                }
            }
            Kind::Ack | Kind::Run | Kind::FreeUntil => {
                return Err(broken("an answer to what was not asked"));
            }
        }
        self.tell(Message { kind: Kind::Ack, sequence: message.sequence, time })
    }

    /// Answers the kernel's first message with the shared page and the kernel's number on it.
    fn welcome(&mut self, message: Message) -> Result<()> {
        let time = u64::from(KERNEL_ID);
        let ack = Message { kind: Kind::Ack, sequence: message.sequence, time };
        let control = self.clock.stream.as_ref().ok_or_else(|| broken("the clock is gone"))?;
        socket_io::send(control, &ack.bytes(), &[self.clock.page.fd(), self.clock.page.fd()])
    }

    /// Sends a message to the kernel.
    pub(super) fn tell(&mut self, message: Message) -> Result<()> {
        let control = self.clock.stream.as_mut().ok_or_else(|| broken("the clock is gone"))?;
        control.write_all(&message.bytes()).map_err(|e| Error::system("the kernel's clock", e))
    }

    /// Sends a message to the kernel and waits for its acknowledgement. Handles the kernel's other
    /// messages meanwhile.
    pub(super) fn tell_and_wait(&mut self, kind: Kind, time: Nanos) -> Result<()> {
        self.clock.sequence = self.clock.sequence.wrapping_add(1);
        self.tell(Message { kind, sequence: self.clock.sequence, time: time.0 })?;
        loop {
            if (self.limits.stop)() {
                return Err(Error::stopped());
            }
            let message = self.read_control()?.ok_or_else(|| broken("the clock is gone"))?;
            if message.kind == Kind::Ack {
                return Ok(());
            }
            self.handle(message)?;
        }
    }

    /// Returns the virtual time: the kernel's, if it keeps it on the shared page.
    pub(super) fn time(&mut self) -> Result<Nanos> {
        // Once the kernel uses the page, it does so to the end.
        self.clock.is_shared = self.clock.is_shared || self.clock.page.is_used();
        if self.clock.is_shared && !self.clock.is_waiting {
            // A peer that turns its clock back must not turn the drives' back.
            self.set_now(self.clock.page.now())?;
        }
        Ok(self.now)
    }
}
