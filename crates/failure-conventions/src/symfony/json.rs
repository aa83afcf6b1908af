//! Stamps as the JSON serializer writes them: one header for each class, holding a JSON array.

use amqp_message::{error_report::ErrorReport, field::FieldValue};
use serde::{Deserialize, de::DeserializeOwned};

use super::super::{
    evidence::Evidence,
    moment,
    report::{FrameworkReport, OwnRetry},
};

/// Stamps are headers: this prefix and the name of a PHP class.
pub(super) const STAMP_PREFIX: &str = "X-Message-Stamp-";

/// Stamps of retries and failures, by the ends of their names. With the first in place Symfony drops the message in
/// silence on its next failure.
const OF_FAILURE: [&str; 4] =
    [r"\SentToFailureTransportStamp", r"\ErrorDetailsStamp", r"\RedeliveryStamp", r"\DelayStamp"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RedeliveryStamp {
    retry_count: u64,
    redelivered_at: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ErrorDetailsStamp {
    exception_class: Option<String>,
    exception_message: Option<String>,
    flatten_exception: Option<FlattenException>,
}

#[derive(Deserialize)]
struct FlattenException {
    file: Option<String>,
    line: Option<u64>,
    trace_as_string: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentToFailureTransportStamp {
    original_receiver_name: Option<String>,
}

pub(super) fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    if !evidence.message.headers.iter().any(|(name, _)| name.starts_with(STAMP_PREFIX)) {
        return None;
    }
    let moved = stamp(evidence, r"\SentToFailureTransportStamp");
    let report = if moved.is_some() { FrameworkReport::published() } else { FrameworkReport::default() };
    let redeliveries: Vec<RedeliveryStamp> = stamps(evidence, r"\RedeliveryStamp");
    let transports: Vec<SentToFailureTransportStamp> = stamps(evidence, r"\SentToFailureTransportStamp");
    Some(FrameworkReport {
        queue_candidates: transports.into_iter().filter_map(|stamp| stamp.original_receiver_name).collect(),
        attempts: attempts(&redeliveries),
        // The move itself is the last redelivery.
        failed_at: redeliveries.last().filter(|_| moved.is_some()).and_then(RedeliveryStamp::at),
        error: stamps(evidence, r"\ErrorDetailsStamp").pop().and_then(ErrorDetailsStamp::report),
        message_type: evidence.text("type"),
        own_retry: redeliveries.last().filter(|_| moved.is_none()).and_then(RedeliveryStamp::own_retry),
        ..report
    })
}

/// Whether a header is about retries and failures.
pub(super) fn is_of_failure(name: &str) -> bool {
    name.starts_with(STAMP_PREFIX) && OF_FAILURE.iter().any(|class| name.ends_with(class))
}

fn stamp<'a>(evidence: &Evidence<'a>, class: &str) -> Option<&'a FieldValue> {
    let mut headers = evidence.message.headers.iter();
    headers.find(|(name, _)| name.starts_with(STAMP_PREFIX) && name.ends_with(class)).map(|(_, value)| value)
}

fn stamps<T: DeserializeOwned>(evidence: &Evidence, class: &str) -> Vec<T> {
    let json = stamp(evidence, class).and_then(FieldValue::as_str);
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

/// One stamp for each redelivery. The move to the failure transport adds one that counts from 0 again.
fn attempts(stamps: &[RedeliveryStamp]) -> Option<u64> {
    let retries = stamps.iter().map(|stamp| stamp.retry_count).max()?;
    Some(retries.saturating_add(1))
}

impl RedeliveryStamp {
    fn at(&self) -> Option<amqp_message::time::Timestamp> {
        moment::iso(self.redelivered_at.as_deref()?)
    }

    fn own_retry(&self) -> Option<OwnRetry> {
        (self.retry_count > 0).then(|| OwnRetry { number: self.retry_count, failed_before: self.at() })
    }
}

impl ErrorDetailsStamp {
    fn report(self) -> Option<ErrorReport> {
        let trace = self.flatten_exception.map(|exception| {
            let place = exception.file.map(|file| format!("{file}:{}\n", exception.line.unwrap_or_default()));
            place.unwrap_or_default() + &exception.trace_as_string.unwrap_or_default()
        });
        ErrorReport::new(self.exception_class, self.exception_message, trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_redeliveries() {
        fn check(stamps: &str, expected: Option<u64>) {
            let stamps: Vec<RedeliveryStamp> = serde_json::from_str(stamps).unwrap_or_default();
            assert_eq!(attempts(&stamps), expected);
        }
        check(r#"[{"retryCount":1,"redeliveredAt":"2026"},{"retryCount":2},{"retryCount":0}]"#, Some(3));
        check(r#"[{"retryCount":0}]"#, Some(1));
        check("[]", None);
        check(r#"[{"retryCount":-1}]"#, None);
        check("junk", None);
    }

    #[test]
    fn knows_the_stamps_of_a_failure() {
        fn check(name: &str, expected: bool) {
            assert_eq!(is_of_failure(name), expected, "{name}");
        }
        check(r"X-Message-Stamp-Symfony\Component\Messenger\Stamp\DelayStamp", true);
        check(r"X-Message-Stamp-Symfony\Component\Messenger\Stamp\BusNameStamp", false);
        check(r"Symfony\Component\Messenger\Stamp\DelayStamp", false);
    }
}
