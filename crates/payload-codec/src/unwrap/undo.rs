//! Undoing one wrapping.

use super::{
    bounds::Allowance,
    codecs::{
        Decoded, any, base64, cloud_event, compression, confluent, data_uri, easynetq, grpc, hex, json_member,
        json_string, length,
    },
    evidence::Expected,
    kind::Kind,
    problem::Problem,
    wrapping::Wrapping,
};

/// Undoes one wrapping of this kind. `Ok(None)`: it is not wrapped so.
pub(super) fn undo(
    kind: Kind,
    body: &[u8],
    expected: &Expected,
    allowance: &Allowance,
) -> Result<Option<Decoded<Wrapping>>, Problem> {
    let max_bytes = allowance.next();
    // No wrapping but a compression holds more than it is long itself.
    if body.len() > max_bytes && !kind.compresses() {
        return Err(Problem::BodyTooLarge { max_bytes });
    }
    let inflated = |wrapping| Ok(named(compression::decode(kind, body, max_bytes)?, |()| wrapping));
    match kind {
        Kind::Gzip => inflated(Wrapping::Gzip),
        Kind::Zlib => inflated(Wrapping::Zlib),
        Kind::RawDeflate => inflated(Wrapping::RawDeflate),
        Kind::Zstd => inflated(Wrapping::Zstd),
        Kind::Base64 => Ok(named(base64::decode(body), Wrapping::Base64)),
        Kind::Hex => Ok(named(hex::decode(body), Wrapping::Hex)),
        Kind::DataUri => Ok(named(data_uri::decode(body), Wrapping::DataUri)),
        Kind::JsonString => Ok(named(json_string::decode(body), Wrapping::JsonString)),
        Kind::JsonMember => Ok(named(json_member::decode(body), |(name, hole)| Wrapping::JsonMember { name, hole })),
        Kind::LengthDelimited => Ok(named(length::decode(kind, body), |()| Wrapping::LengthDelimited)),
        Kind::LengthPrefix4 => Ok(named(length::decode(kind, body), |()| Wrapping::LengthPrefix4)),
        Kind::Grpc => Ok(named(grpc::decode(body, expected), Wrapping::Grpc)),
        Kind::Confluent => Ok(named(confluent::decode(body), Wrapping::Confluent)),
        Kind::Any => Ok(named(any::decode(body), Wrapping::Any)),
        Kind::CloudEvent => Ok(named(cloud_event::decode(body), Wrapping::CloudEvent)),
        Kind::EasyNetQ => Ok(named(easynetq::decode(body), Wrapping::EasyNetQ)),
    }
}

fn named<M>(decoded: Option<Decoded<M>>, wrapping: impl FnOnce(M) -> Wrapping) -> Option<Decoded<Wrapping>> {
    decoded.map(|decoded| decoded.map(wrapping))
}
