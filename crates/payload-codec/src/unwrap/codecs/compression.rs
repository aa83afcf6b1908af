//! gzip (RFC 1952), zlib (RFC 1950), raw deflate (RFC 1951), zstd (RFC 8878), bzip2, xz and LZMA.

use std::io::{self, Read, Write};

use bzip2::{bufread::MultiBzDecoder, write::BzEncoder};
use flate2::{
    Compression,
    bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder},
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};

use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter, XzOptions, XzReader, XzWriter};

use super::{
    super::{kind::Kind, problem::Problem},
    Decoded,
};

/// A window larger than this many bits is refused: zstd allocates it whole, as soon as a frame asks for it.
const MAX_WINDOW_LOG: u32 = 24;

/// KiB that a reader of LZMA may ask for, most of them for its dictionary: as much as the window of zstd.
const MAX_LZMA_KIB: u32 = (1 << (MAX_WINDOW_LOG - 10)) + 1024;

/// What is written has a dictionary no larger than what it has to hold.
const LZMA_PRESET: u32 = 6;

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
        Kind::Bzip2 => is_bzip2_header(body),
        Kind::Xz => body.starts_with(b"\xfd7zXZ\0"),
        Kind::Lzma => is_lzma_header(body),
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
        // Two bytes are no proof, nor is a header that is mostly zeros, so that nothing is said of it.
        (Kind::Zlib | Kind::Lzma, _) => Ok(None),
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
        Kind::Bzip2 => {
            let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::best());
            encoder.write_all(payload)?;
            encoder.finish()
        }
        Kind::Xz => {
            let mut options = XzOptions::with_preset(LZMA_PRESET);
            options.lzma_options = lzma_options(payload.len());
            let mut encoder = XzWriter::new(Vec::new(), options)?;
            encoder.write_all(payload)?;
            encoder.finish()
        }
        Kind::Lzma => {
            let mut encoder = LzmaWriter::new_use_header(Vec::new(), &lzma_options(payload.len()), None)?;
            encoder.write_all(payload)?;
            encoder.finish()
        }
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
        Kind::Bzip2 => {
            let mut decoder = MultiBzDecoder::new(body);
            decoder.by_ref().take(max).read_to_end(out)?;
            Ok(decoder.get_ref().is_empty())
        }
        Kind::Xz => {
            XzReader::new_mem_limit(body, true, MAX_LZMA_KIB).take(max).read_to_end(out)?;
            Ok(true)
        }
        Kind::Lzma => {
            let mut decoder = LzmaReader::new_mem_limit(body, MAX_LZMA_KIB, None)?;
            decoder.by_ref().take(max).read_to_end(out)?;
            Ok(decoder.into_inner().is_empty())
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

/// A digit for the size of its blocks, and the first block, or the end where there is none.
fn is_bzip2_header(body: &[u8]) -> bool {
    let Some((head, rest)) = body.split_at_checked(4) else { return false };
    let has_level = matches!(head, [b'B', b'Z', b'h', b'1'..=b'9']);
    has_level && (rest.starts_with(b"1AY&SY") || rest.starts_with(&[0x17, 0x72, 0x45, 0x38, 0x50, 0x90]))
}

/// Everybody writes it with the default properties, a dictionary of one or one and a half powers of two, and a size that
/// is unknown or no more than what any message has.
fn is_lzma_header(body: &[u8]) -> bool {
    let Some((head, _)) = body.split_at_checked(13) else { return false };
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let (dictionary, size) = (number(head.get(1..5).unwrap_or_default()), number(head.get(5..13).unwrap_or_default()));
    let is_usual = dictionary.is_power_of_two() || (dictionary % 3 == 0 && (dictionary / 3).is_power_of_two());
    head.first() == Some(&0x5d) && dictionary >= 4096 && is_usual && (size == u64::MAX || size < 1 << 38)
}

fn lzma_options(n_bytes: usize) -> LzmaOptions {
    let mut options = LzmaOptions::with_preset(LZMA_PRESET);
    let needed = u32::try_from(n_bytes.next_power_of_two()).unwrap_or(u32::MAX);
    options.dict_size = options.dict_size.min(needed.max(4096));
    options
}
