//! What is inside the body of a letter: as JSON, by its fields, as text or as hex.

use payload_codec::{Format, message::MASK};

use super::{
    encoding::Encodings,
    hex,
    json::{self, Marked, Token},
    message_type::{Candidates, TypeView},
    number, text,
    tree::{FieldLine, FieldTree},
};
use crate::{
    domain::{history::HistoryEntry, letter::Letter, mapping::Mapping},
    services::decoding::reading::{Argument, Content, Reading, Task},
    web::{
        query::Parameters,
        query::payload::{PayloadForm, PayloadQuery},
    },
};

/// Text shown of one payload at most; with everything around it a page has to stay below 100 kB.
const TEXT_LIMIT: usize = 48 * 1024;
/// Bytes shown as hex at most; each takes five on the page.
const HEX_LIMIT: usize = 8 * 1024;

/// What the letter alone does not say.
pub struct PayloadContext<'a> {
    pub reading: &'a Reading,
    pub query: &'a PayloadQuery,
    /// The mapping that applies to the letter.
    pub mapping: Option<&'a Mapping>,
    pub history: &'a [HistoryEntry],
    /// Whether hidden values are shown.
    pub is_revealed: bool,
    /// Why it is not shown to who asks, where it is not.
    pub withheld: Option<String>,
    /// The address of the letter, for links.
    pub base: &'a str,
}

/// A payload in one form.
pub struct Payload {
    pub form: PayloadForm,
    pub tabs: Vec<ViewTab>,
    pub tokens: Vec<Token>,
    pub fields: Vec<FieldLine>,
    pub is_empty: bool,
    /// `812 bytes · sent as application/json`
    pub summary: String,
    pub format: &'static str,
    pub encodings: Encodings,
    /// The arguments of a call, which its title tells: names and values.
    pub arguments: Vec<(String, String)>,
    /// None where nobody knows.
    pub message_type: Option<TypeView>,
    pub candidates: Option<Candidates>,
    /// What has to be said about it: cut, hidden, not what it claims to be, not decoded.
    pub remarks: Vec<String>,
    /// Whether it has values that this page hides.
    pub hides: bool,
    pub is_revealed: bool,
    /// For the form that reveals: what this page was asked for.
    pub asked: Vec<(&'static str, String)>,
}

pub struct ViewTab {
    pub label: &'static str,
    pub word: &'static str,
    pub href: String,
    pub is_current: bool,
}

impl Payload {
    /// Shows it in the form that was asked for, else in the one that fits; nothing of it to who may not see it.
    pub fn new(letter: &Letter, context: &PayloadContext<'_>) -> Self {
        let payload = Self::read(letter, context);
        let Some(why) = &context.withheld else { return payload };
        Self {
            tabs: Vec::new(),
            tokens: Vec::new(),
            fields: Vec::new(),
            arguments: Vec::new(),
            candidates: None,
            remarks: vec![why.clone()],
            hides: false,
            ..payload
        }
    }

    fn read(letter: &Letter, context: &PayloadContext<'_>) -> Self {
        let reading = context.reading;
        let form = context.query.form.unwrap_or_else(|| fitting(reading));
        let bytes = reading.unwrapped.payload();
        let mut shown = Shown::new(reading, form, context.is_revealed);
        if shown.marked.cut {
            shown.remarks.push(cut_remark(form, bytes.len()));
        }
        let named = reading.named.as_ref();
        Self {
            form,
            tabs: tabs(reading, context, form),
            tokens: shown.marked.tokens,
            fields: shown.fields,
            is_empty: letter.message.body.is_empty(),
            summary: describe(letter, bytes.len()),
            format: label(reading.unwrapped.format),
            encodings: Encodings::new(reading, context.query, context.base),
            message_type: named.map(|named| {
                TypeView::new(named, reading.unwrapped.format, &letter.message, context.mapping, context.history)
            }),
            candidates: Candidates::new(reading, &letter.summary),
            remarks: reading
                .remarks
                .iter()
                .cloned()
                .chain(shown.remarks)
                .map(|it| text::visible(&it).into_owned())
                .collect(),
            arguments: reading.task.as_ref().map(arguments).unwrap_or_default(),
            hides: reading.hides && !context.is_revealed,
            is_revealed: context.is_revealed,
            asked: context.query.pairs(),
        }
    }

    /// Whether anything of it is.
    pub fn is_shown(&self) -> bool {
        !(self.tokens.is_empty() && self.fields.is_empty())
    }

    pub fn is_typed_by_hand(&self) -> bool {
        self.message_type.as_ref().is_some_and(|it| it.is_by_hand)
    }
}

/// What only its place names has the number of that place.
fn arguments(task: &Task) -> Vec<(String, String)> {
    let argument = |(place, argument): (usize, &Argument)| {
        let name = argument.name.as_ref().map_or_else(|| format!("{}.", place + 1), |name| text::name(name, 120));
        (name, text::shortened(&argument.value, 300))
    };
    task.arguments.iter().enumerate().map(argument).collect()
}

/// The contents of one form.
#[derive(Default)]
struct Shown {
    marked: Marked,
    fields: Vec<FieldLine>,
    remarks: Vec<String>,
}

impl Shown {
    fn new(reading: &Reading, form: PayloadForm, is_revealed: bool) -> Self {
        let bytes = reading.unwrapped.payload();
        // Bytes have no marks in place of what is hidden.
        let is_barred = reading.hides && !is_revealed;
        match (form, &reading.content) {
            (_, Content::Hidden(why)) if is_barred => Self::remark(why),
            (PayloadForm::Json, Content::Json(json)) => {
                Self { marked: masked(json::mark(json, TEXT_LIMIT)), ..Self::default() }
            }
            (PayloadForm::Json, _) => Self::remark("It is not JSON. Text and Hex show it as it is."),
            _ if is_barred => Self::remark("Some values in it are hidden; this view would show them."),
            (PayloadForm::Fields, _) if reading.unwrapped.format == Format::Protobuf => {
                let FieldTree { lines, remarks } = FieldTree::new(bytes);
                Self { fields: lines, remarks, ..Self::default() }
            }
            (PayloadForm::Fields, _) => Self::remark("It is not protobuf and has no numbered fields."),
            (PayloadForm::Text, _) => as_text(bytes),
            (PayloadForm::Hex, _) => as_hex(bytes),
        }
    }

    fn remark(remark: &str) -> Self {
        Self { remarks: vec![remark.to_owned()], ..Self::default() }
    }
}

/// Hidden values stand out.
fn masked(mut marked: Marked) -> Marked {
    for token in marked.tokens.iter_mut().filter(|token| token.class == "s" && is_mask(&token.text)) {
        token.class = "hidden-value";
    }
    marked
}

/// The mark of a value has a number behind it where a type hides several.
fn is_mask(token: &str) -> bool {
    let number = token.trim_matches('"').strip_prefix(MASK);
    number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
}

fn fitting(reading: &Reading) -> PayloadForm {
    match &reading.content {
        Content::Json(_) if reading.unwrapped.format == Format::Protobuf && reading.decoded_as.is_none() => {
            PayloadForm::Fields
        }
        Content::Json(_) | Content::Hidden(_) => PayloadForm::Json,
        Content::Text(_) => PayloadForm::Text,
        Content::Binary => PayloadForm::Hex,
    }
}

fn tabs(reading: &Reading, context: &PayloadContext<'_>, current: PayloadForm) -> Vec<ViewTab> {
    let is_protobuf = reading.unwrapped.format == Format::Protobuf;
    let fits = |form: &PayloadForm| is_protobuf || *form != PayloadForm::Fields;
    let tab = |form: PayloadForm| ViewTab {
        label: form.label(),
        word: form.as_str(),
        href: PayloadQuery { form: Some(form), ..context.query.clone() }.href(context.base),
        is_current: form == current,
    };
    PayloadForm::ALL.iter().copied().filter(fits).map(tab).collect()
}

/// What a user calls it.
pub const fn label(format: Format) -> &'static str {
    match format {
        Format::Protobuf => "protobuf",
        Format::Json => "JSON",
        Format::MessagePack => "MessagePack",
        Format::Cbor => "CBOR",
        Format::Yaml => "YAML",
        Format::Pickle => "Python pickle",
        Format::Php => "PHP serialize",
        Format::Java => "Java serialization",
        Format::Text => "text",
        Format::Binary => "binary",
    }
}

fn describe(letter: &Letter, payload: usize) -> String {
    let body = letter.message.body.len();
    let size = number::bytes(body as u64);
    let inside = if payload == body { String::new() } else { format!(", {} inside", number::bytes(payload as u64)) };
    match letter.message.properties.content_type.as_deref() {
        Some(sent_as) => format!("{size}{inside} · sent as {}", text::name(sent_as, 80)),
        None => format!("{size}{inside}"),
    }
}

fn cut_remark(form: PayloadForm, size: usize) -> String {
    let shown = if form == PayloadForm::Hex { HEX_LIMIT } else { TEXT_LIMIT };
    let (shown, size) = (number::bytes(shown as u64), number::bytes(size as u64));
    format!("Cut here after {shown}; download it to see all {size}.")
}

fn as_text(bytes: &[u8]) -> Shown {
    // Some bytes more than shown, so that the cut does not fall into the middle of a character.
    let head = bytes.get(..TEXT_LIMIT + 4).unwrap_or(bytes);
    let lossy = String::from_utf8_lossy(head);
    let shown = &lossy[..text::floor_char(&lossy, TEXT_LIMIT)];
    let remark = (shown.contains('\u{fffd}') && std::str::from_utf8(bytes).is_err())
        .then(|| "Some bytes are not UTF-8 and show as �.".to_owned());
    let marked = plain(text::visible(shown).into_owned(), bytes.len() > TEXT_LIMIT);
    Shown { marked, remarks: remark.into_iter().collect(), ..Shown::default() }
}

fn as_hex(bytes: &[u8]) -> Shown {
    let head = bytes.get(..HEX_LIMIT).unwrap_or(bytes);
    Shown { marked: plain(hex::dump(head), bytes.len() > HEX_LIMIT), ..Shown::default() }
}

fn plain(text: String, cut: bool) -> Marked {
    Marked { tokens: vec![Token { class: "", text }], cut }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::services::decoding::reading::{Library, Question};
    use amqp_message::message::Message;
    use payload_codec::unwrap::UnwrapMode;

    fn check(body: &[u8], wanted: Option<PayloadForm>, form: PayloadForm, n_remarks: usize) -> Shown {
        check_hiding(&[], body, wanted, form, n_remarks)
    }

    fn check_hiding(
        hidden: &[String],
        body: &[u8],
        wanted: Option<PayloadForm>,
        form: PayloadForm,
        n_remarks: usize,
    ) -> Shown {
        let message = Message { body: body.to_vec(), ..Message::default() };
        let question = Question {
            body: &message.body,
            properties: &message.properties,
            headers: &message.headers,
            address: &[],
            routing_key: "",
            by_hand: None,
            declared: None,
            mapped: None,
            confirmed: &[],
            mode: &UnwrapMode::Automatic,
        };
        let reading = Library::new(Arc::default(), hidden, 1 << 22).read(&question, false);
        let chosen = wanted.unwrap_or_else(|| fitting(&reading));
        let shown = Shown::new(&reading, chosen, false);
        assert_eq!((chosen, shown.remarks.len()), (form, n_remarks), "{:?}", shown.remarks);
        shown
    }

    #[test]
    fn picks_what_fits() {
        check(b"{\"a\":1}", None, PayloadForm::Json, 0);
        check(b"hello", None, PayloadForm::Text, 0);
        check(b"\xff\x00", None, PayloadForm::Hex, 0);
        check(b"\x08\x01\x12\x0bhello world", None, PayloadForm::Fields, 0);
        check(b"hello", Some(PayloadForm::Json), PayloadForm::Json, 1);
        check(b"hello", Some(PayloadForm::Fields), PayloadForm::Fields, 1);
        check(b"\xff\x00", Some(PayloadForm::Text), PayloadForm::Text, 1);
    }

    #[test]
    fn cuts_what_is_long_between_characters() {
        let long = "ö".repeat(40_000);
        let shown = check(long.as_bytes(), None, PayloadForm::Text, 0);
        assert!(shown.marked.cut && shown.marked.tokens[0].text.chars().all(|c| c == 'ö'));
        assert!(check(&vec![0; 200_000], Some(PayloadForm::Hex), PayloadForm::Hex, 0).marked.cut);
    }

    #[test]
    fn no_form_shows_what_is_hidden() {
        let body = b"{\"secret\":\"x\"}";
        let hidden = ["secret".to_owned()];
        let check = |body, wanted, form, n_remarks| check_hiding(&hidden, body, wanted, form, n_remarks);
        let json = check(body, None, PayloadForm::Json, 0);
        assert!(json.marked.tokens.iter().any(|token| token.class == "hidden-value"));
        for form in [PayloadForm::Text, PayloadForm::Hex, PayloadForm::Fields] {
            let barred = check(body, Some(form), form, 1);
            assert!(barred.marked.tokens.is_empty() && barred.fields.is_empty());
            let unread = check(b"\xff\x00\x01", Some(form), form, 1);
            assert!(unread.marked.tokens.is_empty() && unread.fields.is_empty());
        }
    }
}
