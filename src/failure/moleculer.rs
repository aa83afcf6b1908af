//! moleculer-channels: publishes to `FAILED_MESSAGES`.

use super::{evidence::Evidence, told::Told};

/// A group's queue is `<group>.<channel>`, bound to a fanout exchange of the channel's name.
pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let channel = evidence.text("x-original-channel")?;
    let group = evidence.text("x-original-group")?;
    Some(Told {
        queue: Some(format!("{group}.{channel}")),
        exchange: Some(channel),
        routing_key: Some(String::new()),
        ..Told::published()
    })
}
