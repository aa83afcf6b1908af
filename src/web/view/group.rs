//! Groups of letters with similar failures: a line of a list, and one in full.

use amqp_message::{death::Reason, time::Timestamp};

use super::{
    group_state::GroupStateView, number, outcome::OutcomeView, queue::PolicyLine, row::last_part, spark::Spark, text,
    time::Moment,
};
use crate::{
    domain::{
        group::{Group, GroupId, GroupKey},
        letter::Status,
        policy::PolicyBook,
    },
    web::query::{LetterQuery, Listed, queue_path},
};

/// Characters of a name in a list; the group itself shows all of them.
const NAME: usize = 120;
/// Characters of an error, and of the part of a group, that stand in for the type of its messages.
const WHAT: usize = 60;

#[derive(Debug)]
pub struct GroupRow {
    pub id: String,
    /// Names the box that selects it.
    pub label: String,
    pub href: String,
    pub title: Title,
    pub broker: String,
    /// The error, or else what RabbitMQ says.
    pub why: String,
    pub note: String,
    /// The most important among its open letters; `none` where none is open.
    pub importance: &'static str,
    pub spark: Spark,
    pub open: String,
    pub last_seen: Moment,
    pub outcome: OutcomeView,
    /// What is retried by itself there for this reason; `None` where the queue is unknown.
    pub policy: Option<PolicyLine>,
    pub state: GroupStateView,
    /// It began after who looks was here last.
    pub is_new: bool,
    /// It can be selected.
    pub is_picked: bool,
}

impl GroupRow {
    /// `seen` is when who looks was here last.
    pub fn new(
        group: &Group,
        spark: Spark,
        policies: &PolicyBook,
        (seen, now): (Option<Timestamp>, Timestamp),
    ) -> Self {
        let note = group.note.as_ref().map(|note| text::one_line(&note.text)).unwrap_or_default();
        let title = Title::new(&group.key);
        Self {
            id: group.id.to_string(),
            label: format!("Select the group {}", title.in_words()),
            href: href(group.id),
            title,
            broker: text::one_line(&group.key.broker),
            why: text::shortened(&why(&group.key), 2 * NAME),
            note: text::shortened(&note, NAME),
            importance: importance(group),
            spark,
            open: number::thousands(group.n_open()),
            last_seen: Moment::new(group.last_seen, now),
            outcome: OutcomeView::new(&group.outcome),
            policy: policy(&group.key, policies),
            state: GroupStateView::new(group, now),
            is_new: seen.is_some_and(|seen| group.first_seen > seen),
            is_picked: true,
        }
    }
}

/// What a user calls a group: the type of its messages and the queue they failed in.
#[derive(Debug)]
pub struct Title {
    /// The last part of the name of the type; empty where that is unknown.
    pub type_name: String,
    /// The name in full.
    pub full_type: String,
    pub queue: String,
    pub is_queue_known: bool,
    /// What tells it from others of the queue where the type is unknown: its error, or else the reason.
    what: String,
}

impl Title {
    pub fn new(key: &GroupKey) -> Self {
        let full_type = key.message_type.as_deref();
        let queue = key.queue.as_deref().map(|queue| text::name(queue, NAME));
        Self {
            what: what(key),
            type_name: full_type.map(last_part).unwrap_or_default(),
            full_type: full_type.map(text::one_line).unwrap_or_default(),
            is_queue_known: queue.is_some(),
            queue: queue.unwrap_or_else(|| "queue unknown".to_owned()),
        }
    }

    /// `TextCreated in texts.persist`; where the type is unknown, `billing: connection refused`.
    pub fn in_words(&self) -> String {
        if self.type_name.is_empty() { self.with_error() } else { self.beside_error() }
    }

    /// `TextCreated in texts.persist: connection refused`, which no other group is called.
    pub fn with_error(&self) -> String {
        format!("{}: {}", self.beside_error(), self.what)
    }

    /// The same where the error stands beside it.
    pub fn beside_error(&self) -> String {
        if self.type_name.is_empty() { self.queue.clone() } else { format!("{} in {}", self.type_name, self.queue) }
    }
}

fn what(key: &GroupKey) -> String {
    let error = if key.error.is_empty() { key.reason.sentence() } else { &key.error };
    let error = text::name(error, WHAT);
    match &key.part {
        Some(part) => format!("{error} · {}", text::name(&part.what, WHAT)),
        None => error,
    }
}

/// One group, as its own page shows it.
#[derive(Debug)]
pub struct GroupView {
    pub id: String,
    pub title: Title,
    /// The page of its queue; empty where that is not known.
    pub queue_page: String,
    pub broker: String,
    pub why: String,
    pub is_error_known: bool,
    /// Why RabbitMQ dead-lettered them.
    pub reason: &'static str,
    pub importance: &'static str,
    /// `71 open`
    pub open: String,
    /// How many letters it has by status, each a link to these.
    pub counts: Vec<StatusCount>,
    pub first_seen: Moment,
    pub last_seen: Moment,
    pub outcome: OutcomeView,
    /// What is retried by itself there for this reason; `None` where the queue is unknown.
    pub policy: Option<PolicyLine>,
    pub last_sent: Option<Moment>,
    pub note: Option<NoteView>,
    pub state: GroupStateView,
}

#[derive(Debug)]
pub struct StatusCount {
    pub status: &'static str,
    pub count: String,
    pub href: String,
}

#[derive(Debug)]
pub struct NoteView {
    /// With what would deceive the eye named.
    pub shown: String,
    pub by: String,
    pub at: Moment,
}

impl GroupView {
    pub fn new(group: &Group, policies: &PolicyBook, now: Timestamp) -> Self {
        let moment = |at| Moment::new(at, now);
        Self {
            id: group.id.to_string(),
            title: Title::new(&group.key),
            queue_page: queue_path::href_of(&group.key.broker, group.key.queue.as_deref()),
            broker: text::one_line(&group.key.broker),
            why: why(&group.key),
            is_error_known: !group.key.error.is_empty(),
            reason: reason(group.key.reason),
            importance: importance(group),
            open: format!("{} open", number::thousands(group.n_open())),
            counts: Status::ALL.iter().map(|status| StatusCount::new(group, *status)).collect(),
            first_seen: moment(group.first_seen),
            last_seen: moment(group.last_seen),
            outcome: OutcomeView::new(&group.outcome),
            policy: policy(&group.key, policies),
            last_sent: group.last_sent_at.map(moment),
            state: GroupStateView::new(group, now),
            note: group.note.as_ref().map(|note| NoteView {
                shown: text::visible(&note.text).into_owned(),
                by: text::one_line(note.by.as_str()),
                at: moment(note.at),
            }),
        }
    }
}

impl StatusCount {
    fn new(group: &Group, status: Status) -> Self {
        Self {
            status: status.as_str(),
            count: number::thousands(group.of_status(status)),
            href: LetterQuery::of_group(group.id, Some(status)).href(),
        }
    }
}

pub fn href(id: GroupId) -> String {
    format!("/groups/{id}")
}

fn policy(key: &GroupKey, policies: &PolicyBook) -> Option<PolicyLine> {
    key.queue.as_deref().map(|queue| PolicyLine::of(queue, key.reason, policies))
}

fn importance(group: &Group) -> &'static str {
    group.importance().map_or("none", |importance| importance.as_str())
}

/// Beside an error, which says why.
const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Rejected => "rejected by its consumer",
        reason => reason.sentence(),
    }
}

/// What stands for the error where none is recorded: what RabbitMQ says. Of a part of a group also what its letters say.
pub fn why(key: &GroupKey) -> String {
    let why = if key.error.is_empty() { key.reason.sentence().to_owned() } else { described_beside(key) };
    match &key.part {
        Some(part) => format!("{why} · {}", text::one_line(&part.what)),
        None => why,
    }
}

/// That a consumer rejected it is what an error says anyway.
fn described_beside(key: &GroupKey) -> String {
    let error = text::one_line(&key.error);
    match key.reason {
        Reason::Rejected | Reason::Unknown => error,
        Reason::Expired | Reason::MaxLen | Reason::DeliveryLimit => format!("{error} ({})", key.reason.sentence()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(message_type: &str, queue: &str, reason: Reason, error: &str) -> GroupKey {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        GroupKey {
            broker: "main".to_owned(),
            queue: known(queue),
            message_type: known(message_type),
            reason,
            error: error.to_owned(),
            part: None,
        }
    }

    #[test]
    fn groups_go_by_type_and_queue() {
        let check = |message_type, queue, expected: &str| {
            assert_eq!(Title::new(&key(message_type, queue, Reason::Rejected, "")).in_words(), expected);
        };
        check("acme.texts.v1.TextCreated", "texts.persist", "TextCreated in texts.persist");
        check("", "texts.persist", "texts.persist: rejected by its consumer, no reason recorded");
        check("", "", "queue unknown: rejected by its consumer, no reason recorded");
        check("a.B", "x\ny", "B in x␊y");
    }

    #[test]
    fn groups_without_a_type_go_by_queue_and_error() {
        let title = |reason, error: &str| Title::new(&key("", "billing", reason, error));
        let check = |reason, error: &str, expected: &str| assert_eq!(title(reason, error).in_words(), expected);
        check(Reason::Rejected, "connection refused", "billing: connection refused");
        check(Reason::Rejected, "two\nlines", "billing: two␊lines");
        check(Reason::Expired, "", &format!("billing: {}", Reason::Expired.sentence()));
        check(Reason::Rejected, &"x".repeat(61), &format!("billing: {}…", "x".repeat(60)));
        assert_eq!(title(Reason::Rejected, "connection refused").beside_error(), "billing", "the error stands there");
    }

    #[test]
    fn an_error_tells_more_than_a_reason() {
        let check = |reason, error, expected: &str| assert_eq!(why(&key("", "q", reason, error)), expected);
        check(Reason::Rejected, "Timeout: …", "Timeout: …");
        check(Reason::Rejected, "", "rejected by its consumer, no reason recorded");
        check(Reason::MaxLen, "Timeout", "Timeout (the queue was full)");
        check(Reason::Rejected, "a\u{202e}b", "a\u{2066}‹U+202E›\u{2069}b");
    }
}
