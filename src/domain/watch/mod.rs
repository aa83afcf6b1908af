//! What to report about the queues of a broker: the state machine behind `[watch]`.
//!
//! At each *look* the caller hands in how the queues stand, or that nobody answered; [`BrokerWatch::observe`] says which
//! [`Concern`]s begin and which are over. It has no clock, no I/O and no memory but [`BrokerWatch`], plain data that the
//! caller keeps in the database, so that a restart forgets nothing and reports nothing twice.
//!
//! # Time
//! What counts is the time that was *watched*: from one look to another that begins no more than three intervals
//! later and tells the same thing. Anything else counts nothing: the time in which dlo was down or the machine
//! slept, a clock that is set forward or back, a look that nobody answered, a number that is not told. So none of these
//! can raise a concern or end one. It goes on where it stood.
//!
//! # Consumers
//! A queue of which consumers were never seen is nobody's concern. One that had some and has none is reported once it has
//! been without for `no_consumers_for`. Time without consumers fills a bucket, and time with consumers drains it as
//! fast: a restart that takes a minute every quarter of an hour never fills it, but a queue that is without more often
//! than not does at last, however often somebody looks in for a moment. The concern is over when consumers have stayed
//! for [`SETTLED`]; then the bucket is empty.
//!
//! A queue that is missing at two looks in a row is gone: its concern is over, and one that is declared by that name
//! later begins anew. At two, since a list that is read by pages now and then lacks a queue. Exclusive and auto-delete
//! queues are not watched, for they go with their consumers; nor are our own.
//!
//! # Our own queues
//! We empty the dead-letter queue and the obituary queue ourselves. Either is a concern when it grows for
//! `growing_for` without being drained, or has messages ready all the time for `lags_for` though we are connected.

mod absences;
mod concern;
mod consumers;
mod growth;
mod hints;
mod lasting;
mod look;
mod own_queue;
mod paths;
mod reach;
mod watched_broker;

#[cfg(test)]
mod tests;

pub use absences::Absences;
pub use concern::{Change, Concern, ConcernKey, ConcernKind};
pub use consumers::{SETTLED, Watched};
pub use growth::Growth;
pub use hints::{DocsPage, HintKind, SettingHint, hints, without_exchange};
pub use lasting::Lasting;
pub use look::{LONGEST_LOOK, Look, Poll, Settings};
pub use own_queue::{OwnQueue, OwnRole};
pub use paths::{DeadLetterPath, dead_letter_paths};
pub use reach::{POLLS_UNANSWERED, Reach};
pub use watched_broker::BrokerWatch;
