//! Requests of the virtio-blk protocol, which a guest sends to its disk.
//!
//! After the OASIS Virtio 1.1 specification, section 5.2. A request is a header of 16 bytes, data,
//! and a last byte for the status.

use super::memory::Memory;
use super::message::{Malformed, wide, word};
use super::ring::Piece;
use assay_spec::{Bytes, Op};

/// The size of a sector of the protocol in bytes, independent of the drive's block size.
pub const SECTOR: u64 = 512;
const HEADER: usize = 16;
/// The largest number of ranges in a discard.
pub const SEGMENTS_MAX: u32 = 16;

/// The status with which a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Success (`VIRTIO_BLK_S_OK`).
    Fine = 0,
    /// An error: the request was not carried out, or not completely (`VIRTIO_BLK_S_IOERR`).
    Failed = 1,
    /// A request that the device does not support (`VIRTIO_BLK_S_UNSUPP`).
    Unsupported = 2,
}

/// The type of a request, with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockOperation {
    /// A read into these pieces of memory.
    Read(Vec<Piece>),
    /// A write from these pieces of memory.
    Write(Vec<Piece>),
    /// A flush of all completed writes.
    Flush,
    /// A discard of these ranges.
    Discard(Vec<Range>),
    /// A request to set these ranges to zero.
    WriteZeroes(Vec<Range>),
    /// A request to write the device's name into this piece (`VIRTIO_BLK_T_GET_ID`).
    Name(Piece),
    /// Any other request.
    Unknown,
}

/// A range of bytes on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first byte.
    pub offset: Bytes,
    /// The number of bytes.
    pub length: Bytes,
}

/// A parsed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// The type, with its data.
    pub operation: BlockOperation,
    /// The first byte on the drive, for a read or write.
    pub offset: Bytes,
    /// The number of the process that sends it, which a program sets as the hint of its I/O
    /// priority.
    pub process: u32,
    /// The guest address of the status.
    pub status: u64,
    /// The number of bytes that the device writes in all, including the status.
    pub writable: u32,
}

impl BlockRequest {
    /// Parses the request in a chain of descriptors.
    ///
    /// # Errors
    /// If there is no header or no place for the status, or if ranges are malformed.
    pub fn parse(memory: &Memory, mut pieces: Vec<Piece>) -> Result<BlockRequest, Malformed> {
        let writable = pieces.iter().filter(|p| p.is_writable).map(|p| p.length).sum();
        let first = pieces.first_mut().filter(|p| !p.is_writable && p.length as usize >= HEADER);
        let first = first.ok_or_else(|| Malformed("a request without a header".into()))?;
        let header: [u8; HEADER] = memory.array(first.guest)?;
        first.guest += HEADER as u64;
        first.length -= HEADER as u32;
        let last = pieces.last_mut().filter(|p| p.is_writable && p.length > 0);
        let last = last.ok_or_else(|| Malformed("a request without a place for its end".into()))?;
        last.length -= 1;
        let status = last.guest.checked_add(u64::from(last.length));
        let status = status.ok_or_else(|| Malformed("a place beyond the end of memory".into()))?;
        pieces.retain(|p| p.length > 0);
        let kind = word(&header, 0).expect("16 bytes");
        // `uapi/linux/ioprio.h`: three bits of level, ten of hint, three of class.
        let process = word(&header, 4).expect("16 bytes") >> 3 & 0x3ff;
        let sector = wide(&header, 8).expect("16 bytes");
        let offset = sector.checked_mul(SECTOR).map_or(Bytes(u64::MAX), Bytes);
        let all = |is_writable| pieces.iter().all(|p| p.is_writable == is_writable);
        let operation = match kind {
            0 if all(true) => BlockOperation::Read(pieces),
            1 if all(false) => BlockOperation::Write(pieces),
            4 => BlockOperation::Flush,
            8 => pieces
                .iter()
                .find(|p| p.is_writable)
                .map_or(BlockOperation::Unknown, |p| BlockOperation::Name(*p)),
            11 if all(false) => BlockOperation::Discard(ranges(memory, &pieces)?),
            13 if all(false) => BlockOperation::WriteZeroes(ranges(memory, &pieces)?),
            _ => BlockOperation::Unknown,
        };
        Ok(BlockRequest { operation, offset, process, status, writable })
    }

    /// Returns the operations on a drive of `capacity` that the request consists of. Returns `None`
    /// if a range is empty, is not of whole sectors, or lies beyond the end of the drive.
    pub fn operations(&self, capacity: Bytes) -> Option<Vec<(Op, Range)>> {
        let data = |op, pieces: &[Piece]| {
            let length = Bytes(pieces.iter().map(|p| u64::from(p.length)).sum());
            Some(vec![(op, Range { offset: self.offset, length }.within(capacity)?)])
        };
        let each = |op, ranges: &[Range]| {
            let all = ranges.iter().map(|r| Some((op, r.within(capacity)?)));
            all.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
        };
        match &self.operation {
            BlockOperation::Read(pieces) => data(Op::Read, pieces),
            BlockOperation::Write(pieces) => data(Op::Write, pieces),
            BlockOperation::Discard(ranges) => each(Op::Trim, ranges),
            BlockOperation::WriteZeroes(ranges) => each(Op::Write, ranges),
            BlockOperation::Flush => {
                Some(vec![(Op::Flush, Range { offset: Bytes::ZERO, length: Bytes::ZERO })])
            }
            BlockOperation::Name(_) | BlockOperation::Unknown => Some(Vec::new()),
        }
    }
}

impl Range {
    /// Returns the range if it is not empty, of whole sectors, and inside a drive of `capacity`.
    fn within(self, capacity: Bytes) -> Option<Range> {
        let end = self.offset.0.checked_add(self.length.0)?;
        let whole = self.length.0 > 0 && self.length.is_multiple_of(Bytes(SECTOR));
        (whole && end <= capacity.0).then_some(self)
    }
}

/// Reads the ranges of a discard or of a write of zeros.
fn ranges(memory: &Memory, pieces: &[Piece]) -> Result<Vec<Range>, Malformed> {
    const SEGMENT: usize = 16;
    let total: usize = pieces.iter().map(|p| p.length as usize).sum();
    if !total.is_multiple_of(SEGMENT) || total > SEGMENT * SEGMENTS_MAX as usize {
        return Err(Malformed(format!("{total} bytes of ranges")));
    }
    let mut bytes = Vec::with_capacity(total);
    for piece in pieces {
        let start = bytes.len();
        bytes.resize(start + piece.length as usize, 0);
        memory.read(piece.guest, &mut bytes[start..])?;
    }
    let range = |segment: &[u8]| {
        let bytes = |sectors: u64| sectors.checked_mul(SECTOR).map_or(Bytes(u64::MAX), Bytes);
        Range {
            offset: bytes(wide(segment, 0).expect("16 bytes")),
            length: bytes(u64::from(word(segment, 8).expect("16 bytes"))),
        }
    };
    Ok(bytes.chunks_exact(SEGMENT).map(range).collect())
}

/// Returns the configuration space of a disk with blocks of `sector` bytes.
pub fn config(capacity: Bytes, sector: Bytes) -> [u8; 60] {
    const SEG_MAX: u32 = 254;
    const DISCARD_SECTORS: u32 = 4 << 20;
    let mut space = [0; 60];
    let mut put = |at: usize, value: u32| space[at..at + 4].copy_from_slice(&value.to_le_bytes());
    let sectors = capacity.0 / SECTOR;
    put(0, sectors as u32);
    put(4, (sectors >> 32) as u32);
    put(12, SEG_MAX);
    put(20, sector.0 as u32);
    put(36, DISCARD_SECTORS);
    put(40, SEGMENTS_MAX);
    put(44, (sector.0 / SECTOR) as u32);
    put(48, DISCARD_SECTORS);
    put(52, SEGMENTS_MAX);
    space
}

/// Returns the feature bits of a disk: maximal segments, block size, flush, write zeroes and, if it
/// `discards`, discard.
pub const fn features(discards: bool) -> u64 {
    const INDIRECT: u64 = 1 << 28;
    const PROTOCOL: u64 = 1 << 30;
    const VERSION_1: u64 = 1 << 32;
    let base = 1 << 2 | 1 << 6 | 1 << 9 | 1 << 14 | INDIRECT | PROTOCOL | VERSION_1;
    if discards { base | 1 << 13 } else { base }
}
