//! Bytes as hexadecimal digits.

use super::Decoded;

/// Fewer digits are taken for a number or a word.
const MIN_DIGITS: usize = 8;

/// What may stand before the digits; PostgreSQL writes `\x`.
const PREFIXES: [&str; 3] = ["0x", "\\x", ""];

/// Nats of being written so, which is rare.
const RARE: f64 = 4.5;

/// Nats more if all digits are decimal: then it may as well be a number.
const NUMBER: f64 = 3.0;

/// How hexadecimal digits are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hex {
    /// Whether the digits above 9 are capital letters.
    pub capitals: bool,
    /// What stands before the digits: `0x`, `\x` or nothing.
    pub prefix: &'static str,
    /// White space after it.
    pub after: String,
}

impl Hex {
    pub(in super::super) fn encode(&self, bytes: &[u8]) -> String {
        let mut out = String::with_capacity(bytes.len() * 2 + 2);
        out.push_str(self.prefix);
        let digits: &[u8; 16] = if self.capitals { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
        for byte in bytes {
            for nibble in [byte >> 4, byte & 0x0f] {
                out.push(digits.get(usize::from(nibble)).copied().unwrap_or_default().into());
            }
        }
        out.push_str(&self.after);
        out
    }
}

pub(in super::super) fn decode(body: &[u8]) -> Option<Decoded<Hex>> {
    // Before anything is copied: most bodies are told apart by their first bytes.
    if !body.iter().take(MIN_DIGITS).skip(2).all(u8::is_ascii_hexdigit) {
        return None;
    }
    let text = std::str::from_utf8(body).ok()?;
    let trimmed = text.trim_ascii_end();
    let after = text.get(trimmed.len()..)?.to_owned();
    let (prefix, digits) = PREFIXES.iter().find_map(|prefix| Some((*prefix, trimmed.strip_prefix(prefix)?)))?;
    if digits.len() < MIN_DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let capitals = digits.bytes().any(|digit| digit.is_ascii_uppercase());
    if capitals && digits.bytes().any(|digit| digit.is_ascii_lowercase()) {
        return None;
    }
    let payload = bytes(digits)?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    let nats = RARE + if is_number { NUMBER } else { 0.0 };
    Some(Decoded::new(Hex { capitals, prefix, after }, payload, nats))
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let (pairs, odd) = digits.as_bytes().as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let nibble = |digit: u8| char::from(digit).to_digit(16);
    pairs.iter().map(|&[high, low]| u8::try_from(nibble(high)? << 4 | nibble(low)?).ok()).collect()
}
