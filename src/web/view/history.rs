//! What happened to a letter, line by line.

use amqp_message::time::Timestamp;

use super::{text, time::Moment};
use crate::domain::history::{Event, HistoryEntry};

#[derive(Debug)]
pub struct HistoryLine {
    pub at: Moment,
    pub label: &'static str,
    /// The class of its dot.
    pub class: &'static str,
    pub by: String,
    pub detail: String,
}

impl HistoryLine {
    pub fn new(entry: &HistoryEntry, now: Timestamp) -> Self {
        Self {
            at: Moment::new(entry.at, now),
            label: label(entry.event),
            class: class(entry.event),
            by: text::one_line(entry.by.as_str()),
            detail: text::visible(&entry.detail).into_owned(),
        }
    }
}

const fn label(event: Event) -> &'static str {
    match event {
        Event::Received => "Received",
        Event::FailedAgain => "Failed again",
        Event::NotEnriched => "Could not be read",
        Event::Redelivered => "Delivered once more",
        Event::RetryScheduled => "Retry scheduled",
        Event::Retried => "Retried",
        Event::RetryFailed => "Retry failed",
        Event::Discarded => "Discarded",
        Event::Reopened => "Reopened",
        Event::Edited => "Edited",
        Event::ImportanceSet => "Importance set",
        Event::NoteSet => "Note set",
        Event::TypeSet => "Type set",
        Event::Revealed => "Hidden values revealed",
    }
}

const fn class(event: Event) -> &'static str {
    match event {
        Event::FailedAgain | Event::NotEnriched | Event::RetryFailed => "bad",
        Event::Retried => "good",
        Event::RetryScheduled => "pending",
        _ => "",
    }
}
