//! Checks the structures by which a Parquet file describes itself, before the decoder sees them.
//!
//! The decoder trusts the types of the fields that it knows, and skips as many empty elements of a
//! list as the list claims to have: a few bytes keep it busy for hours. Therefore only fields of
//! the format (`parquet.thrift`, in Thrift's compact protocol) are accepted, with the right types,
//! and no list may have more elements than there are bytes left.

use super::decoded::Decoded;
use std::io::Read;

/// The type of a field.
pub enum Shape {
    Flag,
    Byte,
    Int,
    Bytes,
    List(&'static Shape),
    Struct(Fields),
}

/// The fields that a structure may have.
pub type Fields = &'static [(i16, Shape)];

use Shape::{Byte, Bytes, Flag, Int, List, Struct};

const STATISTICS: Fields = &[
    (1, Bytes),
    (2, Bytes),
    (3, Int),
    (4, Int),
    (5, Bytes),
    (6, Bytes),
    (7, Flag),
    (8, Flag),
    (9, Int),
];

const UNIT: Fields = &[(1, Struct(&[])), (2, Struct(&[])), (3, Struct(&[]))];

/// A logical type, without geospatial types and variants.
const LOGICAL: Fields = &[
    (1, Struct(&[])),
    (2, Struct(&[])),
    (3, Struct(&[])),
    (4, Struct(&[])),
    (5, Struct(&[(1, Int), (2, Int)])),
    (6, Struct(&[])),
    (7, Struct(&[(1, Flag), (2, Struct(UNIT))])),
    (8, Struct(&[(1, Flag), (2, Struct(UNIT))])),
    (10, Struct(&[(1, Byte), (2, Flag)])),
    (11, Struct(&[])),
    (12, Struct(&[])),
    (13, Struct(&[])),
    (14, Struct(&[])),
    (15, Struct(&[])),
];

const COLUMN: Fields = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Bytes),
    (5, Int),
    (6, Int),
    (7, Int),
    (8, Int),
    (9, Int),
    (10, Struct(LOGICAL)),
];

const PAIR: Fields = &[(1, Bytes), (2, Bytes)];

const CHUNK: Fields = &[
    (1, Int),
    (2, List(&Int)),
    (3, List(&Bytes)),
    (4, Int),
    (5, Int),
    (6, Int),
    (7, Int),
    (8, List(&Struct(PAIR))),
    (9, Int),
    (10, Int),
    (11, Int),
    (12, Struct(STATISTICS)),
    (13, List(&Struct(&[(1, Int), (2, Int), (3, Int)]))),
    (14, Int),
    (15, Int),
    (16, Struct(&[(1, Int), (2, List(&Int)), (3, List(&Int))])),
];

const GROUP: Fields = &[
    (
        1,
        List(&Struct(&[
            (1, Bytes),
            (2, Int),
            (3, Struct(CHUNK)),
            (4, Int),
            (5, Int),
            (6, Int),
            (7, Int),
        ])),
    ),
    (2, Int),
    (3, Int),
    (4, List(&Struct(&[(1, Int), (2, Flag), (3, Flag)]))),
    (5, Int),
    (6, Int),
    (7, Int),
];

/// The fields of a file's footer. The list [`SCHEMA`] has an element for each column and group of
/// columns.
pub const FOOTER: Fields = &[
    (1, Int),
    (SCHEMA, List(&Struct(COLUMN))),
    (3, Int),
    (4, List(&Struct(GROUP))),
    (5, List(&Struct(PAIR))),
    (6, Bytes),
    (7, List(&Struct(&[(1, Struct(&[])), (2, Struct(&[]))]))),
];
pub const SCHEMA: i16 = 2;

/// The fields of a page's header.
pub const PAGE: Fields = &[
    (1, Int),
    (PLAIN, Int),
    (PACKED, Int),
    (4, Int),
    (5, Struct(&[(1, Int), (2, Int), (3, Int), (4, Int), (5, Struct(STATISTICS))])),
    (6, Struct(&[])),
    (7, Struct(&[(1, Int), (2, Int), (3, Flag)])),
    (
        SECOND,
        Struct(&[
            (1, Int),
            (2, Int),
            (3, Int),
            (4, Int),
            (LEVELS[0], Int),
            (LEVELS[1], Int),
            (7, Flag),
            (8, Struct(STATISTICS)),
        ]),
    ),
];
/// The fields for the size of a page once unpacked, and in the file.
pub const PLAIN: i16 = 2;
pub const PACKED: i16 = 3;
/// The field of a version 2 data page, and in it those for the sizes of its levels.
pub const SECOND: i16 = 8;
pub const LEVELS: [i16; 2] = [5, 6];

/// A walk through a structure, over at most `left` bytes.
pub struct Walk<R> {
    from: R,
    left: u64,
}

/// A function that is called for the fields of the outermost structure and of those right below it.
/// Its arguments are the field of the structure that it is in (0 for the outermost), the field
/// itself, and its value: a number, the length of a list, or 0 for any other type.
type Hear<'a> = &'a mut dyn FnMut(i16, i16, i64);

impl<R: Read> Walk<R> {
    /// Walks the bytes of `from`, `left` of them at most.
    pub fn new(from: R, left: u64) -> Walk<R> {
        Walk { from, left }
    }

    /// Returns the number of bytes that are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Walks through a structure that may have these fields.
    pub fn walk(&mut self, fields: Fields, hear: Hear<'_>) -> Decoded<()> {
        self.structure(fields, 0, hear)
    }

    /// Walks through a structure. `parent` is the field that it is in, 0 for the outermost one, or
    /// -1 if the listener is not called.
    fn structure(&mut self, fields: Fields, parent: i16, hear: Hear<'_>) -> Decoded<()> {
        let mut last = 0_i16;
        loop {
            let head = self.byte()?;
            let kind = head & 0xf;
            if kind == 0 {
                return Ok(());
            }
            let id = match head >> 4 {
                0 => self.number()? as i16,
                delta => last.saturating_add(i16::from(delta)),
            };
            let shape = fields.iter().find(|(known, _)| *known == id).map(|(_, shape)| shape);
            let shape = shape.filter(|shape| shape.is(kind));
            let shape = shape
                .ok_or_else(|| format!("a field {id} of this type is not part of its format"))?;
            match shape {
                // In a field, the value of a flag is a part of the type.
                Flag => {}
                // The listener does not get fields further down.
                Struct(inner) if parent == 0 => self.structure(inner, id, hear)?,
                shape => {
                    let value = self.value(shape)?;
                    if parent >= 0 {
                        hear(parent, id, value);
                    }
                }
            }
            last = id;
        }
    }

    /// Reads a value; returns the number, the length of a list, or 0 for anything else.
    fn value(&mut self, shape: &Shape) -> Decoded<i64> {
        match shape {
            Flag | Byte => drop(self.byte()?),
            Int => return self.number(),
            Bytes => {
                let length = self.count()?;
                self.skip(length)?;
            }
            Struct(fields) => self.structure(fields, -1, &mut |_, _, _| {})?,
            List(of) => {
                let head = self.byte()?;
                let length = if head >> 4 == 15 { self.count()? } else { u64::from(head >> 4) };
                if length > self.left || (head != 0 && !of.is(head & 0xf)) {
                    return Err("a list in it has an unknown type".to_owned());
                }
                for _ in 0..length {
                    self.value(of)?;
                }
                return Ok(length as i64);
            }
        }
        Ok(0)
    }

    fn byte(&mut self) -> Decoded<u8> {
        let mut byte = [0];
        let is_left = self.left > 0 && self.from.read_exact(&mut byte).is_ok();
        self.left = self.left.saturating_sub(1);
        if is_left { Ok(byte[0]) } else { Err("it ends early".to_owned()) }
    }

    /// Reads an unsigned number, which has seven bits in each byte.
    fn count(&mut self) -> Decoded<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number in it does not end".to_owned())
    }

    /// Reads a signed number, which has its sign in the lowest bit.
    fn number(&mut self) -> Decoded<i64> {
        let value = self.count()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn skip(&mut self, bytes: u64) -> Decoded<()> {
        if bytes > self.left {
            return Err("it ends early".to_owned());
        }
        self.left -= bytes;
        let skipped = std::io::copy(&mut self.from.by_ref().take(bytes), &mut std::io::sink());
        if skipped.is_ok_and(|n| n == bytes) { Ok(()) } else { Err("it ends early".to_owned()) }
    }
}

impl Shape {
    /// Returns `true` if a type of the encoding is of this shape.
    fn is(&self, kind: u8) -> bool {
        match self {
            Flag => matches!(kind, 1 | 2),
            Byte => kind == 3,
            // Numbers of 16, 32 and 64 bits are encoded alike.
            Int => matches!(kind, 4..=6),
            Bytes => kind == 8,
            List(_) => kind == 9,
            Struct(_) => kind == 12,
        }
    }
}
