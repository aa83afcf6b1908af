//! One letter in full.

use amqp_message::time::Timestamp;
use failure_conventions::danger::Danger;

use super::{
    deaths::{DeathView, route},
    edits::{Banner, Linked},
    fields::{self, FieldRow},
    group,
    history::HistoryLine,
    number,
    payload::{Payload, PayloadContext},
    policy::which_retry,
    postmark::Postmark,
    rule::{ImportanceBy, new_rule_href},
    text,
    time::Moment,
    waiting::Due,
    why::{self, Why},
};
use crate::domain::{
    command::Command,
    group::Group,
    letter::{Importance, Letter, LetterSummary, Status},
    policy::PolicyBook,
    queue_pause::QueuePause,
    waiting::WaitingRetry,
};
use crate::web::queue_path;

/// Where a letter is shown, which its links have to keep.
pub struct Links {
    /// The letter with another view of its payload: this, and `encoding=…`, `view=…` after it.
    pub view_base: String,
    /// Where an action leads back to.
    pub back: String,
    /// The list without this letter, if it stands beside one.
    pub close: Option<String>,
}

pub struct LetterView {
    pub id: String,
    pub links: Links,
    pub title: String,
    pub is_queue_known: bool,
    /// Where a retry goes that names no queue; empty where it has to name one.
    pub target: String,
    pub postmark: Postmark,
    pub facts: Facts,
    pub why: Why,
    pub actions: Actions,
    /// What it has to do with edits of it.
    pub edits: Vec<Banner>,
    pub problem: String,
    pub remarks: Vec<String>,
    /// As it was written, for editing.
    pub note: String,
    /// The same with what would deceive the eye named.
    pub note_shown: String,
    pub payload: Payload,
    pub properties: Vec<FieldRow>,
    pub headers: Vec<FieldRow>,
    pub headers_cut: bool,
    pub deaths: Vec<DeathView>,
    pub history: Vec<HistoryLine>,
}

/// Where, why and when.
pub struct Facts {
    pub broker: String,
    /// The page of its queue; empty where that is not known.
    pub queue_page: String,
    pub queue: String,
    pub route: String,
    /// The error, or else what RabbitMQ says.
    pub why: String,
    pub is_error_known: bool,
    /// Empty where it says none.
    pub message_type: String,
    /// What is called, with which arguments; empty where it is no call.
    pub task: String,
    /// What failed like it; `None` until that is found out.
    pub alike: Option<Alike>,
    pub attempts: String,
    pub status: &'static str,
    pub importance: &'static str,
    pub importance_by: ImportanceBy,
    /// Where one writes a rule for letters like it.
    pub new_rule: String,
    pub received: Moment,
    pub first_failed: Option<Moment>,
    pub last_failed: Moment,
    pub retry: Option<RetryView>,
}

/// The group that a letter is in.
pub struct Alike {
    pub href: String,
    /// `71 letters with similar failures`
    pub told: String,
}

impl Alike {
    pub fn new(group: &Group) -> Self {
        let told = match group.n_letters() {
            0 | 1 => "no similar dead letters".to_owned(),
            n => format!("{} similar, {} open", number::thousands(n), number::thousands(group.n_open())),
        };
        Self { href: group::href(group.id), told }
    }
}

/// The retry it waits for.
pub struct RetryView {
    /// `retry 2 of 3`; empty where a user asked for it.
    pub which: String,
    /// Where it goes, if that is another queue than the one it failed in.
    pub goes_to: String,
    pub due: Due,
}

impl RetryView {
    pub fn new(letter: &LetterSummary, retry: &WaitingRetry, policies: &PolicyBook, now: Timestamp) -> Self {
        let policy = letter.queue.as_deref().and_then(|queue| policies.find(queue, letter.reason));
        let which = || which_retry(letter.rounds, policy.map(|policy| &**policy));
        let is_elsewhere = letter.queue.as_deref() != Some(&*retry.queue);
        Self {
            which: if retry.is_by_policy() { which() } else { String::new() },
            goes_to: if is_elsewhere { text::one_line(&retry.queue) } else { String::new() },
            due: Due::new(retry.due_at, now),
        }
    }
}

impl Links {
    /// Where forms lead that ask for another view of the payload.
    pub fn path(&self) -> &str {
        self.view_base.split('?').next().unwrap_or_default()
    }

    /// What the address says besides, which such a form has to keep.
    pub fn words(&self) -> Vec<(String, String)> {
        let query = self.view_base.split_once('?').map(|(_, query)| query).unwrap_or_default();
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }
}

/// What can be done with it as it stands.
pub struct Actions {
    pub retry: bool,
    /// Why a retry would do harm: a clause; empty where it does not.
    pub danger: &'static str,
    /// Why its queue is none to send to, while others are: a clause; empty where it is one.
    pub not_allowed: String,
    /// Retries into the queue it goes to are paused.
    pub pause: Option<PauseView>,
    pub discard: bool,
    /// What reopening means here: nothing where it is not possible.
    pub reopen: Option<&'static str>,
    pub importances: Vec<(&'static str, bool)>,
}

/// A pause of the queue that a letter goes back to.
#[derive(Debug)]
pub struct PauseView {
    /// The page of the queue.
    pub href: String,
    pub queue: String,
    pub by: String,
    pub at: Moment,
    /// What ends it: a clause.
    pub until: &'static str,
}

impl PauseView {
    fn new(pause: &QueuePause, now: Timestamp) -> Self {
        Self {
            href: queue_path::href(&pause.broker, &pause.queue),
            queue: text::one_line(&pause.queue),
            by: text::one_line(pause.by.as_str()),
            at: Moment::new(pause.at, now),
            until: if pause.until_consumers { "the queue has a consumer" } else { "somebody resumes them" },
        }
    }
}

impl LetterView {
    /// Of its title: beside the list it is a part of that page, alone it is what its own page is about.
    pub const fn heading_level(&self) -> u8 {
        if self.links.close.is_some() { 2 } else { 1 }
    }

    pub fn new(
        letter: &Letter,
        retry: Option<RetryView>,
        payload: &PayloadContext<'_>,
        view: ViewOptions<'_>,
        links: Links,
    ) -> Self {
        let summary = &letter.summary;
        let now = view.now;
        let (headers, headers_cut) = fields::header_rows(&letter.message.headers, !letter.deaths.is_empty());
        Self {
            id: summary.id.to_string(),
            title: summary.queue.as_deref().map_or_else(|| "queue unknown".to_owned(), text::one_line),
            is_queue_known: summary.queue.is_some(),
            target: target(summary, retry.as_ref()),
            edits: Banner::all(summary, &view.linked),
            postmark: Postmark::new(summary),
            actions: Actions::new(summary, retry.as_ref().is_some_and(|retry| !retry.which.is_empty()), &view),
            facts: Facts::new(summary, retry, view.alike, now),
            why: Why::new(letter, payload.reading, view.dead_letter_exchange, now),
            problem: summary.problem.as_deref().map(|problem| text::visible(problem).into_owned()).unwrap_or_default(),
            remarks: letter.remarks.iter().map(|remark| text::one_line(remark)).collect(),
            note: summary.note.clone().unwrap_or_default(),
            note_shown: summary.note.as_deref().map(|note| text::visible(note).into_owned()).unwrap_or_default(),
            payload: Payload::new(letter, payload),
            properties: fields::property_rows(&letter.message.properties),
            headers,
            headers_cut,
            deaths: letter.deaths.iter().map(|death| DeathView::new(death, now)).collect(),
            history: payload.history.iter().rev().map(|entry| HistoryLine::new(entry, now)).collect(),
            links,
        }
    }
}

fn target(letter: &LetterSummary, retry: Option<&RetryView>) -> String {
    let elsewhere = retry.map(|retry| retry.goes_to.clone()).filter(|queue| !queue.is_empty());
    elsewhere.or_else(|| letter.queue.as_deref().map(text::one_line)).unwrap_or_default()
}

/// What the letter alone does not say.
pub struct ViewOptions<'a> {
    /// Why it must not be retried, when it must not.
    pub danger: Option<Danger>,
    /// Why it must not be retried to where a retry goes: a clause.
    pub not_allowed: Option<String>,
    pub pause: Option<QueuePause>,
    pub linked: Linked,
    pub alike: Option<Alike>,
    /// Where services send what they cannot process.
    pub dead_letter_exchange: &'a str,
    pub now: Timestamp,
}

/// Characters of an error above the letter; below it stands in full.
const WHY: usize = 300;

impl Facts {
    fn new(letter: &LetterSummary, retry: Option<RetryView>, alike: Option<Alike>, now: Timestamp) -> Self {
        Self {
            broker: text::one_line(&letter.broker),
            queue_page: queue_path::href_of(&letter.broker, letter.queue.as_deref()),
            queue: letter.queue.as_deref().map(text::one_line).unwrap_or_default(),
            route: route(&letter.exchange, &letter.routing_key),
            why: text::shortened(&why::in_short(letter), WHY),
            is_error_known: letter.error().is_some(),
            message_type: letter.message_type.as_deref().map(text::one_line).unwrap_or_default(),
            task: letter.title.as_deref().map(text::one_line).unwrap_or_default(),
            alike,
            attempts: number::failures(letter.count()),
            status: letter.status.as_str(),
            importance: letter.importance.as_str(),
            importance_by: ImportanceBy::new(&letter.importance_by),
            new_rule: new_rule_href(letter.queue.as_deref(), letter.message_type.as_deref()),
            received: Moment::new(letter.received_at, now),
            first_failed: letter.first_failed_at.map(|at| Moment::new(at, now)),
            last_failed: Moment::new(letter.last_failed_at, now),
            retry,
        }
    }
}

impl Actions {
    fn new(letter: &LetterSummary, is_by_policy: bool, view: &ViewOptions<'_>) -> Self {
        let is_replaced = view.linked.in_place.is_some();
        let allowed = |command: Command| command.allowed_in().contains(&letter.status);
        let reopen = match letter.status {
            Status::Scheduled if is_by_policy => "Stop retrying",
            Status::Scheduled => "Cancel the retry",
            _ => "Reopen",
        };
        Self {
            retry: !is_replaced && allowed(Command::Retry { delay: std::time::Duration::ZERO, queue: None }),
            danger: view.danger.map(Danger::clause).unwrap_or_default(),
            not_allowed: view.not_allowed.as_deref().map(text::one_line).unwrap_or_default(),
            pause: view.pause.as_ref().map(|pause| PauseView::new(pause, view.now)),
            discard: allowed(Command::Discard { note: None }),
            reopen: (!is_replaced && allowed(Command::Reopen)).then_some(reopen),
            importances: Importance::ALL.iter().map(|one| (one.as_str(), *one == letter.importance)).collect(),
        }
    }
}
