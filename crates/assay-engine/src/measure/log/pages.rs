//! Checks the page sizes that a Parquet log claims against its length, before a page is unpacked.
//!
//! *Invariant.* Pages unpack to no more than their rows can take, and there are no more rows than a
//! file of its length can have. Otherwise a page of a few bytes could claim 2 GiB, and unpack to
//! them.

use super::decoded::{Decoded, in_words};
use super::thrift::{FOOTER, LEVELS, PACKED, PAGE, PLAIN, SCHEMA, SECOND, Walk};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;
use std::fs::File;
use std::io::BufReader;

/// The most bytes of a row in a column: its value, a value of the dictionary, its index there, and
/// its levels.
const ROW: u64 = 32;
/// The most bytes beside the rows: in a column of a row group, and in a whole file.
const GROUP_FREE: u64 = 1 << 20;
const FILE_FREE: u64 = 64 << 20;
/// The most columns and groups of columns in a file: the decoder recurses through nested groups.
const COLUMNS: i64 = 256;

/// The number of bytes at the end of a file that hold the length of the footer and a mark.
const END: u64 = 8;

/// Checks the footer of a file of this length, which says where everything lies.
pub fn footer(file: &File, length: u64) -> Decoded<()> {
    if length < END {
        return Ok(()); // The decoder reports the error.
    }
    let end = file.get_bytes(length - END, END as usize).map_err(in_words)?;
    let bytes = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    if !end.ends_with(b"PAR1") || bytes > length - END {
        return Ok(()); // The decoder reports this one, too.
    }
    let from = file.get_read(length - END - bytes).map_err(in_words)?;
    let mut columns = 0;
    Walk::new(from, bytes).walk(FOOTER, &mut |_, id, count| {
        columns = if id == SCHEMA { columns.max(count) } else { columns };
    })?;
    if columns > COLUMNS { Err(format!("it has {columns} columns")) } else { Ok(()) }
}

/// The room that is left for the pages of a file.
pub struct Pages<'f> {
    file: &'f File,
    /// Bytes of the file that further columns may take.
    packed: u64,
    /// Bytes that further pages may unpack to.
    plain: u64,
}

impl<'f> Pages<'f> {
    /// Returns the room in a file of `length` bytes that claims `rows` rows in `columns` columns.
    pub fn of(file: &'f File, length: u64, rows: u64, columns: u64) -> Pages<'f> {
        let plain = rows.saturating_mul(columns).saturating_mul(ROW).saturating_add(FILE_FREE);
        Pages { file, packed: length, plain }
    }

    /// Checks the pages of these `columns` of a group.
    pub fn check(&mut self, group: &RowGroupMetaData, columns: &[usize]) -> Decoded<()> {
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        columns.iter().try_for_each(|column| self.column(group.column(*column), rows))
    }

    /// Checks the pages of a column with this number of rows, and takes their room.
    fn column(&mut self, column: &ColumnChunkMetaData, rows: u64) -> Decoded<()> {
        let whole = [Some(column.data_page_offset()), column.dictionary_page_offset()];
        let lengths = [Some(column.compressed_size())];
        if whole.into_iter().chain(lengths).flatten().any(|n| n < 0) {
            return Err("a column begins before the file's data".to_owned());
        }
        let (at, mut left) = column.byte_range();
        if left > self.packed {
            return Err("its columns are larger than the file".to_owned());
        }
        self.packed -= left;
        let most = rows.saturating_mul(ROW).saturating_add(GROUP_FREE).min(self.plain);
        let mut plain = 0;
        // One reader serves all pages, because there may be one in every few bytes.
        let mut from = self.file.get_read(at).map_err(in_words)?;
        while left > 0 {
            let page = Page::next(&mut from, left)?;
            plain += page.plain;
            if plain > most {
                return Err(format!(
                    "a column of {rows} requests claims at least {plain} bytes, more than they take"
                ));
            }
            left -= page.taken;
        }
        self.plain -= plain;
        Ok(())
    }
}

/// The sizes that a page claims.
struct Page {
    /// Bytes once it is unpacked.
    plain: u64,
    /// Bytes that it takes in the file, with its header.
    taken: u64,
}

impl Page {
    /// Reads the header of the next page, in the `left` bytes of its column, and skips to its end.
    fn next(from: &mut BufReader<File>, left: u64) -> Decoded<Page> {
        let (mut plain, mut packed, mut levels) = (-1, -1, [0; 2]);
        let mut walk = Walk::new(&mut *from, left);
        walk.walk(PAGE, &mut |parent, id, value| {
            // Like the decoder, take the lower 32 bits, and the second of two values.
            let value = i64::from(value as i32);
            match (parent, id) {
                (0, PLAIN) => plain = value,
                (0, PACKED) => packed = value,
                (SECOND, id) if id == LEVELS[0] => levels[0] = value,
                (SECOND, id) if id == LEVELS[1] => levels[1] = value,
                _ => {}
            }
        })?;
        let (Ok(plain), Ok(packed)) = (u64::try_from(plain), u64::try_from(packed)) else {
            return Err("a page of it has a negative size".to_owned());
        };
        let rest = walk.left();
        if packed > rest || !levels.iter().all(|bytes| (0..=plain as i64).contains(bytes)) {
            return Err("a page of it is cut off".to_owned());
        }
        from.seek_relative(packed as i64).map_err(|e| e.to_string())?;
        Ok(Page { plain, taken: left - rest + packed })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LogWriter, read};
    use crate::measure::sample::Sample;
    use assay_fs::Directory;
    use assay_spec::{Bytes, Nanos, Op};
    use parquet::file::metadata::ColumnChunkMetaData;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use std::fs::{self, File};
    use std::path::Path;

    /// Writes a log of three requests; returns its bytes and the metadata of its last column.
    fn log(path: &Path) -> (Vec<u8>, ColumnChunkMetaData) {
        let directory = Directory::open(path.parent().expect("it lies in one")).expect("there");
        let mut log = LogWriter::create(&directory, "log.parquet").expect("created");
        for i in 0..3 {
            log.push(Sample {
                submit: Nanos(i),
                complete: Nanos(i + 5),
                offset: Bytes(i * 4096),
                length: Bytes(4096),
                op: Op::Read,
                job: 0,
                error: 0,
            });
        }
        log.finish().expect("written");
        let reader = SerializedFileReader::new(File::open(path).expect("there")).expect("a log");
        let column = reader.metadata().row_group(0).columns().last().expect("it has columns");
        (fs::read(path).expect("read"), column.clone())
    }

    /// Encodes a number as in the file.
    fn number(value: i64) -> Vec<u8> {
        let mut rest = (value << 1 ^ value >> 63) as u64;
        let mut bytes = Vec::new();
        while rest > 0x7f {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    }

    /// Replaces the last field with this `head` and the value `from` by one with the value `to`.
    fn change(data: &mut [u8], head: u8, from: i64, to: i64) {
        let old = [&[head], &number(from)[..]].concat();
        let new = [&[head], &number(to)[..]].concat();
        let at = data.windows(old.len()).rposition(|bytes| bytes == old).expect("it is there");
        data[at..at + old.len()].copy_from_slice(&new);
    }

    fn refused(path: &Path, data: &[u8], words: &str) {
        fs::write(path, data).expect("written");
        let error = read(path).expect_err("refused");
        assert!(error.message.contains(words), "{}: {words}", error.message);
    }

    #[test]
    fn a_page_that_claims_two_gibibytes_is_refused() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("log.parquet");
        let (mut data, column) = log(&path);
        let (start, packed) = (column.byte_range().0 as usize, column.compressed_size());
        // The kind is followed by the size, which gets longer by four bytes; so does the column.
        assert!(data[start] == 0x15 && data[start + 2] == 0x15 && data[start + 3] < 0x80);
        data.splice(start + 3..start + 4, number(i64::from(i32::MAX)));
        change(&mut data, 0x16, packed, packed + 4);
        refused(&path, &data, "claims at least 2147483647 bytes, more than they take");
    }

    #[test]
    fn columns_lie_in_the_file() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("log.parquet");
        let (right, column) = log(&path);
        let packed = column.compressed_size();
        for (to, words) in
            [(-packed, "begins before the file's data"), (packed - 1, "a page of it is cut off")]
        {
            let mut data = right.clone();
            change(&mut data, 0x16, packed, to);
            refused(&path, &data, words);
        }
        // The footer says only that it has a list of 2^31 flags, which take no room.
        let end = [0xf9, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0];
        let mut data = [b"PAR1", &end[..]].concat();
        data.extend(8_u32.to_le_bytes());
        data.extend(b"PAR1");
        refused(&path, &data, "a field 15 of this type");
        // This file has columns within columns, 300 levels deep.
        let columns = [0x48, 1, b'a', 0x15, 2, 0].repeat(300);
        let end = [&[0x15, 4, 0x19, 0xfc, 0xac, 2][..], &columns, &[0]].concat();
        let mut data = [b"PAR1", &end[..]].concat();
        data.extend((end.len() as u32).to_le_bytes());
        data.extend(b"PAR1");
        refused(&path, &data, "it has 300 columns");
    }
}
