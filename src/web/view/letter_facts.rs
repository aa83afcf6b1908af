//! Where, why and when a letter failed, and what waits for it.

use amqp_message::time::Timestamp;

use super::{
    deaths::route,
    group, number,
    policy::which_retry,
    row::last_part,
    rule::{ImportanceBy, new_rule_href},
    text,
    time::Moment,
    waiting::Due,
};
use crate::{
    domain::{group::Group, letter::LetterSummary, policy::PolicyBook, waiting::WaitingRetry},
    web::query::queue_path,
};

/// Where, why and when.
pub struct Facts {
    pub broker: String,
    /// The page of its queue; empty where that is not known.
    pub queue_page: String,
    pub queue: String,
    pub route: String,
    /// The class of the error, where the title is not that.
    pub error_type: String,
    /// The last part of the name of its type, and all of it; empty where it has none.
    pub type_name: String,
    pub full_type: String,
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
    /// `71 in its error group, 12 open`
    pub told: String,
    /// How many there are beside this one.
    pub others: String,
}

impl Alike {
    pub fn new(group: &Group) -> Self {
        let told = match group.n_letters() {
            0 | 1 => "no similar dead letters".to_owned(),
            n => format!("{} in its error group, {} open", number::thousands(n), number::thousands(group.n_open())),
        };
        let others = number::thousands(group.n_letters().saturating_sub(1));
        Self { href: group::href(group.id), told, others }
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

/// Characters of an error above the letter; below it stands in full.
pub const TITLE: usize = 300;

impl Facts {
    pub fn new(
        letter: &LetterSummary,
        error_type: &str,
        retry: Option<RetryView>,
        alike: Option<Alike>,
        now: Timestamp,
    ) -> Self {
        Self {
            broker: text::one_line(&letter.broker),
            queue_page: queue_path::href_of(&letter.broker, letter.queue.as_deref()),
            queue: letter.queue.as_deref().map(text::one_line).unwrap_or_default(),
            route: route(&letter.exchange, &letter.routing_key),
            error_type: text::shortened(error_type, TITLE),
            type_name: letter.message_type.as_deref().map(last_part).unwrap_or_default(),
            full_type: letter.message_type.as_deref().map(text::one_line).unwrap_or_default(),
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
