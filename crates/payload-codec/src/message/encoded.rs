//! Values as they go on the wire.

use crate::wire::{WireType, varint};

/// A value without its tag.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Encoded {
    Varint(u64),
    Fixed32(u32),
    Fixed64(u64),
    Len(Vec<u8>),
    Group(Vec<u8>),
}

impl Encoded {
    pub fn wire_type(&self) -> WireType {
        match self {
            Self::Varint(_) => WireType::Varint,
            Self::Fixed32(_) => WireType::Fixed32,
            Self::Fixed64(_) => WireType::Fixed64,
            Self::Len(_) => WireType::Len,
            Self::Group(_) => WireType::Group,
        }
    }

    /// Appends tag and value.
    pub fn write(&self, number: u32, to: &mut Vec<u8>) {
        let wire = match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Len(_) => 2,
            Self::Group(_) => 3,
            Self::Fixed32(_) => 5,
        };
        let tag = u64::from(number) << 3;
        varint::write(to, tag | wire);
        if let Self::Len(bytes) = self {
            varint::write(to, bytes.len() as u64);
        }
        self.write_value(to);
        if let Self::Group(_) = self {
            varint::write(to, tag | 4);
        }
    }

    /// Appends the value alone, as in a packed list.
    pub fn write_value(&self, to: &mut Vec<u8>) {
        match self {
            Self::Varint(bits) => varint::write(to, *bits),
            Self::Fixed32(bits) => to.extend_from_slice(&bits.to_le_bytes()),
            Self::Fixed64(bits) => to.extend_from_slice(&bits.to_le_bytes()),
            Self::Len(bytes) | Self::Group(bytes) => to.extend_from_slice(bytes),
        }
    }
}
