//! Putting encodings on again.

use super::{
    codecs::{compression, hole::Unfit, length},
    encoding::Encoding,
    kind::Kind,
};

/// A payload that the encodings cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrapError {
    /// The encoding holds text, and the payload is not UTF-8.
    #[error("{0} holds text, and this is none")]
    NotText(Kind),
    /// The payload stands in JSON as a value of its own, and is no JSON.
    #[error("{0} holds JSON here, and this is none")]
    NotJson(Kind),
    /// Only framings hold several, and at least one is needed.
    #[error("{kind} holds one payload, not {n}")]
    Count {
        /// The innermost encoding.
        kind: Kind,
        /// How many payloads there are.
        n: usize,
    },
    /// The encoding has 4 bytes for the length.
    #[error("{0} holds 4 GiB at most")]
    TooLarge(Kind),
    /// The compression failed; why.
    #[error("{0} failed: {1}")]
    Compression(Kind, String),
}

/// Wraps payloads as `steps`, the outermost first, tell: exactly as the original was, but for what compressions write.
///
/// Without steps the payloads follow one another.
///
/// # Errors
/// When an encoding cannot hold what is to go into it.
pub fn wrap<P: AsRef<[u8]>>(payloads: &[P], steps: &[Encoding]) -> Result<Vec<u8>, WrapError> {
    let payloads: Vec<&[u8]> = payloads.iter().map(AsRef::as_ref).collect();
    let Some((innermost, outer)) = steps.split_last() else { return Ok(payloads.concat()) };
    let wrapped = wrap_all(&payloads, innermost)?;
    outer.iter().rev().try_fold(wrapped, |body, step| wrap_one(&body, step))
}

fn wrap_all(payloads: &[&[u8]], step: &Encoding) -> Result<Vec<u8>, WrapError> {
    let kind = step.kind();
    match payloads {
        [payload] => wrap_one(payload, step),
        [_, _, ..] if matches!(kind, Kind::LengthDelimited | Kind::LengthPrefix4 | Kind::Grpc) => {
            let frames: Result<Vec<_>, _> = payloads.iter().map(|payload| wrap_one(payload, step)).collect();
            Ok(frames?.concat())
        }
        _ => Err(WrapError::Count { kind, n: payloads.len() }),
    }
}

fn wrap_one(payload: &[u8], step: &Encoding) -> Result<Vec<u8>, WrapError> {
    let kind = step.kind();
    if matches!(kind, Kind::LengthPrefix4 | Kind::Grpc) && u32::try_from(payload.len()).is_err() {
        return Err(WrapError::TooLarge(kind));
    }
    match step {
        Encoding::Base64(base64) => Ok(base64.encode(payload).into_bytes()),
        Encoding::Hex(hex) => Ok(hex.encode(payload).into_bytes()),
        Encoding::DataUri(uri) => Ok(uri.encode(payload).into_bytes()),
        Encoding::JsonString(escaping) => {
            let text = std::str::from_utf8(payload).map_err(|_| WrapError::NotText(kind))?;
            Ok(escaping.write_string(text).into_bytes())
        }
        Encoding::JsonMember { hole, .. } | Encoding::CloudEvent(hole) | Encoding::EasyNetQ(hole) => {
            let written = hole.encode(payload).map_err(|unfit| match unfit {
                Unfit::NotText => WrapError::NotText(kind),
                Unfit::NotJson => WrapError::NotJson(kind),
            })?;
            Ok(written.into_bytes())
        }
        Encoding::LengthDelimited | Encoding::LengthPrefix4 => Ok(length::encode(kind, payload)),
        Encoding::Grpc(grpc) => Ok(grpc.encode(payload)),
        Encoding::Confluent(confluent) => Ok(confluent.encode(payload)),
        Encoding::Any(any) => Ok(any.encode(payload)),
        Encoding::Gzip
        | Encoding::Zlib
        | Encoding::RawDeflate
        | Encoding::Zstd
        | Encoding::Bzip2
        | Encoding::Xz
        | Encoding::Lzma => {
            compression::encode(kind, payload).map_err(|error| WrapError::Compression(kind, error.to_string()))
        }
    }
}
