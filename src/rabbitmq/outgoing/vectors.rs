//! What goes back of the messages that frameworks really send: one vector each.

use std::collections::BTreeSet;

use amqp_message::{
    field::FieldTable,
    json,
    message::{Message, Properties},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use failure_conventions::{
    FailureCount, clean,
    danger::Danger,
    inner_body::{InnerBodies, InnerBody},
};
use serde_json::Value;

use super::outgoing;

const VECTORS: &str = include_str!("../../../crates/failure-conventions/vectors.json");

fn message(vector: &Value) -> Message {
    let text = |name: &str| vector[name].as_str().unwrap().to_owned();
    Message {
        exchange: text("exchange"),
        routing_key: text("routing_key"),
        properties: json::properties_from_json(&vector["properties"]).unwrap(),
        headers: json::table_from_json(&vector["headers"]).unwrap(),
        body: body(vector).unwrap_or_default(),
    }
}

fn body(json: &Value) -> Option<Vec<u8>> {
    let base64 = json["body_base64"].as_str().map(|base64| BASE64_STANDARD.decode(base64).unwrap());
    base64.or_else(|| json["body_utf8"].as_str().map(|text| text.as_bytes().to_vec()))
}

/// What a vector expects of a retry: exactly these headers are gone, these are as given, and all else is as it was.
fn check_retry(vector: &Value) {
    let (id, expect) = (&vector["id"], &vector["expect"]["retry"]);
    let before = message(vector);
    let failure = failure_conventions::read(&before).failure;
    assert_eq!(failure.queue.as_deref(), expect["target_queue"].as_str(), "target of {id}");
    let is_base64 = expect["requires_setting"].is_string();
    if is_base64 {
        assert_eq!(clean(before.clone(), &InnerBodies::default()), Err(Danger::EasynetqBody), "{id}");
    }
    let setting = is_base64.then(|| (failure.queue.clone().unwrap(), InnerBody::Base64));
    let clean = clean(before.clone(), &InnerBodies::new(setting)).unwrap();
    let letter = "019a8b7c-0000-7000-8000-000000000001".parse().unwrap();
    let mut after = outgoing(letter, clean, None, "target", FailureCount::default());
    after.headers.remove_where(|name| name.starts_with("dlo-"));

    check_headers_after(&before.headers, &after.headers, expect, id);
    let kept = Properties { expiration: None, user_id: None, ..before.properties.clone() };
    let given = expect.get("properties").map(|given| json::properties_from_json(given).unwrap());
    assert_eq!(after.properties, given.unwrap_or(kept), "properties of {id}");
    let edited = (expect["body"] == "edit").then(|| after.body.clone());
    if expect["body"] == "unwrap" {
        assert_ne!(after.body, before.body, "body of {id}");
    }
    assert_eq!(after.body, body(expect).or(edited).unwrap_or(before.body), "body of {id}");
}

fn check_headers_after(before: &FieldTable, after: &FieldTable, expect: &Value, id: &Value) {
    if let Some(given) = expect.get("headers") {
        assert_eq!(after, &json::table_from_json(given).unwrap(), "headers of {id}");
        return;
    }
    let names = |table: &FieldTable| table.iter().map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>();
    let gone: BTreeSet<String> = names(before).difference(&names(after)).cloned().collect();
    let expected: BTreeSet<String> = serde_json::from_value(expect["strip_headers"].clone()).unwrap();
    assert_eq!(gone, expected, "headers that go from {id}");
    let edited = expect.get("edit_headers").map(|given| json::table_from_json(given).unwrap()).unwrap_or_default();
    for (name, value) in after.iter() {
        assert_eq!(Some(value), edited.get(name).or_else(|| before.get(name)), "header {name} of {id}");
    }
}

#[test]
fn all_retries() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    vectors.iter().for_each(check_retry);
}
