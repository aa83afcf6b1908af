//! A body that is one JSON string.

use super::{
    super::{escaping, problem::Problem, wrapping::Wrapping},
    Decoded, Kind,
};

/// Nats of being written so.
const RARE: f64 = 3.0;

pub(in super::super) fn codecs(body: &[u8]) -> Option<Decoded> {
    if body.first() != Some(&b'"') || body.last() != Some(&b'"') {
        return None;
    }
    let written = std::str::from_utf8(body).ok()?;
    let (text, escaping) = escaping::read(written)?;
    let irregular = format!("\"{}\"", escaping.write(&text)) != written;
    let mut peeled = Decoded::new(Wrapping::JsonString(escaping), text.into_bytes(), RARE);
    peeled.problem = irregular.then_some(Problem::Irregular(Kind::JsonString));
    Some(peeled)
}
