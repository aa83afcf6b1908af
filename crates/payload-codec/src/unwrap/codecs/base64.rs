//! Base64 (RFC 4648 §4 and §5), in one line or in several (RFC 2045 §6.8).

use ::base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::Decoded;

/// Nats of the likelier ways of writing it.
const COMMON: f64 = 0.8;
const UNCOMMON: f64 = 2.2;

/// How base64 is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base64 {
    /// With `-` and `_` (RFC 4648 §5) instead of `+` and `/`.
    pub url_safe: bool,
    /// Whether `=` fills it up to a multiple of four characters.
    pub padded: bool,
    /// How it is broken into lines, if it is.
    pub lines: Option<Lines>,
    /// White space before it.
    pub before: String,
    /// White space after it.
    pub after: String,
}

/// Base64 broken into lines of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Characters of each line but the last.
    pub width: usize,
    /// What ends a line.
    pub separator: &'static str,
}

impl Base64 {
    /// How `text` is written, and what it says; `None` if it is not base64.
    pub(in super::super) fn decode(text: &str) -> Option<(Self, Vec<u8>)> {
        let trimmed = text.trim_ascii();
        if trimmed.len() < 2 {
            return None;
        }
        let start = text.len() - text.trim_ascii_start().len();
        let before = text.get(..start)?.to_owned();
        let after = text.get(start + trimmed.len()..)?.to_owned();
        let lines = if trimmed.contains(|c: char| c.is_ascii_whitespace()) { Some(Lines::of(trimmed)?) } else { None };
        let joined: String;
        let digits = if lines.is_some() {
            joined = trimmed.split_ascii_whitespace().collect();
            &joined
        } else {
            trimmed
        };
        let url_safe = digits.bytes().any(|digit| matches!(digit, b'-' | b'_'));
        // Where the length leaves it open, each alphabet has its own habit.
        let padded = digits.ends_with('=') || (digits.len().is_multiple_of(4) && !url_safe);
        let base64 = Self { url_safe, padded, lines, before, after };
        let bytes = base64.engine().decode(digits).ok()?;
        Some((base64, bytes))
    }

    pub(in super::super) fn encode(&self, bytes: &[u8]) -> String {
        let digits = self.engine().encode(bytes);
        let digits = match &self.lines {
            Some(lines) => lines.break_up(&digits),
            None => digits,
        };
        format!("{}{digits}{}", self.before, self.after)
    }

    fn engine(&self) -> GeneralPurpose {
        let alphabet = if self.url_safe { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
        let padding = if self.padded { DecodePaddingMode::RequireCanonical } else { DecodePaddingMode::RequireNone };
        let config = GeneralPurposeConfig::new().with_encode_padding(self.padded).with_decode_padding_mode(padding);
        GeneralPurpose::new(alphabet, config)
    }
}

impl Lines {
    /// Fewer characters are a line of text.
    const MIN_WIDTH: usize = 16;

    fn of(text: &str) -> Option<Self> {
        let width = text.bytes().position(|byte| byte.is_ascii_whitespace())?;
        let rest = text.get(width..)?;
        let separator = ["\r\n", "\n"].into_iter().find(|separator| rest.starts_with(separator))?;
        (width >= Self::MIN_WIDTH).then_some(Self { width, separator })
    }

    fn break_up(&self, digits: &str) -> String {
        let mut out = String::with_capacity(digits.len() + digits.len() / 32);
        let mut rest = digits;
        while let Some((line, after)) = rest.split_at_checked(self.width).filter(|(_, after)| !after.is_empty()) {
            out.push_str(line);
            out.push_str(self.separator);
            rest = after;
        }
        out + rest
    }
}

pub(in super::super) fn decode(body: &[u8]) -> Option<Decoded<Base64>> {
    if !body.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_= \r\n\t".contains(byte)) {
        return None;
    }
    let text = std::str::from_utf8(body).ok()?;
    let (base64, payload) = Base64::decode(text)?;
    let nats = if base64.lines.is_none() && base64.padded && !base64.url_safe { COMMON } else { UNCOMMON };
    let is_irregular = base64.encode(&payload) != text;
    Some(Decoded { is_irregular, ..Decoded::new(base64, payload, nats) })
}
