//! What the API says of letters and queues.

use std::{collections::BTreeSet, time::Duration};

use amqp_message::{field::FieldValue, message::Properties};
use dead_letter_office::domain::{
    letter::{Importance, Status},
    retry::RetryOutcome,
};
use serde_json::{Value, json};

use super::{
    dead::{before_noon, dead_in, dead_somewhere},
    desk::{Desk, MAIN},
};

/// The fields of a letter that the contract promises, of those that lists have too.
const ITEM: &str = "id broker queue exchange routing_key reason error attempts rounds first_failed_at last_failed_at \
    received_at retry_at status importance importance_by title message_type type_source type_confidence group size note";
/// The fields that only a single letter has.
const CONTENTS: &str = "properties headers deaths payload history";
/// What we add to the contract.
const OURS: &str = "problem edited_from replaced_by columns";
const PAYLOAD: &str = "encoding format json task decoded_as candidates remarks hidden";
const OUR_CONTENTS: &str = "remarks framework retry_refused";

fn fields(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn named(lists: &[&'static str]) -> BTreeSet<&'static str> {
    lists.iter().flat_map(|list| list.split_whitespace()).collect()
}

#[tokio::test]
async fn a_letter_has_the_fields_of_the_contract() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders").body("{}")).await;
    let letter = desk.letter(id).await;
    assert_eq!(fields(&letter), named(&[ITEM, CONTENTS, OURS, OUR_CONTENTS]));
    assert_eq!(fields(&letter["payload"]), named(&[PAYLOAD, "text other_candidates"]));
    assert_eq!(fields(&letter["history"][0]), named(&["at event by detail"]));
    let list = desk.get("/api/v1/letters").await.expect(200).json();
    assert_eq!(fields(&list), named(&["items next_cursor total total_is_least"]));
    assert_eq!(fields(&list["items"][0]), named(&[ITEM, OURS]));
}

#[tokio::test]
async fn what_is_not_known_is_null_and_not_left_out() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_somewhere().body([0xff, 0])).await;
    let letter = desk.letter(id).await;
    for field in ["queue", "error", "first_failed_at", "retry_at", "message_type", "type_source", "group", "note"] {
        assert_eq!(letter[field], Value::Null, "{field}");
    }
    let expected = [("reason", "unknown"), ("importance_by", "default"), ("status", "open"), ("exchange", "")];
    for (field, value) in expected {
        assert_eq!(letter[field], value, "{field}");
    }
    assert_eq!(letter["payload"]["json"], Value::Null);
}

#[tokio::test]
async fn a_letter_says_what_came_in() {
    let desk = Desk::open().await;
    let properties = Properties { message_id: Some("m".to_owned()), priority: Some(3), ..Properties::default() };
    let dead = dead_in("orders")
        .published_to("shop", "order.created")
        .attempts(4)
        .with(|arrival| arrival.failure.rounds = 1)
        .of(Importance::Critical)
        .properties(properties)
        .header("n", FieldValue::LongInt(7))
        .header("s", FieldValue::string("ö"))
        .death(&[("queue", "orders"), ("reason", "rejected")])
        .body("{\"big\":12345678901234567890123}");
    let id = desk.receive(dead.remark("odd")).await;
    let answer = desk.get(&format!("/api/v1/letters/{id}")).await;
    assert!(answer.text().contains("12345678901234567890123"), "no digit is lost");
    let letter = answer.json();
    let expected = json!({"broker": MAIN, "queue": "orders", "exchange": "shop", "routing_key": "order.created",
        "reason": "rejected", "attempts": 4, "importance": "critical", "size": 31, "remarks": ["odd"]});
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&letter[field], value, "{field}");
    }
    assert_eq!(letter["properties"], json!({"message_id": "m", "priority": 3}));
    assert_eq!((&letter["headers"]["n"], &letter["headers"]["s"]), (&json!({"t": "long", "v": 7}), &json!("ö")));
    assert_eq!(letter["deaths"][0]["queue"], "orders");
    assert_eq!((&letter["payload"]["format"], &letter["payload"]["encoding"]), (&json!("json"), &json!([])));
}

#[tokio::test]
async fn a_routing_key_that_retries_have_lost_is_told() {
    let desk = Desk::open().await;
    let told = async |queue: &str, key: &str, rounds: u64| {
        let dead = dead_in(queue).published_to("shop", key).with(|arrival| arrival.failure.rounds = rounds);
        let id = desk.receive(dead).await;
        let (letter, page) = (desk.letter(id).await, desk.page(&format!("/letters/{id}")).await);
        let is_told = letter["remarks"].to_string().contains("set keep_routing_key");
        assert_eq!(page.html().contains("set keep_routing_key"), is_told);
        is_told
    };
    assert!(!told("orders", "order.created", 1).await, "nothing was retried yet");
    assert!(told("orders", "order.created", 2).await);
    assert!(!told("orders", "orders", 2).await);
}

#[tokio::test]
async fn bodies_are_told_apart() {
    let desk = Desk::open().await;
    let cases = [("{\"a\":1}", "json"), ("plain", "text"), ("a\0b", "binary"), ("", "text"), ("{oops", "text")];
    for (body, format) in cases {
        let id = desk.receive(dead_in("orders").body(body)).await;
        assert_eq!(desk.letter(id).await["payload"]["format"], format, "{body:?}");
        assert_eq!(desk.get(&format!("/api/v1/letters/{id}/body")).await.expect(200).body, body.as_bytes());
    }
}

#[tokio::test]
async fn every_time_is_rfc_3339_in_utc() {
    let desk = Desk::open().await;
    let first_failed = before_noon(Duration::from_millis(90_000_250));
    let id = desk.receive(dead_in("orders").with(|a| a.failure.first_failed_at = Some(first_failed))).await;
    desk.bring(id, Status::Scheduled).await;
    let letter = desk.letter(id).await;
    let times = ["first_failed_at", "last_failed_at", "received_at", "retry_at"].map(|field| letter[field].clone());
    for time in times.iter().chain([&letter["history"][0]["at"]]) {
        let text = time.as_str().unwrap();
        assert!(text.ends_with('Z') && text.parse::<jiff::Timestamp>().is_ok(), "{text}");
    }
    assert_eq!(letter["first_failed_at"], "2026-11-20T10:59:59.750000Z");
    assert_eq!(letter["retry_at"], "2026-11-21T13:00:00.000000Z");
}

#[tokio::test]
async fn history_and_problem_tell_how_a_retry_went() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders")).await;
    desk.retry_ends(id, RetryOutcome::Failed("it was returned".to_owned())).await;
    let letter = desk.letter(id).await;
    let events: Vec<_> = letter["history"].as_array().unwrap().iter().map(|entry| entry["event"].clone()).collect();
    assert_eq!(events, ["received", "retry_scheduled", "retry_failed"], "oldest first");
    assert_eq!((&letter["status"], &letter["problem"]), (&json!("open"), &json!("it was returned")));
    assert_eq!(letter["history"][1]["by"], "local user");
}

#[tokio::test]
async fn queues_are_counted_by_status_the_fullest_first() {
    let desk = Desk::open().await;
    desk.letter_in(Status::Scheduled).await;
    desk.letter_in(Status::Retried).await;
    desk.receive_from(MAIN, [dead_in("texts"), dead_in("texts"), dead_somewhere()]).await;
    let queues = desk.get("/api/v1/queues").await.expect(200).json();
    let named: Vec<_> = queues["items"].as_array().unwrap().iter().map(|queue| queue["queue"].clone()).collect();
    assert_eq!(named, [json!("texts"), Value::Null, json!("orders")]);
    let orders = json!({"broker": MAIN, "queue": "orders", "open": 0, "scheduled": 1, "retried": 1, "discarded": 0});
    for (field, value) in orders.as_object().unwrap() {
        assert_eq!(&queues["items"][2][field], value, "{field}");
    }
}
