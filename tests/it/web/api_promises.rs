//! What the API promises of all its calls alike, read from its description and asked of the server.

use axum::http::Method;
use dead_letter_office::domain::letter::Status;
use serde_json::{Value, json};

use super::{
    dead::dead_in,
    desk::{Desk, ask},
};

/// Each call as method, path and what is said of it.
fn calls(description: &Value) -> Vec<(Method, &str, &Value)> {
    let items = description["paths"].as_object().unwrap().iter();
    items
        .flat_map(|(path, item)| {
            let calls = item.as_object().unwrap().iter();
            calls.filter_map(move |(method, call)| Some((method.to_uppercase().parse().ok()?, &**path, call)))
        })
        .collect()
}

fn takes(call: &Value, name: &str) -> bool {
    call["parameters"].as_array().into_iter().flatten().any(|parameter| parameter["name"] == name)
}

/// What a successful answer holds.
fn answer<'a>(description: &'a Value, call: &'a Value) -> &'a Value {
    let schema = &call["responses"]["200"]["content"]["application/json"]["schema"];
    let reference = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    reference.and_then(|pointer| description.pointer(pointer)).unwrap_or(schema)
}

async fn described() -> (Desk, Value) {
    let desk = Desk::open().await;
    let description = desk.get("/api/openapi.json").await.expect(200).json();
    (desk, description)
}

/// A list is read page by page, and a cursor of another one is refused.
#[tokio::test]
async fn every_list_has_cursors_of_its_own() {
    let (desk, description) = described().await;
    for _ in 0..2 {
        desk.letter_in(Status::Open).await;
    }
    let page = desk.get("/api/v1/letters?limit=1").await.json();
    let cursor = page["next_cursor"].as_str().unwrap();
    let mut n_lists = 0;
    for (method, path, call) in calls(&description) {
        let fields = &answer(&description, call)["properties"];
        // What belongs to one thing is all there.
        if method != Method::GET || fields["items"].is_null() || path.contains("{id}") || path.ends_with("/in-common") {
            continue;
        }
        n_lists += 1;
        assert!(!fields["next_cursor"].is_null(), "{path}");
        assert!(takes(call, "limit") && takes(call, "cursor"), "{path}");
        let empty = desk.get(&format!("{path}?limit=1")).await.expect(200).json();
        assert!(empty["items"].is_array() && empty.get("next_cursor").is_some(), "{path}: {empty}");
        if path != "/api/v1/letters" {
            desk.get(&format!("{path}?cursor={cursor}")).await.problem(400);
        }
    }
    assert_eq!(n_lists, 15);
}

/// What only reads, or asks what would be.
const HARMLESS: [&str; 5] = ["/decode", "/digests/preview", "/rules/test", "/reveal", "/split/preview"];

#[tokio::test]
async fn calls_of_a_kind_are_alike() {
    let (_, description) = described().await;
    for (method, path, call) in calls(&description) {
        let answers = call["responses"].as_object().unwrap();
        let good: Vec<&str> = answers.keys().map(String::as_str).filter(|status| status.starts_with('2')).collect();
        for status in &good {
            let is_begun = ["201", "202"].contains(status);
            assert_eq!(is_begun, !answers[*status]["headers"]["Location"].is_null(), "{method} {path}: {status}");
        }
        let is_harmless = HARMLESS.iter().any(|end| path.ends_with(end));
        assert_eq!(takes(call, "Idempotency-Key"), method == Method::POST && !is_harmless, "{method} {path}");
        // Schemas, markers and grouping rules are never changed, only added or removed; the state of a group is changed by
        // calls of their own.
        let is_state = method == Method::POST && path.contains("/groups/{id}/") && !is_harmless;
        let is_fixed = ["/schemas/", "/markers/", "/grouping-rules/"].iter().any(|kind| path.contains(kind));
        let is_edit = is_state || [Method::PUT, Method::PATCH, Method::DELETE].contains(&method) && !is_fixed;
        assert_eq!((takes(call, "If-Match"), answers.contains_key("412")), (is_edit, is_edit), "{method} {path}");
        if method == Method::DELETE {
            assert_eq!(good, ["204"], "{path}");
        } else if is_edit && !is_state {
            let read = if path.ends_with("/order") { "/api/v1/rules" } else { path };
            for shown in [&description["paths"][read]["get"], call] {
                assert!(!shown["responses"]["200"]["headers"]["ETag"].is_null(), "{method} {path}");
            }
        }
        if method == Method::PATCH {
            let body = &call["requestBody"]["content"]["application/json"]["schema"]["$ref"];
            let fields = &description.pointer(body.as_str().unwrap().trim_start_matches('#')).unwrap()["properties"];
            for (field, schema) in fields.as_object().unwrap() {
                assert!(schema.to_string().contains("\"null\""), "{path}: {field} cannot be taken back");
            }
        }
    }
}

/// What is made is where it is said to be, has the version that is said, and is gone after that version was removed.
#[tokio::test]
async fn what_is_made_is_found_changed_and_removed() {
    let (desk, _) = described().await;
    let made = [
        ("policies", json!({"queues": "orders", "delays": ["1s"]})),
        ("mappings", json!({"queue": "orders", "message_type": "acme.Order"})),
        ("rules", json!({"name": "a", "when": "true", "importance": "low"})),
    ];
    for (kind, mut body) in made {
        let made = desk.post(&format!("/api/v1/{kind}"), &body).await.expect(201);
        let place = made.header("location").to_owned();
        let shown = desk.get(&place).await.expect(200);
        assert_eq!((shown.json(), shown.header("etag")), (made.json(), made.header("etag")), "{kind}");
        let with = async |method: Method, tag: &str, body: &Value| {
            let mut request = ask(method, &place);
            request.headers_mut().insert("if-match", tag.parse().unwrap());
            request.headers_mut().insert("content-type", "application/json".parse().unwrap());
            *request.body_mut() = body.to_string().into();
            desk.send(request).await
        };
        let (field, value) = match kind {
            "policies" => ("jitter", json!(0.5)),
            "mappings" => ("message_type", json!("acme.Other")),
            _ => ("importance", json!("high")),
        };
        body[field] = value;
        with(Method::PUT, "\"another\"", &body).await.problem(412);
        let again = with(Method::PUT, shown.header("etag"), &body).await.expect(200);
        with(Method::DELETE, "\"another\"", &Value::Null).await.problem(412);
        let gone = with(Method::DELETE, again.header("etag"), &Value::Null).await.expect(204);
        assert!(gone.body.is_empty());
        desk.get(&place).await.problem(404);
    }
}

/// They sort as texts.
#[tokio::test]
async fn every_time_is_of_the_same_length() {
    let (desk, description) = described().await;
    let id = desk.receive(dead_in("orders")).await;
    desk.post(&format!("/api/v1/letters/{id}/retry"), &json!({"delay": "1h"})).await.expect(200);
    desk.post("/api/v1/policies", &json!({"queues": "orders", "delays": ["1s"]})).await.expect(201);
    let mut n_times = 0;
    let mut asked: Vec<String> = calls(&description)
        .into_iter()
        .filter(|(method, path, _)| *method == Method::GET && !path.contains('{') && !path.ends_with("csv"))
        .filter(|(_, path, _)| !path.ends_with("ndjson"))
        .map(|(_, path, _)| path.to_owned())
        .collect();
    asked.push(format!("/api/v1/letters/{id}"));
    for path in asked {
        let answer = desk.get(&path).await.expect(200).json();
        each_text(&answer, &mut |text| {
            let is_time = text.len() > 19 && text.as_bytes()[4] == b'-' && text.as_bytes()[10] == b'T';
            if is_time {
                assert_eq!((text.len(), text.ends_with('Z'), &text[19..20]), (27, true, "."), "{path}: {text}");
                n_times += 1;
            }
        });
    }
    assert!(n_times > 10, "{n_times}");
}

fn each_text(value: &Value, check: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => check(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, check)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, check)),
        _ => {}
    }
}
