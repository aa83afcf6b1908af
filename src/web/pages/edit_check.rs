//! What the page on which a message is edited says of the changes.

use amqp_message::scalar::ScalarType;
use payload_codec::{Format, diff::Hunk};

use crate::{
    domain::edit::HeaderEdit,
    services::decoding::reading::{Content, EditProblem, Reading},
    web::view::{payload::label, text},
};

/// The result of checking.
pub enum Check {
    /// Nothing has been changed yet.
    Same,
    Wrong(Vec<WrongPlace>),
    /// What would be sent differs so.
    Changed {
        hunks: Vec<Hunk>,
        headers: Vec<String>,
        properties: Vec<String>,
        /// No line does, but how they end.
        only_breaks: bool,
        /// Stands for just these changes: only what was shown is sent.
        seen: String,
    },
}

impl Check {
    /// Whether the form is as it was when the page was opened.
    pub const fn is_same(&self) -> bool {
        matches!(self, Self::Same)
    }
}

pub struct WrongPlace {
    /// `line 3, column 14`; empty where it is about the whole.
    pub place: String,
    pub path: String,
    pub reason: String,
}

/// `tenant = acme`, `n = 7 (long)`
pub fn header_in_words(edit: &HeaderEdit) -> String {
    match edit {
        HeaderEdit::Set { name, value } => {
            let (kind, shown) = ScalarType::of(value).unwrap_or((ScalarType::Text, String::new()));
            let kind = if kind == ScalarType::Text { String::new() } else { format!(" ({kind})") };
            format!("{} = {}{kind}", text::one_line(name), text::one_line(&shown))
        }
        HeaderEdit::Remove { name } => format!("{} removed", text::one_line(name)),
    }
}

impl From<EditProblem> for WrongPlace {
    fn from(problem: EditProblem) -> Self {
        let place = problem.at.map(|(line, column)| format!("line {line}, column {column}")).unwrap_or_default();
        Self { place, path: text::one_line(&problem.path), reason: problem.reason }
    }
}

/// Why the contents of a message cannot be edited; its headers can.
pub fn why_only_headers(reading: &Reading) -> Option<String> {
    let is_guessed = reading.named.as_ref().is_none_or(|named| named.confidence.is_some());
    match &reading.content {
        Content::Hidden(why) => Some(why.clone()),
        Content::Binary => Some("Only the bytes of its contents can be shown.".to_owned()),
        Content::Json(_) if is_read_only(reading.unwrapped.format) => {
            Some(format!("{} is shown and never written.", label(reading.unwrapped.format)))
        }
        Content::Json(_) if reading.unwrapped.format == Format::Protobuf && is_guessed => {
            Some("Its type is not certain. Choose its type on its page to edit its contents.".to_owned())
        }
        Content::Text(text) if text.contains('\0') => {
            Some("It has NUL characters, which no text field can hold.".to_owned())
        }
        Content::Json(_) | Content::Text(_) if reading.hides && reading.decoded_as.is_none() => {
            Some("It has hidden values, and without a type they could not be kept.".to_owned())
        }
        Content::Json(_) | Content::Text(_) => None,
    }
}

/// Nobody but the language itself can write it.
fn is_read_only(format: Format) -> bool {
    matches!(format, Format::Pickle | Format::Php | Format::Java)
}
