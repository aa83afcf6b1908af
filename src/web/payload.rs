//! What a body is, as far as it can be told without a schema. Pages and API ask the same question.

use serde_json::value::RawValue;

use super::view::number;
use crate::domain::message::Message;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Text,
    Binary,
}

impl Format {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
            Self::Binary => "binary",
        }
    }
}

/// What was found, and what kept us from finding more.
#[derive(Debug, PartialEq, Eq)]
pub struct Found<'a> {
    pub format: Format,
    /// The body as text; none where it is binary.
    pub text: Option<&'a str>,
    pub problem: Option<String>,
}

/// Looks at the body of `message` unless it is larger than `max_bytes`.
pub fn look(message: &Message, max_bytes: u64) -> Found<'_> {
    let size = message.body.len() as u64;
    if size > max_bytes {
        let (size, max) = (number::bytes(size), number::bytes(max_bytes));
        let problem = format!("The body has {size}, more than decode.max_bytes allows ({max}), so it was not decoded.");
        return Found { format: Format::Binary, text: None, problem: Some(problem) };
    }
    let content_type = message.properties.content_type.as_deref().unwrap_or_default();
    look_at_body(&message.body, content_type.contains("json"))
}

fn look_at_body(body: &[u8], should_be_json: bool) -> Found<'_> {
    let Some(text) = std::str::from_utf8(body).ok().filter(|text| reads_as_text(text)) else {
        let problem = should_be_json.then(|| "It is said to be JSON, but it is not text.".to_owned());
        return Found { format: Format::Binary, text: None, problem };
    };
    // A lone number or word is valid JSON, too, but hardly ever meant as such.
    let may_be_json = should_be_json || text.trim_start().starts_with(['{', '[']);
    let (format, problem) = match may_be_json.then(|| serde_json::from_str::<&RawValue>(text)) {
        Some(Ok(_)) => (Format::Json, None),
        Some(Err(error)) if should_be_json => (Format::Text, Some(format!("It is said to be JSON, but: {error}."))),
        _ => (Format::Text, None),
    };
    Found { format, text: Some(text), problem }
}

/// Text has line breaks and tabs, now and then an escape sequence, but no zero bytes.
fn reads_as_text(text: &str) -> bool {
    !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &[u8], content_type: &str, format: Format, has_problem: bool) {
        let mut message = Message { body: body.to_vec(), ..Message::default() };
        message.properties.content_type = Some(content_type.to_owned());
        let found = look(&message, 100);
        assert_eq!((found.format, found.problem.is_some()), (format, has_problem), "{body:?} {content_type}");
    }

    #[test]
    fn tells_formats_apart() {
        check(b"{\"a\": 1}", "", Format::Json, false);
        check(b"42", "", Format::Text, false);
        check(b"42", "application/json", Format::Json, false);
        check(b"{oops", "", Format::Text, false);
        check(b"{oops", "application/vnd.acme+json; charset=utf-8", Format::Text, true);
        check(b"", "", Format::Text, false);
        check(b"\xff\xfe", "text/plain", Format::Binary, false);
        check(b"a\0b", "", Format::Binary, false);
        check(&[b' '; 101], "", Format::Binary, true);
    }
}
