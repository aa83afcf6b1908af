//! NServiceBus: moves to one queue for all, `error` by default.

use super::{evidence::Evidence, told::Told};

/// Its counters `NServiceBus.Retries` and `FLRetries` are removed before the move, so attempts are unknown.
pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let queue = evidence.text("NServiceBus.FailedQ")?;
    Some(Told { queue: Some(queue), ..Told::published() })
}
