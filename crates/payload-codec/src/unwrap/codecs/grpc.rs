//! gRPC's length-prefixed messages: a flag of one byte, a length of four, the message
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).

use super::{
    super::{bounds::MAX_PAYLOADS, evidence::Expected},
    Decoded,
};
use crate::format::Format;

/// Nats of a length of 4 bytes that fits after a byte that is 0 or 1.
const FITS: f64 = 4.0;
const ANOTHER: f64 = 5.0;

/// Nats that it is likelier if the content type says so.
const DECLARED: f64 = 6.0;

/// gRPC's framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grpc {
    /// Whether the message is compressed; as what, a header says, or the message itself.
    pub compressed: bool,
}

impl Grpc {
    pub(in super::super) fn encode(&self, payload: &[u8]) -> Vec<u8> {
        [&[self.compressed.into()], &(payload.len() as u32).to_be_bytes()[..], payload].concat()
    }
}

pub(in super::super) fn decode(body: &[u8], expected: &Expected) -> Option<Decoded<Grpc>> {
    let flag = *body.first().filter(|flag| **flag <= 1)?;
    let mut payloads = Vec::new();
    let mut rest = body;
    while let Some((head, after)) = rest.split_first_chunk::<5>() {
        let [its_flag, length @ ..] = *head;
        let n = usize::try_from(u32::from_be_bytes(length)).ok()?;
        let (payload, after) = after.split_at_checked(n)?;
        if its_flag != flag || payloads.len() >= MAX_PAYLOADS {
            return None;
        }
        payloads.push(payload);
        rest = after;
    }
    // Noughts alone are not messages in a row, however many there could be.
    if payloads.len() > 1 && payloads.iter().all(|payload| payload.is_empty()) {
        return None;
    }
    // Compressed messages have to be inflated one by one, which is undone only for one.
    if !rest.is_empty() || payloads.is_empty() || flag == 1 && payloads.len() > 1 {
        return None;
    }
    let nats = FITS + ANOTHER * (payloads.len() - 1) as f64 - if expected.grpc { DECLARED } else { 0.0 };
    let grpc = Grpc { compressed: flag == 1 };
    Some(Decoded::several(grpc, &payloads, nats).holding(&[Format::Protobuf, Format::Json]))
}
