//! NServiceBus: moves to one queue for all, `error` by default.

use amqp_message::{error_report::ErrorReport, message::Message, time::Timestamp};

use super::{assembly, evidence::Evidence, framework::Framework, moment, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "NServiceBus",
    records: "exception, stack trace, time, queue, type",
    retried: "the headers of the failure are removed",
    read,
    clean,
    advice: "NServiceBus records the exception by itself when it moves a message to its error queue.",
};

/// Headers that ServiceControl takes off before it retries, by their beginnings, and those of the transport
/// (<https://github.com/Particular/ServiceControl>, HeaderFilter).
const ADDED: [&str; 9] = [
    "NServiceBus.Retries",
    "NServiceBus.FLRetries",
    "NServiceBus.FailedQ",
    "NServiceBus.TimeOfFailure",
    "NServiceBus.ExceptionInfo.",
    "NServiceBus.Timeout.Expire",
    "NServiceBus.Transport.RabbitMQ.DelayInSeconds",
    "NServiceBus.Transport.RabbitMQ.ConfirmationId",
    "ServiceControl.EditOf",
];

/// Its counters `NServiceBus.Retries` and `FLRetries` are removed before the move, so attempts are unknown.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let queue = evidence.text("NServiceBus.FailedQ")?;
    let types = evidence.text("NServiceBus.EnclosedMessageTypes");
    let is_managed = evidence.message.headers.iter().any(|(name, _)| name.starts_with("ServiceControl.Retry."));
    Some(FrameworkReport {
        queue: Some(queue),
        error: ErrorReport::new(
            evidence.text("NServiceBus.ExceptionInfo.ExceptionType"),
            evidence.text("NServiceBus.ExceptionInfo.Message"),
            evidence.text("NServiceBus.ExceptionInfo.StackTrace"),
        ),
        failed_at: evidence.text("NServiceBus.TimeOfFailure").as_deref().and_then(time_of_failure),
        message_type: types.as_deref().and_then(|types| types.split(';').next()).map(assembly::without),
        caution: is_managed
            .then_some("ServiceControl manages this message too; decide in one place whether it goes back."),
        ..FrameworkReport::published()
    })
}

/// `yyyy-MM-dd HH:mm:ss:ffffff Z`, with a colon before the microseconds.
fn time_of_failure(text: &str) -> Option<Timestamp> {
    let (seconds, micros) = text.trim().strip_suffix('Z')?.trim_end().rsplit_once(':')?;
    moment::iso(&format!("{seconds}.{micros}Z"))
}

fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    message.headers.remove_where(|name| ADDED.iter().any(|added| name.starts_with(added)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_time_of_failure() {
        fn check(text: &str, expected: Option<i64>) {
            assert_eq!(time_of_failure(text), expected.map(Timestamp::from_micros), "{text}");
        }
        check("2026-03-14 09:26:53:589793 Z", Some(1_773_480_413_589_793));
        check("2026-03-14 09:26:53 Z", None);
        check("Z", None);
        check("", None);
    }
}
