//! The contents of a modelled drive: a sparse file, in memory or on a disk.
//!
//! Benchmarks write zeros most of the time, which take no room: zeros are written to the file only
//! where a block may hold other data.
//!
//! *Invariant.* A read returns the data that was written last, or zeros.

use crate::error::{Error, Result};
use assay_spec::Bytes;
use rustix::fs::{
    FallocateFlags, FlockOperation, MemfdFlags, SeekFrom, fallocate, flock, ftruncate,
    memfd_create, seek,
};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The size of a block of [`Store::holds`], in bytes.
const BLOCK: u64 = 4096;

/// The contents of a drive.
#[derive(Debug)]
pub struct Store {
    file: File,
    /// A bit for each block, set if the block may hold other data than zeros.
    holds: Vec<u64>,
}

impl Store {
    /// Creates a store of zeros in memory.
    ///
    /// # Errors
    /// If the system cannot make a memory file of this size.
    pub fn in_memory(capacity: Bytes) -> io::Result<Store> {
        let file = memfd_create("assay-drive", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, capacity.0)?;
        let holds = vec![0; capacity.0.div_ceil(BLOCK * 64) as usize];
        Ok(Store { file: File::from(file), holds })
    }

    /// Creates a store with the contents of `file`, which is open for reading and writing and is
    /// locked until the value is dropped. An empty file is extended to `capacity`. `path` is for
    /// error messages.
    ///
    /// # Errors
    /// If another guest has locked the file, or if it has another size than `capacity`.
    pub fn in_file(file: File, path: &Path, capacity: Bytes) -> Result<Store> {
        let name = path.display();
        let refused = |e: io::Error| {
            let hint = "name a file in a directory that you may write to";
            Error::new("linux-image", format!("{name} cannot be used"), hint).caused_by(e)
        };
        let metadata = file.metadata().map_err(refused)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            let message = format!("{name} is in use by another guest");
            Error::new(
                "linux-image",
                message,
                "wait until that guest ends, or use a copy of the image",
            )
        })?;
        if metadata.len() == 0 {
            file.set_len(capacity.0).map_err(refused)?;
        } else if metadata.len() != capacity.0 {
            let message =
                format!("{name} has {} bytes, but the drive has {}", metadata.len(), capacity.0);
            let hint = "use the drive for which the image was made, or name a file that does not \
                        exist yet";
            return Err(Error::new("linux-image", message, hint));
        }
        let mut store = Store { file, holds: vec![0; capacity.0.div_ceil(BLOCK * 64) as usize] };
        store.find_data(capacity).map_err(refused)?;
        Ok(store)
    }

    /// Finds the blocks of the file that may hold data (`SEEK_DATA`).
    fn find_data(&mut self, capacity: Bytes) -> io::Result<()> {
        let mut at = 0;
        while at < capacity.0 {
            let data = match seek(&self.file, SeekFrom::Data(at)) {
                Ok(data) => data,
                Err(rustix::io::Errno::NXIO) => break,
                Err(e) => return Err(e.into()),
            };
            let hole = seek(&self.file, SeekFrom::Hole(data))?;
            for block in Self::blocks(Bytes(data), (hole - data) as usize) {
                self.holds[(block / 64) as usize] |= 1 << (block % 64);
            }
            at = hole;
        }
        Ok(())
    }

    fn blocks(offset: Bytes, length: usize) -> std::ops::RangeInclusive<u64> {
        offset.0 / BLOCK..=(offset.0 + length.max(1) as u64 - 1) / BLOCK
    }

    fn may_hold(&self, offset: Bytes, length: usize) -> bool {
        let bit = |block: u64| self.holds[(block / 64) as usize] & (1 << (block % 64)) != 0;
        Self::blocks(offset, length).any(bit)
    }

    /// Reads the bytes from `offset` on into `into`.
    ///
    /// # Errors
    /// If the file cannot be read.
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
    /// If the file cannot be written.
    pub fn write(&mut self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
        if !self.may_hold(offset, bytes.len()) && is_zero(bytes) {
            return Ok(());
        }
        for block in Self::blocks(offset, bytes.len()) {
            self.holds[(block / 64) as usize] |= 1 << (block % 64);
        }
        self.file.write_all_at(bytes, offset.0)
    }

    /// Sets `length` bytes from `offset` on to zero, by punching a hole if possible.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn clear(&mut self, offset: Bytes, length: Bytes) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, hole, offset.0, length.0) {
            Err(rustix::io::Errno::OPNOTSUPP) => return self.clear_by_writing(offset, length),
            other => other?,
        }
        let inner = offset.0.div_ceil(BLOCK)..(offset.0 + length.0) / BLOCK;
        for block in inner {
            self.holds[(block / 64) as usize] &= !(1 << (block % 64));
        }
        Ok(())
    }

    /// Writes zeros where other data may be. For file systems without holes.
    fn clear_by_writing(&mut self, offset: Bytes, length: Bytes) -> io::Result<()> {
        const PIECE: u64 = 1 << 20;
        let end = offset.0 + length.0;
        let mut at = offset.0;
        while at < end {
            let piece = PIECE.min(end - at);
            if self.may_hold(Bytes(at), piece as usize) {
                self.file.write_all_at(&vec![0; piece as usize], at)?;
            }
            at += piece;
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

    #[test]
    fn a_file_keeps_what_was_written_and_is_one_guests_alone() {
        let directory = tempfile::tempdir().expect("made");
        let path = directory.path().join("image");
        let mut store = Store::in_file(open(&path), &path, Bytes::MIB).expect("made");
        store.write(Bytes(300_032), &[7; 1024]).expect("written");
        store.write(Bytes(900_096), &[9; 512]).expect("written");
        let taken = Store::in_file(open(&path), &path, Bytes::MIB).expect_err("in use");
        assert!(taken.message.contains("in use by another guest"), "{taken}");
        drop(store);
        let mut store = Store::in_file(open(&path), &path, Bytes::MIB).expect("there");
        let mut all = vec![1; 1 << 20];
        store.read(Bytes::ZERO, &mut all).expect("read");
        assert!(all[300_032..301_056].iter().all(|b| *b == 7));
        assert_eq!(all.iter().map(|b| u64::from(*b)).sum::<u64>(), 7 * 1024 + 9 * 512);
        store.write(Bytes(300_032), &[0; 1024]).expect("zeros over something");
        drop(store);
        let store = Store::in_file(open(&path), &path, Bytes::MIB).expect("there");
        store.read(Bytes::ZERO, &mut all).expect("read");
        assert_eq!(all.iter().map(|b| u64::from(*b)).sum::<u64>(), 9 * 512);
    }

    fn open(path: &Path) -> File {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).open(path).expect("opened")
    }

    #[test]
    fn a_file_that_cannot_be_the_drives_is_left_alone() {
        let directory = tempfile::tempdir().expect("made");
        let path = directory.path().join("letter");
        std::fs::write(&path, "not a drive").expect("written");
        let refused = Store::in_file(open(&path), &path, Bytes::MIB).expect_err("another size");
        assert!(refused.message.contains("has 11 bytes, but the drive has 1048576"), "{refused}");
        assert_eq!(std::fs::read(&path).expect("there"), b"not a drive");
        assert_eq!(refused.id, "linux-image");
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
                        match start % 1024 {
                            0 => store.clear(offset, Bytes(length)),
                            _ => store.clear_by_writing(offset, Bytes(length)),
                        }
                        .expect("cleared");
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
