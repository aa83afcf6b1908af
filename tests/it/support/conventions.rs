//! Dead messages as the frameworks really leave them: one vector each, written after their sources.

use amqp_message::{json, message::Message};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

/// All of them, with what is expected of each.
pub fn vectors() -> Vec<Value> {
    serde_json::from_str(include_str!("../../../crates/failure-conventions/vectors.json")).expect("a list of vectors")
}

/// The message of the vector with that id.
pub fn message(id: &str) -> Message {
    let vectors = vectors();
    message_of(vectors.iter().find(|vector| vector["id"] == id).expect("a vector of that id"))
}

pub fn message_of(vector: &Value) -> Message {
    let text = |name: &str| vector[name].as_str().expect("a text").to_owned();
    let base64 = vector["body_base64"].as_str().map(|body| BASE64_STANDARD.decode(body).expect("base64"));
    Message {
        exchange: text("exchange"),
        routing_key: text("routing_key"),
        properties: json::properties_from_json(&vector["properties"]).expect("properties"),
        headers: json::table_from_json(&vector["headers"]).expect("headers"),
        body: base64.unwrap_or_else(|| text("body_utf8").into_bytes()),
    }
}
