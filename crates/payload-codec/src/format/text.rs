//! The price of text, by the kinds of characters that follow each other.
//!
//! Words, identifiers and sentences stay within one kind of characters for a while; encoded bytes jump between them.
//! Random tokens (digests, keys) are text as well, though no words: their price is that of any character of their
//! alphabet.

use Kind::{Control, Digit, Joint, Line, Lower, Mark, NotAscii, Space, Upper};

use crate::wire::cost;

/// Kinds of bytes in UTF-8 text.
#[derive(Clone, Copy)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Space,
    /// What joins words to names: `-`, `_`, `.`, `/`.
    Joint,
    Mark,
    Line,
    NotAscii,
    Control,
}

/// Nats of a kind after another, in the order of [`Kind`]: rough estimates from identifiers, prose and JSON.
const AFTER: [[f64; 9]; 9] = [
    // Lower, Upper, Digit, Space, Joint, Mark, Line, NotAscii, Control
    [0.25, 3.2, 3.2, 2.0, 2.8, 2.8, 4.5, 5.0, 8.0],
    [0.9, 0.9, 2.5, 3.0, 3.0, 3.0, 5.0, 5.0, 8.0],
    [2.2, 2.5, 0.35, 3.0, 2.3, 2.5, 4.5, 5.0, 8.0],
    [0.6, 1.8, 2.0, 2.0, 3.5, 2.5, 4.0, 4.0, 8.0],
    [0.7, 2.0, 1.2, 3.0, 2.5, 3.0, 4.0, 5.0, 8.0],
    [1.4, 2.0, 1.8, 1.8, 3.0, 1.2, 2.5, 5.0, 8.0],
    [1.2, 1.8, 2.0, 1.5, 3.0, 2.0, 2.0, 5.0, 8.0],
    [3.0, 5.0, 5.0, 2.0, 4.0, 3.0, 5.0, 0.2, 8.0],
    [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 6.0],
];

/// Nats of one character among those of its kind, in the order of [`Kind`].
const WITHIN: [f64; 9] = [2.75, 3.1, 2.3, 0.0, 1.4, 3.2, 1.0, 3.9, 3.3];

/// Nats of a character of a random token: of hexadecimal digits, of capitals, of capitals and digits, and of base64. The
/// last is a little less than ln 64, so that a random token remains what is seen: text.
const HEX: f64 = 2.773;
const CAPITALS: f64 = 3.5;
const CODE: f64 = 3.75;
const BASE64: f64 = 4.1;

/// Nats of being a random token rather than words.
const A_TOKEN: f64 = 2.0;

/// The code length of UTF-8 text; `None` of anything else. Text has line breaks and tabs, now and then an escape
/// sequence, but no zero bytes.
pub(crate) fn nats(bytes: &[u8]) -> Option<f64> {
    if bytes.contains(&0) {
        return None;
    }
    let in_fields = cost::text(bytes)?;
    let other = match token(bytes) {
        Some(nats_per_byte) => nats_per_byte * bytes.len() as f64 + A_TOKEN,
        // Never dearer than as the text of a field: else any text would rather be a message with a string in it.
        None => in_fields,
    };
    Some(words(bytes).min(other))
}

fn words(bytes: &[u8]) -> f64 {
    let mut before = Space;
    let mut nats = 0.0;
    for byte in bytes {
        let kind = kind(*byte);
        nats += AFTER[before as usize][kind as usize] + WITHIN[kind as usize];
        before = kind;
    }
    nats
}

/// Nats of each character if it is a token of some alphabet, be it in quotes or broken into lines.
fn token(bytes: &[u8]) -> Option<f64> {
    let all = |belongs: fn(u8) -> bool| bytes.iter().all(|byte| belongs(*byte));
    if !all(|byte| byte.is_ascii_alphanumeric() || b"+/-_=\"\r\n".contains(&byte)) {
        return None;
    }
    if all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        return Some(HEX);
    }
    if all(|byte| byte.is_ascii_uppercase()) {
        return Some(CAPITALS);
    }
    let code = all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-');
    Some(if code { CODE } else { BASE64 })
}

fn kind(byte: u8) -> Kind {
    match byte {
        b'a'..=b'z' => Lower,
        b'A'..=b'Z' => Upper,
        b'0'..=b'9' => Digit,
        b' ' => Space,
        b'-' | b'_' | b'.' | b'/' => Joint,
        b'\n' | b'\r' | b'\t' => Line,
        0x21..=0x7e => Mark,
        0x80.. => NotAscii,
        _ => Control,
    }
}
