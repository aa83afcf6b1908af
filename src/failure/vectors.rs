//! What the frameworks really send: one vector each, written after their sources.

use serde_json::Value;

use super::read;
use crate::{
    domain::{
        death::{Failure, Reason},
        field::{FieldTable, FieldValue},
        message::Message,
        time::Timestamp,
    },
    own_headers, typed_json,
};

const VECTORS: &str = include_str!("../../tests/fixtures/conventions.json");

fn vectors() -> Vec<Value> {
    serde_json::from_str(VECTORS).unwrap()
}

fn text(vector: &Value, name: &str) -> String {
    vector[name].as_str().unwrap().to_owned()
}

/// The message of a vector, without its body where that is in base64: nothing to read there.
fn message(vector: &Value) -> Message {
    Message {
        exchange: text(vector, "exchange"),
        routing_key: text(vector, "routing_key"),
        properties: typed_json::properties_from_json(&vector["properties"]).unwrap(),
        headers: typed_json::table_from_json(&vector["headers"]).unwrap(),
        body: vector["body_utf8"].as_str().unwrap_or_default().into(),
    }
}

/// A framework's exception is a consumer's refusal; what it skipped has no reason we know.
fn expected_reason(word: &str) -> Reason {
    match word {
        "exception" => Reason::Rejected,
        "skipped" => Reason::Unknown,
        other => other.parse().unwrap(),
    }
}

/// What a vector expects; where it says null, the address is the delivery's own and the attempt the first.
fn check(vector: &Value) {
    let message = message(vector);
    let failure = read(&message);
    let expect = &vector["expect"];
    let id = &vector["id"];
    assert_eq!(failure.queue.as_deref(), expect["queue"].as_str(), "queue of {id}");
    assert_eq!(failure.exchange, expect["original_exchange"].as_str().unwrap_or(&message.exchange), "exchange of {id}");
    assert_eq!(
        failure.routing_key,
        expect["original_routing_key"].as_str().unwrap_or(&message.routing_key),
        "routing key of {id}"
    );
    assert_eq!(failure.reason, expected_reason(expect["reason"].as_str().unwrap()), "reason of {id}");
    assert_eq!(failure.attempts, expect["attempts"].as_u64().unwrap_or(1), "attempts of {id}");
}

#[test]
fn all_vectors() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 39);
    vectors.iter().for_each(check);
}

/// The vector's message after we sent it back to `queue`, where it had failed `attempts` times, and it failed again.
fn came_back(id: &str, queue: &str, attempts: u64) -> Failure {
    let vectors = vectors();
    let mut message = message(vectors.iter().find(|vector| vector["id"] == id).unwrap());
    let letter = "019a8b7c-0000-7000-8000-000000000001".parse().unwrap();
    own_headers::write(&mut message.headers, letter, queue, attempts);
    read(&message)
}

#[test]
fn earlier_rounds_count() {
    fn check(queue: &str, attempts: u64, expected: u64) {
        assert_eq!(came_back("rmq-retry-loop", queue, attempts).attempts, expected);
    }
    // Its x-death alone counts 3.
    check("orders.process", 0, 3);
    check("orders.process", 2, 3);
    check("orders.process", 7, 8);
    check("another.queue", 7, 3);
    check("orders.process", u64::MAX, 1_000_000_000);
    assert_eq!(came_back("spring-republish-recoverer", "orders", 7).attempts, 1);
}

#[test]
fn the_first_death_there_is_the_first_failure() {
    fn check(id: &str, expected: Option<u64>) {
        assert_eq!(came_back(id, "q", 0).first_failed_at, expected.map(Timestamp::from_seconds), "{id}");
    }
    check("rmq-rejected-312-cc", Some(1_773_479_813));
    check("rmq-retry-loop", Some(1_773_480_413));
    check("rebus-error", None);
    check("sneakers_handlers-backoff", None);
}

fn check_headers(headers: &[(&str, FieldValue)], queue: Option<&str>, reason: Reason) {
    let headers: FieldTable = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let failure = read(&Message { exchange: "dlx".to_owned(), headers, ..Message::default() });
    assert_eq!((failure.queue.as_deref(), failure.reason), (queue, reason));
    assert_eq!((&*failure.exchange, &*failure.routing_key, failure.attempts), ("dlx", "", 1));
}

#[test]
fn nothing_is_guessed() {
    check_headers(&[], None, Reason::Unknown);
    check_headers(&[("x-death", FieldValue::string("junk"))], None, Reason::Unknown);
    check_headers(&[("x-last-death-queue", FieldValue::string("nsb.v2.delay-level-03"))], None, Reason::Unknown);
    check_headers(&[("x-first-death-queue", FieldValue::string("q.delay.5000"))], None, Reason::Unknown);
    check_headers(&[("reason_poisoned", FieldValue::string("no"))], None, Reason::Rejected);
    check_headers(&[("rejection_reason", FieldValue::string("timeout"))], None, Reason::Rejected);
    check_headers(&[("laravel", FieldValue::LongInt(3)), ("rascal", FieldValue::Void)], None, Reason::Unknown);
}

#[test]
fn the_first_death_speaks_where_x_death_is_broken() {
    let headers = [
        ("x-death", FieldValue::LongInt(1)),
        ("x-first-death-queue", FieldValue::string("q")),
        ("x-first-death-reason", FieldValue::string("maxlen")),
        ("x-first-death-exchange", FieldValue::string("dlx")),
    ];
    check_headers(&headers, Some("q"), Reason::MaxLen);
}
