//! Celery: rejects, and counts its own retries.

use amqp_message::{field::FieldValue, message::Message};

use super::{evidence::Evidence, framework::Framework, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Celery",
    records: "attempts, type",
    retried: "its count of retries begins anew",
    read,
    clean,
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

/// With the count in place the first failure would be the last.
fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    message.headers.replace("retries", FieldValue::LongInt(0));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_no_message_reaches_is_not_believed() {
        fn check(retries: i64, attempts: u64, remarks: &[&str]) {
            let mut message = Message::default();
            message.headers.set("task", FieldValue::string("billing.charge"));
            message.headers.set("id", FieldValue::string("a"));
            message.headers.set("retries", FieldValue::LongLongInt(retries));
            let report = crate::read(&message);
            assert_eq!(report.failure.attempts, attempts, "{retries}");
            assert_eq!(report.not_taken, remarks, "{retries}");
        }
        check(3, 4, &[]);
        check(999_999, 1_000_000, &[]);
        let why = "it says that it failed 4611686018427387905 times, which is not believed beyond 1000000";
        check(1 << 62, 1_000_000, &[why]);
    }
}
