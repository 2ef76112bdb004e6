//! What is on a modelled drive: its bytes.
//!
//! A sparse file in memory. Most of what benchmarks write is zeros, and
//! those take no room: a block of zeros is only written where something else was before.
//!
//! *Invariant.* What is read is what was written last, or zeros.

use assay_spec::Bytes;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Granularity of what is known to hold something.
const BLOCK: u64 = 4096;

/// The contents of a drive.
#[derive(Debug)]
pub struct Store {
    file: File,
    /// A bit for each block that may hold other than zeros.
    holds: Vec<u64>,
}

impl Store {
    /// Nothing but zeros, in memory.
    ///
    /// # Errors
    /// If the system has no room for it.
    pub fn in_memory(capacity: Bytes) -> io::Result<Store> {
        let file = memfd_create("assay-drive", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, capacity.0)?;
        let holds = vec![0; capacity.0.div_ceil(BLOCK * 64) as usize];
        Ok(Store { file: File::from(file), holds })
    }

    fn blocks(offset: Bytes, length: usize) -> std::ops::RangeInclusive<u64> {
        offset.0 / BLOCK..=(offset.0 + length.max(1) as u64 - 1) / BLOCK
    }

    fn may_hold(&self, offset: Bytes, length: usize) -> bool {
        let bit = |block: u64| self.holds[(block / 64) as usize] & (1 << (block % 64)) != 0;
        Self::blocks(offset, length).any(bit)
    }

    /// Fills `into` from `offset` on.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self, offset: Bytes, into: &mut [u8]) -> io::Result<()> {
        if self.may_hold(offset, into.len()) {
            return self.file.read_exact_at(into, offset.0);
        }
        into.fill(0);
        Ok(())
    }

    /// Writes `bytes` from `offset` on.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
        if !self.may_hold(offset, bytes.len()) && is_zero(bytes) {
            return Ok(());
        }
        for block in Self::blocks(offset, bytes.len()) {
            self.holds[(block / 64) as usize] |= 1 << (block % 64);
        }
        self.file.write_all_at(bytes, offset.0)
    }

    /// Zeros from `offset` on.
    ///
    /// # Errors
    /// What the system says.
    pub fn clear(&mut self, offset: Bytes, length: Bytes) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&self.file, hole, offset.0, length.0)?;
        let inner = offset.0.div_ceil(BLOCK)..(offset.0 + length.0) / BLOCK;
        for block in inner {
            self.holds[(block / 64) as usize] &= !(1 << (block % 64));
        }
        Ok(())
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    let chunks = bytes.chunks_exact(64);
    chunks.remainder().iter().all(|b| *b == 0) && chunks.into_iter().all(|c| *c == [0; 64])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zeros_take_no_room() {
        use std::os::unix::fs::MetadataExt;
        let mut store = Store::in_memory(Bytes::GIB).expect("made");
        let zeros = vec![0; 1 << 20];
        (0..1024).for_each(|i| store.write(Bytes::MIB * i, &zeros).expect("written"));
        assert_eq!(store.file.metadata().expect("there").blocks(), 0);
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(
            steps in proptest::collection::vec((0_u64..120, 1_u64..40, 0_u8..4), 1..60)
        ) {
            let sector = 512;
            let mut store = Store::in_memory(Bytes(160 * sector)).expect("made");
            let mut shadow = vec![0_u8; 160 * sector as usize];
            for (start, count, what) in steps {
                let (start, length) = (start * sector, count * sector);
                let part = start as usize..(start + length) as usize;
                let offset = Bytes(start);
                match what {
                    3 => {
                        store.clear(offset, Bytes(length)).expect("cleared");
                        shadow[part.clone()].fill(0);
                    }
                    byte => {
                        store.write(offset, &vec![byte; length as usize]).expect("written");
                        shadow[part.clone()].fill(byte);
                    }
                }
                let mut read = vec![9; shadow.len()];
                store.read(Bytes(0), &mut read).expect("read");
                prop_assert_eq!(&read, &shadow);
            }
        }
    }
}
