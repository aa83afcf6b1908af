//! The blocks that messages are made of (<https://docs.slack.dev/reference/block-kit/blocks>).

use serde_json::{Value, json};

use super::clean;

/// Characters of the text of a header.
const LONGEST_HEADER: usize = 150;
/// Characters of one field. Slack takes 2,000; two columns are not for reading that much.
pub(super) const LONGEST_FIELD: usize = 200;

pub(super) fn header(text: &str) -> Value {
    json!({ "type": "header", "text": plain(text, LONGEST_HEADER) })
}

pub(super) fn section(text: Value) -> Value {
    json!({ "type": "section", "text": text })
}

/// A text with columns of shorter ones below it.
pub(super) fn section_with_fields(text: Value, fields: Vec<Value>) -> Value {
    json!({ "type": "section", "text": text, "fields": fields })
}

pub(super) fn fields(fields: Vec<Value>) -> Value {
    json!({ "type": "section", "fields": fields })
}

pub(super) fn context(text: Value) -> Value {
    json!({ "type": "context", "elements": [text] })
}

/// A line in which nothing is markup. A text object must not be empty.
pub(super) fn plain(text: &str, limit: usize) -> Value {
    plain_lines(&[(text, limit)])
}

/// Some lines in which nothing is markup, each with its limit; those that are empty are left out.
pub(super) fn plain_lines(lines: &[(&str, usize)]) -> Value {
    let lines: Vec<String> =
        lines.iter().map(|(text, limit)| clean::line(text, *limit)).filter(|line| !line.is_empty()).collect();
    let text = if lines.is_empty() { "–".to_owned() } else { lines.join("\n") };
    json!({ "type": "plain_text", "text": text, "emoji": false })
}

/// Words of our own, with markup. Nothing in them is made a link that is not written as one.
pub(super) fn markup(text: String) -> Value {
    json!({ "type": "mrkdwn", "text": text, "verbatim": true })
}
