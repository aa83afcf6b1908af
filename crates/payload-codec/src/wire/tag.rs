//! What stands before every value: the number of its field and how the value is laid out.

use super::{
    malformed::{Malformed, Why},
    varint,
};

/// The largest field number, 2^29 - 1.
pub const MAX_NUMBER: u32 = (1 << 29) - 1;

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const LEN: u8 = 2;
pub(super) const START_GROUP: u8 = 3;
pub(super) const END_GROUP: u8 = 4;
pub(super) const FIXED32: u8 = 5;

#[derive(Clone, Copy)]
pub(super) struct Tag {
    pub number: u32,
    pub wire: u8,
    pub end: usize,
    pub overlong: bool,
}

impl Tag {
    pub fn read(bytes: &[u8], at: usize) -> Result<Self, Malformed> {
        let varint::Varint { value, end, overlong } = varint::read(bytes, at)?;
        let number = u32::try_from(value >> 3).ok().filter(|number| (1..=MAX_NUMBER).contains(number));
        Ok(Self { number: number.ok_or(Why::FieldNumber.at(at))?, wire: (value & 7) as u8, end, overlong })
    }
}

/// The offset `len` bytes on, if there are that many.
pub(super) fn skip(bytes: &[u8], at: usize, len: u64) -> Result<usize, Malformed> {
    let left = bytes.len().saturating_sub(at);
    usize::try_from(len).ok().filter(|&len| len <= left).map(|len| at + len).ok_or(Why::Truncated.at(at))
}
