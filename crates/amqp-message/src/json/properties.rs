//! Properties as a JSON object of those that are set, by their names in AMQP 0-9-1.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::Properties;

/// How [`Properties`] are written: one field of the same name for each.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Properties", deny_unknown_fields)]
struct PropertiesForm {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    content_encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    delivery_mode: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    priority: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    expiration: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    timestamp: Option<u64>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none", default)]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    app_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cluster_id: Option<String>,
}

/// As text, for storing.
pub fn properties_to_string(properties: &Properties) -> String {
    let mut text = Vec::with_capacity(128);
    // Neither can fail: it is written to memory, and what serde_json writes is UTF-8.
    let _ = PropertiesForm::serialize(properties, &mut serde_json::Serializer::new(&mut text));
    String::from_utf8(text).unwrap_or_default()
}

/// As a value, to be made part of a larger one.
pub fn properties_to_json(properties: &Properties) -> Value {
    // Cannot fail: it is written to memory, and all keys are strings.
    PropertiesForm::serialize(properties, serde_json::value::Serializer).unwrap_or_default()
}

/// Reads what [`properties_to_json`] made, or what somebody wrote by hand.
///
/// # Errors
/// What is wrong with it; also a name that is no property.
pub fn properties_from_json(json: &Value) -> Result<Properties, String> {
    PropertiesForm::deserialize(json).map_err(|e| e.to_string())
}
