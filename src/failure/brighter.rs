//! Brighter: rejects, and counts its own requeues.

use super::{evidence::Evidence, told::Told};

/// A requeue publishes to the queue by the default exchange, so only `Topic` still has the original routing key.
pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let requeues = evidence.number("HandledCount")?;
    if !evidence.has("MessageType") {
        return None;
    }
    let topic = evidence.text("Topic")?;
    Some(Told { routing_key: Some(topic), ..Told::attempts(Some(requeues.saturating_add(1))) })
}
