//! Undoing one encoding.

use super::{
    bounds::Allowance,
    codecs::{
        Decoded, any, base64, cloud_event, compression, confluent, data_uri, easynetq, grpc, hex, json_member,
        json_string, length,
    },
    encoding::Encoding,
    evidence::Expected,
    kind::Kind,
    problem::Problem,
};

/// Undoes one encoding of this kind. `Ok(None)`: it is not wrapped so.
pub(super) fn undo(
    kind: Kind,
    body: &[u8],
    expected: &Expected,
    allowance: &Allowance,
) -> Result<Option<Decoded<Encoding>>, Problem> {
    let max_bytes = allowance.next();
    // No encoding but a compression holds more than it is long itself.
    if body.len() > max_bytes && !kind.compresses() {
        return Err(Problem::BodyTooLarge { max_bytes });
    }
    let inflated = |encoding| Ok(named(compression::decode(kind, body, max_bytes)?, |()| encoding));
    match kind {
        Kind::Gzip => inflated(Encoding::Gzip),
        Kind::Zlib => inflated(Encoding::Zlib),
        Kind::RawDeflate => inflated(Encoding::RawDeflate),
        Kind::Zstd => inflated(Encoding::Zstd),
        Kind::Bzip2 => inflated(Encoding::Bzip2),
        Kind::Xz => inflated(Encoding::Xz),
        Kind::Lzma => inflated(Encoding::Lzma),
        Kind::Base64 => Ok(named(base64::decode(body), Encoding::Base64)),
        Kind::Hex => Ok(named(hex::decode(body), Encoding::Hex)),
        Kind::DataUri => Ok(named(data_uri::decode(body), Encoding::DataUri)),
        Kind::JsonString => Ok(named(json_string::decode(body), Encoding::JsonString)),
        Kind::JsonMember => Ok(named(json_member::decode(body), |(name, hole)| Encoding::JsonMember { name, hole })),
        Kind::LengthDelimited => Ok(named(length::decode(kind, body), |()| Encoding::LengthDelimited)),
        Kind::LengthPrefix4 => Ok(named(length::decode(kind, body), |()| Encoding::LengthPrefix4)),
        Kind::Grpc => Ok(named(grpc::decode(body, expected), Encoding::Grpc)),
        Kind::Confluent => Ok(named(confluent::decode(body), Encoding::Confluent)),
        Kind::Any => Ok(named(any::decode(body), Encoding::Any)),
        Kind::CloudEvent => Ok(named(cloud_event::decode(body), Encoding::CloudEvent)),
        Kind::EasyNetQ => Ok(named(easynetq::decode(body), Encoding::EasyNetQ)),
    }
}

fn named<M>(decoded: Option<Decoded<M>>, encoding: impl FnOnce(M) -> Encoding) -> Option<Decoded<Encoding>> {
    decoded.map(|decoded| decoded.map(encoding))
}
