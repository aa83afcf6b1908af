//! How a JSON string is written: which of the characters that may be escaped are.
//!
//! .NET's System.Text.Json writes a quote as `\u0022` and a plus sign as `\u002B`, PHP a slash as `\/`, Python all that
//! is not ASCII as `\u00e9`. A string written in one manner can be written again in the same.

/// The manner of writing a JSON string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Escaping {
    /// The ASCII characters that are written as `\u` and four digits, as bits by their code.
    as_code: u128,
    /// Whether characters beyond ASCII are.
    not_ascii: bool,
    /// Whether a slash is written `\/`.
    slash: bool,
    /// Whether the digits are capital letters.
    capitals: bool,
}

impl Escaping {
    /// The manner in which `literal`, without its quotes, was written. It must be the inside of a JSON string.
    pub(super) fn of(literal: &str) -> Self {
        let mut escaping = Self::default();
        let mut rest = literal;
        while let Some(at) = rest.find('\\') {
            let escape = rest.get(at + 1..).unwrap_or_default();
            escaping.learn(escape);
            let n = if escape.starts_with('u') { 5 } else { 1 };
            rest = escape.get(n..).unwrap_or_default();
        }
        escaping
    }

    fn learn(&mut self, escape: &str) {
        self.slash |= escape.starts_with('/');
        let Some(digits) = escape.strip_prefix('u').and_then(|rest| rest.get(..4)) else { return };
        self.capitals |= digits.bytes().any(|digit| digit.is_ascii_uppercase());
        match u32::from_str_radix(digits, 16) {
            Ok(code @ 0..128) => self.as_code |= 1 << code,
            Ok(_) => self.not_ascii = true,
            Err(_) => {}
        }
    }

    /// `text` as a JSON string in this manner.
    pub(super) fn write_string(&self, text: &str) -> String {
        format!("\"{}\"", self.write(text))
    }

    /// `text` in this manner, without quotes.
    fn write(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            self.write_char(c, &mut out);
        }
        out
    }

    fn write_char(&self, c: char, out: &mut String) {
        if !c.is_ascii() {
            return if self.not_ascii { self.write_code(c, out) } else { out.push(c) };
        }
        if self.as_code >> (c as u32) & 1 == 1 {
            return self.write_code(c, out);
        }
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '/' if self.slash => out.push_str("\\/"),
            '\0'..' ' => self.write_code(c, out),
            _ => out.push(c),
        }
    }

    fn write_code(&self, c: char, out: &mut String) {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let code = if self.capitals { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
            out.push_str(&code);
        }
    }
}

/// The text of a JSON string with its quotes, and the manner in which it is written.
pub(super) fn read(string: &str) -> Option<(String, Escaping)> {
    let text: String = serde_json::from_str(string).ok()?;
    let literal = string.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some((text, Escaping::of(literal)))
}
