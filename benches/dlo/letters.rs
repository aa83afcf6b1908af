//! Databases full of letters.

use std::time::Duration;

use amqp_message::{death::Reason, error_report::ErrorReport, message::Message, time::Timestamp};
use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    clock::Clock,
    domain::{
        actor::Actor,
        command::Command,
        content_key::ContentKey,
        filter::{LetterFilter, PageRequest, Sort},
        letter::{Importance, LetterId},
    },
    store::{AckState, Arrival, Fingerprint, IntakeBatch, Order},
};
use failure_conventions::Failure;
use uuid::Uuid;

use crate::database::{BROKER, TestDatabase};

/// Bytes of a payload.
const PAYLOAD: usize = 2_048;

/// From one letter to the next: ten thousand take three hours.
pub const APART: Duration = Duration::from_millis(1_080);

/// Stores letters, one after the other until now, each failed in the queue and with the kind of error that are named for it.
pub async fn store_letters(
    database: &TestDatabase,
    letters: u32,
    queue: impl Fn(u32) -> String,
    error: impl Fn(u32) -> Option<String>,
) {
    const BATCH: u32 = 1_000;
    let now = Clock::system().now();
    for first in (0..letters).step_by(BATCH as usize) {
        let arrivals: Vec<Arrival> = (first..letters.min(first + BATCH))
            .map(|number| arrival(number, queue(number), error(number), now.minus(APART * (letters - number))))
            .collect();
        let id = Uuid::now_v7();
        let batch = IntakeBatch {
            id,
            broker: BROKER,
            queue: "dlo.obituaries",
            session: Uuid::now_v7(),
            is_cut: &|| false,
            is_first: false,
            recorded_at: now,
            arrivals: &arrivals,
            settled: AckState::default(),
        };
        database.store.record(&batch).await.expect("recorded");
        database.store.settle(AckState { expired: &[id], ..AckState::default() }).await.expect("settled");
    }
}

fn arrival(number: u32, queue: String, error: Option<String>, received_at: Timestamp) -> Arrival {
    Arrival {
        id: LetterId::from_uuid(Uuid::now_v7()),
        returning: None,
        is_recognised: false,
        own_retry: None,
        content: ContentKey(i64::from(number)),
        id_key: None,
        fingerprint: Fingerprint(u128::from(number)),
        redelivered: false,
        received_at,
        failure: Failure {
            queue: Some(queue),
            reason: Reason::Rejected,
            exchange: "events".to_owned(),
            routing_key: "order.placed".to_owned(),
            attempts: 1,
            first_failed_at: Some(received_at),
            error: ErrorReport::new(error, None, None),
            ..Failure::default()
        },
        decision: None,
        is_counted: false,
        counted_as: None,
        waited: None,
        sent_on: None,
        importance: Importance::ALL[number as usize % Importance::ALL.len()],
        importance_by: "default",
        message: Message { body: payload(number), ..Message::default() },
        remarks: Vec::new(),
        losses: Vec::new(),
    }
}

/// JSON of some two hundred words, common ones and rare ones as in a text, always the same ones for a number.
fn payload(number: u32) -> Vec<u8> {
    const SYLLABLES: [&str; 24] = [
        "ba", "co", "di", "fu", "ga", "he", "jo", "ki", "lu", "ma", "ne", "po", "qui", "ra", "so", "tu", "va", "we",
        "xi", "yo", "zu", "bri", "cla", "dro",
    ];
    let mut text = format!("{{\"order\":{number},\"text\":\"");
    let mut random = u64::from(number);
    while text.len() < PAYLOAD - 16 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chance = (random >> 33) as f64 / f64::from(1_u32 << 31);
        // Of the 13,824 that three syllables make.
        let word = (chance.powi(3) * 13_824.0) as usize;
        for part in [word / 576, word / 24 % 24, word % 24] {
            text.push_str(SYLLABLES[part]);
        }
        text.push(' ');
    }
    text.push_str("\"}");
    text.into_bytes()
}

/// The ids of all letters, the oldest first, in parts of `size`.
pub async fn ids_of_all(database: &TestDatabase, size: usize) -> Vec<Vec<LetterId>> {
    let mut page = PageRequest { sort: Sort::Oldest, after: None, limit: size };
    let mut parts = Vec::new();
    loop {
        let letters = database.store.letters(&LetterFilter::default(), &page).await.expect("a page");
        parts.push(letters.items.iter().map(|letter| letter.id).collect());
        page.after = letters.next;
        if page.after.is_none() {
            return parts;
        }
    }
}

/// Schedules their retries for `due`.
pub async fn schedule(database: &TestDatabase, ids: &[LetterId], due: Timestamp) {
    let command = Command::Retry { delay: Duration::ZERO, queue: None };
    let order =
        Order { ids, command: &command, by: &Actor::local(), at: due, limits: &RetryLimits::default(), edits: None };
    let report = database.store.act(&order).await.expect("scheduled");
    assert!(report.refused.is_empty(), "a retry was refused");
}
