//! Decodes the values in the pages of a column.
//!
//! The library unpacks the pages, but their values are decoded here: its own decoders panic where a
//! page contradicts itself, and allocate room for as many values as the page claims. The encodings
//! are those of assay's logs, and those that other writers use for integers.

use super::decoded::{Decoded, in_words};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};

/// An integer type of a column.
pub trait Number: Copy {
    const WIDTH: usize;

    /// Truncates a value to its lowest bits.
    fn of(value: i64) -> Self;

    /// Reads a number from its bytes, the lowest first.
    fn read(bytes: &[u8]) -> Self {
        let low_first = bytes.iter().rev();
        Self::of(low_first.fold(0, |value, byte| value << 8 | i64::from(*byte)))
    }
}

impl Number for i32 {
    const WIDTH: usize = 4;

    fn of(value: i64) -> i32 {
        value as i32
    }
}

impl Number for i64 {
    const WIDTH: usize = 8;

    fn of(value: i64) -> i64 {
        value
    }
}

/// Decodes the values of a column of `rows` rows, `None` where it has a null.
pub fn values<T: Number>(
    mut pages: Box<dyn PageReader>,
    rows: usize,
    has_nulls: bool,
) -> Decoded<Vec<Option<T>>> {
    let (mut found, mut dictionary) = (Vec::new(), Vec::new());
    while found.len() < rows {
        let left = rows - found.len();
        let page = pages.get_next_page().map_err(in_words)?.ok_or("a column ends early")?;
        let (levels, data, encoding, count) = match &page {
            Page::DictionaryPage { buf, num_values, .. } => {
                dictionary = plain::<T>(buf, *num_values as usize)?;
                continue;
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                let (mut levels, mut data) = (&buf[..0], &buf[..]);
                if has_nulls {
                    is(*def_level_encoding == Encoding::RLE)?;
                    let length = take(&mut data, 4)?;
                    levels = take(&mut data, i32::read(length) as u32 as usize)?;
                }
                (levels, data, *encoding, *num_values)
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let mut data = &buf[..];
                take(&mut data, *rep_levels_byte_len as usize)?;
                (take(&mut data, *def_levels_byte_len as usize)?, data, *encoding, *num_values)
            }
        };
        let count = count as usize;
        if count > left {
            return Err("a column has more values than rows".to_owned());
        }
        if !has_nulls {
            found.extend(decode(encoding, data, count, &dictionary)?.into_iter().map(Some));
            continue;
        }
        let levels = runs(levels, 1, count)?;
        let known = levels.iter().filter(|level| **level == 1).count();
        let mut values = decode(encoding, data, known, &dictionary)?.into_iter();
        found.extend(levels.iter().map(|l| if *l == 1 { values.next() } else { None }));
    }
    Ok(found)
}

fn decode<T: Number>(
    encoding: Encoding,
    mut data: &[u8],
    count: usize,
    dictionary: &[T],
) -> Decoded<Vec<T>> {
    match encoding {
        Encoding::PLAIN => plain(data, count),
        Encoding::DELTA_BINARY_PACKED => deltas(data, count),
        Encoding::BYTE_STREAM_SPLIT => {
            is(data.len() == count * T::WIDTH)?;
            let value = |i| {
                let bytes = (0..T::WIDTH).rev().map(|byte| data[i + byte * count]);
                T::of(bytes.fold(0, |value, byte| value << 8 | i64::from(byte)))
            };
            Ok((0..count).map(value).collect())
        }
        Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY if count > 0 => {
            let width = usize::from(take(&mut data, 1)?[0]);
            let value = |place: u32| dictionary.get(place as usize).copied();
            let values: Option<Vec<T>> = runs(data, width, count)?.into_iter().map(value).collect();
            values.ok_or_else(|| "a value is not in its dictionary".to_owned())
        }
        _ if count == 0 => Ok(Vec::new()),
        other => Err(format!("numbers in it are encoded as {other}")),
    }
}

/// Decodes `PLAIN`: numbers one after the other.
fn plain<T: Number>(data: &[u8], count: usize) -> Decoded<Vec<T>> {
    let bytes = data.get(..count.saturating_mul(T::WIDTH)).ok_or_else(contradiction)?;
    Ok(bytes.chunks_exact(T::WIDTH).map(T::read).collect())
}

/// Decodes Parquet's RLE/bit-packing hybrid: runs of one number, mixed with numbers of `width` bits
/// side by side.
fn runs(mut data: &[u8], width: usize, count: usize) -> Decoded<Vec<u32>> {
    is(width <= 32)?;
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        let (head, left) = (number(&mut data)?, count - found.len());
        let length = usize::try_from(head >> 1).unwrap_or(usize::MAX);
        if head & 1 == 0 {
            let bytes = take(&mut data, width.div_ceil(8))?;
            let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
            found.resize(found.len() + length.min(left), value);
            continue;
        }
        // Numbers side by side come in groups of eight; the last group may exceed the column.
        let some = length.saturating_mul(8).min(left);
        is(data.len() * 8 >= some * width)?;
        found.extend((0..some).map(|i| bits(data, i * width, width) as u32));
        data = &data[length.saturating_mul(width).min(data.len())..];
    }
    Ok(found)
}

/// Decodes `DELTA_BINARY_PACKED`: differences in blocks. A block has a number that is added to all
/// its differences, and each of its parts has a width in bits.
fn deltas<T: Number>(mut data: &[u8], count: usize) -> Decoded<Vec<T>> {
    let data = &mut data;
    let (block, parts) = (number(data)?, number(data)?);
    let (claimed, mut value) = (number(data)?, signed(data)?);
    is(claimed == count as u64 && parts > 0 && block % parts == 0 && block / parts % 32 == 0)?;
    let part = usize::try_from(block / parts).map_err(|e| e.to_string())?;
    is(count <= 1 || part > 0)?;
    let mut found = Vec::with_capacity(count);
    found.extend((count > 0).then_some(T::of(value)));
    while found.len() < count {
        let least = signed(data)?;
        let widths = take(data, usize::try_from(parts).unwrap_or(usize::MAX))?;
        for width in widths.iter().map(|width| usize::from(*width)) {
            let some = part.min(count - found.len());
            if some == 0 {
                break;
            }
            is(width <= 64 && data.len() * 8 >= some * width)?;
            for i in 0..some {
                let delta = if width == 0 { 0 } else { bits(data, i * width, width) as i64 };
                value = value.wrapping_add(least).wrapping_add(delta);
                found.push(T::of(value));
            }
            *data = &data[(part / 8).saturating_mul(width).min(data.len())..];
        }
    }
    Ok(found)
}

/// Returns the `width` bits, 64 at most, that begin at the bit `at`; the lowest bit comes first.
fn bits(data: &[u8], at: usize, width: usize) -> u64 {
    let rest = &data[(at / 8).min(data.len())..];
    let mut low = [0; 16];
    let length = rest.len().min(16);
    low[..length].copy_from_slice(&rest[..length]);
    ((u128::from_le_bytes(low) >> (at % 8)) & ((1 << width) - 1)) as u64
}

/// Reads an unsigned number, which has seven bits in each byte.
fn number(data: &mut &[u8]) -> Decoded<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(data, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(contradiction())
}

/// Reads a signed number, which has its sign in the lowest bit.
fn signed(data: &mut &[u8]) -> Decoded<i64> {
    let value = number(data)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

/// Takes `bytes` bytes from the front of `data`.
fn take<'d>(data: &mut &'d [u8], bytes: usize) -> Decoded<&'d [u8]> {
    let (head, rest) = data.split_at_checked(bytes).ok_or_else(contradiction)?;
    *data = rest;
    Ok(head)
}

/// Returns the error of a page that contradicts itself, unless the condition is `right`.
fn is(right: bool) -> Decoded<()> {
    if right { Ok(()) } else { Err(contradiction()) }
}

fn contradiction() -> String {
    "a page of it contradicts itself".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::Compression;
    use parquet::data_type::Int64Type;
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    /// Returns numbers that are near each other, far apart, at both ends of the range, and equal.
    fn numbers() -> Vec<i64> {
        let near = (0..700).map(|i| i * 60 + (assay_spec::seed::mix(i as u64) % 500) as i64);
        let far = (0..300).map(|i| assay_spec::seed::mix(i) as i64);
        let ends = [i64::MIN, i64::MAX, 0, -1, i64::MAX, i64::MIN];
        let same = std::iter::repeat_n(7, 200);
        near.chain(far).chain(ends).chain(same).collect()
    }

    /// Checks that a column that the library writes is read back as it was.
    fn there_and_back(column: &[Option<i64>], properties: WriterProperties, has_nulls: bool) {
        let kind = if has_nulls { "optional" } else { "required" };
        let schema = parse_message_type(&format!("message m {{ {kind} int64 c; }}")).unwrap();
        let (schema, properties) = (Arc::new(schema), Arc::new(properties));
        let file = tempfile::tempfile().unwrap();
        let mut file = SerializedFileWriter::new(file, schema, properties.clone()).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut writer = group.next_column().unwrap().unwrap();
        let levels: Vec<i16> = column.iter().map(|v| i16::from(v.is_some())).collect();
        let known: Vec<i64> = column.iter().flatten().copied().collect();
        let levels = has_nulls.then_some(&levels[..]);
        writer.typed::<Int64Type>().write_batch(&known, levels, None).unwrap();
        writer.close().unwrap();
        group.close().unwrap();
        let file = file.into_inner().unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let group = reader.get_row_group(0).unwrap();
        let pages = group.get_column_page_reader(0).unwrap();
        let read = values::<i64>(pages, column.len(), has_nulls).unwrap();
        assert!(read == column, "{properties:?}");
    }

    #[test]
    fn values_are_those_that_the_library_wrote() {
        let all: Vec<Option<i64>> = numbers().into_iter().map(Some).collect();
        let some: Vec<Option<i64>> =
            numbers().into_iter().map(|n| (n % 3 != 0).then_some(n)).collect();
        let encodings =
            [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT];
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for compression in [Compression::UNCOMPRESSED, Compression::ZSTD(Default::default())] {
                let new = || {
                    let new = WriterProperties::builder().set_writer_version(version);
                    new.set_compression(compression).set_data_page_row_count_limit(300)
                };
                let plain = |encoding| new().set_dictionary_enabled(false).set_encoding(encoding);
                let mut ways: Vec<_> = encodings.iter().map(|e| plain(*e).build()).collect();
                ways.push(new().set_dictionary_page_size_limit(1000).build());
                ways.push(new().build());
                for way in ways {
                    there_and_back(&all, way.clone(), false);
                    there_and_back(&all, way.clone(), true);
                    there_and_back(&some, way.clone(), true);
                    there_and_back(&[None, None], way, true);
                }
            }
        }
    }

    /// Decodes `count` numbers of 64 bits from `data`.
    fn decoded(
        encoding: Encoding,
        data: &[u8],
        count: usize,
        dictionary: &[i64],
    ) -> Decoded<Vec<i64>> {
        decode(encoding, data, count, dictionary)
    }

    #[test]
    fn pages_that_contradict_themselves_are_refused() {
        let (split, packed) = (Encoding::BYTE_STREAM_SPLIT, Encoding::DELTA_BINARY_PACKED);
        let from = Encoding::RLE_DICTIONARY;
        assert_eq!(decoded(split, &[1, 0, 0, 0, 0, 0, 0, 0], 1, &[]), Ok(vec![1]));
        assert!(decoded(split, &[1, 0, 0, 0, 0, 0, 0, 0], 2, &[]).is_err(), "half of it");
        assert!(decoded(Encoding::PLAIN, &[0; 15], 2, &[]).is_err(), "a byte is missing");
        assert!(decoded(Encoding::PLAIN, &[0; 8], usize::MAX, &[]).is_err());

        // A header (128 numbers a block, 4 parts, count, first number), then a block (least
        // difference, widths).
        assert_eq!(decoded(packed, &[0x80, 1, 4, 1, 14], 1, &[]), Ok(vec![7]));
        let alike = [0x80, 1, 4, 3, 14, 2, 0, 0, 0, 0];
        assert_eq!(decoded(packed, &alike, 3, &[]), Ok(vec![7, 8, 9]));
        assert!(decoded(packed, &alike, 2, &[]).is_err(), "it says three");
        assert!(decoded(packed, &[0x80, 1, 4, 0, 14], 1, &[]).is_err(), "it says none");
        assert!(decoded(packed, &[0x80, 1, 0, 1, 14], 1, &[]).is_err(), "blocks have no parts");
        assert!(
            decoded(packed, &[0, 4, 3, 14, 2, 0, 0, 0, 0], 3, &[]).is_err(),
            "nothing in a block"
        );
        assert!(decoded(packed, &alike[..8], 3, &[]).is_err(), "it ends early");
        let mut wide = alike;
        wide[6] = 65;
        assert!(decoded(packed, &wide, 3, &[]).is_err(), "65 bits");
        let endless = [&[0xff; 9][..], &[1, 1, 3, 14, 2, 1]].concat();
        assert!(decoded(packed, &endless, 3, &[]).is_err(), "a block of 2^64");

        assert_eq!(decoded(from, &[1, 6, 1], 3, &[4, 5]), Ok(vec![5, 5, 5]));
        assert_eq!(decoded(from, &[1, 3, 0b101], 3, &[4, 5]), Ok(vec![5, 4, 5]));
        assert!(decoded(from, &[1, 6, 2], 3, &[4, 5]).is_err(), "there is no third");
        assert!(decoded(from, &[1, 6, 1], 3, &[]).is_err(), "there is no dictionary");
        assert!(decoded(from, &[33, 6, 0, 0, 0, 0, 0], 3, &[4]).is_err(), "33 bits");
        assert!(decoded(from, &[1, 0, 0, 0, 0], 3, &[4]).is_err(), "runs of none");
        assert!(decoded(from, &[], 3, &[4]).is_err());
        let long = [1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0b101];
        assert_eq!(decoded(from, &long, 3, &[4, 5]), Ok(vec![5, 4, 5]), "cut by its writer");
        assert!(decoded(from, &long, 9, &[4, 5]).is_err(), "cut too much");
    }
}
