//! Makes dead messages of which only what matters is said.

use std::time::Duration;

use amqp_message::{
    death::Reason,
    field::{FieldTable, FieldValue},
    message::{Message, Properties},
    time::Timestamp,
};
use dead_letter_office::{
    domain::{
        content_key::ContentKey,
        letter::{Importance, LetterId},
    },
    store::{Arrival, Fingerprint},
};
use failure_conventions::{self, Failure};
use uuid::Uuid;

/// What time it is in these servers, unless their clock is moved on: 21 November 2026, 12:00 UTC.
pub const NOON: Timestamp = Timestamp::from_micros(1_795_262_400_000_000);

pub fn before_noon(length: Duration) -> Timestamp {
    NOON.minus(length)
}

/// A message, unlike any other, that was rejected in `queue` and came in at noon.
pub fn dead_in(queue: &str) -> Dead {
    let id = Uuid::now_v7();
    let failure = Failure { queue: Some(queue.to_owned()), attempts: 1, rounds: 1, ..Failure::default() };
    Dead(Arrival {
        id: LetterId::from_uuid(id),
        returning: None,
        is_recognised: false,
        own_retry: None,
        content: ContentKey(0),
        id_key: None,
        fingerprint: Fingerprint(id.as_u128()),
        redelivered: false,
        received_at: NOON,
        failure: Failure { reason: Reason::Rejected, ..failure },
        decision: None,
        is_counted: false,
        counted_as: None,
        waited: None,
        sent_on: None,
        importance: Importance::Normal,
        importance_by: "default",
        message: Message::default(),
        remarks: Vec::new(),
        losses: Vec::new(),
    })
}

/// A message that says nothing about where it failed.
pub fn dead_somewhere() -> Dead {
    dead_in("").with(|arrival| (arrival.failure.queue, arrival.failure.reason) = (None, Reason::Unknown))
}

pub struct Dead(Arrival);

impl Dead {
    pub fn with(mut self, change: impl FnOnce(&mut Arrival)) -> Self {
        change(&mut self.0);
        self
    }

    pub fn arrival(self) -> Arrival {
        self.0
    }

    /// It is this message and has failed as that says.
    pub fn read(self, message: Message) -> Self {
        self.with(|arrival| {
            arrival.failure = failure_conventions::read(&message).failure;
            arrival.message = message;
        })
    }

    pub fn of(self, importance: Importance) -> Self {
        self.with(|arrival| arrival.importance = importance)
    }

    pub fn because(self, reason: Reason) -> Self {
        self.with(|arrival| arrival.failure.reason = reason)
    }

    pub fn attempts(self, n: u64) -> Self {
        self.with(|arrival| (arrival.failure.attempts, arrival.failure.rounds) = (n, n))
    }

    pub fn received(self, at: Timestamp) -> Self {
        self.with(|arrival| arrival.received_at = at)
    }

    pub fn published_to(self, exchange: &str, key: &str) -> Self {
        self.with(|arrival| {
            arrival.failure.exchange = exchange.to_owned();
            arrival.failure.routing_key = key.to_owned();
        })
    }

    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        self.with(|arrival| arrival.message.body = body.into())
    }

    pub fn header(self, name: &str, value: FieldValue) -> Self {
        self.with(|arrival| arrival.message.headers.set(name, value))
    }

    pub fn properties(self, properties: Properties) -> Self {
        self.with(|arrival| arrival.message.properties = properties)
    }

    pub fn remark(self, remark: &str) -> Self {
        self.with(|arrival| arrival.remarks.push(remark.to_owned()))
    }

    /// Its `x-death` has one entry with these texts.
    pub fn death(self, fields: &[(&str, &str)]) -> Self {
        let death: FieldTable =
            fields.iter().map(|(name, text)| ((*name).to_owned(), FieldValue::string(*text))).collect();
        self.header("x-death", FieldValue::Array(vec![FieldValue::Table(death)]))
    }
}
