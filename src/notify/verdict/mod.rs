//! What an answer means.

use reqwest::StatusCode;
use serde::Deserialize;

use super::{
    Channel, Outcome,
    answer::{Answer, quoted},
    slack::channel::{self, Reply},
};

/// The result of a delivery that `channel` answered like this.
pub(super) fn outcome(channel: &Channel, answer: &Answer) -> Outcome {
    if !answer.status.is_success() {
        return failed(channel, answer);
    }
    match channel {
        Channel::SlackWebhook { .. } => hooked(answer),
        Channel::SlackBot(_) => posted(channel, answer),
        Channel::PagerDuty { .. } => enqueued(channel, answer),
        // A page stands for a login or a proxy in between; the API answers with nothing or JSON.
        Channel::Alertmanager { .. } if answer.is_page => not_understood(channel, answer),
        Channel::Alertmanager { .. } | Channel::Webhook { .. } => Outcome::Delivered { reference: None },
    }
}

fn failed(channel: &Channel, answer: &Answer) -> Outcome {
    let mut why = format!("{} answered {}", channel.addressee(), answer.status.as_u16());
    if answer.status.is_redirection() {
        why.push_str(", a redirect, and these are not followed; configure the address it leads to");
    } else if let Some(reason) = reason(channel, answer) {
        why.push_str(&format!(": {reason}"));
    }
    if is_passing(answer.status) {
        Outcome::TryAgain { why, after: answer.retry_after }
    } else {
        Outcome::Refused { why }
    }
}

/// 409 is what a receiver says that still works on the attempt before, 425 one that does not want to be replayed yet.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
    ) || status.is_server_error()
}

/// What the other side says was wrong. A webhook is not quoted: it may send back what it was sent.
fn reason(channel: &Channel, answer: &Answer) -> Option<String> {
    match channel {
        // Slack says of these texts that they are HTML.
        Channel::SlackWebhook { .. } => describe(channel, &String::from_utf8_lossy(&answer.body)),
        Channel::SlackBot(_) => describe(channel, &Reply::read(&answer.body).error?),
        Channel::PagerDuty { .. } => Some(channel.without_secrets(&EventsReply::read(&answer.body)?.into_reason()?)),
        Channel::Alertmanager { .. } => Some(channel.without_secrets(&answer.quote()?)),
        Channel::Webhook { .. } => None,
    }
}

/// An error of Slack's, and what to do about it.
fn describe(channel: &Channel, error: &str) -> Option<String> {
    let name = channel::error_name(error)?;
    Some(format!("{}{}", channel.without_secrets(name), channel::advice(name)))
}

fn hooked(answer: &Answer) -> Outcome {
    if answer.body.trim_ascii() == b"ok" {
        return Outcome::Delivered { reference: None };
    }
    let why = "Slack's `ok` is missing from the answer; is this the address of an incoming webhook?".to_owned();
    Outcome::TryAgain { why, after: answer.retry_after }
}

fn posted(channel: &Channel, answer: &Answer) -> Outcome {
    let reply = Reply::read(&answer.body);
    if reply.ok == Some(true) {
        return Outcome::Delivered { reference: reply.reference() };
    }
    let error = reply.error.filter(|_| reply.ok == Some(false)).unwrap_or_default();
    match describe(channel, &error) {
        Some(told) if channel::is_passing(&error) => {
            Outcome::TryAgain { why: format!("Slack answered {told}"), after: answer.retry_after }
        }
        Some(told) => Outcome::Refused { why: format!("Slack answered {told}") },
        None => Outcome::TryAgain { why: "Slack's answer cannot be read".to_owned(), after: answer.retry_after },
    }
}

/// Only 202 means that PagerDuty has it.
fn enqueued(channel: &Channel, answer: &Answer) -> Outcome {
    if answer.status != StatusCode::ACCEPTED {
        return not_understood(channel, answer);
    }
    Outcome::Delivered { reference: EventsReply::read(&answer.body).and_then(|reply| reply.dedup_key) }
}

fn not_understood(channel: &Channel, answer: &Answer) -> Outcome {
    let (addressee, status) = (channel.addressee(), answer.status.as_u16());
    let why = format!("{addressee} answered {status} with something else than its API does; is it another server?");
    Outcome::TryAgain { why, after: answer.retry_after }
}

/// An answer of the Events API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EventsReply {
    message: Option<String>,
    errors: Vec<String>,
    dedup_key: Option<String>,
}

impl EventsReply {
    fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    fn into_reason(self) -> Option<String> {
        let parts: Vec<String> = self.message.into_iter().chain(self.errors).collect();
        Some(quoted(&parts.join("; "))).filter(|reason| !reason.is_empty())
    }
}

#[cfg(test)]
mod tests;
