//! gzip (RFC 1952), zlib (RFC 1950), raw deflate (RFC 1951) and zstd (RFC 8878).

use std::io::{self, Read, Write};

use flate2::{
    Compression,
    bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder},
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};

use super::{
    super::{kind::Kind, problem::Problem},
    Decoded,
};

/// A window larger than this many bits is refused: zstd allocates it whole, as soon as a frame asks for it.
const MAX_WINDOW_LOG: u32 = 24;

/// Deflate says little about itself, so that some other bytes inflate by chance.
const RAW_DEFLATE_NATS: f64 = 9.0;

/// Fewer bytes inflate to anything.
const MIN_RAW_DEFLATE: usize = 8;

/// The chance that a checksum of 32 bits fits by accident, the other way round.
const CHECKED_NATS: f64 = -20.0;

/// Inflates `body`, to `max_bytes` at most.
pub(in super::super) fn decode(kind: Kind, body: &[u8], max_bytes: usize) -> Result<Option<Decoded<()>>, Problem> {
    let looks_so = match kind {
        Kind::Gzip => body.starts_with(&[0x1f, 0x8b, 8]),
        Kind::Zlib => is_zlib_header(body),
        Kind::Zstd => body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        // Block type 3 does not exist. Text is not tried: it compresses itself badly, but never inflates to an end.
        _ => {
            body.len() >= MIN_RAW_DEFLATE && body.first().is_some_and(|byte| byte & 0b110 != 0b110) && !body.is_ascii()
        }
    };
    if !looks_so {
        return Ok(None);
    }
    let mut out = Vec::new();
    let read = inflate(kind, body, max_bytes, &mut out);
    if out.len() > max_bytes {
        let too_large = Problem::TooLarge { kind, max_bytes };
        return if kind == Kind::RawDeflate { Ok(None) } else { Err(too_large) };
    }
    match (kind, read) {
        (Kind::RawDeflate, Ok(true)) if !out.is_empty() => Ok(Some(Decoded::new((), out, RAW_DEFLATE_NATS))),
        (Kind::RawDeflate, _) => Ok(None),
        (_, Ok(true)) => Ok(Some(Decoded::new((), out, CHECKED_NATS).certain())),
        // Two bytes are no proof, so that nothing is said of it.
        (Kind::Zlib, _) => Ok(None),
        (_, Ok(false) | Err(_)) => Err(Problem::Damaged(kind)),
    }
}

pub(in super::super) fn encode(kind: Kind, payload: &[u8]) -> io::Result<Vec<u8>> {
    let level = Compression::default();
    match kind {
        Kind::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(payload)?;
            encoder.finish()
        }
        Kind::Zlib => {
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(payload)?;
            encoder.finish()
        }
        Kind::Zstd => zstd::stream::encode_all(payload, zstd::DEFAULT_COMPRESSION_LEVEL),
        _ => {
            let mut encoder = DeflateEncoder::new(Vec::new(), level);
            encoder.write_all(payload)?;
            encoder.finish()
        }
    }
}

/// Inflates one byte more than allowed at most; whether all of the body was read.
fn inflate(kind: Kind, body: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> io::Result<bool> {
    let max = max_bytes as u64 + 1;
    match kind {
        Kind::Gzip => {
            let mut decoder = MultiGzDecoder::new(body);
            decoder.by_ref().take(max).read_to_end(out)?;
            Ok(decoder.get_ref().is_empty())
        }
        Kind::Zlib => {
            let mut decoder = ZlibDecoder::new(body);
            decoder.by_ref().take(max).read_to_end(out)?;
            Ok(decoder.get_ref().is_empty())
        }
        Kind::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(body)?;
            decoder.window_log_max(MAX_WINDOW_LOG)?;
            decoder.take(max).read_to_end(out)?;
            Ok(true)
        }
        _ => {
            let mut decoder = DeflateDecoder::new(body);
            decoder.by_ref().take(max).read_to_end(out)?;
            Ok(decoder.get_ref().is_empty())
        }
    }
}

/// RFC 1950 §2.2: method 8, a window of 32 KiB at most, no preset dictionary, and a check that makes it divisible by 31.
fn is_zlib_header(body: &[u8]) -> bool {
    let Some(&[cmf, flg]) = body.first_chunk() else { return false };
    cmf & 0x0f == 8 && cmf >> 4 <= 7 && flg & 0x20 == 0 && u16::from_be_bytes([cmf, flg]) % 31 == 0
}
