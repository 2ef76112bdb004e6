//! The console: connects a user's terminal, file or pipe with a shell in the guest.
//!
//! The guest sees it as one more drive, after all others. A read of the sector at [`INPUT`] ends
//! when the user has typed something; text that is written to [`OUTPUT`] is shown. So the guest
//! needs no other device, and virtual time is defined: a user takes none. A write to [`PROMPT`]
//! says that the guest has nothing to do until the user types, and the clock stops until then.
//! Otherwise virtual time runs as fast as it can.
//!
//! The guest gets the keys of a terminal as they come. Of any other input (a file, a pipe) it gets
//! a line whenever it waits for one, and at the end of the input a Ctrl-D, which ends a shell.

use crate::disks::Disks;
use crate::error::{Error, Result};
use crate::vhost::block::{BlockOperation, BlockRequest, SECTOR, Status};
use crate::vhost::memory::Memory;
use crate::vhost::message::Malformed;
use crate::vhost::ring::Piece;
use crate::vhost::session::Ticket;
use assay_spec::{Bytes, Nanos};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// The offset where the guest reads typed text: a sector with the length in two little-endian
/// bytes, then the text.
pub const INPUT: Bytes = Bytes(64 << 10);
/// The offset where the guest writes text to be shown, in the format of [`INPUT`].
pub const OUTPUT: Bytes = Bytes(128 << 10);
/// The offset that the guest writes to, with any data, when it waits for the user.
pub const PROMPT: Bytes = Bytes(192 << 10);
/// The offset that the guest writes to, with any data, when it wants no more text: its read at
/// [`INPUT`] then ends with an empty text. A thread that waits for a drive could not be killed.
pub const CLOSE: Bytes = Bytes(256 << 10);
/// The console's size as a drive.
pub const CAPACITY: Bytes = Bytes(1 << 20);
/// The largest number of bytes of text in a sector.
pub const LOAD: usize = SECTOR as usize - 2;
/// The character that ends a shell's input: Ctrl-D.
const END: u8 = 4;
/// The number of [`END`] characters after which a guest that still reads is taken to read for ever.
const ENDS: u32 = 20;

/// The console's input and output, and the state of the guest's read.
pub struct Console {
    input: File,
    output: File,
    is_terminal: bool,
    /// Input that was read and that the guest does not have yet.
    typed: Vec<u8>,
    has_ended: bool,
    /// The number of [`END`] characters that the guest got.
    ends: u32,
    /// The guest's read at [`INPUT`] that waits for text.
    reader: Option<(Ticket, Vec<Piece>)>,
    /// Whether the guest waits for the user: it has written to [`PROMPT`] and got no text since.
    is_prompting: bool,
    /// Whether the guest wants no more text: it has written to [`CLOSE`].
    is_closed: bool,
}

impl Console {
    /// Creates a console that reads from `input` and shows text on `output`.
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

    /// Returns `true` if the guest has nothing to do until the user types.
    pub(crate) fn is_prompting(&self) -> bool {
        self.is_prompting
    }

    /// Returns the descriptor of the input, or `None` if the input has ended.
    pub(crate) fn source(&self) -> Option<BorrowedFd<'_>> {
        (!self.has_ended).then(|| self.input.as_fd())
    }

    /// Returns `true` if the guest reads now and, unless the input is a terminal, waits for the
    /// user.
    pub(crate) fn listens(&self) -> bool {
        self.reader.is_some() && (self.is_terminal || self.is_prompting)
    }

    /// Reads from the input, which should be ready: this blocks otherwise. A terminal that fails is
    /// gone, which ends the input.
    ///
    /// # Errors
    /// If a file or pipe cannot be read.
    pub(crate) fn take_up(&mut self) -> Result<()> {
        let mut bytes = [0; LOAD];
        match self.input.read(&mut bytes) {
            Ok(0) => self.has_ended = true,
            Ok(count) => self.typed.extend_from_slice(&bytes[..count]),
            Err(_) if self.is_terminal => self.has_ended = true,
            Err(e) if [ErrorKind::Interrupted, ErrorKind::WouldBlock].contains(&e.kind()) => {}
            Err(e) => {
                let hint =
                    "give a file or a pipe that can be read: `assay linux run … --shell < FILE`";
                let error = Error::new("linux-system", "the shell's input cannot be read", hint);
                return Err(error.caused_by(e));
            }
        }
        Ok(())
    }

    /// Handles a request of the guest at `now`. `disk` is the console's number among the drives.
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
        let status = match request.operation {
            BlockOperation::Read(pieces) if request.offset == INPUT && is_one_sector(&pieces) => {
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
            // The kernel looks for a partition table: zeros are none.
            BlockOperation::Read(pieces) => {
                for piece in pieces {
                    memory.write(piece.guest, &vec![0; piece.length as usize])?;
                }
                Status::Fine
            }
            BlockOperation::Write(pieces) if request.offset == OUTPUT && is_one_sector(&pieces) => {
                self.show(&pieces, memory)?;
                Status::Fine
            }
            BlockOperation::Write(_) if request.offset == PROMPT => {
                self.is_prompting = true;
                Status::Fine
            }
            BlockOperation::Write(_) if request.offset == CLOSE => {
                self.is_closed = true;
                self.answer(now, disk, &[], memory, disks)?;
                Status::Fine
            }
            BlockOperation::Flush => Status::Fine,
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

    /// Gives typed text to the guest if it listens. Returns `false` if it does not, or if there is
    /// no text. Returns an error if the guest reads on after [`ENDS`] ends of the input.
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
            // One byte is kept free for the newline that a last line may lack.
            count = match line {
                Some(end) => (end + 1).min(LOAD),
                // The rest of the line is still to be read.
                None if count < LOAD && !self.has_ended => 0,
                None => count.min(LOAD - 1),
            };
        }
        let mut text: Vec<u8> = self.typed.drain(..count).collect();
        if self.has_ended && !self.is_terminal && self.typed.is_empty() {
            // The last line may lack its newline; a reader that wants more gets a Ctrl-D.
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

    /// Ends the guest's read with `text`. Returns `false` if no read waits.
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
