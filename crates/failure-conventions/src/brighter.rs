//! Brighter: rejects, and counts its own requeues.

use amqp_message::{field::FieldValue, message::Message};

use super::{evidence::Evidence, framework::Framework, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Brighter",
    records: "attempts, routing key",
    retried: "its count of attempts begins anew",
    read,
    clean,
    advice: "Brighter only rejects and writes the reason to its log; look there for the message id.",
};

/// A requeue publishes to the queue by the default exchange, so only `Topic` still has the original routing key.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let requeues = evidence.number("HandledCount")?;
    if !evidence.has("MessageType") {
        return None;
    }
    let topic = evidence.text("Topic")?;
    Some(FrameworkReport { routing_key: Some(topic), ..FrameworkReport::attempts(Some(requeues.saturating_add(1))) })
}

/// It counts from none again.
fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    message.headers.replace("HandledCount", FieldValue::LongInt(0));
    Ok(())
}
