//! The body of a letter as JSON, text or hex.

use super::{
    hex,
    json::{self, Marked, Token},
    number, text,
};
use crate::{
    domain::message::Message,
    web::payload::{Format, look},
};

/// Text shown of one body at most; with everything around it a page has to stay below 100 kB.
const TEXT_LIMIT: usize = 48 * 1024;
/// Bytes shown as hex at most; each takes five on the page.
const HEX_LIMIT: usize = 8 * 1024;

/// How a body is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadForm {
    Json,
    Text,
    Hex,
}

impl PayloadForm {
    pub const ALL: [Self; 3] = [Self::Json, Self::Text, Self::Hex];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
            Self::Hex => "hex",
        }
    }

    pub const fn label(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Text => "Text",
            Self::Hex => "Hex",
        }
    }
}

impl std::str::FromStr for PayloadForm {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|form| form.as_str() == word);
        known.ok_or_else(|| format!("{word:?} is no view of a payload; it takes one of json, text, hex"))
    }
}

/// A body in one form.
#[derive(Debug)]
pub struct Payload {
    pub form: PayloadForm,
    pub tokens: Vec<Token>,
    pub is_empty: bool,
    /// `812 bytes of JSON`
    pub summary: String,
    /// What has to be said about it: cut, not what it claims to be, not decoded.
    pub remarks: Vec<String>,
}

impl Payload {
    /// Shows the body of `message` in the form that was asked for, else in the one that fits.
    pub fn new(message: &Message, wanted: Option<PayloadForm>, max_bytes: u64) -> Self {
        let found = look(message, max_bytes);
        let fitting = match found.format {
            Format::Json => PayloadForm::Json,
            Format::Text => PayloadForm::Text,
            Format::Binary => PayloadForm::Hex,
        };
        let form = wanted.unwrap_or(fitting);
        let (marked, remark) = match (form, found.text) {
            (PayloadForm::Json, Some(text)) if found.format == Format::Json => (json::mark(text, TEXT_LIMIT), None),
            (PayloadForm::Json, _) => {
                (Marked::default(), Some("It is not JSON. Text and Hex show it as it is.".to_owned()))
            }
            (PayloadForm::Text, _) => as_text(&message.body),
            (PayloadForm::Hex, _) => as_hex(&message.body),
        };
        let cut = marked.cut.then(|| cut_remark(form, message.body.len()));
        let size = number::bytes(message.body.len() as u64);
        Self {
            form,
            tokens: marked.tokens,
            is_empty: message.body.is_empty(),
            summary: describe(&size, found.format, message.properties.content_type.as_deref()),
            remarks: found.problem.into_iter().chain(remark).chain(cut).collect(),
        }
    }
}

impl Payload {
    /// Columns of hex have to stay columns.
    pub fn is_hex(&self) -> bool {
        self.form == PayloadForm::Hex
    }
}

fn describe(size: &str, format: Format, content_type: Option<&str>) -> String {
    let format = match format {
        Format::Json => "JSON",
        Format::Text => "text",
        Format::Binary => "binary",
    };
    match content_type {
        Some(content_type) => {
            format!("{size} · {format} · sent as {}", text::shortened(&text::one_line(content_type), 80))
        }
        None => format!("{size} · {format}"),
    }
}

fn cut_remark(form: PayloadForm, size: usize) -> String {
    let shown = if form == PayloadForm::Hex { HEX_LIMIT } else { TEXT_LIMIT };
    let (shown, size) = (number::bytes(shown as u64), number::bytes(size as u64));
    format!("Cut here after {shown}; download it to see all {size}.")
}

fn as_text(body: &[u8]) -> (Marked, Option<String>) {
    // Some bytes more than shown, so that the cut does not fall into the middle of a character.
    let head = &body[..body.len().min(TEXT_LIMIT + 4)];
    let lossy = String::from_utf8_lossy(head);
    let shown = &lossy[..text::floor_char(&lossy, TEXT_LIMIT)];
    let remark = (shown.contains('\u{fffd}') && std::str::from_utf8(body).is_err())
        .then(|| "Some bytes are not UTF-8 and show as �.".to_owned());
    (plain(text::visible(shown).into_owned(), body.len() > TEXT_LIMIT), remark)
}

fn as_hex(body: &[u8]) -> (Marked, Option<String>) {
    let head = &body[..body.len().min(HEX_LIMIT)];
    (plain(hex::dump(head), body.len() > HEX_LIMIT), None)
}

fn plain(text: String, cut: bool) -> Marked {
    Marked { tokens: vec![Token { class: "", text }], cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &[u8], wanted: Option<PayloadForm>, form: PayloadForm, n_remarks: usize) -> Payload {
        let message = Message { body: body.to_vec(), ..Message::default() };
        let payload = Payload::new(&message, wanted, 1 << 20);
        assert_eq!((payload.form, payload.remarks.len()), (form, n_remarks), "{:?}", payload.remarks);
        payload
    }

    #[test]
    fn picks_what_fits() {
        check(b"{\"a\":1}", None, PayloadForm::Json, 0);
        check(b"hello", None, PayloadForm::Text, 0);
        check(b"\xff\x00", None, PayloadForm::Hex, 0);
        check(b"hello", Some(PayloadForm::Json), PayloadForm::Json, 1);
        check(b"\xff\x00", Some(PayloadForm::Text), PayloadForm::Text, 1);
    }

    #[test]
    fn cuts_what_is_long_between_characters() {
        let long = "ö".repeat(40_000);
        let payload = check(long.as_bytes(), None, PayloadForm::Text, 1);
        assert!(payload.tokens[0].text.chars().all(|c| c == 'ö'));
        check(&vec![0; 200_000], None, PayloadForm::Hex, 1);
        check(&vec![b' '; 2 << 20], Some(PayloadForm::Text), PayloadForm::Text, 2);
    }
}
