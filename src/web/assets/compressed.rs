//! Assets as browsers get them: compressed once, and so better than there is time for in an answer.

use std::{
    borrow::Cow,
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{LazyLock, Mutex, PoisonError},
};

use axum::{
    body::Bytes,
    http::{HeaderMap, header},
};
use brotli::enc::BrotliEncoderParams;

use crate::services::decoding::reader::off_the_runtime;

/// Of 11; the last step takes three times as long for two parts in a hundred.
const QUALITY: i32 = 10;

/// Of each file the hash of its contents, which change while somebody works at them, and the contents compressed.
static KEPT: LazyLock<Mutex<HashMap<String, (u64, Bytes)>>> = LazyLock::new(Mutex::default);

/// Whether who asks takes them so.
pub fn is_taken(asked: &HeaderMap) -> bool {
    let names = asked.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    names.flat_map(|names| names.split(',')).any(|name| name.trim() == "br")
}

pub async fn of(name: &str, data: Cow<'static, [u8]>) -> Bytes {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    let hash = hasher.finish();
    let known = kept(|kept| kept.get(name).filter(|(of, _)| *of == hash).map(|(_, bytes)| bytes.clone()));
    if let Some(bytes) = known {
        return bytes;
    }
    let bytes = Bytes::from(off_the_runtime(move || compressed(&data)).await);
    kept(|kept| kept.insert(name.to_owned(), (hash, bytes.clone())));
    bytes
}

fn kept<T>(with: impl FnOnce(&mut HashMap<String, (u64, Bytes)>) -> T) -> T {
    with(&mut KEPT.lock().unwrap_or_else(PoisonError::into_inner))
}

fn compressed(mut data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let parameters = BrotliEncoderParams { quality: QUALITY, ..BrotliEncoderParams::default() };
    // Neither end of it can fail.
    let _ = brotli::BrotliCompress(&mut data, &mut bytes, &parameters);
    bytes
}
