//! What is remembered of watched brokers, as it is stored.

use std::{collections::BTreeSet, time::Duration};

use amqp_message::time::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx_macros::FromRow;

use crate::{
    domain::{
        queue_level::{QueueLevel, QueueState},
        watch::{Absences, BrokerWatch, Growth, Lasting, OwnQueue, Reach, SettingHint, Watched},
    },
    store::{StoreError, db::columns::Column, letters::rows::parse},
};

/// One queue: how it stands, and what is remembered of its consumers.
#[derive(FromRow)]
pub(crate) struct QueueRow {
    pub(crate) broker: String,
    queue: String,
    kind: String,
    state: Option<String>,
    messages: Option<i64>,
    ready: Option<i64>,
    unacknowledged: Option<i64>,
    consumers: Option<i64>,
    policy: Option<String>,
    max_length: Option<i64>,
    grows_by: Option<i64>,
    had: Option<i64>,
    seen: Option<i64>,
    had_consumers_at: Option<i64>,
    without_since: Option<i64>,
    without_for: i64,
    with_for: i64,
    interrupted: i64,
    told: i64,
    absences: i64,
}

pub(crate) const COLUMNS: &str =
    "broker, queue, kind, state, messages, ready, unacknowledged, consumers, policy, max_length, grows_by,
    had, seen, had_consumers_at, without_since, without_for, with_for, interrupted, told, absences";

impl QueueRow {
    pub(crate) fn read(self) -> Result<(QueueLevel, Option<Watched>), StoreError> {
        let watched = self.had.map(|had| Watched {
            consumers: self.seen.map(i64::unsigned_abs),
            had: had.unsigned_abs(),
            had_consumers_at: self.had_consumers_at.map(Timestamp::from_micros),
            without_since: self.without_since.map(Timestamp::from_micros),
            without_for: micros(self.without_for),
            interrupted: self.interrupted > 0,
            with_for: micros(self.with_for),
            told: self.told > 0,
            absences: Absences(u8::try_from(self.absences).unwrap_or(u8::MAX)),
        });
        let level = QueueLevel {
            kind: parse("a type of queue", &self.kind)?,
            state: self.state.as_deref().map(|state| parse("a state of a queue", state)).transpose()?,
            messages: self.messages.map(i64::unsigned_abs),
            messages_ready: self.ready.map(i64::unsigned_abs),
            messages_unacknowledged: self.unacknowledged.map(i64::unsigned_abs),
            consumers: self.consumers.map(i64::unsigned_abs),
            policy: self.policy,
            max_length: self.max_length.map(i64::unsigned_abs),
            grows_by: self.grows_by.map(i64::unsigned_abs),
            name: self.queue,
            ..QueueLevel::default()
        };
        Ok((level, watched))
    }
}

/// One row that is about to be written.
pub(crate) struct NewRow<'a> {
    pub(crate) broker: &'a str,
    pub(crate) level: &'a QueueLevel,
    pub(crate) watched: Option<&'a Watched>,
}

/// Their values, in the order of [`COLUMNS`].
pub(crate) fn columns<'a>(rows: &'a [NewRow<'a>]) -> Vec<Column<'a>> {
    let number = |value: Option<u64>| value.map(bounded);
    let of_level = |value: fn(&QueueLevel) -> Option<u64>| Column::numbers(rows, move |row| number(value(row.level)));
    let of_watched = |value: fn(&Watched) -> Option<i64>| Column::numbers(rows, move |row| row.watched.and_then(value));
    let known = |value: fn(&Watched) -> i64| Column::numbers(rows, move |row| row.watched.map_or(0, value));
    vec![
        Column::texts(rows, |row| row.broker),
        Column::texts(rows, |row| row.level.name.as_str()),
        Column::texts(rows, |row| row.level.kind.as_str()),
        Column::perhaps_texts(rows, |row| row.level.state.map(QueueState::as_str)),
        of_level(|level| level.messages),
        of_level(|level| level.messages_ready),
        of_level(|level| level.messages_unacknowledged),
        of_level(|level| level.consumers),
        Column::perhaps_texts(rows, |row| row.level.policy.as_deref()),
        of_level(|level| level.max_length),
        of_level(|level| level.grows_by),
        of_watched(|watched| Some(bounded(watched.had))),
        of_watched(|watched| watched.consumers.map(bounded)),
        of_watched(|watched| watched.had_consumers_at.map(Timestamp::as_micros)),
        of_watched(|watched| watched.without_since.map(Timestamp::as_micros)),
        known(|watched| length(watched.without_for)),
        known(|watched| length(watched.with_for)),
        known(|watched| i64::from(watched.interrupted)),
        known(|watched| i64::from(watched.told)),
        known(|watched| i64::from(watched.absences.0)),
    ]
}

/// The part of a watch that is no queue's of its own; times are microseconds.
#[derive(Serialize, Deserialize)]
struct StoredState {
    dead_letters: StoredOwn,
    obituaries: StoredOwn,
    overdue: StoredLasting,
    overdue_by: i64,
    unanswered_since: Option<i64>,
    in_a_row: u8,
    unreachable_since: Option<i64>,
    #[serde(default)]
    hints: Vec<SettingHint>,
    #[serde(default)]
    requeuing: BTreeSet<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredOwn {
    name: String,
    from: u64,
    peak: u64,
    since: Option<i64>,
    lasted: i64,
    known: bool,
    told: bool,
    waiting: StoredLasting,
    ready: u64,
    absences: u8,
}

#[derive(Serialize, Deserialize)]
struct StoredLasting {
    since: Option<i64>,
    lasted: i64,
    held: bool,
    told: bool,
}

/// All of a watch but its queues and its times.
pub(crate) fn write_state(watch: &BrokerWatch) -> String {
    let stored = StoredState {
        dead_letters: StoredOwn::of(&watch.dead_letters),
        obituaries: StoredOwn::of(&watch.obituaries),
        overdue: StoredLasting::of(&watch.overdue),
        overdue_by: length(watch.overdue_by),
        unanswered_since: watch.reach.unanswered_since.map(Timestamp::as_micros),
        in_a_row: watch.reach.in_a_row,
        unreachable_since: watch.reach.told.map(Timestamp::as_micros),
        hints: watch.hints.clone(),
        requeuing: watch.requeuing.clone(),
    };
    serde_json::json!(stored).to_string()
}

/// The watch of which that was written; a new one where nothing was written yet.
pub(crate) fn read_state(text: &str) -> Result<BrokerWatch, StoreError> {
    if text.is_empty() {
        return Ok(BrokerWatch::default());
    }
    let stored: StoredState = serde_json::from_str(text)
        .map_err(|error| StoreError::Unreadable { what: "the state of a watched broker", why: error.to_string() })?;
    Ok(BrokerWatch {
        dead_letters: stored.dead_letters.read(),
        obituaries: stored.obituaries.read(),
        overdue: stored.overdue.read(),
        overdue_by: micros(stored.overdue_by),
        reach: Reach {
            unanswered_since: stored.unanswered_since.map(Timestamp::from_micros),
            in_a_row: stored.in_a_row,
            told: stored.unreachable_since.map(Timestamp::from_micros),
        },
        hints: stored.hints,
        requeuing: stored.requeuing,
        ..BrokerWatch::default()
    })
}

impl StoredOwn {
    fn of(queue: &OwnQueue) -> Self {
        let Growth { from, peak, since, lasted, known, told } = queue.growth.clone();
        Self {
            name: queue.name.clone(),
            from,
            peak,
            since: since.map(Timestamp::as_micros),
            lasted: length(lasted),
            known,
            told,
            waiting: StoredLasting::of(&queue.waiting),
            ready: queue.ready,
            absences: queue.absences.0,
        }
    }

    fn read(self) -> OwnQueue {
        OwnQueue {
            name: self.name,
            growth: Growth {
                from: self.from,
                peak: self.peak,
                since: self.since.map(Timestamp::from_micros),
                lasted: micros(self.lasted),
                known: self.known,
                told: self.told,
            },
            waiting: self.waiting.read(),
            ready: self.ready,
            absences: Absences(self.absences),
        }
    }
}

impl StoredLasting {
    fn of(lasting: &Lasting) -> Self {
        let Lasting { since, lasted, held, told } = lasting.clone();
        Self { since: since.map(Timestamp::as_micros), lasted: length(lasted), held, told }
    }

    fn read(self) -> Lasting {
        let since = self.since.map(Timestamp::from_micros);
        Lasting { since, lasted: micros(self.lasted), held: self.held, told: self.told }
    }
}

/// Whatever a broker claims, it is stored as the largest number there is.
pub(super) fn bounded(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn length(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn micros(length: i64) -> Duration {
    Duration::from_micros(length.unsigned_abs())
}
