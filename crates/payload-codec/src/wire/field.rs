//! The fields of a span, one after the other.

use super::{
    group,
    malformed::{Malformed, Why},
    tag::{END_GROUP, FIXED32, FIXED64, LEN, START_GROUP, Tag, VARINT, skip},
    varint,
};

/// How a value is laid out; all that is known without a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WireType {
    /// Seven bits in each byte (wire type 0).
    Varint,
    /// 8 bytes (wire type 1).
    Fixed64,
    /// A length and so many bytes (wire type 2).
    Len,
    /// Fields between two tags (wire types 3 and 4).
    Group,
    /// 4 bytes (wire type 5).
    Fixed32,
}

/// A value as its wire type lays it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// The number, without a sign.
    Varint(u64),
    /// The bits.
    Fixed64(u64),
    /// A string, bytes, a message, or a packed list.
    Len(&'a [u8]),
    /// The fields within a group, without the tags around them.
    Group(&'a [u8]),
    /// The bits.
    Fixed32(u32),
}

/// A field, with its place. All offsets count from the start of the span that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// From 1 to [`MAX_NUMBER`](super::MAX_NUMBER).
    pub number: u32,
    /// The value as its wire type lays it out.
    pub value: Value<'a>,
    /// Where its tag begins.
    pub start: usize,
    /// Where its value begins: behind the tag, and behind the length if there is one.
    pub value_start: usize,
    /// Behind its last byte; of a group behind the tag that closes it.
    pub end: usize,
    /// Its tag, its length or its number is a varint that takes more bytes than it needs.
    pub overlong: bool,
}

/// Reads a span as fields.
///
/// After an error there is nothing more. Field numbers may come in any order and any number of times.
pub fn fields(span: &[u8]) -> Fields<'_> {
    Fields { span, at: 0 }
}

/// The iterator of [`fields`].
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    span: &'a [u8],
    at: usize,
}

impl Value<'_> {
    /// How it is laid out.
    pub fn wire_type(&self) -> WireType {
        match self {
            Self::Varint(_) => WireType::Varint,
            Self::Fixed64(_) => WireType::Fixed64,
            Self::Len(_) => WireType::Len,
            Self::Group(_) => WireType::Group,
            Self::Fixed32(_) => WireType::Fixed32,
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.span.len() {
            return None;
        }
        let field = read(self.span, self.at);
        self.at = field.map_or(self.span.len(), |field| field.end);
        Some(field)
    }
}

impl std::iter::FusedIterator for Fields<'_> {}

fn read(bytes: &[u8], start: usize) -> Result<Field<'_>, Malformed> {
    let tag = Tag::read(bytes, start)?;
    let at = tag.end;
    let field = |value, end| Field { number: tag.number, value, start, value_start: at, end, overlong: tag.overlong };
    match tag.wire {
        VARINT => {
            let varint = varint::read(bytes, at)?;
            let overlong = tag.overlong || varint.overlong;
            Ok(Field { overlong, ..field(Value::Varint(varint.value), varint.end) })
        }
        FIXED64 => Ok(field(Value::Fixed64(u64::from_le_bytes(array(bytes, at)?)), at + 8)),
        FIXED32 => Ok(field(Value::Fixed32(u32::from_le_bytes(array(bytes, at)?)), at + 4)),
        LEN => {
            let len = varint::read(bytes, at)?;
            let end = skip(bytes, len.end, len.value)?;
            let payload = bytes.get(len.end..end).unwrap_or_default();
            Ok(Field {
                value_start: len.end,
                overlong: tag.overlong || len.overlong,
                ..field(Value::Len(payload), end)
            })
        }
        START_GROUP => {
            let ends = group::end(bytes, tag.number, at)?;
            Ok(field(Value::Group(bytes.get(at..ends.payload).unwrap_or_default()), ends.field))
        }
        END_GROUP => Err(Why::GroupEnd.at(start)),
        _ => Err(Why::WireType.at(start)),
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Malformed> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or(Why::Truncated.at(at))
}
