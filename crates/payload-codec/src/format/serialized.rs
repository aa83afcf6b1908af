//! YAML, and what Python, PHP and Java serialize, as far as telling them from other bytes goes.

use super::{Format, PLAIN, text};
use crate::{limits::Limits, structure};

/// Nats of a byte of a payload that can be read to its end: hardly any other bytes can.
const READS: f64 = 0.5;

/// The same where only its beginning is right.
const BEGINS: f64 = 2.0;

/// Nats that text costs more as YAML than as text, unless it begins as a document.
const COULD_BE: f64 = 4.0;

/// Fewer bytes say nothing.
const MIN_BYTES: usize = 6;

/// The code length of one of those that begin in a manner of their own. What cannot be read stays what it begins as where
/// nothing else begins so, or where it was declared.
pub(super) fn nats(bytes: &[u8], format: Format, expected: Option<Format>) -> Option<f64> {
    let structure = format.structure()?;
    let is_declared = expected == Some(format);
    if bytes.len() < MIN_BYTES || !(is_declared || structure::looks_like(bytes, structure)) {
        return None;
    }
    let n_bytes = bytes.len() as f64;
    if structure::read(bytes, structure, &Limits::default()).is_ok() {
        return Some(READS * n_bytes);
    }
    let begins = is_declared || matches!(bytes, [0xac, 0xed, 0, 5, ..] | [0x80, 4 | 5, 0x95, ..]);
    begins.then_some(BEGINS * n_bytes)
}

/// The code length of a list or a map in YAML: any line of text is a value of it as well.
pub(super) fn yaml(bytes: &[u8], expected: Option<Format>) -> Option<f64> {
    let says_so = structure::looks_like(bytes, structure::Format::Yaml);
    if !says_so && expected != Some(Format::Yaml) {
        return None;
    }
    let nats = text::nats(bytes)?;
    let node = structure::read(bytes, structure::Format::Yaml, &Limits::default()).ok()?;
    let is_container = matches!(node.kind, crate::json::Kind::Array(_) | crate::json::Kind::Object(_));
    is_container.then_some(if says_so { nats - PLAIN } else { nats + PLAIN + COULD_BE })
}
