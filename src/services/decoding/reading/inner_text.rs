//! Texts within a payload that hold fields of their own: JSON in a string of JSON, a job that PHP has serialized.

use payload_codec::{
    Limits,
    json::{self, Node},
    structure::{self, Format},
};

use crate::domain::disclosure::{Disclosure, Extent, PayloadFacts};

/// So many times a text in a text is read. Each time costs as much as all that is left, and some of the stack.
pub(super) const LEVELS: usize = 3;

/// What a text holds, where it has fields, and how often texts in that are read.
pub(super) fn inner(text: &str, levels: usize) -> Option<(Node<'_>, usize)> {
    let levels = levels.checked_sub(1)?;
    let (limits, text) = (Limits::default(), text.trim());
    let node = match text.as_bytes() {
        [b'{' | b'[' | b'"', ..] => json::read(text, limits.elements, limits.depth).ok(),
        [b'a' | b'O' | b'C' | b's', b':', ..] => structure::read(text.as_bytes(), Format::Php, &limits).ok(),
        _ => None,
    };
    Some((node?, levels))
}

/// Whether a text that could not be read may have fields, by what it is judged by where it is all of a payload. But a single
/// word may be any code, and several lines that do not begin so are something that was logged, such as a stack trace.
pub(super) fn may_have_fields(text: &str) -> bool {
    let is_of_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
    if text.trim_end_matches('=').chars().all(is_of_base64) {
        return false;
    }
    let extent = Extent::Text { text, names_hidden: false, is_declared: false };
    let facts = PayloadFacts { hides_names: true, may_redact: false, other_type: None, extent };
    let is_log = text.contains('\n') && !text.trim_start().starts_with(['{', '[', '<', '"']);
    !is_log && facts.disclosure() != Disclosure::Fields
}
