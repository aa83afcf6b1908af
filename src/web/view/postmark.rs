//! The postmark of a letter: the one ornament besides the airmail edge.

use amqp_message::time::Timestamp;

use super::{text, time};
use crate::domain::letter::LetterSummary;

/// All that is on it is also said in words beside it, so screen readers skip it.
#[derive(Debug)]
pub struct Postmark {
    /// Reason and queue, around the ring.
    pub ring: String,
    pub day: String,
    pub time: String,
}

impl Postmark {
    pub fn new(letter: &LetterSummary) -> Self {
        /// What fits on the ring beside the reason.
        const NAME: usize = 20;
        let queue = letter.queue.as_deref().unwrap_or("queue unknown");
        let queue = text::name(queue, NAME);
        let reason = letter.reason.as_str().replace('_', " ");
        Self {
            ring: format!("{queue} · {reason} ·").to_uppercase(),
            day: stamp(letter.last_failed_at, "%-d %b"),
            time: stamp(letter.last_failed_at, "%H:%M"),
        }
    }
}

fn stamp(at: Timestamp, pattern: &str) -> String {
    time::format(at, pattern).to_uppercase()
}
