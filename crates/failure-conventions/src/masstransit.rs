//! MassTransit 5 to 8: moves to `<queue>_error` and `<queue>_skipped`.

use amqp_message::{death::Reason, error_report::ErrorReport, message::Message};
use serde::Deserialize;

use super::{evidence::Evidence, framework::Framework, moment, raw_object::RawObject, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "MassTransit",
    records: "exception, stack trace, time, attempts, queue, type",
    retried: "the headers of the failure are removed, and the redelivery count in the envelope",
    read,
    clean,
    advice: "MassTransit records the exception by itself when it moves a message to its _error queue. What its consumer \
             merely rejects, for instance under DiscardFaultedMessages with a dead letter exchange, says nothing.",
};

const ENVELOPE: &str = "application/vnd.masstransit+json";

/// What the move to another queue adds beside `MT-Fault-*`.
const ADDED: [&str; 10] = [
    "MT-Reason",
    "MT-Redelivery-Count",
    "MT-Host-MachineName",
    "MT-Host-ProcessName",
    "MT-Host-ProcessId",
    "MT-Host-Assembly",
    "MT-Host-AssemblyVersion",
    "MT-Host-MassTransitVersion",
    "MT-Host-FrameworkVersion",
    "MT-Host-OperatingSystemVersion",
];

/// What we need of the envelope around a message.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    destination_address: Option<String>,
    /// `urn:message:Namespace:Type`, the most derived first.
    #[serde(default)]
    message_type: Vec<String>,
}

fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let was_moved = evidence.has("MT-Fault-InputAddress") || evidence.has("MT-Reason");
    let envelope = envelope(evidence);
    if !was_moved {
        return envelope.map(|envelope| FrameworkReport::typed(envelope.message_type()));
    }
    let envelope = envelope.unwrap_or_default();
    let message_type = evidence.text("MT-Fault-MessageType").or_else(|| envelope.message_type());
    Some(FrameworkReport {
        queue: queue(evidence),
        // Only the envelope says.
        exchange: envelope.destination_address.as_deref().and_then(last_segment),
        // The move keeps the routing key.
        routing_key: Some(evidence.message.routing_key.clone()),
        attempts: evidence.number("MT-Fault-RetryCount").map(|retries| retries.saturating_add(1)),
        published: Some(reason(evidence)),
        error: ErrorReport::new(
            evidence.text("MT-Fault-ExceptionType"),
            evidence.text("MT-Fault-Message"),
            evidence.text("MT-Fault-StackTrace"),
        ),
        failed_at: evidence.text("MT-Fault-Timestamp").as_deref().and_then(moment::iso),
        message_type: message_type.or_else(|| evidence.text("MT-MessageType")),
        caution: is_skipped(evidence).then_some(
            "MassTransit skipped it: its endpoint has no consumer for this type. A retry is skipped again until one is \
             deployed.",
        ),
        ..FrameworkReport::default()
    })
}

fn envelope(evidence: &Evidence) -> Option<Envelope> {
    let content_type = evidence.message.properties.content_type.as_deref()?;
    content_type.starts_with(ENVELOPE).then(|| evidence.body())?
}

impl Envelope {
    fn message_type(&self) -> Option<String> {
        let name = self.message_type.first()?.strip_prefix("urn:message:")?;
        Some(name.replacen(':', ".", 1))
    }
}

/// A skipped message names no queue but in the exchange it was moved to.
fn queue(evidence: &Evidence) -> Option<String> {
    if let Some(address) = evidence.message.headers.get_str("MT-Fault-InputAddress") {
        return last_segment(address);
    }
    let moved_to = &evidence.message.exchange;
    let queue = moved_to.strip_suffix("_skipped").or_else(|| moved_to.strip_suffix("_error"));
    queue.map(str::to_owned)
}

/// Its endpoint has no consumer for the type, so nothing was tried and nothing went wrong.
fn is_skipped(evidence: &Evidence) -> bool {
    evidence.message.headers.get_str("MT-Reason") == Some("dead-letter")
}

fn reason(evidence: &Evidence) -> Reason {
    if is_skipped(evidence) { Reason::Unknown } else { Reason::Rejected }
}

fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    message.headers.remove_where(|name| name.starts_with("MT-Fault-") || ADDED.contains(&name));
    if let Some(body) = without_redeliveries(&message.body) {
        message.body = body.into_bytes();
    }
    Ok(())
}

/// Second-level retries are counted in the envelope's own headers; with the count in place there would be none left.
fn without_redeliveries(body: &[u8]) -> Option<String> {
    let mut envelope = RawObject::parse(std::str::from_utf8(body).ok()?)?;
    envelope.get("messageType")?;
    let mut headers = RawObject::parse(envelope.get("headers")?)?;
    if !headers.remove(&["MT-Redelivery-Count"]) {
        return None;
    }
    let headers = headers.to_string();
    envelope.replace("headers", headers);
    Some(envelope.to_string())
}

/// Of `rabbitmq://host[:port]/[vhost/]name[?options]`, the name.
fn last_segment(address: &str) -> Option<String> {
    let path = address.split('?').next().unwrap_or_default();
    let (_, name) = path.rsplit_once('/')?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_addresses() {
        fn check(address: &str, expected: Option<&str>) {
            assert_eq!(last_segment(address).as_deref(), expected);
        }
        check("rabbitmq://rabbit.acme.io/prod/submit-order?prefetch=16", Some("submit-order"));
        check("rabbitmq://rabbit.acme.io:5671/submit-order", Some("submit-order"));
        check("rabbitmq://rabbit/prod/Acme.Orders:SubmitOrder?type=topic&x=a/b", Some("Acme.Orders:SubmitOrder"));
        check("rabbitmq://rabbit/", None);
        check("submit-order", None);
        check("", None);
    }
}
