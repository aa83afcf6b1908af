//! EasyNetQ: publishes an error message of its own, with all there is to know in its body.

use amqp_message::{
    field::{FieldTable, FieldValue},
    json::value_from_plain_json,
    message::{Message, Properties},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    assembly, evidence::Evidence, exception, framework::Framework, moment, original::Original, report::FrameworkReport,
};
use crate::{
    danger::Danger,
    inner_body::{InnerBodies, InnerBody},
};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "EasyNetQ",
    records: "exception, stack trace, time, queue, type",
    retried: "the message inside the error message goes back; refused where its body could be text or base64 and `[easynetq.bodies]` does not say which",
    read,
    clean,
    advice: "EasyNetQ's default error strategy records the exception. Strategies that only nack record nothing.",
};

/// The wrapper's type; by version `, EasyNetQ` or `:EasyNetQ` follows.
const ERROR_TYPE: &str = "EasyNetQ.SystemMessages.Error";

/// The body of an error message.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Error {
    queue: Option<String>,
    exchange: Option<String>,
    routing_key: Option<String>,
    exception: Option<String>,
    message: String,
    date_time: Option<String>,
    #[serde(default)]
    basic_properties: Map<String, Value>,
}

/// Whether a property `type` is the wrapper's and not the message's own.
pub(super) fn is_wrapper(kind: &str) -> bool {
    kind.starts_with(ERROR_TYPE)
}

/// What an error message says of the message inside; recognised by its body alone, as nothing else may be at hand.
pub(super) fn original(body: &[u8]) -> Option<Original> {
    if *body.trim_ascii_start().first()? != b'{' {
        return None;
    }
    // Most JSON is told apart without parsing it.
    let text = std::str::from_utf8(body).ok().filter(|text| text.contains("\"BasicProperties\""))?;
    let error: Error = serde_json::from_str(text).ok()?;
    (error.queue.is_some() && error.exception.is_some()).then(|| error.original())
}

fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    if !evidence.message.properties.kind.as_deref().is_some_and(is_wrapper) {
        return None;
    }
    let Some(error) = evidence.body::<Error>() else {
        return Some(FrameworkReport { danger: Some(Danger::EasynetqWrapper), ..FrameworkReport::published() });
    };
    let original = error.original();
    Some(FrameworkReport {
        error: error.exception.as_deref().and_then(exception::dotnet),
        failed_at: error.date_time.as_deref().and_then(moment::iso),
        message_type: original.properties.kind.as_deref().map(assembly::without),
        danger: is_ambiguous(&error.message).then_some(Danger::EasynetqBody),
        original: Some(original),
        queue: error.queue,
        exchange: error.exchange,
        routing_key: error.routing_key,
        ..FrameworkReport::published()
    })
}

/// With EasyNetQ's `Base64ErrorMessageSerializer` it is base64, else the body as text; nothing says which. JSON, which
/// EasyNetQ sends by default, is no base64 unless it is as short as a number.
fn is_ambiguous(message: &str) -> bool {
    let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(message).is_ok();
    !message.is_empty() && !is_json() && BASE64_STANDARD.decode(message).is_ok()
}

/// Puts the message inside in place of the error message, as EasyNetQ's own tool Hosepipe does.
fn clean(message: &mut Message, bodies: &InnerBodies) -> Result<(), Danger> {
    let error: Error = serde_json::from_slice(&message.body).map_err(|_| Danger::EasynetqWrapper)?;
    let original = error.original();
    message.body = match bodies.of(error.queue.as_deref().unwrap_or_default()) {
        Some(InnerBody::Base64) => BASE64_STANDARD.decode(&error.message).map_err(|_| Danger::EasynetqWrapper)?,
        None if is_ambiguous(&error.message) => return Err(Danger::EasynetqBody),
        Some(InnerBody::Text) | None => error.message.into_bytes(),
    };
    original.restore(message);
    Ok(())
}

impl Error {
    fn original(&self) -> Original {
        Original { properties: self.properties(), headers: self.headers() }
    }

    /// Up to version 8.0 each property has a flag beside it that says whether it was set; later only those stand here
    /// that were. A TTL and the user it came from are not for a retry.
    fn properties(&self) -> Properties {
        let number = |name| self.property(name).and_then(Value::as_u64);
        let small = |name| number(name).and_then(|n| u8::try_from(n).ok());
        let text = |name| self.property(name).and_then(Value::as_str).map(str::to_owned);
        Properties {
            content_type: text("ContentType"),
            content_encoding: text("ContentEncoding"),
            delivery_mode: small("DeliveryMode"),
            priority: small("Priority"),
            correlation_id: text("CorrelationId"),
            reply_to: text("ReplyTo"),
            expiration: None,
            message_id: text("MessageId"),
            timestamp: number("Timestamp"),
            kind: text("Type"),
            user_id: None,
            app_id: text("AppId"),
            cluster_id: text("ClusterId"),
        }
    }

    fn headers(&self) -> FieldTable {
        let headers = self.property("Headers").and_then(Value::as_object);
        headers.into_iter().flatten().map(|(name, value)| (name.clone(), header(value))).collect()
    }

    fn property(&self, name: &str) -> Option<&Value> {
        let is_set = self.basic_properties.get(&format!("{name}Present")).is_none_or(|flag| flag == &Value::Bool(true));
        self.basic_properties.get(name).filter(|_| is_set)
    }
}

/// From version 8.1 a header is `{"Type": n, "Value": v}` (`JsonHeaderType`), before that a plain value.
fn header(value: &Value) -> FieldValue {
    let typed = value.as_object().filter(|fields| fields.len() <= 2).and_then(|fields| {
        let kind = fields.get("Type")?.as_u64()?;
        Some((kind, fields.get("Value").unwrap_or(&Value::Null)))
    });
    typed.and_then(|(kind, value)| typed_header(kind, value)).unwrap_or_else(|| value_from_plain_json(value))
}

fn typed_header(kind: u64, value: &Value) -> Option<FieldValue> {
    let whole = || value.as_i64();
    Some(match kind {
        1 => FieldValue::Void,
        2 => FieldValue::Boolean(value.as_bool()?),
        3 => FieldValue::ShortShortUInt(whole()?.try_into().ok()?),
        4 => FieldValue::ShortShortInt(whole()?.try_into().ok()?),
        5 => FieldValue::ShortInt(whole()?.try_into().ok()?),
        6 => FieldValue::LongInt(whole()?.try_into().ok()?),
        7 => FieldValue::LongUInt(whole()?.try_into().ok()?),
        8 => FieldValue::LongLongInt(whole()?),
        9 => FieldValue::Float(single(value.as_f64()?).to_bits()),
        // A decimal becomes what clients without decimals send.
        10 | 11 => FieldValue::Double(value.as_f64()?.to_bits()),
        12 => FieldValue::Timestamp(value.as_u64()?),
        13 => FieldValue::string(value.as_str()?),
        14 | 17 => FieldValue::ByteArray(BASE64_STANDARD.decode(value.as_str()?).ok()?),
        15 => FieldValue::Array(value.as_array()?.iter().map(header).collect()),
        16 => FieldValue::Table(value.as_object()?.iter().map(|(name, value)| (name.clone(), header(value))).collect()),
        _ => return None,
    })
}

/// What was a single before it was written as a double is one again.
#[expect(clippy::cast_possible_truncation, reason = "it is the nearest single that is wanted")]
const fn single(double: f64) -> f32 {
    double as f32
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(body: &Value) -> Message {
        let properties =
            Properties { kind: Some("EasyNetQ.SystemMessages.Error, EasyNetQ".into()), ..Properties::default() };
        Message { properties, body: body.to_string().into_bytes(), ..Message::default() }
    }

    fn cleaned(inner: &str, bodies: &[(&str, InnerBody)]) -> Result<Vec<u8>, Danger> {
        let bodies = InnerBodies::new(bodies.iter().map(|(queue, body)| ((*queue).to_owned(), *body)));
        let mut message = message(&json!({"Queue": "q", "Message": inner}));
        clean(&mut message, &bodies).map(|()| message.body)
    }

    #[test]
    fn what_may_be_base64_needs_to_be_told() {
        let ok = |bytes: &[u8]| Ok(bytes.to_vec());
        assert_eq!(cleaned("{\"a\":1}", &[]), ok(b"{\"a\":1}"));
        assert_eq!(cleaned("1234", &[]), ok(b"1234"));
        assert_eq!(cleaned("", &[]), ok(b""));
        assert_eq!(cleaned("text", &[]), Err(Danger::EasynetqBody));
        assert_eq!(cleaned("text", &[("*", InnerBody::Text)]), ok(b"text"));
        assert_eq!(cleaned("AP8=", &[("q", InnerBody::Base64), ("*", InnerBody::Text)]), ok(&[0, 255]));
        assert_eq!(cleaned("no base64", &[("q", InnerBody::Base64)]), Err(Danger::EasynetqWrapper));
    }

    #[test]
    fn what_is_no_error_message_is_not_unwrapped() {
        for body in [json!({}), json!([]), json!({"Message": 1}), json!("x")] {
            let mut message = message(&body);
            let report = read(&Evidence { message: &message, deaths: &[], site: None }).unwrap();
            assert_eq!(report.danger, Some(Danger::EasynetqWrapper), "{body}");
            assert_eq!(clean(&mut message, &InnerBodies::default()), Err(Danger::EasynetqWrapper));
        }
    }

    /// The original in an error message with these `BasicProperties`.
    fn original_of(basic_properties: &Value) -> Option<Original> {
        let error = json!({
            "RoutingKey": "order.placed", "Exchange": "Acme.Order, Acme", "Queue": "billing", "Exception": "System.E: no",
            "Message": "{}", "DateTime": "2026-03-14T09:26:53Z", "BasicProperties": basic_properties,
        });
        original(error.to_string().as_bytes())
    }

    fn table<const N: usize>(fields: [(&str, FieldValue); N]) -> FieldTable {
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn versions_7_and_8_0_flag_what_is_set() {
        let json = json!({
            "ContentType": null, "Headers": {"tenant": "acme", "n": 7, "big": 5_000_000_000_i64, "gone": null},
            "DeliveryMode": 2, "Priority": 0, "CorrelationId": "4b1c", "Expiration": "00:00:30", "Timestamp": 0,
            "Type": "Acme.Order, Acme", "ContentTypePresent": false, "HeadersPresent": true, "DeliveryModePresent": true,
            "PriorityPresent": false, "CorrelationIdPresent": true, "TimestampPresent": false, "TypePresent": true,
        });
        let properties = Properties {
            delivery_mode: Some(2),
            correlation_id: Some("4b1c".into()),
            kind: Some("Acme.Order, Acme".into()),
            ..Properties::default()
        };
        let headers = table([
            ("tenant", FieldValue::string("acme")),
            ("n", FieldValue::LongInt(7)),
            ("big", FieldValue::LongLongInt(5_000_000_000)),
            ("gone", FieldValue::Void),
        ]);
        assert_eq!(original_of(&json), Some(Original { properties, headers }));
    }

    #[test]
    fn version_8_1_types_its_headers() {
        let json = json!({
            "Timestamp": 1_773_480_413, "ContentEncoding": "gzip",
            "Headers": {
                "a": {"Type": 8, "Value": -1}, "b": {"Type": 10, "Value": 0.5}, "c": {"Type": 17, "Value": "AAE="},
                "d": {"Type": 16, "Value": {"k": {"Type": 8, "Value": -1}}}, "e": "x",
            },
        });
        let (timestamp, content_encoding) = (Some(1_773_480_413), Some("gzip".into()));
        let properties = Properties { timestamp, content_encoding, ..Properties::default() };
        let headers = table([
            ("a", FieldValue::LongLongInt(-1)),
            ("b", FieldValue::Double(0.5_f64.to_bits())),
            ("c", FieldValue::ByteArray(vec![0, 1])),
            ("d", FieldValue::Table(table([("k", FieldValue::LongLongInt(-1))]))),
            ("e", FieldValue::string("x")),
        ]);
        assert_eq!(original_of(&json), Some(Original { properties, headers }));
    }

    #[test]
    fn other_messages_are_their_own() {
        for body in ["{}", "", "{\"Message\": 1}", "CAE=", "{\"BasicProperties\": {}, \"Message\": \"\"}"] {
            assert_eq!(original(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn headers_get_their_types_back() {
        fn check(json: Value, expected: FieldValue) {
            assert_eq!(header(&json), expected, "{json}");
        }
        check(json!("a"), FieldValue::string("a"));
        check(json!({"Type": 1}), FieldValue::Void);
        check(json!({"Type": 3, "Value": 200}), FieldValue::ShortShortUInt(200));
        check(json!({"Type": 6, "Value": -7}), FieldValue::LongInt(-7));
        check(json!({"Type": 7, "Value": 4_000_000_000_u32}), FieldValue::LongUInt(4_000_000_000));
        check(json!({"Type": 9, "Value": 0.1}), FieldValue::Float(0.1_f32.to_bits()));
        check(json!({"Type": 12, "Value": 7}), FieldValue::Timestamp(7));
        check(json!({"Type": 13, "Value": "a"}), FieldValue::string("a"));
        check(json!({"Type": 14, "Value": "AP8="}), FieldValue::ByteArray(vec![0, 255]));
        check(
            json!({"Type": 15, "Value": [{"Type": 2, "Value": true}]}),
            FieldValue::Array(vec![FieldValue::Boolean(true)]),
        );
        let table = |name: &str, value| FieldValue::Table(table([(name, value)]));
        check(json!({"Type": 16, "Value": {"a": {"Type": 1}}}), table("a", FieldValue::Void));
        check(json!({"Kind": "own"}), table("Kind", FieldValue::string("own")));
    }
}
