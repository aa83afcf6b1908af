//! What happened to a message, by whoever tells it, the latest first.

use amqp_message::{death::Death, message::Properties, time::Timestamp};

use super::{
    deaths::{reason, route},
    number, text,
    time::Moment,
};
use crate::domain::{
    history::{Event, HistoryEntry},
    letter::Letter,
};

/// Who tells, and does, what nobody else does.
const SELF: &str = "dlo";

#[derive(Debug)]
pub struct TimelineLine {
    /// None where it is not told.
    pub at: Option<Moment>,
    pub label: String,
    /// The queue that RabbitMQ took it out of.
    pub queue: String,
    /// Who did it; empty where that is who tells it.
    pub by: String,
    pub detail: String,
    /// Who tells it: `dlo`, `x-death`, `timestamp`.
    pub source: &'static str,
    /// The class of its dot.
    pub class: &'static str,
}

/// All that is told of a letter. What has no time is at the end.
pub fn timeline(letter: &Letter, history: &[HistoryEntry], now: Timestamp) -> Vec<TimelineLine> {
    let done = history.iter().map(|entry| (Some(entry.at), TimelineLine::of_history(entry, now)));
    let deaths = letter.deaths.iter().rev().map(|death| (death.first_at, TimelineLine::of_death(death, now)));
    let published = published(&letter.message.properties, now).into_iter();
    let mut lines: Vec<_> = published.chain(deaths).chain(done).collect();
    // The order of those at the same time is that in which they were written.
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().rev().map(|(_, line)| line).collect()
}

impl TimelineLine {
    fn of_history(entry: &HistoryEntry, now: Timestamp) -> Self {
        Self {
            at: Some(Moment::new(entry.at, now)),
            label: label(entry.event).to_owned(),
            queue: String::new(),
            by: Some(text::one_line(entry.by.as_str())).filter(|by| by != SELF).unwrap_or_default(),
            detail: text::visible(&entry.detail).into_owned(),
            source: SELF,
            class: class(entry.event),
        }
    }

    fn of_death(death: &Death, now: Timestamp) -> Self {
        let times = (death.count > 1).then(|| format!("{} times, first then", number::thousands(death.count)));
        let via = format!("via {}", route(&death.exchange, &death.routing_keys.join(", ")));
        let expired = death.original_expiration.as_deref();
        let expired = expired.map(|ms| format!("time to live was {} ms", text::one_line(ms)));
        let detail: Vec<String> = times.into_iter().chain([via]).chain(expired).collect();
        Self {
            at: death.first_at.map(|at| Moment::new(at, now)),
            label: reason(&death.reason),
            queue: text::one_line(&death.queue),
            by: String::new(),
            detail: detail.join(" · "),
            source: "x-death",
            class: "bad",
        }
    }
}

/// When its publisher says that it made it.
fn published(properties: &Properties, now: Timestamp) -> Option<(Option<Timestamp>, TimelineLine)> {
    let at = Timestamp::from_seconds(properties.timestamp?);
    let line = TimelineLine {
        at: Some(Moment::new(at, now)),
        label: "Published".to_owned(),
        queue: String::new(),
        by: properties.app_id.as_deref().map(|app| text::name(app, 120)).unwrap_or_default(),
        detail: String::new(),
        source: "timestamp",
        class: "",
    };
    Some((Some(at), line))
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
