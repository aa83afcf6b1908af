//! Makes arrivals of which only what matters is said.

use std::time::Duration;

use amqp_message::{
    death::Reason,
    error_report::ErrorReport,
    field::{FieldTable, FieldValue},
    message::Message,
    time::Timestamp,
};
use dead_letter_office::{
    domain::{
        content_key::ContentKey,
        group::GroupKey,
        letter::{Importance, LetterId},
    },
    grouping,
    store::{Arrival, Enriched, Fingerprint},
};
use failure_conventions::Failure;
use uuid::Uuid;

/// When things happen unless a test says otherwise: noon of a Saturday, at which a slice begins.
pub const NOON: Timestamp = Timestamp::from_micros(1_795_262_400_000_000);

pub fn later(seconds: u64) -> Timestamp {
    NOON.plus(Duration::from_secs(seconds))
}

/// An id that nothing else has, and that sorts after those made before.
pub fn id() -> Uuid {
    Uuid::now_v7()
}

/// A message rejected in the queue `orders`, unlike any other.
pub fn an_arrival() -> Arrival {
    Arrival {
        id: LetterId::from_uuid(id()),
        returning: None,
        is_recognised: false,
        own_retry: None,
        content: ContentKey(id().as_u64_pair().1.cast_signed()),
        id_key: None,
        fingerprint: Fingerprint::new(id().as_u64_pair().1, 0),
        redelivered: false,
        received_at: NOON,
        failure: Failure {
            queue: Some("orders".to_owned()),
            reason: Reason::Rejected,
            attempts: 1,
            rounds: 1,
            ..Failure::default()
        },
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
    }
}

/// What a letter received at noon was found to be: of no type and of no importance, failed in `orders` like any other.
pub fn enriched(letter: LetterId) -> Enriched {
    let key = GroupKey {
        broker: "main".to_owned(),
        queue: Some("orders".to_owned()),
        message_type: None,
        reason: Reason::Rejected,
        error: String::new(),
        part: None,
    };
    Enriched {
        letter,
        received_at: NOON,
        type_by_hand: None,
        message_type: None,
        title: None,
        error_type: None,
        error_message: None,
        source: None,
        confidence: None,
        importance: Importance::Normal,
        importance_by: "default".to_owned(),
        group: grouping::id(&key),
        key,
    }
}

pub trait InGroup {
    /// What failed in `queue` with `error`; of unknown queue where that is empty.
    fn in_group(self, broker: &str, queue: &str, error: &str) -> Self;
}

impl InGroup for Enriched {
    fn in_group(self, broker: &str, queue: &str, error: &str) -> Self {
        let key = GroupKey {
            broker: broker.to_owned(),
            queue: Some(queue.to_owned()).filter(|queue| !queue.is_empty()),
            message_type: self.message_type.clone(),
            error: error.to_owned(),
            ..self.key
        };
        Self { group: grouping::id(&key), key, ..self }
    }
}

pub trait Make: Sized {
    fn make(self, change: impl FnOnce(&mut Arrival)) -> Arrival;

    fn queue(self, name: &str) -> Arrival {
        self.make(|arrival| arrival.failure.queue = Some(name.to_owned()))
    }

    fn of_unknown_queue(self) -> Arrival {
        self.make(|arrival| arrival.failure.queue = None)
    }

    fn reason(self, reason: Reason) -> Arrival {
        self.make(|arrival| arrival.failure.reason = reason)
    }

    /// It says that this went wrong.
    fn error(self, message: &str) -> Arrival {
        self.make(|arrival| arrival.failure.error = ErrorReport::new(None, Some(message.to_owned()), None))
    }

    fn attempts(self, n: u64) -> Arrival {
        self.make(|arrival| (arrival.failure.attempts, arrival.failure.rounds) = (n, n))
    }

    fn importance(self, importance: Importance) -> Arrival {
        self.make(|arrival| arrival.importance = importance)
    }

    fn received(self, at: Timestamp) -> Arrival {
        self.make(|arrival| arrival.received_at = at)
    }

    fn body(self, body: impl Into<Vec<u8>>) -> Arrival {
        self.make(|arrival| arrival.message.body = body.into())
    }

    fn header(self, name: &str, value: FieldValue) -> Arrival {
        self.make(|arrival| arrival.message.headers.set(name, value))
    }

    fn message_id(self, id: &str) -> Arrival {
        self.make(|arrival| arrival.message.properties.message_id = Some(id.to_owned()))
    }

    /// It says that it is this letter.
    fn returning(self, letter: LetterId) -> Arrival {
        self.make(|arrival| arrival.returning = Some(letter))
    }

    /// Its `x-death` has one entry, of this queue.
    fn died_in(self, queue: &str) -> Arrival {
        let death = [("queue", queue), ("reason", "rejected")];
        let death: FieldTable =
            death.into_iter().map(|(name, text)| (name.to_owned(), FieldValue::string(text))).collect();
        self.header("x-death", FieldValue::Array(vec![FieldValue::Table(death)]))
    }

    /// Another message, equal to the byte.
    fn twin(&self) -> Arrival;

    /// The same message, dead-lettered once more at another time.
    fn later_death(&self) -> Arrival {
        self.twin().make(|arrival| arrival.fingerprint = Fingerprint(arrival.fingerprint.0 + 1))
    }

    /// The same message, delivered once more.
    fn again(&self) -> Arrival {
        self.twin().make(|arrival| arrival.redelivered = true)
    }
}

impl Make for Arrival {
    fn make(mut self, change: impl FnOnce(&mut Arrival)) -> Arrival {
        change(&mut self);
        self
    }

    fn twin(&self) -> Arrival {
        Arrival { id: LetterId::from_uuid(id()), ..self.clone() }
    }
}
