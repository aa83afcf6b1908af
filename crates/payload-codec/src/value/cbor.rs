//! RFC 8949.

use std::borrow::Cow;

use half::f16;

use super::{
    Codec, Container,
    item::{Bytes, Float, Item, Kind, Stop, as_single, malformed},
    marks::{self, Wrong},
};
use crate::json::Member;

pub(super) struct Cbor;

/// Ends what was begun without a length.
const BREAK: u8 = 0xff;

/// Major types, in the upper bits of a head.
const UNSIGNED: u8 = 0;
const BYTES: u8 = 2 << 5;
const TEXT: u8 = 3 << 5;
const ARRAY: u8 = 4 << 5;
const MAP: u8 = 5 << 5;
const TAG: u8 = 6 << 5;

impl Codec for Cbor {
    const HAS_TAGS: bool = true;

    fn read<'a>(bytes: &mut Bytes<'a>, depth_left: usize) -> Result<Item<'a>, Stop> {
        bytes.count()?;
        let start = bytes.at;
        let head = bytes.byte()?;
        let n_head = |bytes: &Bytes<'a>| bytes.at.saturating_sub(start);
        let (n_head, kind) = match (head & 0xe0, head & 0x1f) {
            (0xe0, info) => (0, simple(bytes, info)?),
            (UNSIGNED, info) => (0, Kind::Int(argument(bytes, info)?.into())),
            (0x20, info) => (0, Kind::Int(-1 - i128::from(argument(bytes, info)?))),
            (BYTES, 31) => (0, Kind::Bytes(Cow::Owned(chunks(bytes, BYTES)?))),
            (BYTES, info) => (0, Kind::Bytes(Cow::Borrowed(payload(bytes, info)?))),
            (TEXT, 31) => {
                let text = String::from_utf8(chunks(bytes, TEXT)?).map_err(|_| malformed("a string is not UTF-8"))?;
                (0, Kind::Text(Cow::Owned(text)))
            }
            (TEXT, info) => {
                let text = std::str::from_utf8(payload(bytes, info)?);
                (0, Kind::Text(Cow::Borrowed(text.map_err(|_| malformed("a string is not UTF-8"))?)))
            }
            (ARRAY, info) => {
                let n = length(bytes, info)?;
                (n_head(bytes), Kind::Array(items(bytes, n, super::deeper(depth_left)?)?))
            }
            (MAP, info) => {
                let n = length(bytes, info)?;
                (n_head(bytes), Kind::Map(pairs(bytes, n, super::deeper(depth_left)?)?))
            }
            (_, info) => {
                let tag = argument(bytes, info)?;
                let n_head = n_head(bytes);
                (n_head, Kind::Tag(tag, Box::new(Self::read(bytes, super::deeper(depth_left)?)?)))
            }
        };
        Ok(Item { span: start..bytes.at, n_head, kind })
    }

    fn null(out: &mut Vec<u8>) {
        out.push(0xf6);
    }

    fn bool(out: &mut Vec<u8>, yes: bool) {
        out.push(if yes { 0xf5 } else { 0xf4 });
    }

    fn int(out: &mut Vec<u8>, number: i128, like: Option<(u8, i128)>) -> Result<(), String> {
        let parts = |number: i128| if number < 0 { (0x20, -1 - number) } else { (UNSIGNED, number) };
        let (major, argument) = parts(number);
        let argument =
            u64::try_from(argument).map_err(|_| "CBOR has no larger integers than 64 bits and a sign".to_owned())?;
        let padded = like.filter(|(head, old)| u64::try_from(parts(*old).1).is_ok_and(|old| info(old) != head & 0x1f));
        let Some((head, _)) = padded else {
            write_head(out, major, argument);
            return Ok(());
        };
        let n_bytes = n_bytes(head & 0x1f);
        if n_bytes < 8 && argument >> (8 * n_bytes) != 0 {
            return Err(format!("{number} is out of range: the sender writes this number in {} bits", 8 * n_bytes));
        }
        out.push(major | head & 0x1f);
        tail(out, argument, n_bytes);
        Ok(())
    }

    /// Wider than it was only where it has to be, which loses nothing.
    fn float(out: &mut Vec<u8>, number: f64, like: Option<Float>) -> Result<(), String> {
        let half = f16::from_f64(number);
        let fits_half = half.to_f64() == number || number.is_nan();
        match (like, as_single(number)) {
            (None | Some(Float::Half(_)), _) if fits_half => write(out, 0xf9, &half.to_be_bytes()),
            (Some(Float::Single(_)), _) if !number.is_finite() => write(out, 0xfa, &(number as f32).to_be_bytes()),
            (Some(Float::Single(_)), Some(single)) => write(out, 0xfa, &single.to_be_bytes()),
            (None | Some(Float::Half(_)), Some(single)) if f64::from(single) == number => {
                write(out, 0xfa, &single.to_be_bytes());
            }
            _ => write(out, 0xfb, &number.to_be_bytes()),
        }
        Ok(())
    }

    fn text(out: &mut Vec<u8>, text: &str, _: Option<(u8, usize)>) -> Result<(), String> {
        write_head(out, TEXT, text.len() as u64);
        out.extend(text.as_bytes());
        Ok(())
    }

    fn bytes(out: &mut Vec<u8>, bytes: &[u8], _: Option<(u8, usize)>) -> Result<(), String> {
        write_head(out, BYTES, bytes.len() as u64);
        out.extend(bytes);
        Ok(())
    }

    fn head(out: &mut Vec<u8>, container: Container, n: usize, like: Option<(u8, usize)>) -> Result<(), String> {
        let major = match container {
            Container::Array => ARRAY,
            Container::Map => MAP,
        };
        let padded = like.map(|(head, old)| (head & 0x1f, old)).filter(|(was, old)| info(*old as u64) != *was);
        match padded {
            // Without a length; what ends it is not part of the head.
            Some((31, _)) => out.push(major | 31),
            Some((was, _)) if n_bytes(was) >= n_bytes(info(n as u64)) => {
                out.push(major | was);
                tail(out, n as u64, n_bytes(was));
            }
            _ => write_head(out, major, n as u64),
        }
        Ok(())
    }

    fn marked(out: &mut Vec<u8>, member: &Member<'_>) -> Result<bool, Wrong> {
        match &*member.key {
            "#simple" => match marks::integer::<u8>(&member.value)? {
                small @ 0..20 => out.push(0xe0 | small),
                20..32 => return Err((member.at, "a simple value has a number below 20 or from 32 on".to_owned())),
                number => write(out, 0xf8, &[number]),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn tag(out: &mut Vec<u8>, tag: u64) {
        write_head(out, TAG, tag);
    }
}

/// What the lower bits of a head stand for.
fn argument(bytes: &mut Bytes<'_>, info: u8) -> Result<u64, Stop> {
    match info {
        0..24 => Ok(info.into()),
        24..28 => bytes.number(n_bytes(info)),
        _ => Err(malformed("a head that means nothing")),
    }
}

fn payload<'a>(bytes: &mut Bytes<'a>, info: u8) -> Result<&'a [u8], Stop> {
    let n_bytes = usize::try_from(argument(bytes, info)?).map_err(|_| malformed("it ends in the middle of a value"))?;
    bytes.take(n_bytes)
}

/// A string in pieces, each with a length.
fn chunks(bytes: &mut Bytes<'_>, major: u8) -> Result<Vec<u8>, Stop> {
    let mut whole = Vec::new();
    loop {
        match bytes.byte()? {
            BREAK => return Ok(whole),
            head if head & 0xe0 == major && head & 0x1f < 28 => {
                bytes.count()?;
                let chunk = payload(bytes, head & 0x1f)?;
                if major == TEXT && std::str::from_utf8(chunk).is_err() {
                    return Err(malformed("a string is not UTF-8"));
                }
                whole.extend(chunk);
            }
            _ => return Err(malformed("a string in pieces has a piece of another type")),
        }
    }
}

/// `None`: until it is ended.
fn length(bytes: &mut Bytes<'_>, info: u8) -> Result<Option<usize>, Stop> {
    if info == 31 {
        return Ok(None);
    }
    let n =
        usize::try_from(argument(bytes, info)?).map_err(|_| malformed("it ends in the middle of a list or a map"))?;
    bytes.expect(n)?;
    Ok(Some(n))
}

/// Whether another one follows.
fn goes_on(bytes: &mut Bytes<'_>, n: Option<usize>, n_read: usize) -> bool {
    match n {
        Some(n) => n_read < n,
        None => {
            let has_ended = bytes.body.get(bytes.at) == Some(&BREAK);
            bytes.at = bytes.at.saturating_add(usize::from(has_ended));
            !has_ended
        }
    }
}

fn items<'a>(bytes: &mut Bytes<'a>, n: Option<usize>, depth_left: usize) -> Result<Vec<Item<'a>>, Stop> {
    let mut items = Vec::new();
    while goes_on(bytes, n, items.len()) {
        items.push(Cbor::read(bytes, depth_left)?);
    }
    Ok(items)
}

fn pairs<'a>(bytes: &mut Bytes<'a>, n: Option<usize>, depth_left: usize) -> Result<Vec<(Item<'a>, Item<'a>)>, Stop> {
    let mut pairs = Vec::new();
    while goes_on(bytes, n, pairs.len()) {
        let key = bytes.key(|bytes| Cbor::read(bytes, depth_left))?;
        pairs.push((key, Cbor::read(bytes, depth_left)?));
    }
    Ok(pairs)
}

/// `undefined` reads as null.
fn simple<'a>(bytes: &mut Bytes<'a>, info: u8) -> Result<Kind<'a>, Stop> {
    Ok(match info {
        20 | 21 => Kind::Bool(info == 21),
        22 | 23 => Kind::Null,
        24 => match bytes.byte()? {
            0..32 => return Err(malformed("a simple value that means nothing")),
            number => Kind::Simple(number),
        },
        25 => Kind::Float(Float::Half(f16::from_bits(bytes.number(2)? as u16).to_f64())),
        26 => Kind::Float(Float::Single(f32::from_bits(bytes.number(4)? as u32))),
        27 => Kind::Float(Float::Double(f64::from_bits(bytes.number(8)?))),
        0..20 => Kind::Simple(info),
        _ => return Err(malformed("a head that means nothing")),
    })
}

/// The lower bits of the shortest head with this argument.
fn info(argument: u64) -> u8 {
    match argument {
        small @ 0..24 => small as u8,
        24..0x100 => 24,
        0x100..0x1_0000 => 25,
        0x1_0000..0x1_0000_0000 => 26,
        _ => 27,
    }
}

/// How many bytes of argument follow a head.
fn n_bytes(info: u8) -> usize {
    match info {
        24..28 => 1 << (info - 24),
        _ => 0,
    }
}

fn write_head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let info = info(argument);
    out.push(major | info);
    tail(out, argument, n_bytes(info));
}

/// The last bytes of a big-endian number.
fn tail(out: &mut Vec<u8>, number: u64, n_bytes: usize) {
    out.extend(number.to_be_bytes().iter().skip(8_usize.saturating_sub(n_bytes)));
}

fn write(out: &mut Vec<u8>, head: u8, bytes: &[u8]) {
    out.push(head);
    out.extend(bytes);
}
