//! Wolverine: with enhanced dead-lettering it publishes what it knows; its native way only rejects.

use amqp_message::{error_report::ErrorReport, message::Message};

use super::{evidence::Evidence, framework::Framework, moment, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Wolverine",
    records: "with `EnableEnhancedDeadLettering`: exception, stack trace, time, attempts, type; the queue since 6.21",
    retried: "the headers of the failure are removed, `attempts` too",
    read,
    clean,
    advice: "EnableEnhancedDeadLettering() records exception, time and, since 6.21, the queue. Without it Wolverine only \
             rejects.",
};

/// The exchange of its native way.
const DEAD_LETTERS: &str = "wolverine-dead-letter-queue";

/// What it adds. `attempts` it also reads: with it in place a retry would go on where the last try ended.
const ADDED: [&str; 8] = [
    "exception-type",
    "exception-message",
    "exception-stack",
    "failed-at",
    "original-destination",
    "original-partition",
    "original-offset",
    "attempts",
];

/// Only 6.21 and later name the queue.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    if !evidence.has("exception-type") || !evidence.has("failed-at") {
        return is_native(evidence).then(FrameworkReport::default);
    }
    let destination = evidence.message.headers.get_str("original-destination");
    Some(FrameworkReport {
        queue: destination.and_then(queue),
        attempts: evidence.number("attempts"),
        error: ErrorReport::new(
            evidence.text("exception-type"),
            evidence.text("exception-message"),
            evidence.text("exception-stack"),
        ),
        failed_at: evidence.text("failed-at").as_deref().and_then(moment::unix_millis),
        message_type: evidence.text("message-type"),
        ..FrameworkReport::published()
    })
}

/// `attempts` alone may be any application's; the exchange or the other headers of an envelope have to go with it.
fn is_native(evidence: &Evidence) -> bool {
    let has_envelope = evidence.has("source") && evidence.has("conversation-id");
    evidence.has("attempts") && (has_envelope || evidence.message.exchange == DEAD_LETTERS)
}

/// Of `rabbitmq://queue/<queue>`, the queue.
fn queue(destination: &str) -> Option<String> {
    let (_, queue) = destination.split_once("://queue/")?;
    (!queue.is_empty()).then(|| queue.to_owned())
}

fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    message.headers.remove_where(|name| ADDED.contains(&name));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_destinations() {
        fn check(destination: &str, expected: Option<&str>) {
            assert_eq!(queue(destination).as_deref(), expected);
        }
        check("rabbitmq://queue/orders", Some("orders"));
        check("rabbitmq://queue/a/queue/b", Some("a/queue/b"));
        check("rabbitmq://exchange/orders", None);
        check("rabbitmq://queue/", None);
    }
}
