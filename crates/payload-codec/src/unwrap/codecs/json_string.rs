//! A body that is one JSON string.

use super::{
    super::escaping::{self, Escaping},
    Decoded,
};

/// Nats of being written so.
const RARE: f64 = 3.0;

pub(in super::super) fn decode(body: &[u8]) -> Option<Decoded<Escaping>> {
    if body.first() != Some(&b'"') || body.last() != Some(&b'"') {
        return None;
    }
    let written = std::str::from_utf8(body).ok()?;
    let (text, escaping) = escaping::read(written)?;
    let is_irregular = escaping.write_string(&text) != written;
    Some(Decoded { is_irregular, ..Decoded::new(escaping, text.into_bytes(), RARE) })
}
