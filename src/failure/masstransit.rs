//! MassTransit 5 to 8: moves to `<queue>_error` and `<queue>_skipped`.

use serde::Deserialize;

use super::{evidence::Evidence, told::Told};
use crate::domain::death::Reason;

/// What we need of the envelope around a message.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    destination_address: Option<String>,
}

pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    if !evidence.has("MT-Fault-InputAddress") && !evidence.has("MT-Reason") {
        return None;
    }
    Some(Told {
        queue: queue(evidence),
        exchange: original_exchange(evidence),
        // The move keeps the routing key.
        routing_key: Some(evidence.message.routing_key.clone()),
        attempts: evidence.number("MT-Fault-RetryCount").map(|retries| retries.saturating_add(1)),
        published: Some(reason(evidence)),
        ..Told::default()
    })
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

/// Only the envelope tells.
fn original_exchange(evidence: &Evidence) -> Option<String> {
    let content_type = evidence.message.properties.content_type.as_deref()?;
    if !content_type.starts_with("application/vnd.masstransit+json") {
        return None;
    }
    last_segment(&evidence.body::<Envelope>()?.destination_address?)
}

/// `dead-letter`: its endpoint has no consumer for the type, so nothing was tried and nothing went wrong.
fn reason(evidence: &Evidence) -> Reason {
    match evidence.message.headers.get_str("MT-Reason") {
        Some("dead-letter") => Reason::Unknown,
        _ => Reason::Rejected,
    }
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
