//! What distinguishes the samples of one family. Labels take memory here and in Prometheus for as long as both run, so
//! there is a bound to their number and to their length.

use std::{
    collections::HashSet,
    hash::Hash,
    sync::{Mutex, PoisonError},
};

use amqp_message::word_enum;
use prometheus_client::encoding::EncodeLabelSet;

use crate::domain::{
    actor::Actor,
    notification::{Attempt, Channel},
};

/// Stands for all that have no label of their own.
pub(super) const OTHER: &str = "other";

/// Bytes of a label's value: what the names of RabbitMQ's queues may have. A header that names one may be longer.
const MAX_LABEL: usize = 255;

word_enum! {
    /// Whether a policy sent a message back or a user did.
    RetryKind, "kind of retry" {
        Automatic = "automatic",
        Manual = "manual",
    }
}

impl From<&Actor> for RetryKind {
    fn from(by: &Actor) -> Self {
        if *by == Actor::system() { Self::Automatic } else { Self::Manual }
    }
}

word_enum! {
    /// The result of one attempt to deliver a notification.
    NotificationOutcome, "outcome" {
        Delivered = "delivered",
        /// It failed for now and is tried again.
        Retried = "retried",
        /// It failed for good.
        Refused = "refused",
    }
}

impl From<&Attempt> for NotificationOutcome {
    fn from(attempt: &Attempt) -> Self {
        match attempt {
            Attempt::Delivered => Self::Delivered,
            Attempt::Later(..) => Self::Retried,
            Attempt::Refused(_) => Self::Refused,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct QueueLabels {
    pub broker: String,
    pub queue: String,
}

impl QueueLabels {
    pub fn of(broker: &str, queue: &str) -> Self {
        Self { broker: broker.to_owned(), queue: short(queue).to_owned() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RetryLabels {
    pub broker: String,
    pub queue: String,
    pub kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ExhaustedLabels {
    pub broker: String,
    pub queue: String,
    pub importance: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct LetterLabels {
    pub status: &'static str,
    pub importance: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ImportanceLabels {
    pub importance: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct BrokerLabels {
    pub broker: String,
}

impl BrokerLabels {
    pub fn of(broker: &str) -> Self {
        Self { broker: broker.to_owned() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct NotificationLabels {
    channel: &'static str,
    outcome: &'static str,
}

impl NotificationLabels {
    pub fn of(channel: Channel, outcome: NotificationOutcome) -> Self {
        Self { channel: channel.as_str(), outcome: outcome.as_str() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RuleLabels {
    pub rule: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct DigestLabels {
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ConditionLabels {
    pub condition: &'static str,
}

/// The first so many values that came along, for as long as the process runs.
pub(super) struct Distinct<T> {
    at_most: usize,
    known: Mutex<HashSet<T>>,
}

impl<T: Eq + Hash> Distinct<T> {
    pub fn up_to(at_most: usize) -> Self {
        Self { at_most, known: Mutex::default() }
    }

    /// Whether `value` is one of them, or is now.
    pub fn include(&self, value: T) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(&value) || known.len() < self.at_most && known.insert(value)
    }
}

/// As much of a text as a label takes.
pub(super) fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LABEL)]
}
