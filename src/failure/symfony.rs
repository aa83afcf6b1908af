//! Symfony Messenger with its JSON serializer. Messages serialized by PHP carry no headers.

use serde::Deserialize;

use super::{evidence::Evidence, told::Told};
use crate::domain::field::FieldValue;

/// Stamps are headers: this prefix and the name of a PHP class.
const STAMP_PREFIX: &str = "X-Message-Stamp-";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RedeliveryStamp {
    retry_count: u64,
}

/// The failure transport's stamp names the transport the message came from, which is no queue.
pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let redelivery = stamp(evidence, r"\RedeliveryStamp");
    let moved = stamp(evidence, r"\SentToFailureTransportStamp").is_some();
    if redelivery.is_none() && !moved {
        return None;
    }
    let attempts = redelivery.and_then(FieldValue::as_str).and_then(attempts);
    let told = if moved { Told::published() } else { Told::default() };
    Some(Told { attempts, ..told })
}

fn stamp<'a>(evidence: &Evidence<'a>, class: &str) -> Option<&'a FieldValue> {
    let mut headers = evidence.message.headers.iter();
    headers.find(|(name, _)| name.starts_with(STAMP_PREFIX) && name.ends_with(class)).map(|(_, value)| value)
}

/// One stamp for each redelivery. The move to the failure transport adds one that counts from 0 again.
fn attempts(stamps: &str) -> Option<u64> {
    let stamps: Vec<RedeliveryStamp> = serde_json::from_str(stamps).ok()?;
    let retries = stamps.iter().map(|stamp| stamp.retry_count).max()?;
    Some(retries.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_redeliveries() {
        fn check(stamps: &str, expected: Option<u64>) {
            assert_eq!(attempts(stamps), expected);
        }
        check(r#"[{"retryCount":1,"redeliveredAt":"2026"},{"retryCount":2},{"retryCount":0}]"#, Some(3));
        check(r#"[{"retryCount":0}]"#, Some(1));
        check("[]", None);
        check(r#"[{"retryCount":-1}]"#, None);
        check("junk", None);
    }
}
