//! A split virtqueue: where the guest puts requests and finds their ends.
//!
//! After the OASIS Virtio 1.1 specification, section 2.6. All numbers are little-endian. A chain of
//! descriptors can be wrong in any way; it is never followed further than it could honestly be.
//!
//! *Invariants.* Every head that was taken is given back once. No address outside the guest's
//! memory is touched.

use super::memory::Memory;
use super::message::{Malformed, wide, word};
use std::collections::VecDeque;

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
const DESCRIPTOR: usize = 16;
/// Bytes of the number of used entries, which stands before them.
const USED_HEAD: usize = 2;
/// Descriptors of a chain at most: the longest table that a kernel makes.
const CHAIN_MAX: usize = 1024;
/// Bytes of a chain at most.
const BYTES_MAX: u64 = 64 << 20;

/// A piece of a request in the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it is.
    pub guest: u64,
    /// Bytes.
    pub length: u32,
    /// True if the device writes there.
    pub is_writable: bool,
}

/// A ring, once it is set up.
#[derive(Debug, Default)]
pub struct Ring {
    /// Entries.
    pub length: u16,
    /// Guest addresses of descriptors, used and available entries.
    pub places: Option<[u64; 3]>,
    /// Whether requests are taken.
    pub is_enabled: bool,
    /// The next available entry to take.
    pub next: u16,
    /// Heads of requests that were seen and not yet taken, and the descriptors as they were then.
    new: VecDeque<u16>,
    descriptors: Vec<u8>,
    used: u16,
    /// The used entries as they were written, behind their number.
    given: Vec<u8>,
}

impl Ring {
    /// The ring begins anew at this entry.
    pub fn restart(&mut self, base: u16) {
        (self.next, self.used) = (base, base);
        self.new.clear();
        self.given.clear();
    }

    fn places(&self) -> Result<[u64; 3], Malformed> {
        let is_whole = self.length.is_power_of_two();
        self.places
            .filter(|_| is_whole)
            .ok_or_else(|| Malformed("a ring that is not set up".into()))
    }

    /// Looks for new requests.
    pub fn look(&mut self, memory: &Memory) -> Result<(), Malformed> {
        let [descriptors, _, available] = self.places()?;
        // All entries in one go, and all descriptors: a call to the system costs more than copying.
        let mut bytes = vec![0; 2 + 2 * usize::from(self.length)];
        memory.read(add(available, 2)?, &mut bytes)?;
        let entry = |at: usize| u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
        let seen = self.next.wrapping_add(self.new.len() as u16);
        let new = entry(0).wrapping_sub(seen);
        if usize::from(new) + self.new.len() > usize::from(self.length) {
            return Err(Malformed("more requests than the ring has entries".into()));
        }
        let at = |n: u16| usize::from(seen.wrapping_add(n) % self.length);
        self.new.extend((0..new).map(|n| entry(1 + at(n))));
        if new > 0 {
            self.descriptors.resize(usize::from(self.length) * DESCRIPTOR, 0);
            memory.read(descriptors, &mut self.descriptors)?;
        }
        Ok(())
    }

    /// Takes the next request of those that were seen: its head and its pieces.
    pub fn take(&mut self, memory: &Memory) -> Result<Option<(u16, Vec<Piece>)>, Malformed> {
        let Some(head) = self.new.pop_front() else { return Ok(None) };
        self.next = self.next.wrapping_add(1);
        Ok(Some((head, self.chain(memory, head)?)))
    }

    fn chain(&self, memory: &Memory, head: u16) -> Result<Vec<Piece>, Malformed> {
        let mut pieces = Vec::new();
        let mut index = usize::from(head);
        let mut indirect: Option<Vec<u8>> = None;
        let (mut total, mut count) = (0, 0);
        loop {
            count += 1;
            let table = indirect.as_ref().unwrap_or(&self.descriptors);
            let bytes = table.chunks_exact(DESCRIPTOR).nth(index);
            let bytes = bytes.filter(|_| count <= CHAIN_MAX).ok_or_else(|| {
                Malformed(format!("descriptor {index} of {}", table.len() / DESCRIPTOR))
            })?;
            let guest = wide(bytes, 0).expect("there");
            let size = word(bytes, 8).expect("there");
            let flags = u16::from_le_bytes([bytes[12], bytes[13]]);
            let next = u16::from_le_bytes([bytes[14], bytes[15]]);
            if flags & INDIRECT != 0 {
                let count = size as usize / DESCRIPTOR;
                if indirect.is_some() || !pieces.is_empty() || !(1..=CHAIN_MAX).contains(&count) {
                    return Err(Malformed(format!("a table of {size} bytes in a chain")));
                }
                let mut bytes = vec![0; count * DESCRIPTOR];
                memory.read(guest, &mut bytes)?;
                (index, indirect) = (0, Some(bytes));
                continue;
            }
            total += u64::from(size);
            if total > BYTES_MAX {
                return Err(Malformed(format!("a request of more than {BYTES_MAX} bytes")));
            }
            join(&mut pieces, Piece { guest, length: size, is_writable: flags & WRITE != 0 });
            if flags & NEXT == 0 {
                return Ok(pieces);
            }
            index = usize::from(next);
        }
    }

    /// Gives a request back; the device has written so many bytes of it.
    pub fn give(&mut self, memory: &Memory, head: u16, written: u32) -> Result<(), Malformed> {
        let [_, used, _] = self.places()?;
        let at = USED_HEAD + 8 * usize::from(self.used % self.length);
        self.given.resize(USED_HEAD + 8 * usize::from(self.length), 0);
        self.given[at..at + 4].copy_from_slice(&u32::from(head).to_le_bytes());
        self.given[at + 4..at + 8].copy_from_slice(&written.to_le_bytes());
        self.used = self.used.wrapping_add(1);
        self.given[..USED_HEAD].copy_from_slice(&self.used.to_le_bytes());
        // The number and the entry in one go, and what lies between them as it was. The kernel
        // looks only when it is told.
        memory.write(add(used, 2)?, &self.given[..at + 8])
    }
}

/// Adds a piece; what follows the last one in memory too is one with it, and moved in one go.
fn join(pieces: &mut Vec<Piece>, piece: Piece) {
    let follows = |last: &&mut Piece| {
        last.is_writable == piece.is_writable
            && last.guest.checked_add(u64::from(last.length)) == Some(piece.guest)
    };
    match pieces.last_mut().filter(follows) {
        // The chain has no more bytes than fit.
        Some(last) => last.length += piece.length,
        None => pieces.push(piece),
    }
}

fn add(address: u64, offset: u64) -> Result<u64, Malformed> {
    address.checked_add(offset).ok_or_else(|| Malformed("a ring beyond the end of memory".into()))
}
