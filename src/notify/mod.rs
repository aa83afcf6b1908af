//! Slack, PagerDuty, Alertmanager and signed webhooks, over HTTP.
//!
//! This floor sends one delivery and reports the result ([`Sender::send`]); it also writes what PagerDuty,
//! Alertmanager and webhooks are notified of an incident ([`pagerduty`], [`alertmanager`], [`webhook`]). It knows no database
//! and no broker, repeats nothing by itself and decides nothing: whoever keeps the deliveries asks [`backoff`] when to
//! try again.
//!
//! Addresses, tokens and keys of channels are secrets. No text that leaves this floor holds one, nor anything a webhook
//! answered.

pub mod alertmanager;
mod answer;
pub(crate) mod backoff;
mod channel;
mod check;
mod client;
mod fault;
mod outcome;
pub mod pagerduty;
mod reach;
mod request;
mod retry_after;
mod scrub;
mod sender;
mod severity;
mod signing;
pub(crate) mod slack;
mod text;
mod verdict;
pub mod webhook;

#[cfg(test)]
mod samples;

pub use channel::{Channel, ChannelError, SecretUrl, SlackBot};
pub use check::Unreachable;
pub use client::{Patience, SetupError, client, client_of_any_size, client_within};
pub use outcome::Outcome;
pub use reach::{OutOfReach, Reach};
pub use request::Delivery;
pub use sender::Sender;
pub use signing::{SigningKey, SigningKeyError};
