//! Celery: rejects, and counts its own retries.

use super::{
    evidence::Evidence,
    framework::{Framework, as_it_is},
    report::FrameworkReport,
};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Celery",
    records: "attempts, type",
    retried: "goes back as it is, its header `retries` too",
    read,
    clean: as_it_is,
    advice: "Celery acknowledges tasks that fail and keeps the traceback in its result backend, under the task's id. Only \
             what is rejected, or is no task it knows, comes here; its log says why.",
};

/// Message protocol 2.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    if !evidence.has("task") || !evidence.has("id") {
        return None;
    }
    let retries = evidence.number("retries")?;
    Some(FrameworkReport {
        message_type: evidence.text("task"),
        ..FrameworkReport::attempts(Some(retries.saturating_add(1)))
    })
}
