//! Variable-width integers: seven bits a byte, the low ones first.

use super::malformed::{Malformed, Why};

/// The most bytes a varint may take.
pub const MAX_LEN: usize = 10;

/// A varint as it stands in the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Varint {
    /// The number, without a sign.
    pub value: u64,
    /// Offset of the byte after it.
    pub end: usize,
    /// It takes more bytes than it needs. Every parser accepts that, no serializer writes it but for a reserved length.
    pub overlong: bool,
}

/// Reads the varint that begins at `at`.
///
/// # Errors
/// When the bytes end within it, or it has more than 64 bits.
pub fn read(bytes: &[u8], at: usize) -> Result<Varint, Malformed> {
    let mut value = 0_u64;
    let rest = bytes.get(at..).unwrap_or_default();
    for (i, &byte) in rest.iter().take(MAX_LEN).enumerate() {
        // The tenth byte has room for one bit.
        if i + 1 == MAX_LEN && byte > 1 {
            return Err(Why::VarintTooLong.at(at));
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok(Varint { value, end: at + i + 1, overlong: i > 0 && byte == 0 });
        }
    }
    Err(if rest.len() < MAX_LEN { Why::Truncated } else { Why::VarintTooLong }.at(at))
}

/// Appends the shortest varint of a value.
pub fn write(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// How many bytes the shortest varint of a value takes.
pub fn len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// What `sint32` and `sint64` write for a number: 0, -1, 1, -2, … as 0, 1, 2, 3, …
pub fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// The number `sint32` or `sint64` wrote.
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
