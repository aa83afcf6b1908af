//! What the page on which a message is edited says of the changes.

use amqp_message::scalar::ScalarType;
use payload_codec::diff::Hunk;

use crate::{domain::edit::HeaderEdit, services::decoding::reading::EditProblem, web::view::text};

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
