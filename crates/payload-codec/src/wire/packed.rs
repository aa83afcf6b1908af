//! Packed lists: the values of a repeated number one behind the other, without tags.

use super::{malformed::Malformed, varint};

/// How wide the elements of a packed list are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// From 1 to 10 bytes each.
    Varint,
    /// 4 bytes each.
    Fixed32,
    /// 8 bytes each.
    Fixed64,
}

/// Whether a span is a list of such elements. The empty span is: serializers leave it out, parsers take it.
pub fn fits(span: &[u8], width: Width) -> bool {
    match width {
        Width::Varint => elements(span, width).all(|element| element.is_ok()),
        Width::Fixed32 => span.len().is_multiple_of(4),
        Width::Fixed64 => span.len().is_multiple_of(8),
    }
}

/// The elements as the bits they are written with. Bytes that are too few for a last fixed element are left out; a
/// varint that cannot be read is the last item.
pub fn elements(span: &[u8], width: Width) -> Elements<'_> {
    Elements { span, width, at: 0 }
}

/// The iterator of [`elements`].
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    span: &'a [u8],
    width: Width,
    at: usize,
}

impl Iterator for Elements<'_> {
    type Item = Result<u64, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.span.get(self.at..)?;
        match self.width {
            Width::Varint if rest.is_empty() => None,
            Width::Varint => {
                let varint = varint::read(self.span, self.at);
                self.at = varint.map_or(self.span.len(), |varint| varint.end);
                Some(varint.map(|varint| varint.value))
            }
            Width::Fixed32 => {
                self.at += 4;
                rest.first_chunk().map(|bytes| Ok(u32::from_le_bytes(*bytes).into()))
            }
            Width::Fixed64 => {
                self.at += 8;
                rest.first_chunk().map(|bytes| Ok(u64::from_le_bytes(*bytes)))
            }
        }
    }
}
