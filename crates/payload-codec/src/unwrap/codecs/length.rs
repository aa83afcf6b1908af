//! Messages in a row, each with its length before it: as a varint, as `writeDelimitedTo` of protobuf's libraries does,
//! or as 4 big-endian bytes.

use super::{
    super::{bounds::MAX_PAYLOADS, kind::Kind},
    Decoded,
};
use crate::{format::Format, wire::varint};

/// Nats of a length that fits, and of there being more than one message.
const ONE: f64 = 2.3;
const ONE_OF_4_BYTES: f64 = 3.0;
const ANOTHER: f64 = 4.0;

/// Undoes [`Kind::LengthDelimited`], or else [`Kind::LengthPrefix4`].
pub(in super::super) fn decode(kind: Kind, body: &[u8]) -> Option<Decoded<()>> {
    let mut payloads = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let n = if kind == Kind::LengthDelimited { varint_length(&mut rest)? } else { fixed_length(&mut rest)? };
        let (payload, after) = rest.split_at_checked(n)?;
        payloads.push(payload);
        rest = after;
        if payloads.len() > MAX_PAYLOADS {
            return None;
        }
    }
    // Noughts alone are not messages in a row, however many there could be.
    if payloads.is_empty() || payloads.len() > 1 && payloads.iter().any(|payload| payload.is_empty()) {
        return None;
    }
    let one = if kind == Kind::LengthDelimited { ONE } else { ONE_OF_4_BYTES };
    let nats = one + ANOTHER * (payloads.len() - 1) as f64;
    Some(Decoded::several((), &payloads, nats).holding(&[Format::Protobuf]))
}

pub(in super::super) fn encode(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 5);
    if kind == Kind::LengthDelimited {
        varint::write(&mut out, payload.len() as u64);
    } else {
        out.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    }
    out.extend_from_slice(payload);
    out
}

/// The length at the start of `rest`, which is moved behind it. A longer form than needed could not be written again.
fn varint_length(rest: &mut &[u8]) -> Option<usize> {
    let length = varint::read(rest, 0).ok().filter(|length| !length.overlong)?;
    *rest = rest.get(length.end..)?;
    usize::try_from(length.value).ok()
}

fn fixed_length(rest: &mut &[u8]) -> Option<usize> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    usize::try_from(u32::from_be_bytes(*length)).ok()
}
