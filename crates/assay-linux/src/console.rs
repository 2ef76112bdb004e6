//! Somebody who talks to a guest: what is typed here is read there, what is said there is shown
//! here.
//!
//! To the guest it is one more drive, behind all others. A sector read at [`INPUT`] comes when
//! something has been typed; what is written at [`OUTPUT`] is shown. So no other way into the guest
//! is needed, and what the clock does is known: a person thinks in no time. A byte written at
//! [`PROMPT`] says that the guest has nothing to do before somebody types, and time stands still
//! until then; else it goes on as fast as it can.
//!
//! A terminal's keys are handed over as they come; of anything else (a file, a pipe) a line
//! whenever the guest waits for one, and at its end what ends a shell.

use crate::disks::Disks;
use crate::error::{Error, Result};
use crate::vhost::block::{Ask, BlockRequest, SECTOR, Status};
use crate::vhost::memory::Memory;
use crate::vhost::message::Malformed;
use crate::vhost::ring::Piece;
use crate::vhost::session::Ticket;
use assay_spec::{Bytes, Nanos};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// Where the guest reads a sector of what is typed: its length in two bytes, and that.
pub const INPUT: Bytes = Bytes(64 << 10);
/// Where it writes what is to be shown, in the same manner.
pub const OUTPUT: Bytes = Bytes(128 << 10);
/// Where it writes anything when it waits for somebody.
pub const PROMPT: Bytes = Bytes(192 << 10);
/// Where it writes anything when nothing more is to be typed: its read ends with nothing, for what
/// waits for a drive cannot be killed.
pub const CLOSE: Bytes = Bytes(256 << 10);
/// Its size as a drive.
pub const CAPACITY: Bytes = Bytes(1 << 20);
/// Most that a sector carries.
pub const LOAD: usize = SECTOR as usize - 2;
/// What ends a shell: control and D.
const END: u8 = 4;
/// What goes on asking after so many of them never ends.
const ENDS: u32 = 20;

/// Both ends of the talk.
pub struct Console {
    input: File,
    output: File,
    is_terminal: bool,
    /// Read and not yet handed over.
    typed: Vec<u8>,
    has_ended: bool,
    /// How often the guest was told that there is no more.
    ends: u32,
    /// The guest's read that waits for something.
    reader: Option<(Ticket, Vec<Piece>)>,
    /// The guest waits for somebody.
    is_prompting: bool,
    /// Or for nobody any more.
    is_closed: bool,
}

impl Console {
    /// Reads from `input`, shows on `output`.
    pub fn new(input: File, output: File) -> Console {
        use std::io::IsTerminal;
        let is_terminal = input.is_terminal();
        Console {
            input,
            output,
            is_terminal,
            typed: Vec::new(),
            has_ended: false,
            ends: 0,
            reader: None,
            is_prompting: false,
            is_closed: false,
        }
    }

    /// Whether the guest has nothing to do before somebody types.
    pub(crate) fn is_prompting(&self) -> bool {
        self.is_prompting
    }

    /// Where what is typed comes from, as long as some may come.
    pub(crate) fn source(&self) -> Option<BorrowedFd<'_>> {
        (!self.has_ended).then(|| self.input.as_fd())
    }

    /// Whether the guest would take what is typed now.
    pub(crate) fn listens(&self) -> bool {
        self.reader.is_some() && (self.is_terminal || self.is_prompting)
    }

    /// Takes up what there is to be read.
    pub(crate) fn take_up(&mut self) {
        let mut bytes = [0; LOAD];
        match self.input.read(&mut bytes) {
            Ok(0) | Err(_) => self.has_ended = true,
            Ok(count) => self.typed.extend_from_slice(&bytes[..count]),
        }
    }

    /// A request of the guest at `now`.
    pub(crate) fn request(
        &mut self,
        now: Nanos,
        disk: usize,
        (ticket, request): (Ticket, BlockRequest),
        memory: &Memory,
        disks: &mut Disks<'_>,
    ) -> Result<()> {
        let is_one_sector =
            |pieces: &[Piece]| pieces.iter().map(|p| u64::from(p.length)).sum::<u64>() == SECTOR;
        let status = match request.ask {
            Ask::Read(pieces) if request.offset == INPUT && is_one_sector(&pieces) => {
                if self.reader.is_some() {
                    disks.end(now, disk, ticket, Status::Failed);
                    return Ok(());
                }
                self.reader = Some((ticket, pieces));
                if self.is_closed {
                    self.answer(now, disk, &[], memory, disks)?;
                }
                return Ok(());
            }
            // The kernel looks for partitions: there are none.
            Ask::Read(pieces) => {
                for piece in pieces {
                    memory.write(piece.guest, &vec![0; piece.length as usize])?;
                }
                Status::Fine
            }
            Ask::Write(pieces) if request.offset == OUTPUT && is_one_sector(&pieces) => {
                self.show(&pieces, memory)?;
                Status::Fine
            }
            Ask::Write(_) if request.offset == PROMPT => {
                self.is_prompting = true;
                Status::Fine
            }
            Ask::Write(_) if request.offset == CLOSE => {
                self.is_closed = true;
                self.answer(now, disk, &[], memory, disks)?;
                Status::Fine
            }
            Ask::Flush => Status::Fine,
            _ => Status::Unsupported,
        };
        disks.end(now, disk, ticket, status);
        Ok(())
    }

    fn show(&mut self, pieces: &[Piece], memory: &Memory) -> Result<()> {
        let mut sector = Vec::with_capacity(SECTOR as usize);
        for piece in pieces {
            let start = sector.len();
            sector.resize(start + piece.length as usize, 0);
            memory.read(piece.guest, &mut sector[start..])?;
        }
        let length = usize::from(u16::from_le_bytes([sector[0], sector[1]]));
        let text = sector.get(2..2 + length);
        let text = text.ok_or_else(|| Malformed("more to be shown than there is".into()))?;
        let shown = self.output.write_all(text).and_then(|()| self.output.flush());
        shown.map_err(|e| Error::system("the terminal", e))
    }

    /// Hands over what was typed, if the guest listens and there is something; false if not.
    pub(crate) fn hand_over(
        &mut self,
        now: Nanos,
        disk: usize,
        memory: &Memory,
        disks: &mut Disks<'_>,
    ) -> Result<bool> {
        if !self.listens() {
            return Ok(false);
        }
        let mut count = self.typed.len().min(LOAD);
        if !self.is_terminal {
            let line = self.typed.iter().position(|b| *b == b'\n');
            // The last letter is left for the end of a last line that has none.
            count = match line {
                Some(end) => (end + 1).min(LOAD),
                // The line goes on where it is read from.
                None if count < LOAD && !self.has_ended => 0,
                None => count.min(LOAD - 1),
            };
        }
        let mut text: Vec<u8> = self.typed.drain(..count).collect();
        if self.has_ended && !self.is_terminal && self.typed.is_empty() {
            // The last line may lack its end; and what wants more than there is shall end.
            match text.last() {
                Some(b'\n') => {}
                Some(_) => text.push(b'\n'),
                None => {
                    self.ends += 1;
                    text.push(END);
                }
            }
        }
        if self.ends > ENDS {
            return Err(Error::asleep(now));
        }
        if text.is_empty() {
            return Ok(false);
        }
        self.is_prompting = false;
        self.answer(now, disk, &text, memory, disks)
    }

    /// The guest's read ends with `text`; false if there is none.
    fn answer(
        &mut self,
        now: Nanos,
        disk: usize,
        text: &[u8],
        memory: &Memory,
        disks: &mut Disks<'_>,
    ) -> Result<bool> {
        let Some((ticket, pieces)) = self.reader.take() else { return Ok(false) };
        let mut sector = (text.len() as u16).to_le_bytes().to_vec();
        sector.extend(text);
        sector.resize(SECTOR as usize, 0);
        let mut rest = &sector[..];
        for piece in pieces {
            let (now, later) = rest.split_at(piece.length as usize);
            memory.write(piece.guest, now)?;
            rest = later;
        }
        disks.end(now, disk, ticket, Status::Fine);
        Ok(true)
    }
}
