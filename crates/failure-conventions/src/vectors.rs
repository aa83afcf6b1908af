//! What the frameworks really send: one vector each, written after their sources.

use amqp_message::{
    death::Reason,
    field::{FieldTable, FieldValue},
    json,
    message::Message,
    time::Timestamp,
};
use arbtest::{
    arbitrary::{self, Unstructured},
    arbtest,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{clean, moment};
use crate::{
    Failure, FailureCount, dlo_headers,
    inner_body::{InnerBodies, InnerBody},
};

const VECTORS: &str = include_str!("../vectors.json");

fn vectors() -> Vec<Value> {
    serde_json::from_str(VECTORS).unwrap()
}

fn text(vector: &Value, name: &str) -> String {
    vector[name].as_str().unwrap().to_owned()
}

fn message(vector: &Value) -> Message {
    Message {
        exchange: text(vector, "exchange"),
        routing_key: text(vector, "routing_key"),
        properties: json::properties_from_json(&vector["properties"]).unwrap(),
        headers: json::table_from_json(&vector["headers"]).unwrap(),
        body: body(vector).unwrap_or_default(),
    }
}

fn body(json: &Value) -> Option<Vec<u8>> {
    let base64 = json["body_base64"].as_str().map(|base64| BASE64_STANDARD.decode(base64).unwrap());
    base64.or_else(|| json["body_utf8"].as_str().map(|text| text.as_bytes().to_vec()))
}

fn read(message: &Message) -> Failure {
    super::read(message).failure
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
    let error = failure.error.unwrap_or_default();
    assert_eq!(error.kind.as_deref(), expect["error_type"].as_str(), "error type of {id}");
    assert_eq!(error.message.as_deref(), expect["error_message"].as_str(), "error message of {id}");
    if let Some(part) = expect["stacktrace_contains"].as_str() {
        assert!(error.stacktrace.is_some_and(|trace| trace.contains(part)), "stack trace of {id}");
    }
    let failed_at = failure.last_failed_at.or(failure.first_failed_at);
    assert_eq!(failed_at, expect["failed_at"].as_str().map(|at| moment::iso(at).unwrap()), "failed_at of {id}");
    assert_eq!(failure.message_type.as_deref(), expect["message_type"].as_str(), "message type of {id}");
    let candidates = expect["queue_candidates"].as_array().cloned().unwrap_or_default();
    assert_eq!(json!(super::read(&message).queue_candidates), json!(candidates), "candidates of {id}");
}

#[test]
fn what_is_edited_begins_anew() {
    let edited = |id: &str| {
        let vectors = vectors();
        let message = message(vectors.iter().find(|vector| vector["id"] == id).unwrap());
        serde_json::from_slice::<Value>(&clean(message, &InnerBodies::default()).unwrap().body).unwrap()
    };
    let dramatiq = edited("dramatiq-xq");
    assert_eq!((&dramatiq["options"], &dramatiq["queue_name"]), (&json!({"retries": 0}), &json!("default")));
    assert_eq!((&dramatiq["args"], &dramatiq["message_id"]), (&json!([42]), &json!("9c2d")));
    assert_eq!(edited("masstransit-error-envelope")["headers"], json!({}));
}

/// A second trip through the same framework reads like the first.
#[test]
fn a_clean_message_has_nothing_left_to_clean() {
    for vector in vectors() {
        let bodies = InnerBodies::new([("*".to_owned(), InnerBody::Text)]);
        let once = clean(message(&vector), &bodies).unwrap();
        assert_eq!(clean(once.clone(), &bodies), Ok(once.clone()), "{}", vector["id"]);
        assert_eq!(read(&once).error, None, "{}", vector["id"]);
    }
}

/// Whatever stands in a header or body that some framework would read, nothing breaks.
#[test]
fn junk_is_no_error() {
    let junk = [
        FieldValue::Void,
        FieldValue::LongInt(-1),
        FieldValue::string(""),
        FieldValue::string("\0: \u{202e}\n\n: ["),
        FieldValue::string("9".repeat(400)),
        FieldValue::LongString(vec![0xff; 9]),
        FieldValue::Array(vec![FieldValue::Table(FieldTable::default())]),
        FieldValue::Table([("error".to_owned(), FieldValue::Void)].into_iter().collect()),
    ];
    for vector in vectors() {
        let whole = message(&vector);
        let names: Vec<String> = whole.headers.iter().map(|(name, _)| name.to_owned()).collect();
        for (name, value) in names.iter().flat_map(|name| junk.iter().map(move |value| (name, value))) {
            let mut message = whole.clone();
            message.headers.set(name, value.clone());
            _ = super::read(&message);
            _ = clean(message, &InnerBodies::default());
        }
        for cut in 0..whole.body.len() {
            let message = Message { body: whole.body[..cut].to_vec(), ..whole.clone() };
            _ = super::read(&message);
            _ = clean(message, &InnerBodies::default());
        }
    }
}

fn any_value(u: &mut Unstructured<'_>, levels: u8) -> arbitrary::Result<FieldValue> {
    /// Names that tables within headers have.
    const NAMES: [&str; 8] = ["queue", "reason", "exchange", "routing-keys", "count", "time", "error", "headers"];
    Ok(match u.int_in_range(0..=if levels > 0 { 8 } else { 6_u8 })? {
        0 => FieldValue::LongString(u.arbitrary()?),
        1 => FieldValue::string(u.arbitrary::<String>()?),
        2 => FieldValue::LongLongInt(u.arbitrary()?),
        3 => FieldValue::Double(u.arbitrary()?),
        4 => FieldValue::Timestamp(u.arbitrary()?),
        5 => FieldValue::Boolean(u.arbitrary()?),
        6 => FieldValue::Void,
        7 => {
            let n = u.int_in_range(0..=3_u8)?;
            FieldValue::Array((0..n).map(|_| any_value(u, levels - 1)).collect::<Result<_, _>>()?)
        }
        _ => {
            let n = u.int_in_range(0..=3_u8)?;
            let field = |_| Ok(((*u.choose(&NAMES)?).to_owned(), any_value(u, levels - 1)?));
            FieldValue::Table((0..n).map(field).collect::<Result<_, arbitrary::Error>>()?)
        }
    })
}

/// What a framework sends, with anything in any of its headers and anywhere in its body.
#[test]
fn any_change_of_any_message_is_read() {
    let vectors: Vec<Message> = vectors().iter().map(message).collect();
    let mut names: Vec<&str> =
        vectors.iter().flat_map(|message| message.headers.iter()).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    arbtest(|u| {
        let mut message = u.choose(&vectors)?.clone();
        for _ in 0..u.int_in_range(0..=3_u8)? {
            message.headers.set(u.choose(&names)?, any_value(u, 3)?);
        }
        for _ in 0..u.int_in_range(0..=3_u8)? {
            let at = u.int_in_range(0..=message.body.len())?;
            let end = at.saturating_add(u.int_in_range(0..=4)?).min(message.body.len());
            message.body.splice(at..end, u.arbitrary::<[u8; 4]>()?.into_iter().take(u.int_in_range(0..=4)?));
        }
        let failure = read(&message);
        assert_eq!(read(&message), failure, "it reads the same each time");
        let bodies = InnerBodies::new([("*".to_owned(), InnerBody::Text)]);
        _ = clean(message, &bodies);
        Ok(())
    });
}

#[test]
fn wrapped_anew_it_brings_the_same() {
    let vectors = vectors();
    let wrapped = message(vectors.iter().find(|vector| vector["id"] == "easynetq-7").unwrap());
    let anew = |from: &str, to: &str| {
        let text = String::from_utf8(wrapped.body.clone()).unwrap();
        Message { body: text.replace(from, to).into_bytes(), ..wrapped.clone() }
    };
    let is_same = |from, to| super::is_same_body(&wrapped, &anew(from, to));
    assert!(is_same("Card declined", "Card stolen"));
    assert!(is_same("09:26:53", "10:26:53"));
    assert!(!is_same("1090", "1091"));
    let inside = clean(wrapped.clone(), &InnerBodies::default()).unwrap();
    assert!(super::is_same_body(&wrapped, &inside));
}

#[test]
fn all_vectors() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 39);
    vectors.iter().for_each(check);
}

/// The vector's message after we sent it back to `queue`, where it had failed `attempts` times, and it failed again.
fn failed_again(id: &str, queue: &str, attempts: u64) -> Failure {
    let vectors = vectors();
    let mut message = message(vectors.iter().find(|vector| vector["id"] == id).unwrap());
    let letter = "019a8b7c-0000-7000-8000-000000000001";
    dlo_headers::write(&mut message.headers, letter, queue, FailureCount { attempts, rounds: 1 });
    read(&message)
}

#[test]
fn earlier_rounds_count() {
    fn check(queue: &str, attempts: u64, expected: u64) {
        assert_eq!(failed_again("rmq-retry-loop", queue, attempts).attempts, expected);
    }
    // Its x-death alone counts 3, since it was sent back.
    check("orders.process", 0, 3);
    check("orders.process", 2, 5);
    check("orders.process", 7, 10);
    check("another.queue", 7, 3);
    check("orders.process", u64::MAX, 1_000_000);
    // What is counted by x-death begins anew as that does.
    let machinery = failed_again("machinery-undecodable", "machinery_tasks", 2);
    assert_eq!((machinery.attempts, machinery.rounds), (4, 2));
    // It does not say its queue, which then is the one it was sent back to.
    assert_eq!(failed_again("spring-republish-recoverer", "orders", 7).attempts, 8);
}

#[test]
fn tries_and_rounds_are_counted_apart() {
    let check = |headers: &[(&str, FieldValue)], earlier: Option<(u64, u64)>, expected: (u64, u64)| {
        let death = [("queue", "tasks"), ("reason", "rejected")];
        let death = death.map(|(name, value)| (name.to_owned(), FieldValue::string(value))).into_iter().collect();
        let mut table: FieldTable = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        table.set("x-death", FieldValue::Array(vec![FieldValue::Table(death)]));
        if let Some((attempts, rounds)) = earlier {
            let id = "019a8b7c-0000-7000-8000-000000000001";
            dlo_headers::write(&mut table, id, "tasks", FailureCount { attempts, rounds });
        }
        let failure = read(&Message { headers: table, ..Message::default() });
        assert_eq!((failure.attempts, failure.rounds), expected, "{headers:?} {earlier:?}");
    };
    // What they count comes off: they try as often in each round.
    let text = FieldValue::string;
    let celery = |retries| [("task", text("add")), ("id", text("1")), ("retries", FieldValue::LongInt(retries))];
    check(&celery(2), None, (3, 1));
    check(&celery(2), Some((3, 1)), (6, 2));
    let laravel = [("attempts".to_owned(), FieldValue::LongInt(2))].into_iter().collect();
    let laravel = [("laravel", FieldValue::Table(laravel))];
    check(&laravel, None, (3, 1));
    check(&laravel, Some((3, 1)), (6, 2));
    let moleculer = [("x-redelivered-count", FieldValue::LongInt(2))];
    check(&moleculer, None, (3, 1));
    check(&moleculer, Some((3, 1)), (6, 2));
    check(&[], Some((6, 2)), (7, 3));
}

#[test]
fn the_first_death_there_is_the_first_failure() {
    fn check(id: &str, expected: Option<u64>) {
        assert_eq!(failed_again(id, "q", 0).first_failed_at, expected.map(Timestamp::from_seconds), "{id}");
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
