//! Sneakers and Kicks with the Maxretry handler.

use amqp_message::{
    error_report::ErrorReport,
    json::table_from_plain_json,
    message::{Message, Properties},
};
use serde::Deserialize;
use serde_json::Value;

use super::{evidence::Evidence, framework::Framework, moment, original::Original, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Sneakers",
    records: "with Maxretry, in Kicks too: exception, stack trace, time, attempts, queue",
    retried: "properties and headers inside `retry_info` go back",
    read,
    clean,
    advice: "Sneakers::Handlers::Maxretry records class, message and backtrace of an exception. For a plain reject! there is \
             none: raise instead.",
};

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
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let newest = retry_info(evidence.message)?;
    let attempts = newest["num_attempts"].as_u64();
    let original = inside(&newest);
    let report = FrameworkReport {
        attempts,
        error: error(&newest),
        failed_at: newest["failed_at"].as_str().and_then(moment::iso),
        message_type: original.as_ref().and_then(|original| original.properties.kind.clone()),
        original,
        ..FrameworkReport::published()
    };
    let Some(death) = tucked_death(&newest) else {
        let queue = evidence.message.exchange.strip_suffix("-error").map(str::to_owned);
        return Some(FrameworkReport { queue, ..report });
    };
    Some(FrameworkReport {
        queue: Some(death.queue),
        exchange: death.exchange,
        routing_key: death.routing_keys.into_iter().next(),
        ..report
    })
}

fn retry_info(message: &Message) -> Option<Value> {
    let retry_info = message.headers.get_str("retry_info")?;
    Some(newest(serde_json::from_str(retry_info).unwrap_or_default()))
}

/// One object; after another trip an array of the newest object and of what was before.
fn newest(mut retry_info: Value) -> Value {
    match &mut retry_info {
        Value::Array(rounds) => rounds.first_mut().map(Value::take).unwrap_or_default(),
        _ => retry_info,
    }
}

/// A plain `reject!` has the word `reject` for its error, which says nothing.
fn error(retry_info: &Value) -> Option<ErrorReport> {
    let text = |name: &str| retry_info[name].as_str().map(str::to_owned);
    let word = text("error").filter(|word| word != "reject");
    let backtrace = retry_info["backtrace"]
        .as_array()
        .map(|lines| lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"));
    ErrorReport::new(text("error_class").or(word), text("error_message"), backtrace)
}

fn tucked_death(retry_info: &Value) -> Option<TuckedDeath> {
    let deaths = retry_info["properties"]["headers"]["x-death"].as_array()?;
    let mut deaths = deaths.iter().filter_map(|death| TuckedDeath::deserialize(death).ok());
    deaths.find(|death| death.reason == "rejected")
}

/// The properties and headers that Maxretry tucked away.
pub(super) fn original(message: &Message) -> Option<Original> {
    inside(&retry_info(message)?)
}

fn inside(retry_info: &Value) -> Option<Original> {
    let properties = retry_info["properties"].as_object()?;
    let text = |name: &str| properties.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| properties.get(name).and_then(Value::as_u64);
    let small = |name: &str| number(name).and_then(|n| u8::try_from(n).ok());
    Some(Original {
        properties: Properties {
            content_type: text("content_type"),
            content_encoding: text("content_encoding"),
            delivery_mode: small("delivery_mode"),
            priority: small("priority"),
            correlation_id: text("correlation_id"),
            reply_to: text("reply_to"),
            expiration: text("expiration"),
            message_id: text("message_id"),
            timestamp: number("timestamp").or_else(|| text("timestamp").as_deref().and_then(ruby_time)),
            kind: text("type"),
            user_id: text("user_id"),
            app_id: text("app_id"),
            cluster_id: text("cluster_id"),
        },
        headers: properties.get("headers").and_then(Value::as_object).map(table_from_plain_json).unwrap_or_default(),
    })
}

/// Seconds of a time that Ruby has made a string of, or `ActiveSupport`, which writes another.
fn ruby_time(text: &str) -> Option<u64> {
    let at = moment::formatted("%Y-%m-%d %H:%M:%S %z", text).or_else(|| moment::iso(text))?;
    u64::try_from(at.as_micros().div_euclid(1_000_000)).ok()
}

/// What cannot be read leaves the message with what it has now; the body is the original in any case.
fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    let original = original(message);
    message.headers.remove_where(|name| name == "retry_info");
    if let Some(original) = original {
        original.restore(message);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::field::FieldValue;

    fn message(retry_info: &str) -> Message {
        let headers = [("retry_info".to_owned(), FieldValue::string(retry_info))].into_iter().collect();
        Message { exchange: "billing-error".to_owned(), headers, ..Message::default() }
    }

    fn check(retry_info: &str, queue: Option<&str>, attempts: Option<u64>) {
        let report = read(&Evidence { message: &message(retry_info), deaths: &[], site: None }).unwrap();
        assert_eq!((report.queue.as_deref(), report.attempts), (queue, attempts), "{retry_info}");
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

    #[test]
    fn a_plain_reject_has_no_error() {
        fn check(retry_info: &str, expected: Option<(Option<&str>, Option<&str>)>) {
            let report = read(&Evidence { message: &message(retry_info), deaths: &[], site: None }).unwrap();
            let found = report.error.as_ref().map(|error| (error.kind.as_deref(), error.message.as_deref()));
            assert_eq!(found, expected);
        }
        check(r#"{"error":"reject"}"#, None);
        check(r#"{"error":"timeout"}"#, Some((Some("timeout"), None)));
        check(r#"{"error":"A","error_class":"A","error_message":"b"}"#, Some((Some("A"), Some("b"))));
    }

    #[test]
    fn tucked_properties_are_the_originals() {
        let info = r#"{"num_attempts":6,"properties":{"content_type":"application/json","priority":0,
            "type":"order.placed","message_id":"m-1","timestamp":"2026-03-14 09:21:53 +0000","headers":{"tenant":"acme"}}}"#;
        let properties = Properties {
            content_type: Some("application/json".into()),
            priority: Some(0),
            kind: Some("order.placed".into()),
            message_id: Some("m-1".into()),
            timestamp: Some(1_773_480_113),
            ..Properties::default()
        };
        let headers = [("tenant".to_owned(), FieldValue::string("acme"))].into_iter().collect();
        let expected = Original { properties, headers };
        for info in [info.to_owned(), format!(r#"[{info},["error","no"]]"#)] {
            assert_eq!(original(&message(&info)).as_ref(), Some(&expected));
        }
        assert_eq!(original(&message("[[")), None);
    }

    #[test]
    fn a_message_without_readable_info_keeps_what_it_has() {
        let mut message = message("junk");
        message.properties.priority = Some(3);
        clean(&mut message, &InnerBodies::default()).unwrap();
        assert_eq!((message.headers.len(), message.properties.priority), (0, Some(3)));
    }

    #[test]
    fn times_of_ruby_are_seconds_again() {
        assert_eq!(ruby_time("2026-03-14 09:26:53 +0000"), Some(1_773_480_413));
        assert_eq!(ruby_time("2026-03-14T09:26:53.000Z"), Some(1_773_480_413));
        assert_eq!(ruby_time("1969-12-31 23:00:00 +0000"), None);
        assert_eq!(ruby_time("today"), None);
    }
}
