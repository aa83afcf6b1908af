//! One word of an error: no spaces, quotes or brackets.

use super::HOLE;

/// Letters before digits that are a code of an error together.
const CODE_PREFIXES: [&str; 18] = [
    "ORA", "TNS", "PLS", "DPY", "DPI", "SQL", "DB2", "ERR", "ERROR", "HTTP", "MSG", "AMQ", "CVE", "RFC", "UTF", "ISO",
    "SHA", "TLS",
];

/// The word with a hole for each value in it. `may_be_code` where a word of capitals and digits is a code (`E11000:`).
pub(super) fn without_values(word: &str, may_be_code: bool) -> String {
    if is_address(word) || is_token(word) || is_amount(word) {
        return HOLE.to_string();
    }
    if may_be_code && is_error_code(word) {
        return word.to_owned();
    }
    let mut made = String::with_capacity(word.len());
    let mut before = "";
    for piece in word.split_inclusive(is_separator) {
        let part = piece.trim_end_matches(is_separator);
        let separator = piece.get(part.len()..).unwrap_or_default();
        match value_in(part, before) {
            Some(kept) => {
                made.push_str(part.get(..kept).unwrap_or_default());
                push_hole(&mut made);
            }
            None => made.push_str(part),
        }
        made.push_str(separator);
        before = part;
    }
    made
}

/// Values in a row are one, whatever separates them.
fn push_hole(made: &mut String) {
    let without_separator = made.trim_end_matches(is_separator);
    if without_separator.ends_with(HOLE) {
        made.truncate(without_separator.len());
    } else {
        made.push(HOLE);
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '-' | '_' | '.' | '/' | '\\' | ':' | '#' | '@' | '$' | '~' | '+' | '*' | '%')
}

/// Where in a part of a word a value begins, which goes to its end; `None` where there is none.
fn value_in(part: &str, before: &str) -> Option<usize> {
    let n_digits = part.bytes().filter(u8::is_ascii_digit).count();
    if n_digits == 0 {
        return (is_hex(part) && part.len() >= 16).then_some(0);
    }
    if n_digits == part.len() {
        return (!CODE_PREFIXES.contains(&before.to_ascii_uppercase().as_str())).then_some(0);
    }
    if is_token(part) || is_amount(part) {
        return Some(0);
    }
    // `job123456`, but not `utf8` or `sha256`.
    let name = part.trim_end_matches(|c: char| c.is_ascii_digit());
    (part.len() - name.len() >= 4 && !name.contains(|c: char| c.is_ascii_digit())).then_some(name.len())
}

/// A mail address, or an IPv6 address.
fn is_address(word: &str) -> bool {
    let is_mail = word.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && !name.contains('/')
            && host.contains('.')
            && host.chars().all(|c| c.is_alphanumeric() || "-._".contains(c))
    });
    is_mail || is_ipv6(word)
}

pub(super) fn is_ipv6(word: &str) -> bool {
    word.matches(':').count() >= 2
        && word.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.'))
        && word.contains(|c: char| c.is_ascii_digit())
}

/// An id that a program made: a UUID, a ULID, a hash, a pointer, something in base64.
fn is_token(word: &str) -> bool {
    let hex = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    if hex.is_some_and(|hex| !hex.is_empty() && is_hex(hex)) {
        return true;
    }
    let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    if !has(u8::is_ascii_digit) {
        return false;
    }
    let is_uuid =
        word.len() == 36 && word.bytes().filter(|byte| *byte == b'-').count() == 4 && is_hex(&word.replace('-', ""));
    let is_ulid = word.len() == 26 && word.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    let is_base64 = word.len() >= 14
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'=' | b'_' | b'-'))
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && changes(word) >= 4;
    (word.len() >= 8 && is_hex(word)) || is_uuid || is_ulid || is_base64
}

/// How often letters and digits take turns, which in names they seldom do.
fn changes(word: &str) -> usize {
    let kinds: Vec<bool> = word.bytes().map(|byte| byte.is_ascii_digit()).collect();
    kinds.windows(2).filter(|pair| pair.first() != pair.last()).count()
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A number, with or without a unit, a date, a time, a span.
fn is_amount(word: &str) -> bool {
    let digits = word.trim_start_matches(['-', '+', '~', '#', '$', '€', '£']);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    // Digits and signs with a few letters between them: `3021ms`, `1h30m`, `2026-01-31T09:00:00.000Z`, `1e-9`, `12th`.
    let mut n_letters = 0_usize;
    for c in digits.chars() {
        n_letters = if c.is_alphabetic() { n_letters + 1 } else { 0 };
        if n_letters > 3 || !(c.is_alphanumeric() || "-+.:/_%".contains(c)) {
            return false;
        }
    }
    true
}

/// Capitals and digits, as `E11000`, `P2002`, `SQL0911N`, `CS0103`.
fn is_error_code(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = word.bytes().skip(letters).take_while(u8::is_ascii_digit).count();
    (1..=5).contains(&letters) && (3..=5).contains(&digits) && word.len() <= letters + digits + 1
}
