//! A split virtqueue: the ring through which the guest sends requests and learns of their ends.
//!
//! After the OASIS Virtio 1.1 specification, section 2.6. All numbers are little-endian. A chain of
//! descriptors can be wrong in any way; it is followed no further than a correct one can be long.
//!
//! *Invariants.* Every head that was taken is given back once. No address outside the guest's
//! memory is accessed.

use super::memory::Memory;
use super::message::{Malformed, wide, word};

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
const DESCRIPTOR: usize = 16;
/// The largest number of descriptors in a chain: the longest table that a kernel makes.
const CHAIN_MAX: usize = 1024;
/// The largest number of bytes in a chain.
const BYTES_MAX: u64 = 64 << 20;

/// A piece of a request in the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The guest address.
    pub guest: u64,
    /// The length in bytes.
    pub length: u32,
    /// Whether the device writes to it.
    pub is_writable: bool,
}

/// The device's state of a ring.
#[derive(Debug, Default)]
pub struct Ring {
    /// The number of entries.
    pub length: u16,
    /// The guest addresses of descriptors, used and available entries, once they are set.
    pub places: Option<[u64; 3]>,
    /// Whether the device takes requests.
    pub is_enabled: bool,
    /// The next available entry to take, counted without end (modulo 2¹⁶), as the next two are.
    pub next: u16,
    /// The end of the available entries when [`Ring::look`] was last called.
    seen: u16,
    /// The next used entry to write.
    used: u16,
}

impl Ring {
    /// Restarts the ring at entry `base`.
    pub fn restart(&mut self, base: u16) {
        (self.next, self.seen, self.used) = (base, base, base);
    }

    /// Returns the addresses of the ring, or an error if it is not set up.
    fn places(&self) -> Result<[u64; 3], Malformed> {
        let is_whole = self.length.is_power_of_two();
        self.places
            .filter(|_| is_whole)
            .ok_or_else(|| Malformed("a ring that is not set up".into()))
    }

    /// Looks for new requests, which [`Ring::take`] then returns.
    pub fn look(&mut self, memory: &Memory) -> Result<(), Malformed> {
        let [_, _, available] = self.places()?;
        let seen = u16::from_le_bytes(memory.array(add(available, 2)?)?);
        let (new, known) = (seen.wrapping_sub(self.next), self.seen.wrapping_sub(self.next));
        if new > self.length || new < known {
            return Err(Malformed("more requests than the ring has entries".into()));
        }
        self.seen = seen;
        Ok(())
    }

    /// Takes the next request that [`Ring::look`] has seen: its head and its pieces.
    pub fn take(&mut self, memory: &Memory) -> Result<Option<(u16, Vec<Piece>)>, Malformed> {
        if self.next == self.seen {
            return Ok(None);
        }
        let [descriptors, _, available] = self.places()?;
        let entry = add(available, 4 + 2 * u64::from(self.next % self.length))?;
        let head = u16::from_le_bytes(memory.array(entry)?);
        self.next = self.next.wrapping_add(1);
        let table = (descriptors, usize::from(self.length));
        Ok(Some((head, chain(memory, table, head)?)))
    }

    /// Gives a request back to the guest. `written` is the number of bytes that the device has
    /// written.
    pub fn give(&mut self, memory: &Memory, head: u16, written: u32) -> Result<(), Malformed> {
        let [_, used, _] = self.places()?;
        let entry = add(used, 4 + 8 * u64::from(self.used % self.length))?;
        memory.write(entry, &u32::from(head).to_le_bytes())?;
        memory.write(add(entry, 4)?, &written.to_le_bytes())?;
        self.used = self.used.wrapping_add(1);
        memory.write(add(used, 2)?, &self.used.to_le_bytes())
    }
}

/// Reads the pieces of the request at `head`. `table` is the guest address of the table of
/// descriptors, and their number.
fn chain(memory: &Memory, table: (u64, usize), head: u16) -> Result<Vec<Piece>, Malformed> {
    let mut pieces = Vec::new();
    let (mut table, mut index, mut is_indirect) = (table, usize::from(head), false);
    let (mut total, mut count) = (0, 0);
    loop {
        count += 1;
        let (start, length) = table;
        if count > CHAIN_MAX || index >= length {
            return Err(Malformed(format!("descriptor {index} of {length}")));
        }
        let bytes: [u8; DESCRIPTOR] = memory.array(add(start, (index * DESCRIPTOR) as u64)?)?;
        let guest = wide(&bytes, 0).expect("there");
        let size = word(&bytes, 8).expect("there");
        let flags = u16::from_le_bytes([bytes[12], bytes[13]]);
        let next = u16::from_le_bytes([bytes[14], bytes[15]]);
        if flags & INDIRECT != 0 {
            let length = size as usize / DESCRIPTOR;
            if is_indirect || !pieces.is_empty() || !(1..=CHAIN_MAX).contains(&length) {
                return Err(Malformed(format!("a table of {size} bytes in a chain")));
            }
            (table, index, is_indirect) = ((guest, length), 0, true);
            count = 0;
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

/// Adds a piece. Joins it to the last one if it follows that in memory, so that both are moved at
/// once.
fn join(pieces: &mut Vec<Piece>, piece: Piece) {
    let follows = |last: &&mut Piece| {
        last.is_writable == piece.is_writable
            && last.guest.checked_add(u64::from(last.length)) == Some(piece.guest)
    };
    match pieces.last_mut().filter(follows) {
        // No overflow: a chain has `BYTES_MAX` bytes at most.
        Some(last) => last.length += piece.length,
        None => pieces.push(piece),
    }
}

fn add(address: u64, offset: u64) -> Result<u64, Malformed> {
    address.checked_add(offset).ok_or_else(|| Malformed("a ring beyond the end of memory".into()))
}
