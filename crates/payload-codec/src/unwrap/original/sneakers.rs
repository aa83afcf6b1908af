//! The header `retry_info` of Sneakers and Kicks (`handlers/maxretry.rb`).

use amqp_message::{field::FieldTable, message::Properties};
use serde_json::Value;

use super::{Original, header, small, table, text};

/// Properties and headers that the handler tucked away.
pub(in super::super) fn tucked(headers: &FieldTable) -> Option<Original> {
    let retry_info: Value = serde_json::from_str(headers.get_str("retry_info")?).ok()?;
    // After another trip it is an array with the newest first.
    let newest = if retry_info.is_array() { retry_info.get(0)? } else { &retry_info };
    let tucked = newest.get("properties")?.as_object()?;
    let get = |name: &str| tucked.get(name).unwrap_or(&Value::Null);
    let properties = Properties {
        content_type: text(get("content_type")),
        content_encoding: text(get("content_encoding")),
        delivery_mode: small(get("delivery_mode")),
        priority: small(get("priority")),
        correlation_id: text(get("correlation_id")),
        reply_to: text(get("reply_to")),
        expiration: text(get("expiration")),
        message_id: text(get("message_id")),
        timestamp: seconds(get("timestamp")),
        kind: text(get("type")),
        user_id: text(get("user_id")),
        app_id: text(get("app_id")),
        cluster_id: text(get("cluster_id")),
    };
    let headers =
        get("headers").as_object().map(|fields| table(fields.iter().map(|(name, value)| (name, header(value)))));
    Some(Original { properties, headers: headers.unwrap_or_default(), body: None })
}

/// A number, or a time as Ruby prints it: `2026-03-14 09:21:53 +0000`.
fn seconds(value: &Value) -> Option<u64> {
    const RUBY: &str = "%Y-%m-%d %H:%M:%S %z";
    if let Some(text) = value.as_str() {
        let time = jiff::Timestamp::strptime(RUBY, text).or_else(|_| text.parse()).ok()?;
        return u64::try_from(time.as_second()).ok();
    }
    value.as_u64()
}
