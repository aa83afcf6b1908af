//! One line of a list: what failed, why, where, when.

use amqp_message::time::Timestamp;

use super::{
    deaths::route,
    number, text,
    time::{self, Moment},
    why,
};
use crate::domain::{
    column::Column,
    group::GroupId,
    letter::{LetterSummary, Status},
};

/// Characters of a name in a list; the letter itself shows all of them.
const NAME: usize = 120;

#[derive(Debug)]
pub struct Row {
    pub id: String,
    pub href: String,
    pub is_selected: bool,
    /// The queue it failed in.
    pub title: String,
    pub is_queue_known: bool,
    pub broker: String,
    /// The last part of the name of its type; empty where that is unknown.
    pub type_name: String,
    /// What is called, with which arguments; empty where it is no call.
    pub task: String,
    /// The name in full.
    pub full_type: String,
    pub route: String,
    pub why: String,
    /// Whether the last retry went wrong; then `why` says how.
    pub has_problem: bool,
    pub note: String,
    pub importance: &'static str,
    pub status: &'static str,
    pub received: Moment,
    pub tries: String,
    /// Of the body; empty unless rows are sorted by it.
    pub size: String,
    /// Fields of the payload and headers: those that were chosen, else what tells it from others.
    pub fields: Vec<Field>,
    /// What failed like it.
    pub group: Option<GroupId>,
    /// For the checkbox, which stands alone.
    pub label: String,
}

#[derive(Debug)]
pub struct Field {
    pub name: String,
    /// Empty where it says nothing.
    pub value: String,
}

impl Row {
    pub fn new(letter: &LetterSummary, href: String, is_selected: bool, now: Timestamp) -> Self {
        let title = queue_title(letter);
        let received = Moment::new(letter.received_at, now);
        Self {
            id: letter.id.to_string(),
            href,
            is_selected,
            label: format!("Select the dead letter from {title}, {}", received.relative),
            title,
            is_queue_known: letter.queue.is_some(),
            broker: text::one_line(&letter.broker),
            type_name: letter.message_type.as_deref().map(last_part).unwrap_or_default(),
            full_type: letter.message_type.as_deref().map(|name| text::name(name, NAME)).unwrap_or_default(),
            task: letter.title.as_deref().map(|task| text::name(task, NAME)).unwrap_or_default(),
            route: text::shortened(&route(&letter.exchange, &letter.routing_key), NAME),
            why: why(letter, now),
            has_problem: letter.problem.is_some(),
            note: letter.note.as_deref().map(|note| text::name(note, NAME)).unwrap_or_default(),
            importance: letter.importance.as_str(),
            status: letter.status.as_str(),
            received,
            // All that fits there; the letter itself tells rounds as well.
            tries: number::attempts(letter.attempts),
            size: String::new(),
            fields: letter.telling.iter().flat_map(|telling| &telling.fields).map(Field::new).collect(),
            group: letter.group,
        }
    }

    /// With what it says in these columns, if any are chosen.
    pub fn with_columns(mut self, columns: &[Column], said: Option<&Vec<String>>) -> Self {
        if !columns.is_empty() {
            let said = said.into_iter().flatten().map(String::as_str).chain(std::iter::repeat(""));
            let fields = columns.iter().map(Column::name).zip(said);
            self.fields = fields.map(|(name, value)| Field::new(&(name.to_owned(), value.to_owned()))).collect();
        }
        self
    }

    pub fn with_size(self, bytes: u64) -> Self {
        Self { size: number::bytes(bytes), ..self }
    }
}

impl Field {
    pub fn new((name, value): &(String, String)) -> Self {
        Self { name: text::name(name, NAME), value: text::name(value, NAME) }
    }
}

/// What a user calls a type: its name without the package. Names of other worlds than protobuf have other separators.
pub fn last_part(name: &str) -> String {
    /// Characters of it; next to it stands the queue.
    const SHORT: usize = 40;
    let last = name.trim_end_matches(['.', ':', '/', '\\']).rsplit(['.', ':', '/', '\\']).next().unwrap_or(name);
    text::name(last, SHORT)
}

pub fn queue_title(letter: &LetterSummary) -> String {
    letter.queue.as_deref().map_or_else(|| "queue unknown".to_owned(), |queue| text::name(queue, NAME))
}

fn why(letter: &LetterSummary, now: Timestamp) -> String {
    match (letter.status, letter.retry_at, &letter.problem) {
        (Status::Scheduled, Some(at), _) if at > now => format!("retry due in {}", time::span(at.since(now))),
        (Status::Scheduled, ..) => "retry due now".to_owned(),
        (_, _, Some(problem)) => format!("last retry: {}", text::name(problem, NAME)),
        _ => text::shortened(&why::in_short(letter), NAME),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_go_by_their_last_part() {
        let check = |name, expected| assert_eq!(last_part(name), expected);
        check("acme.texts.v1.TextSent", "TextSent");
        check("TextSent", "TextSent");
        check("Acme.Texts:TextSent", "TextSent");
        check("App\\Message\\TextSent", "TextSent");
        check("acme.", "acme");
        check("", "");
    }
}
