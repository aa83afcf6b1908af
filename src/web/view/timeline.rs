//! What happened to a message, by whoever tells it, the latest first.

use std::time::Duration;

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

const WHOLE_SECOND: Duration = Duration::from_secs(1);

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
    let done = history.iter().enumerate();
    let done = done.map(|(n, entry)| ((Some(entry.at), 2 * n + 2), TimelineLine::of_history(entry, now)));
    let deaths = letter.deaths.iter().rev();
    let deaths = deaths.map(|death| (place_of(death, history), TimelineLine::of_death(death, now)));
    let published = published(&letter.message.properties, now).map(|(at, line)| ((at, 0), line));
    let mut lines: Vec<_> = published.into_iter().chain(deaths).chain(done).collect();
    // The order of those at the same time is that in which they were written.
    lines.sort_by_key(|(place, _)| *place);
    lines.into_iter().rev().map(|(_, line)| line).collect()
}

/// Its time has whole seconds: of what is written down in that second it comes right before it has come in here.
fn place_of(death: &Death, history: &[HistoryEntry]) -> (Option<Timestamp>, usize) {
    let Some(second) = death.first_at else { return (None, 0) };
    let came_in = |entry: &HistoryEntry| {
        matches!(entry.event, Event::Received | Event::FailedAgain | Event::Redelivered)
            && (second..second.plus(WHOLE_SECOND)).contains(&entry.at)
    };
    match history.iter().position(came_in) {
        Some(n) => (Some(history[n].at), 2 * n + 1),
        None => (Some(second), 0),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::actor::Actor;

    const SECOND: i64 = 1_000_000;

    fn entry(at: i64, event: Event) -> HistoryEntry {
        HistoryEntry { at: Timestamp::from_micros(at), event, by: Actor::system(), detail: String::new() }
    }

    fn death(at: i64) -> Death {
        Death {
            queue: "orders".to_owned(),
            reason: "rejected".to_owned(),
            count: 1,
            first_at: Some(Timestamp::from_micros(at)),
            exchange: String::new(),
            routing_keys: vec!["orders".to_owned()],
            original_expiration: None,
        }
    }

    #[test]
    fn a_death_stands_before_what_it_brought_in_and_behind_the_retry_before_it() {
        let at = |thousandths: i64| 7 * SECOND + thousandths * 1_000;
        let history = [
            entry(SECOND, Event::Received),
            entry(at(100), Event::RetryScheduled),
            entry(at(300), Event::Retried),
            entry(at(525), Event::FailedAgain),
        ];
        let place = |n: usize| (Some(history[n].at), 2 * n + 2);
        let died = place_of(&death(7 * SECOND), &history);
        assert!(place(2) < died && died < place(3), "{died:?}");
        assert!(place_of(&death(5 * SECOND), &history) < place(1), "nothing came in within its second");
    }
}
