//! JSON, as far as telling it from other text goes.

use serde::de::IgnoredAny;

use super::text;

/// Nats that an object, an array or a string that parses to its end is cheaper than other text.
const PARSES: f64 = 3.0;

/// The code length of an object, an array or a string.
///
/// Numbers and the three words are as likely plain text, and are left to it. Nesting deeper than serde_json goes (128
/// levels) is text as well.
pub(super) fn nats(bytes: &[u8]) -> Option<f64> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace())?;
    if !b"{[\"".contains(first) {
        return None;
    }
    serde_json::from_slice::<IgnoredAny>(bytes).ok()?;
    Some(text::nats(bytes)? - PARSES)
}
