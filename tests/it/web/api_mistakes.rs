//! All that is wrong with a call is told at once, each by its place: of every call that the description has.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::{HeaderName, Method};
use dead_letter_office::domain::letter::{LetterId, Status};
use serde_json::{Map, Value, json};

use super::{
    answer::Answer,
    desk::{Desk, ask},
    groups::{group_of, sort},
    schemas::post_form,
};

/// A call, and what it takes.
struct Call {
    method: Method,
    path: String,
    /// The schema of its body of JSON.
    body: Option<Value>,
    parameters: Vec<String>,
    headers: Vec<String>,
}

/// All calls that are described, about this letter or its group.
async fn calls(desk: &Desk, letter: LetterId) -> (Value, Vec<Call>) {
    sort(desk).await;
    let group = group_of(desk, letter).await;
    let group = group.trim_start_matches("/groups/");
    let description = desk.get("/api/openapi.json").await.expect(200).json();
    let mut calls = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, call) in item.as_object().unwrap() {
            let Ok(method) = method.to_uppercase().parse() else { continue };
            let named = |place: &str| {
                let parameters = call["parameters"].as_array().into_iter().flatten().filter(|it| it["in"] == *place);
                parameters.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
            };
            calls.push(Call {
                method,
                path: path.replace("/groups/{id}", &format!("/groups/{group}")).replace("{id}", &letter.to_string()),
                body: call.pointer("/requestBody/content/application~1json/schema").cloned(),
                parameters: named("query"),
                headers: named("header"),
            });
        }
    }
    (description, calls)
}

/// What a schema refers to; of several that which is not null.
fn resolved<'a>(description: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(choices) = schema["oneOf"].as_array() {
        return resolved(description, choices.iter().find(|choice| choice["type"] != "null").unwrap());
    }
    match schema["$ref"].as_str() {
        Some(reference) => resolved(description, description.pointer(reference.trim_start_matches('#')).unwrap()),
        None => schema,
    }
}

/// The kinds of mistakes by their places.
fn told(answer: &Answer, place: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut told: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for error in answer.json()["errors"].as_array().unwrap_or_else(|| panic!("{}: {}", answer.asked, answer.text())) {
        let place = error[place].as_str().unwrap_or_else(|| panic!("{}: {error}", answer.asked)).to_owned();
        told.entry(place).or_default().insert(error["code"].as_str().unwrap().to_owned());
    }
    told
}

async fn a_desk() -> (Desk, LetterId) {
    let desk = Desk::open().await;
    let id = desk.letter_in(Status::Open).await;
    (desk, id)
}

/// Of another type than any that is described.
fn of_another_type(schema: &Value) -> Option<Value> {
    match &schema["type"] {
        Value::Null => None,
        types if types.to_string().contains("object") => Some(json!(7)),
        _ => Some(json!({"nope": true})),
    }
}

/// Of its type, and beyond its bounds.
fn out_of_bounds(schema: &Value) -> Option<(Value, &'static str)> {
    let number = |key: &str| schema[key].as_f64();
    if schema["enum"].is_array() {
        return Some((json!("nope"), "choice"));
    }
    let formats = ["uuid", "delay", "length-of-time", "point-in-time"];
    if schema["format"].as_str().is_some_and(|format| formats.contains(&format))
        || schema["contentEncoding"] == "base64"
    {
        return Some((json!("?"), "format"));
    }
    match (number("maxLength"), number("maximum"), number("minItems"), number("maxItems")) {
        (Some(most), ..) => Some((json!("x".repeat(most as usize + 1)), "length")),
        (_, Some(most), ..) => Some((json!(most as u64 + 1), "range")),
        (_, _, Some(_), _) => Some((json!([]), "length")),
        (.., Some(most)) => Some((json!(vec!["gzip"; most as usize + 1]), "length")),
        _ => number("minimum").map(|least| (json!(least as i64 - 1), "range")),
    }
}

#[tokio::test]
async fn every_field_of_a_body_is_told_with_all_the_others() {
    let (desk, id) = a_desk().await;
    let (description, calls) = calls(&desk, id).await;
    let mut n_bodies = 0;
    for call in calls {
        let Some(schema) = call.body.as_ref().map(|schema| resolved(&description, schema)) else { continue };
        n_bodies += 1;
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        let (mut types, mut bounds) = (Map::new(), Map::new());
        let (mut wrong_types, mut wrong_bounds) = (BTreeMap::new(), BTreeMap::new());
        for (name, schema) in &fields {
            let schema = resolved(&description, schema);
            if let Some(value) = of_another_type(schema) {
                types.insert(name.clone(), value);
                wrong_types.insert(format!("/{name}"), if schema["enum"].is_array() { "choice" } else { "type" });
            }
            if let Some((value, code)) = out_of_bounds(schema) {
                bounds.insert(name.clone(), value);
                wrong_bounds.insert(format!("/{name}"), code);
            }
        }
        for (mut body, mut expected) in [(types, wrong_types), (bounds, wrong_bounds)] {
            body.insert("nope".to_owned(), json!(1));
            expected.insert("/nope".to_owned(), "unknown");
            let answer = desk.call(call.method.clone(), &call.path, &body.into()).await;
            answer.clone().problem(422);
            let told = told(&answer, "pointer");
            for (pointer, code) in expected {
                assert!(
                    told.get(&pointer).is_some_and(|codes| codes.contains(code)),
                    "{pointer} {code}: {}",
                    answer.text()
                );
            }
        }
    }
    assert!(n_bodies >= 17, "{n_bodies} bodies");
}

#[tokio::test]
async fn every_parameter_is_told_with_all_the_others() {
    let (desk, id) = a_desk().await;
    let (_, calls) = calls(&desk, id).await;
    for call in calls {
        let empty: String = call.parameters.iter().map(|name| format!("{name}=&")).collect();
        let answer = desk.send(ask(call.method.clone(), &format!("{}?{empty}nope=1&neither=2", call.path))).await;
        // A body that lacks something is told as well.
        assert!([400, 422].contains(&answer.status.as_u16()), "{}: {}", answer.asked, answer.text());
        let told = all_told(&answer);
        for name in ["nope", "neither"] {
            assert!(told.contains(&format!("{name} unknown")), "{name}: {}", answer.text());
        }
        for name in &call.parameters {
            assert!(told.contains(&format!("{name} empty")), "{name}: {}", answer.text());
        }
    }
}

/// What is wrong with the address and the headers of a call is told with what is wrong with its body.
#[tokio::test]
async fn address_headers_and_body_are_told_together() {
    let (desk, id) = a_desk().await;
    let (_, calls) = calls(&desk, id).await;
    let mut n_versions = 0;
    for call in calls.into_iter().filter(|call| call.body.is_some()) {
        let mut request = ask(call.method.clone(), &format!("{}?nope=1", call.path));
        let mut expected = BTreeSet::from(["/nope unknown".to_owned(), "nope unknown".to_owned()]);
        for name in &call.headers {
            let (wrong, code) = match &**name {
                "If-Match" => ("x".to_owned(), "format"),
                "If-None-Match" => continue,
                _ => ("k".repeat(256), "length"),
            };
            n_versions += usize::from(name == "If-Match");
            request.headers_mut().insert(HeaderName::try_from(name).unwrap(), wrong.parse().unwrap());
            expected.insert(format!("{name} {code}"));
        }
        request.headers_mut().insert("content-type", "application/json".parse().unwrap());
        *request.body_mut() = json!({"nope": 1}).to_string().into();
        let answer = desk.send(request).await;
        answer.clone().problem(422);
        let said: BTreeSet<String> = all_told(&answer);
        assert!(said.is_superset(&expected), "{expected:?}: {}", answer.text());
    }
    assert!(n_versions >= 8, "{n_versions} calls with If-Match");
    // An upload, whose query is read.
    let form = post_form(&desk, "/api/v1/schemas?name=&nope=1", Some("a\0b"), &[]).await;
    form.clone().problem(400);
    assert_eq!(all_told(&form), ["/name format", "name empty", "nope unknown"].map(str::to_owned).into());
}

/// The places and kinds of all mistakes.
fn all_told(answer: &Answer) -> BTreeSet<String> {
    let place = |error: &Value| {
        ["pointer", "parameter", "header"].into_iter().find_map(|key| error[key].as_str().map(str::to_owned))
    };
    let errors = answer.json()["errors"].as_array().cloned().unwrap_or_default();
    errors.iter().map(|error| format!("{} {}", place(error).unwrap(), error["code"].as_str().unwrap())).collect()
}

/// A call, its body, and what is told of it: places and kinds.
type Case<'a> = (&'a str, Value, &'static [(&'static str, &'static str)]);

/// How fields go together, which no schema says, is told with what one does.
#[tokio::test]
async fn what_does_not_go_together_is_told_with_all_the_rest() {
    let (desk, id) = a_desk().await;
    let id = id.to_string();
    let rule = json!({"name": "a", "when": "true", "importance": "low"});
    let rule = desk.post("/api/v1/rules", &rule).await.expect(201).json()["id"].as_str().unwrap().to_owned();
    let (retry, patch, actions) = (format!("POST letters/{id}/retry"), format!("PATCH letters/{id}"), "POST actions");
    let cases: Vec<Case<'_>> = vec![
        (
            "POST groups/actions",
            json!({"action": "resolve", "ids": [id, 7], "until": "soon", "more": 0, "assignee": "me"}),
            &[
                ("/ids/1", "type"),
                ("/until", "excluded"),
                ("/more", "range"),
                ("/more", "excluded"),
                ("/assignee", "excluded"),
            ],
        ),
        (
            "POST groups/actions",
            json!({"action": "snooze", "ids": [id], "until": "soon", "more": 1}),
            &[("/until", "format"), ("/until", "excluded")],
        ),
        ("POST groups/actions", json!({"action": "snooze", "ids": [id], "until": "0s"}), &[("/until", "range")]),
        ("POST groups/actions", json!({"action": "assign", "ids": [id]}), &[("/assignee", "required")]),
        (
            actions,
            json!({"action": "discard", "ids": [], "delay": "soon", "queue": "a", "importance": null, "rate": 0, "until": "1h"}),
            &[
                ("/ids", "length"),
                ("/delay", "format"),
                ("/delay", "excluded"),
                ("/queue", "excluded"),
                ("/importance", "excluded"),
                ("/rate", "range"),
                ("/rate", "excluded"),
                ("/until", "excluded"),
            ],
        ),
        (
            actions,
            json!({"action": "retry", "ids": [id], "filter": {"queue": "", "staus": "x", "q": "a status:opne"},
                "note": "x", "rate": 1, "spread": "40d", "queue": "dlo.due", "until": "soon",
                "canary": {"first": 0, "wait": "3d", "at_most_failed_percent": 100}}),
            &[
                ("/ids", "excluded"),
                ("/filter/queue", "length"),
                ("/filter/staus", "unknown"),
                ("/filter/q", "search"),
                ("/note", "excluded"),
                ("/spread", "excluded"),
                ("/spread", "range"),
                ("/queue", "invalid"),
                ("/until", "format"),
                ("/canary/first", "range"),
                ("/canary/wait", "range"),
                ("/canary/at_most_failed_percent", "range"),
            ],
        ),
        (
            actions,
            json!({"action": "burn", "note": 7}),
            &[("/action", "choice"), ("/note", "type"), ("/ids", "required")],
        ),
        (
            actions,
            json!({"action": "importance", "ids": [id], "rate": 1}),
            &[("/importance", "required"), ("/rate", "excluded")],
        ),
        (
            "POST actions/preview",
            json!({"action": "discard", "ids": [id], "delay": "1s"}),
            &[("/filter", "required"), ("/delay", "excluded")],
        ),
        (
            &retry,
            json!({"json": {}, "text": "", "delay": 7, "queue": "dlo.due",
                "headers": {"set": {"": "a", "a": "b", "dlo-id": "c"}, "remove": ["a", "none"]},
                "properties": {"expiration": "1s", "priority": 256, "type": 7}}),
            &[
                ("/json", "excluded"),
                ("/text", "excluded"),
                ("/delay", "type"),
                ("/queue", "invalid"),
                ("/headers/set/", "invalid"),
                ("/headers/set/dlo-id", "invalid"),
                ("/headers/remove/0", "excluded"),
                ("/headers/remove/1", "invalid"),
                ("/properties/expiration", "format"),
                ("/properties/priority", "range"),
                ("/properties/type", "type"),
            ],
        ),
        (
            "POST policies",
            json!({"queues": "", "delays": ["1s", "40d", "soon"], "initial": "1s", "factor": 0, "via": "mail", "jitter": 2}),
            &[
                ("/queues", "length"),
                ("/delays/2", "format"),
                ("/delays", "excluded"),
                ("/factor", "range"),
                ("/via", "choice"),
                ("/jitter", "range"),
            ],
        ),
        (
            "POST policies",
            json!({"queues": "a", "delays": ["40d", "1s", "50d"], "factor": 2, "attempts": 7}),
            &[("/delays/0", "range"), ("/delays/2", "range"), ("/factor", "excluded"), ("/attempts", "excluded")],
        ),
        (
            "POST policies",
            json!({"queues": "a", "initial": "1s", "max": "40d", "jitter": 7}),
            &[("/max", "range"), ("/jitter", "range")],
        ),
        (
            "POST mappings",
            json!({"queue": "a", "exchange": "b", "message_type": "1.2", "broker": 7}),
            &[("/exchange", "excluded"), ("/message_type", "format"), ("/broker", "type")],
        ),
        (
            "POST mappings",
            json!({"queue": " ", "message_type": " ", "broker": "none"}),
            &[("/queue", "format"), ("/message_type", "format"), ("/broker", "choice")],
        ),
        ("POST mappings", json!({"message_type": ""}), &[("/queue", "required"), ("/message_type", "length")]),
        (
            "POST rules",
            json!({"name": "a\nb", "when": "letter.quue == 'a' && payload.b ==", "importance": "huge", "position": 0}),
            &[("/name", "invalid"), ("/when", "invalid"), ("/importance", "choice"), ("/position", "range")],
        ),
        (
            "PUT rules/order",
            json!({"ids": [rule, rule, id], "x": 1}),
            &[("/ids/1", "repeated"), ("/ids/2", "invalid"), ("/x", "unknown")],
        ),
        (
            "POST rules/test",
            json!({"importance": "huge", "position": 0}),
            &[("/when", "required"), ("/importance", "choice"), ("/position", "range")],
        ),
        (
            "POST rules/test",
            json!({"name": "a\nb", "when": "letter.quue == 'a'", "position": 0}),
            &[("/name", "invalid"), ("/when", "invalid"), ("/position", "range")],
        ),
        ("POST digests/preview", json!({"name": "none", "x": 1}), &[("/name", "choice"), ("/x", "unknown")]),
        (
            "POST decode",
            json!({"body_base64": "?", "headers": {"a": {"t": "none", "v": 1}}, "encoding": ["rot13"], "queue": 7}),
            &[("/body_base64", "format"), ("/headers", "format"), ("/encoding/0", "choice"), ("/queue", "type")],
        ),
        (
            "POST decode",
            json!({"body_base64": "AAEC", "type": "acme.None", "encoding": ["gzip"]}),
            &[("/encoding", "invalid"), ("/type", "invalid")],
        ),
        (
            &patch,
            json!({"note": 7, "message_type": "1 2", "importance": ""}),
            &[("/note", "type"), ("/message_type", "format"), ("/importance", "choice")],
        ),
    ];
    for (call, body, expected) in cases {
        let (method, path) = call.split_once(' ').unwrap();
        let answer = desk.call(method.parse().unwrap(), &format!("/api/v1/{path}"), &body).await;
        answer.clone().problem(422);
        let told = told(&answer, "pointer");
        let expected: BTreeSet<_> = expected.iter().map(|(place, code)| (*place, *code)).collect();
        let pairs = told.iter().flat_map(|(place, codes)| codes.iter().map(move |code| (&**place, &**code)));
        assert_eq!(pairs.collect::<BTreeSet<_>>(), expected, "{call} {body}: {}", answer.text());
    }
}

/// A body of nothing but mistakes, or of nothing but values, takes no more room than another.
#[tokio::test]
async fn no_more_mistakes_are_told_than_anybody_reads() {
    let (desk, id) = a_desk().await;
    let unknown: Map<String, Value> = (0..50_000).map(|n| (format!("f{n}"), json!(0))).collect();
    let removed = json!({"headers": {"remove": vec![1; 100_000]}});
    let ids = json!({"ids": vec![uuid::Uuid::nil(); 10_000]});
    let retry = format!("/api/v1/letters/{id}/retry");
    let calls = [
        (Method::POST, "/api/v1/decode", Value::Object(unknown)),
        (Method::POST, retry.as_str(), removed),
        (Method::PUT, "/api/v1/rules/order", ids),
    ];
    for (method, path, body) in calls {
        let answer = desk.call(method, path, &body).await;
        let detail = answer.clone().problem(422);
        assert_eq!(answer.json()["errors"].as_array().unwrap().len(), 100, "{path}");
        assert!(detail.ends_with("\nand more"), "{path}: {detail}");
    }
    let values = json!({"json": vec![1; 500_000]});
    let answer = desk.post(&retry, &values).await;
    assert!(answer.clone().problem(422).contains("more than the 500000 values"), "{}", answer.text());
    assert_eq!(told(&answer, "pointer"), [(String::new(), BTreeSet::from(["length".to_owned()]))].into());
}

#[tokio::test]
async fn what_a_query_asks_and_searches_is_told_together() {
    let (desk, _) = a_desk().await;
    let answer = desk.get("/api/v1/letters?q=a+status:opne&limit=0&cursor=x&queue=a%00b&since=soon").await;
    answer.clone().problem(400);
    let expected =
        [("cursor", "format"), ("limit", "range"), ("q", "search"), ("queue", "format"), ("since", "format")];
    let expected = expected.map(|(name, code)| (name.to_owned(), BTreeSet::from([code.to_owned()])));
    assert_eq!(told(&answer, "parameter"), expected.into());
}
