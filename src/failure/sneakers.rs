//! Sneakers and Kicks: the Maxretry handler, and those of AlphaSights' sneakers_handlers.

use serde::Deserialize;
use serde_json::Value;

use super::{evidence::Evidence, site, told::Told};
use crate::domain::death::Death;

/// One entry of the `x-death` that Maxretry tucks away with the other headers.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct TuckedDeath {
    queue: String,
    reason: String,
    exchange: Option<String>,
    #[serde(default)]
    routing_keys: Vec<String>,
}

/// Maxretry publishes to `<queue>-error`, with all headers and properties inside the header `retry_info`.
pub(super) fn read_maxretry(evidence: &Evidence) -> Option<Told> {
    let retry_info = evidence.message.headers.get_str("retry_info")?;
    let newest = newest(serde_json::from_str(retry_info).unwrap_or_default());
    let attempts = newest["num_attempts"].as_u64();
    let Some(death) = tucked_death(&newest) else {
        let queue = evidence.message.exchange.strip_suffix("-error").map(str::to_owned);
        return Some(Told { queue, attempts, ..Told::published() });
    };
    Some(Told {
        queue: Some(death.queue),
        exchange: death.exchange,
        routing_key: death.routing_keys.into_iter().next(),
        attempts,
        ..Told::published()
    })
}

/// One object; after another trip an array of the newest object and of what was before.
fn newest(mut retry_info: Value) -> Value {
    match &mut retry_info {
        Value::Array(rounds) => rounds.first_mut().map(Value::take).unwrap_or_default(),
        _ => retry_info,
    }
}

fn tucked_death(retry_info: &Value) -> Option<TuckedDeath> {
    let deaths = retry_info["properties"]["headers"]["x-death"].as_array()?;
    let mut deaths = deaths.iter().filter_map(|death| TuckedDeath::deserialize(death).ok());
    deaths.find(|death| death.reason == "rejected")
}

/// The retry handlers of sneakers_handlers leave `rejection_reason`.
pub(super) fn read_handlers(evidence: &Evidence) -> Option<Told> {
    if !evidence.has("rejection_reason") {
        return None;
    }
    if evidence.site.is_some() {
        // RetryHandler publishes to the queue itself, numbering the try to come, and rejects the last.
        return Some(Told::attempts(evidence.number("x-retry-count")));
    }
    Some(after_backoff(evidence))
}

/// ExponentialBackoffHandler lets it wait in `<queue>.retry.<seconds>` after each try but the last.
fn after_backoff(evidence: &Evidence) -> Told {
    let queue_of = |death: &Death| site::sneakers_handlers_queue(&death.queue).map(str::to_owned);
    let Some(newest) = evidence.deaths.iter().find(|death| queue_of(death).is_some()) else {
        return Told::published();
    };
    let queue = queue_of(newest);
    let waits = evidence.deaths.iter().filter(|death| queue_of(death) == queue);
    let tries = waits.map(|death| death.count).fold(1, u64::saturating_add);
    Told { exchange: Some(newest.exchange.clone()), attempts: Some(tries), queue, ..Told::published() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{field::FieldValue, message::Message};

    fn check(retry_info: &str, queue: Option<&str>, attempts: Option<u64>) {
        let headers = [("retry_info".to_owned(), FieldValue::string(retry_info))].into_iter().collect();
        let message = Message { exchange: "billing-error".to_owned(), headers, ..Message::default() };
        let told = read_maxretry(&Evidence { message: &message, deaths: &[], site: None }).unwrap();
        assert_eq!((told.queue.as_deref(), told.attempts), (queue, attempts), "{retry_info}");
    }

    #[test]
    fn reads_retry_info() {
        let death = r#""properties":{"headers":{"x-death":[{"queue":"w-retry","reason":"expired"},
            {"queue":"w","reason":"rejected"}]}}"#;
        check("junk", Some("billing"), None);
        check(r#"{"num_attempts":6}"#, Some("billing"), Some(6));
        check(&format!(r#"{{"num_attempts":6,{death}}}"#), Some("w"), Some(6));
        check(r#"[{"num_attempts":2},["num_attempts",6],["error","reject"]]"#, Some("billing"), Some(2));
        check("[]", Some("billing"), None);
    }
}
