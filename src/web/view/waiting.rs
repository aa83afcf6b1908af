//! One line of what waits: for which queue, until when, which retry, and who asked for it.

use amqp_message::time::Timestamp;

use super::{policy::which_retry, row::queue_title, text, time::Moment, why};
use crate::domain::{
    policy::PolicyBook,
    queue_pause::{QueuePause, is_paused},
    waiting::Waiting,
};

/// Characters of a name in a list; the letter itself shows all of them.
const NAME: usize = 120;

#[derive(Debug)]
pub struct WaitingRow {
    pub id: String,
    pub href: String,
    /// The queue it failed in.
    pub title: String,
    pub is_queue_known: bool,
    /// Where it goes, if that is another queue.
    pub goes_to: String,
    pub broker: String,
    pub why: String,
    pub importance: &'static str,
    /// `retry 2 of 3`; empty where a user asked for it.
    pub which: String,
    pub by: String,
    pub due: Due,
    /// Retries into its queue are paused.
    pub is_paused: bool,
    /// For the checkbox, which stands alone.
    pub label: String,
}

impl WaitingRow {
    pub fn new(waiting: &Waiting, href: String, policies: &PolicyBook, pauses: &[QueuePause], now: Timestamp) -> Self {
        let (letter, retry) = (&waiting.letter, &waiting.retry);
        let title = queue_title(letter);
        let due = Due::new(retry.due_at, now);
        let is_elsewhere = letter.queue.as_deref() != Some(&*retry.queue);
        let goes_to = if is_elsewhere { text::name(&retry.queue, NAME) } else { String::new() };
        let policy = letter.queue.as_deref().and_then(|queue| policies.find(queue, letter.reason));
        let which = if retry.is_by_policy() {
            which_retry(letter.rounds, policy.map(|policy| &**policy))
        } else {
            String::new()
        };
        Self {
            id: letter.id.to_string(),
            href,
            label: format!("Select the dead letter from {title}, due {}", due.text),
            title,
            is_queue_known: letter.queue.is_some(),
            goes_to,
            broker: text::one_line(&letter.broker),
            why: text::shortened(&why::in_short(letter), NAME),
            importance: letter.importance.as_str(),
            which,
            by: if retry.is_by_policy() { "policy".to_owned() } else { text::one_line(retry.by.as_str()) },
            is_paused: is_paused(pauses, &letter.broker, &retry.queue),
            due,
        }
    }
}

/// When a retry is due.
#[derive(Clone, Debug)]
pub struct Due {
    pub at: Moment,
    /// `in 12 s`, `now`
    pub text: String,
    /// From the moment of looking on, for a page that counts down.
    pub seconds: u64,
}

impl Due {
    pub fn new(due_at: Timestamp, now: Timestamp) -> Self {
        let at = Moment::new(due_at, now);
        // What is due goes out as soon as the broker takes it; how late it is says nothing about the letter.
        let text = if due_at <= now { "now".to_owned() } else { at.relative.clone() };
        Self { text, seconds: due_at.since(now).as_secs(), at }
    }
}
