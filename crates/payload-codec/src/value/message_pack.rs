//! <https://github.com/msgpack/msgpack/blob/master/spec.md>

use std::borrow::Cow;

use super::{
    Codec, Container,
    item::{Bytes, Float, Item, Kind, Stop, as_single, malformed},
    marks::{self, Wrong},
};
use crate::{
    escape,
    json::{Member, Node},
};

pub(super) struct MessagePack;

impl Codec for MessagePack {
    const HAS_TAGS: bool = false;

    fn read<'a>(bytes: &mut Bytes<'a>, depth_left: usize) -> Result<Item<'a>, Stop> {
        bytes.count()?;
        let start = bytes.at;
        let marker = bytes.byte()?;
        let kind = match marker {
            0x80..=0x8f => return map(bytes, start, usize::from(marker & 0x0f), depth_left),
            0x90..=0x9f => return array(bytes, start, usize::from(marker & 0x0f), depth_left),
            0xdc => return bytes.len(2).and_then(|n| array(bytes, start, n, depth_left)),
            0xdd => return bytes.len(4).and_then(|n| array(bytes, start, n, depth_left)),
            0xde => return bytes.len(2).and_then(|n| map(bytes, start, n, depth_left)),
            0xdf => return bytes.len(4).and_then(|n| map(bytes, start, n, depth_left)),
            0x00..=0x7f => Kind::Int(marker.into()),
            0xe0..=0xff => Kind::Int(marker.cast_signed().into()),
            0xa0..=0xbf => text(bytes.take(usize::from(marker & 0x1f))?),
            0xd9..=0xdb => {
                let n_bytes = bytes.len(1 << (marker - 0xd9))?;
                text(bytes.take(n_bytes)?)
            }
            0xc0 => Kind::Null,
            0xc1 => return Err(malformed("the byte c1 is never used")),
            0xc2 | 0xc3 => Kind::Bool(marker == 0xc3),
            0xc4..=0xc6 => {
                let n_bytes = bytes.len(1 << (marker - 0xc4))?;
                Kind::Bytes(Cow::Borrowed(bytes.take(n_bytes)?))
            }
            0xc7..=0xc9 => {
                let n_bytes = bytes.len(1 << (marker - 0xc7))?;
                ext(bytes, n_bytes)?
            }
            0xd4..=0xd8 => ext(bytes, 1 << (marker - 0xd4))?,
            0xca => Kind::Float(Float::Single(f32::from_bits(bytes.number(4)? as u32))),
            0xcb => Kind::Float(Float::Double(f64::from_bits(bytes.number(8)?))),
            0xcc..=0xcf => Kind::Int(bytes.number(1 << (marker - 0xcc))?.into()),
            0xd0..=0xd3 => {
                let n_bytes = 1_usize << (marker - 0xd0);
                let unused_bits = 64 - 8 * n_bytes as u32;
                Kind::Int((bytes.number(n_bytes)? << unused_bits).cast_signed().wrapping_shr(unused_bits).into())
            }
        };
        Ok(Item { span: start..bytes.at, n_head: 0, kind })
    }

    fn null(out: &mut Vec<u8>) {
        out.push(0xc0);
    }

    fn bool(out: &mut Vec<u8>, yes: bool) {
        out.push(if yes { 0xc3 } else { 0xc2 });
    }

    /// Some libraries write all integers of a type in its width, some the shortest form, and of these some the shortest
    /// signed one.
    fn int(out: &mut Vec<u8>, number: i128, like: Option<(u8, i128)>) -> Result<(), String> {
        let shortest = |number| unsigned(number).or_else(|| signed(number));
        let marker = match like {
            Some((marker, old)) if shortest(old) == Some(marker) => shortest(number),
            Some((marker, old)) if signed(old) == Some(marker) => signed(number),
            Some((marker, _)) if holds(marker, number) => Some(marker),
            Some((marker @ 0xcc..=0xd3, _)) => {
                let (kind, bits) = (if marker < 0xd0 { "uint" } else { "int" }, 8 << (marker & 3));
                return Err(format!("{number} is out of range: the sender writes this number as {kind}{bits}"));
            }
            _ => shortest(number),
        };
        let marker = marker.ok_or("MessagePack has no larger integers than 64 bits")?;
        out.push(marker);
        if let 0xcc..=0xd3 = marker {
            tail(out, number as u64, 1 << (marker & 3));
        }
        Ok(())
    }

    fn float(out: &mut Vec<u8>, number: f64, like: Option<Float>) -> Result<(), String> {
        match (like, as_single(number)) {
            (Some(Float::Single(_)), _) if !number.is_finite() => {
                out.push(0xca);
                out.extend((number as f32).to_be_bytes());
            }
            (Some(Float::Single(_)), Some(single)) => {
                out.push(0xca);
                out.extend(single.to_be_bytes());
            }
            (Some(Float::Single(_)), None) => {
                let nearest = number as f32;
                return Err(format!(
                    "{number:?} does not fit: this number is of single precision (float32); {nearest:?} would"
                ));
            }
            _ => {
                out.push(0xcb);
                out.extend(number.to_be_bytes());
            }
        }
        Ok(())
    }

    fn text(out: &mut Vec<u8>, text: &str, like: Option<(u8, usize)>) -> Result<(), String> {
        write_text(out, text.as_bytes(), like)
    }

    fn bytes(out: &mut Vec<u8>, bytes: &[u8], like: Option<(u8, usize)>) -> Result<(), String> {
        head(out, bytes.len(), like, |n| wide(n, 0xc4), 0xc4..=0xc6)?;
        out.extend(bytes);
        Ok(())
    }

    fn head(out: &mut Vec<u8>, container: Container, n: usize, like: Option<(u8, usize)>) -> Result<(), String> {
        let (short, long) = match container {
            Container::Array => (0x90, 0xdc),
            Container::Map => (0x80, 0xde),
        };
        let shortest = |n| match n {
            0..16 => short | n as u8,
            16..0x1_0000 => long,
            _ => long + 1,
        };
        head(out, n, like, shortest, long..=long + 1)
    }

    fn marked(out: &mut Vec<u8>, member: &Member<'_>) -> Result<bool, Wrong> {
        match &*member.key {
            "#escaped" => {
                let bytes = escape::unescaped(&member.value).map_err(|why| (member.value.at, why))?;
                write_text(out, &bytes, None).map_err(|why| (member.at, why))?;
                Ok(true)
            }
            "#ext" => {
                let [kind, bytes] = marks::two(&member.value, "type", "base64")?;
                write_ext(out, marks::integer(kind)?, &marks::read_bytes(bytes)?).map_err(|why| (member.at, why))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn tag(_: &mut Vec<u8>, _: u64) {}
}

fn array<'a>(bytes: &mut Bytes<'a>, start: usize, n: usize, depth_left: usize) -> Result<Item<'a>, Stop> {
    let n_head = bytes.at.saturating_sub(start);
    let depth_left = super::deeper(depth_left)?;
    bytes.expect(n)?;
    let items = (0..n).map(|_| MessagePack::read(bytes, depth_left)).collect::<Result<_, _>>()?;
    Ok(Item { span: start..bytes.at, n_head, kind: Kind::Array(items) })
}

fn map<'a>(bytes: &mut Bytes<'a>, start: usize, n: usize, depth_left: usize) -> Result<Item<'a>, Stop> {
    let n_head = bytes.at.saturating_sub(start);
    let depth_left = super::deeper(depth_left)?;
    bytes.expect(n.saturating_mul(2))?;
    let pair = |_| {
        let key = bytes.key(|bytes| MessagePack::read(bytes, depth_left))?;
        Ok((key, MessagePack::read(bytes, depth_left)?))
    };
    let pairs = (0..n).map(pair).collect::<Result<_, Stop>>()?;
    Ok(Item { span: start..bytes.at, n_head, kind: Kind::Map(pairs) })
}

fn text(bytes: &[u8]) -> Kind<'_> {
    std::str::from_utf8(bytes).map_or(Kind::NotText(bytes), |text| Kind::Text(Cow::Borrowed(text)))
}

fn ext<'a>(bytes: &mut Bytes<'a>, n_bytes: usize) -> Result<Kind<'a>, Stop> {
    let kind = bytes.byte()?.cast_signed();
    Ok(Kind::Ext(kind, bytes.take(n_bytes)?))
}

/// A length that was written longer than need be stays so wide: older versions had no `str 8`.
fn write_text(out: &mut Vec<u8>, text: &[u8], like: Option<(u8, usize)>) -> Result<(), String> {
    let shortest = |n| if n < 32 { 0xa0 | n as u8 } else { wide(n, 0xd9) };
    head(out, text.len(), like, shortest, 0xd9..=0xdb)?;
    out.extend(text);
    Ok(())
}

fn write_ext(out: &mut Vec<u8>, kind: i8, bytes: &[u8]) -> Result<(), String> {
    let shortest = |n: usize| match n {
        1 | 2 | 4 | 8 | 16 => 0xd4 + n.ilog2() as u8,
        _ => wide(n, 0xc7),
    };
    head(out, bytes.len(), None, shortest, 0xc7..=0xc9)?;
    out.push(kind.cast_unsigned());
    out.extend(bytes);
    Ok(())
}

/// The marker of the shortest form without a sign.
fn unsigned(number: i128) -> Option<u8> {
    match u64::try_from(number).ok()? {
        small @ 0..0x80 => Some(small as u8),
        0x80..0x100 => Some(0xcc),
        0x100..0x1_0000 => Some(0xcd),
        0x1_0000..0x1_0000_0000 => Some(0xce),
        _ => Some(0xcf),
    }
}

/// The marker of the shortest form with a sign.
fn signed(number: i128) -> Option<u8> {
    match i64::try_from(number).ok()? {
        small @ -32..128 => Some(small as u8),
        -0x80..0x80 => Some(0xd0),
        -0x8000..0x8000 => Some(0xd1),
        -0x8000_0000..0x8000_0000 => Some(0xd2),
        _ => Some(0xd3),
    }
}

/// Whether a number can stand behind this marker.
fn holds(marker: u8, number: i128) -> bool {
    let n_bits = 8_u32 << (marker & 3);
    match marker {
        0xcc..=0xcf => (0..1_i128 << n_bits).contains(&number),
        0xd0..=0xd3 => (-(1_i128 << (n_bits - 1))..1_i128 << (n_bits - 1)).contains(&number),
        _ => false,
    }
}

/// The marker for a length of one, two or four bytes, of which `first` is the one for one byte.
fn wide(n: usize, first: u8) -> u8 {
    match n {
        0..0x100 => first,
        0x100..0x1_0000 => first + 1,
        _ => first + 2,
    }
}

/// A marker with a length, as wide as it was where that was wider than need be. `wide` are the markers with a length
/// behind them; the last of these has one of four bytes.
fn head(
    out: &mut Vec<u8>,
    n: usize,
    like: Option<(u8, usize)>,
    shortest: impl Fn(usize) -> u8,
    wide: std::ops::RangeInclusive<u8>,
) -> Result<(), String> {
    let n_32 = u32::try_from(n).map_err(|_| "MessagePack has no larger lengths than 32 bits".to_owned())?;
    let is_padded = |(marker, old): &(u8, usize)| shortest(*old) != *marker && wide.contains(marker);
    let marker = like.filter(is_padded).map_or_else(|| shortest(n), |(marker, _)| marker.max(shortest(n)));
    out.push(marker);
    if wide.contains(&marker) {
        tail(out, n_32.into(), 4 >> (wide.end() - marker));
    }
    Ok(())
}

/// The last bytes of a big-endian number.
fn tail(out: &mut Vec<u8>, number: u64, n_bytes: usize) {
    out.extend(number.to_be_bytes().iter().skip(8_usize.saturating_sub(n_bytes)));
}

/// As JSON has it.
pub(super) fn ext_to_json(kind: i8, bytes: &[u8]) -> Node<'static> {
    let base64 = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes);
    Node::pair(
        "#ext",
        Node::object(vec![Member::new("type", Node::number(kind)), Member::new("base64", Node::text(base64))]),
    )
}
