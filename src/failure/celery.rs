//! Celery, message protocol 2: rejects, and counts its own retries.

use super::{evidence::Evidence, told::Told};

pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    if !evidence.has("task") || !evidence.has("id") {
        return None;
    }
    let retries = evidence.number("retries")?;
    Some(Told::attempts(Some(retries.saturating_add(1))))
}
