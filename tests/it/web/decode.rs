//! `POST /api/v1/decode`: bodies that are no letters.

use axum::http::Method;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    desk::Desk,
    schemas::{fixture, put_set},
};

/// `string e164 = 1 [debug_redact = true]; string country_code = 2;`
const PHONE: &str = "acme.common.v1.PhoneNumber";
const NUMBER: &[u8] = b"\n\x0c+49301234567\x12\x02DE";

async fn desk() -> Desk {
    let desk = Desk::open().await;
    put_set(&desk, "acme", fixture("small.binpb")).await.expect(201);
    desk
}

/// What is asked about `body`, and whatever else is said of it.
fn question(body: &[u8], more: &Value) -> Value {
    let mut question = json!({"body_base64": BASE64_STANDARD.encode(body)});
    question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    question
}

async fn decode(desk: &Desk, body: &[u8], more: Value) -> Value {
    desk.post("/api/v1/decode", &question(body, &more)).await.expect(200).json()
}

#[tokio::test]
async fn a_message_of_a_known_type_is_json() {
    let desk = desk().await;
    let body = BASE64_STANDARD.encode(NUMBER);
    let read = decode(&desk, body.as_bytes(), json!({"type": PHONE})).await;
    let named = [&read["message_type"], &read["type_source"], &read["type_confidence"]];
    assert_eq!(named, [&json!(PHONE), &json!("manual"), &Value::Null]);
    let payload = &read["payload"];
    let about = [&payload["encoding"], &payload["format"], &payload["decoded_as"], &payload["hidden"]];
    assert_eq!(about, [&json!(["base64"]), &json!("protobuf"), &json!(PHONE), &json!(true)]);
    assert_eq!(payload["json"]["countryCode"], "DE");
    assert!(!payload.to_string().contains("+49"), "{payload}");
}

#[tokio::test]
async fn headers_and_mappings_name_types_too() {
    let desk = desk().await;
    let headers = json!({"headers": {"cloudEvents:type": PHONE, "n": {"t": "long", "v": 1}}});
    let read = decode(&desk, NUMBER, headers).await;
    assert_eq!((&read["message_type"], &read["type_source"]), (&json!(PHONE), &json!("header")));
    let mapping = json!({"queue": "calls.*", "message_type": PHONE});
    desk.call(Method::POST, "/api/v1/mappings", &mapping).await.expect(201);
    let read = decode(&desk, NUMBER, json!({"queue": "calls.today"})).await;
    assert_eq!((&read["message_type"], &read["type_source"]), (&json!(PHONE), &json!("mapping")));
}

#[tokio::test]
async fn candidates_have_reasons_and_add_up_to_one_at_most() {
    let read = decode(&desk().await, NUMBER, json!({"routing_key": "phone.number"})).await;
    let candidates = read["payload"]["candidates"].as_array().unwrap();
    assert!(candidates.iter().any(|candidate| candidate["type"] == PHONE), "{read}");
    let total: f64 = candidates.iter().map(|candidate| candidate["confidence"].as_f64().unwrap()).sum();
    assert!(total > 0.5 && total <= 1.0 + 1e-9, "{total}");
    for candidate in candidates {
        assert!(candidate["also"].is_array() && !candidate["evidence"][0].as_str().unwrap().is_empty(), "{candidate}");
    }
    assert_eq!(read["payload"]["hidden"], true, "it may be a phone number");
}

#[tokio::test]
async fn json_stays_what_it_is() {
    let desk = desk().await;
    let request = question(b"{\"n\": 12345678901234567890.10}", &json!({}));
    let answer = desk.post("/api/v1/decode", &request).await.expect(200);
    assert!(answer.text().contains("\"json\":{\"n\": 12345678901234567890.10}"), "{}", answer.text());
    let read = decode(&desk, b"Dear all, the shop is closed.", json!({"content_type": "text/plain"})).await;
    let payload = &read["payload"];
    assert_eq!((&payload["format"], &payload["json"]), (&json!("text"), &Value::Null));
    assert_eq!((&payload["text"], &payload["candidates"]), (&json!("Dear all, the shop is closed."), &json!([])));
}

#[tokio::test]
async fn encodings_can_be_said() {
    let desk = desk().await;
    let read = decode(&desk, b"aGVsbG8=", json!({"encoding": ["base64"]})).await;
    assert_eq!((&read["payload"]["encoding"], &read["payload"]["text"]), (&json!(["base64"]), &json!("hello")));
    let read = decode(&desk, BASE64_STANDARD.encode(NUMBER).as_bytes(), json!({"encoding": []})).await;
    assert_eq!((&read["payload"]["encoding"], &read["payload"]["format"]), (&json!([]), &json!("text")));
}

#[tokio::test]
async fn what_cannot_be_read_as_asked_is_refused() {
    let desk = desk().await;
    for (more, why) in [
        (json!({"type": "acme.Nope"}), "no schema describes acme.Nope"),
        (json!({"encoding": ["gzip"]}), "not encoded as gzip"),
        (json!({"encoding": ["rot13"]}), "encoding[0]: \"rot13\" is not possible; it takes one of gzip"),
        (json!({"body_base64": "?"}), "body_base64: "),
        (json!({"headers": {"n": 1}}), "headers: \"n\": numbers"),
        (json!({"colour": "red"}), "colour"),
    ] {
        let detail = desk.post("/api/v1/decode", &question(NUMBER, &more)).await.problem(422);
        assert!(detail.contains(why), "{more}: {detail}");
    }
    assert!(desk.post("/api/v1/decode", &json!({})).await.problem(422).contains("body_base64"));
}

#[tokio::test]
async fn a_body_too_large_to_decode_says_so() {
    let read = decode(&desk().await, &vec![b'a'; 300_000], json!({})).await;
    assert!(read["payload"]["remarks"][0].as_str().unwrap().contains("decode.max_bytes"), "{read}");
}
