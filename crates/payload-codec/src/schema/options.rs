//! Single options, read from and added to their bytes.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field};

/// Options of descriptors that matter for the wire, by their numbers in `descriptor.proto`.
pub mod number {
    pub const FILE_FEATURES: u32 = 50;
    pub const MESSAGE_FEATURES: u32 = 12;
    pub const MESSAGE_MAP_ENTRY: u32 = 7;
    pub const ONEOF_FEATURES: u32 = 1;
    pub const FIELD_FEATURES: u32 = 21;
    pub const FIELD_PACKED: u32 = 2;
    pub const ENUM_FEATURES: u32 = 7;
    /// Not of protobuf, which has nothing at this number: our note that an enum of a file that became proto2 is open.
    pub const ENUM_IS_OPEN: u32 = 998;
}

/// The value of a varint field; the last one counts, as everywhere in protobuf.
pub fn varint(message: &[u8], number: u32) -> Option<u64> {
    let mut found = None;
    each_field(message, |field, value| match value {
        Value::Varint(value) if field == number => found = Some(value),
        _ => {}
    });
    found
}

/// All occurrences of a sub-message, one after the other: that is how they merge.
pub fn message(message: &[u8], number: u32) -> Vec<u8> {
    let mut found = Vec::new();
    each_field(message, |field, value| match value {
        Value::Bytes(bytes) if field == number => found.extend_from_slice(bytes),
        _ => {}
    });
    found
}

/// Whether there is a varint or a length-delimited field of that number.
pub fn has(message: &[u8], number: u32) -> bool {
    let mut found = false;
    each_field(message, |field, _| found |= field == number);
    found
}

/// Adds a varint field, which then counts in place of any before it.
pub fn set_varint(options: &mut Option<Vec<u8>>, number: u32, value: u64) {
    let bytes = options.get_or_insert_default();
    encode_key(number, WireType::Varint, bytes);
    encode_varint(value, bytes);
}

pub enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
}

/// Visits the fields that are varints or length-delimited. It stops where the bytes are no message any more: options
/// that cannot be read are as good as none.
pub fn each_field(mut bytes: &[u8], mut take: impl FnMut(u32, Value<'_>)) {
    while !bytes.is_empty() {
        let Ok((number, wire_type)) = decode_key(&mut bytes) else { return };
        match wire_type {
            WireType::Varint => {
                let Ok(value) = decode_varint(&mut bytes) else { return };
                take(number, Value::Varint(value));
            }
            WireType::LengthDelimited => {
                let length = decode_varint(&mut bytes).ok().and_then(|length| usize::try_from(length).ok());
                let Some((value, rest)) = length.and_then(|length| bytes.split_at_checked(length)) else { return };
                take(number, Value::Bytes(value));
                bytes = rest;
            }
            _ => {
                let Ok(()) = skip_field(wire_type, number, &mut bytes, DecodeContext::default()) else { return };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_counts() {
        let check = |bytes: &[u8], expected| assert_eq!(varint(bytes, 2), expected, "{bytes:?}");
        check(&[], None);
        check(&[0x10, 1], Some(1));
        check(&[0x10, 1, 0x10, 0], Some(0));
        check(&[0x08, 1], None);
        check(&[0x1d, 0, 0, 0, 0, 0x10, 1], Some(1));
        check(&[0x13, 0x14, 0x10, 7], Some(7));
        check(&[0x10], None);
        check(&[0x12, 0xff], None);
        check(&[0x12, 2, 0x10, 1], None);
    }

    #[test]
    fn occurrences_of_a_message_merge() {
        assert_eq!(message(&[0x0a, 1, 7, 0x10, 1, 0x0a, 2, 8, 9], 1), [7, 8, 9]);
    }

    #[test]
    fn what_is_set_counts() {
        let mut options = Some(vec![0x10, 0]);
        set_varint(&mut options, 2, 1);
        assert_eq!(options.as_deref().and_then(|options| varint(options, 2)), Some(1));
        let mut none = None;
        set_varint(&mut none, 2, 1);
        assert_eq!(none, Some(vec![0x10, 1]));
    }
}
