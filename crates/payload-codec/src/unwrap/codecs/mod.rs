//! The single wrappings: one file knows how one is undone and put on again, and what it costs to say.

pub mod any;
pub mod base64;
pub mod cloud_event;
pub mod compression;
pub mod confluent;
pub mod data_uri;
pub mod easynetq;
pub mod grpc;
pub mod hex;
pub mod hole;
pub mod json_member;
pub mod json_object;
pub mod json_string;
pub mod length;

use super::{bounds::Allowance, evidence::Expected, kind::Kind, problem::Problem, wrapping::Wrapping};
use crate::format::Format;

/// A body with one wrapping undone.
pub(super) struct Decoded {
    pub wrapping: Wrapping,
    /// One payload, or several in a row.
    pub payloads: Vec<Vec<u8>>,
    /// The code length of the wrapping itself.
    pub nats: f64,
    /// Nothing else can be meant: a checksum fits, or the envelope names itself.
    pub certain: bool,
    /// The only formats a payload may have in this wrapping, if it does not take any.
    pub formats: Option<&'static [Format]>,
    /// What is told about the payload from within.
    pub expected: Option<Expected>,
    pub problem: Option<Problem>,
}

impl Decoded {
    pub fn new(wrapping: Wrapping, payload: Vec<u8>, nats: f64) -> Self {
        Self { wrapping, payloads: vec![payload], nats, certain: false, formats: None, expected: None, problem: None }
    }

    fn certain(self) -> Self {
        Self { certain: true, ..self }
    }

    fn holding(self, formats: &'static [Format]) -> Self {
        Self { formats: Some(formats), ..self }
    }
}

/// Undoes one wrapping of this kind. `Ok(None)`: it is not wrapped so.
pub(super) fn codecs(
    kind: Kind,
    body: &[u8],
    expected: &Expected,
    allowance: &Allowance,
) -> Result<Option<Decoded>, Problem> {
    let max_bytes = allowance.next();
    if kind.compresses() {
        return compression::codecs(kind, body, max_bytes);
    }
    // No other wrapping holds more than it is long itself.
    if body.len() > max_bytes {
        return Err(Problem::BodyTooLarge { max_bytes });
    }
    let peeled = match kind {
        Kind::Base64 => base64::codecs(body),
        Kind::Hex => hex::codecs(body),
        Kind::DataUri => data_uri::codecs(body),
        Kind::JsonString => json_string::codecs(body),
        Kind::JsonMember => json_member::codecs(body),
        Kind::LengthDelimited | Kind::LengthPrefix4 => length::codecs(kind, body),
        Kind::Grpc => grpc::codecs(body, expected),
        Kind::Confluent => confluent::codecs(body),
        Kind::Any => any::codecs(body),
        Kind::CloudEvent => cloud_event::codecs(body),
        Kind::EasyNetQ => easynetq::codecs(body),
        Kind::Gzip | Kind::Zlib | Kind::RawDeflate | Kind::Zstd => None,
    };
    Ok(peeled)
}
