//! Edit and retry, and hurrying a retry that goes elsewhere.

use amqp_message::field::FieldValue;
use axum::{body::Body, http::Method};
use base64::{Engine, prelude::BASE64_STANDARD};
use dead_letter_office::domain::{
    command::Command,
    letter::{LetterId, Status},
    retry::RetryOutcome,
};
use serde_json::{Value, json};

use super::{
    answer::{Look, words},
    dead::{dead_in, dead_somewhere},
    desk::{Desk, builder},
    form::{Form, buttons},
};

/// A server with a letter, and the address of its page.
async fn a_letter() -> (Desk, LetterId) {
    let desk = Desk::open().await;
    let dead = dead_in("orders").attempts(2).body("broken").header("tenant", FieldValue::string("acme"));
    let id = desk.receive(dead.header("trace", FieldValue::LongInt(7))).await;
    (desk, id)
}

fn mended() -> Value {
    json!({"body_base64": BASE64_STANDARD.encode("mended")})
}

async fn edit(desk: &Desk, id: LetterId, body: &Value) -> LetterId {
    let letter = desk.post(&format!("/api/v1/letters/{id}/retry"), body).await.expect(200).json();
    letter["id"].as_str().unwrap().parse().unwrap()
}

/// What is said about edits on the page of a letter.
async fn banners(desk: &Desk, id: LetterId) -> Vec<String> {
    desk.page(&format!("/letters/{id}")).await.all("[data-edit]").into_iter().map(words).collect()
}

#[tokio::test]
async fn an_edited_retry_answers_with_the_copy_that_goes_out() {
    let (desk, id) = a_letter().await;
    let mut asked = mended();
    asked["delay"] = json!("30s");
    let copy = edit(&desk, id, &asked).await;
    assert_ne!(copy, id);
    let letter = desk.letter(copy).await;
    let expected = [
        ("status", json!("scheduled")),
        ("retry_at", json!("2026-11-21T12:00:30.000000Z")),
        ("edited_from", json!(id.to_string())),
        ("replaced_by", Value::Null),
        ("attempts", json!(2)),
        ("size", json!(6)),
        ("headers", json!({"tenant": "acme", "trace": {"t": "long", "v": 7}})),
    ];
    for (field, value) in expected {
        assert_eq!(letter[field], value, "{field}");
    }
    assert_eq!(desk.get(&format!("/api/v1/letters/{copy}/body")).await.body, b"mended");
    let original = desk.letter(id).await;
    assert_eq!((&original["status"], &original["replaced_by"]), (&json!("discarded"), &json!(copy.to_string())));
    assert_eq!(original["edited_from"], Value::Null);
    assert_eq!(desk.get(&format!("/api/v1/letters/{id}/body")).await.body, b"broken");
}

#[tokio::test]
async fn headers_are_set_and_removed() {
    let (desk, id) = a_letter().await;
    let copy = edit(
        &desk,
        id,
        &json!({"headers": {"set": {"tenant": "other", "new": "", "n": {"t": "long", "v": 7}, "is": true},
        "remove": ["trace"]}}),
    )
    .await;
    let expected = json!({"is": true, "n": {"t": "long", "v": 7}, "new": "", "tenant": "other"});
    assert_eq!(desk.letter(copy).await["headers"], expected);
    assert_eq!(desk.get(&format!("/api/v1/letters/{copy}/body")).await.body, b"broken");
    let history = desk.letter(copy).await["history"].to_string();
    assert!(
        history.contains("header is set; header n set; header new set; header tenant set; header trace removed"),
        "{history}"
    );
}

#[tokio::test]
async fn properties_are_set_and_removed_and_the_history_keeps_them() {
    let (desk, id) = a_letter().await;
    let asked = json!({"properties": {
        "content_type": "text/plain", "content_encoding": null, "type": "note", "priority": 0, "expiration": "60000"}});
    let copy = edit(&desk, id, &asked).await;
    let letter = desk.letter(copy).await;
    let expected = json!({"content_type": "text/plain", "type": "note", "priority": 0, "expiration": "60000"});
    assert_eq!(letter["properties"], expected);
    let told = letter["history"].to_string();
    for change in ["content_type = text/plain", "priority = 0", "content_encoding removed", "expiration = 60000"] {
        assert!(told.contains(&format!("property {change}")), "{told}");
    }
    let again = edit(&desk, copy, &json!({"properties": {"content_type": null, "type": null}, "text": "mended"})).await;
    assert_eq!(desk.letter(again).await["properties"], json!({"priority": 0}), "an expiration is named each time");
    assert_eq!(desk.get(&format!("/api/v1/letters/{again}/body")).await.body, b"mended");
}

#[tokio::test]
async fn an_edited_retry_may_name_another_queue() {
    let (desk, id) = a_letter().await;
    let mut asked = mended();
    asked["queue"] = json!("orders.v2");
    let copy = edit(&desk, id, &asked).await;
    assert_eq!(desk.store.waiting_retry(copy).await.unwrap().unwrap().queue, "orders.v2");
}

#[tokio::test]
async fn edits_that_cannot_be_are_refused_with_what_would_be_right() {
    let (desk, id) = a_letter().await;
    let somewhere = desk.receive(dead_somewhere()).await;
    let same = json!({"body_base64": BASE64_STANDARD.encode("broken")});
    let cases = [
        (id, json!({"body_base64": "?"}), "body_base64: it is no base64"),
        (id, json!({"body_base64": {}}), "body_base64"),
        (id, same, "changes nothing; retry it as it is"),
        (id, json!({"headers": {}}), "changes nothing"),
        (id, json!({"headers": {"set": {"dlo-id": "x"}}}), "header dlo-id is not for editing"),
        (id, json!({"headers": {"remove": ["x-death"]}}), "header x-death is not for editing"),
        (id, json!({"headers": {"remove": ["nothing"]}}), "has none of that name"),
        (id, json!({"headers": {"set": {"a": "b"}, "remove": ["a"]}}), "both set and removed"),
        (id, json!({"headers": {"set": {"a": 1}}}), "headers.set.a: numbers and arrays need their type"),
        (id, json!({"headers": {"set": {"a": null}}}), "headers.set.a: null is no value"),
        (id, json!({"headers": {"set": {"a": {"t": "byte", "v": 300}}}}), "headers.set.a"),
        (id, json!({"headers": {"put": {}}}), "put"),
        (id, json!({"properties": {}}), "changes nothing"),
        (id, json!({"properties": {"priority": 256}}), "properties.priority: 256 is out of range"),
        (id, json!({"properties": {"expiration": "soon"}}), "properties.expiration: \"soon\" is no expiration"),
        (id, json!({"properties": {"type": "x".repeat(256)}}), "properties.type: it takes 255 characters at most"),
        (id, json!({"properties": {"message_id": "x"}}), "message_id"),
        (id, json!({"properties": {"content_type": null}}), "changes nothing"),
        (id, json!({"json": {}}), "json: the payload is text"),
        (id, json!({"json": {}, "text": ""}), "it takes one of them"),
        (somewhere, mended(), "name one"),
    ];
    for (id, body, part) in cases {
        let detail = desk.post(&format!("/api/v1/letters/{id}/retry"), &body).await.problem(422);
        assert!(detail.contains(part), "{body}: {detail}");
        assert_eq!(desk.status(id).await, Status::Open, "{body}");
    }
    let nobody = format!("/api/v1/letters/{}/retry", uuid::Uuid::nil());
    desk.post(&nobody, &mended()).await.problem(404);
    assert_eq!(desk.get("/api/v1/letters").await.json()["total"], 2);
}

#[tokio::test]
async fn never_are_both_sent() {
    let (desk, id) = a_letter().await;
    let copy = edit(&desk, id, &mended()).await;
    for (call, body, part) in [
        ("reopen", json!({}), format!("{copy}, an edited copy, takes its place")),
        ("retry", json!({}), "the letter is discarded".to_owned()),
        ("retry", mended(), "the letter is discarded".to_owned()),
    ] {
        let detail = desk.post(&format!("/api/v1/letters/{id}/{call}"), &body).await.problem(409);
        assert!(detail.contains(&part), "{call}: {detail}");
    }
    desk.command(copy, Command::Discard { note: None }).await;
    desk.post(&format!("/api/v1/letters/{id}/reopen"), &json!({})).await.expect(200);
    let detail = desk.post(&format!("/api/v1/letters/{copy}/reopen"), &json!({})).await.problem(409);
    assert!(detail.contains(&format!("{id}, an edited copy, takes its place")), "{detail}");
}

/// Other calls take 2 MiB.
#[tokio::test]
async fn a_body_may_be_large() {
    let (desk, id) = a_letter().await;
    let body = vec![b'x'; 16 << 20];
    let copy = edit(&desk, id, &json!({"body_base64": BASE64_STANDARD.encode(&body)})).await;
    assert_eq!(desk.store.letter(copy).await.unwrap().unwrap().message.body, body);
    let request = builder(Method::POST, &format!("/api/v1/letters/{copy}/retry"));
    let request = request.header("content-type", "application/json").body(Body::from(vec![b' '; (32 << 20) + 1]));
    desk.send(request.unwrap()).await.problem(413);
}

#[tokio::test]
async fn the_description_tells_of_edits() {
    let desk = Desk::open().await;
    let description = desk.get("/api/openapi.json").await.json();
    let fields = description["components"]["schemas"]["Retry"]["properties"].as_object().unwrap();
    assert_eq!(
        fields.keys().collect::<Vec<_>>(),
        ["body_base64", "delay", "headers", "json", "properties", "queue", "text"]
    );
    let docs = desk.page("/api/docs").await;
    let told = docs.words("main");
    assert!(told.contains("{\"set\": {name: text}, \"remove\": [name]}"), "{told}");
}

#[tokio::test]
async fn original_and_copy_are_linked_and_tell_how_to_undo() {
    let (desk, id) = a_letter().await;
    let copy = edit(&desk, id, &mended()).await;
    let link = |page: &scraper::Html| page.one("[data-edit] a").attr("href").map(str::to_owned);
    let (original_page, copy_page) =
        (desk.page(&format!("/letters/{id}")).await, desk.page(&format!("/letters/{copy}")).await);
    assert_eq!(link(&original_page), Some(format!("/letters/{copy}")));
    assert_eq!(link(&copy_page), Some(format!("/letters/{id}")));
    assert!(original_page.words("[data-edit]").contains("discard the copy, then reopen this one"));
    assert!(copy_page.words("[data-edit]").contains("discard this one, then reopen the original"));
    let offered = buttons(&original_page);
    assert!(!offered.iter().any(|label| label.starts_with("Retry") || label == "Reopen"), "{offered:?}");
    assert!(!original_page.words("article").contains("It was sent back"));
}

#[tokio::test]
async fn the_banners_tell_how_it_went_on() {
    let (desk, id) = a_letter().await;
    assert_eq!(banners(&desk, id).await, [""; 0]);
    let copy = edit(&desk, id, &mended()).await;
    desk.command(copy, Command::Discard { note: None }).await;
    assert_eq!(banners(&desk, id).await, ["Its edited copy is discarded too; this one can be reopened."]);
    assert_eq!(banners(&desk, copy).await, ["An edited copy of a dead letter that is discarded too."]);
    Form::of(&desk.page(&format!("/letters/{id}")).await, "Reopen").press(&desk).await;
    assert_eq!(banners(&desk, id).await, ["It was edited, but its edited copy is discarded, and this one is active."]);
    let aside = "An edited copy of a dead letter that is active again. This one is not retried as long as it is.";
    assert_eq!(banners(&desk, copy).await, [aside]);
    assert!(!buttons(&desk.page(&format!("/letters/{copy}")).await).contains(&"Reopen".to_owned()));

    desk.command(id, Command::Discard { note: None }).await;
    desk.command(copy, Command::Reopen).await;
    let again = edit(&desk, copy, &json!({"headers": {"remove": ["trace"]}})).await;
    assert_eq!(banners(&desk, id).await, ["Discarded: another edit of the same message replaces it."]);
    desk.command(again, Command::Reopen).await;
    desk.retry_ends(again, RetryOutcome::Confirmed).await;
    assert_eq!(banners(&desk, copy).await[1], "Discarded: its edited copy was retried in its place.");
    assert_eq!(
        banners(&desk, again).await,
        ["An edited copy of the original , which is discarded and is not retried."]
    );
}

#[tokio::test]
async fn a_hurried_retry_goes_where_it_went_and_the_page_says_where() {
    let (desk, id) = a_letter().await;
    let elsewhere = Command::Retry { delay: std::time::Duration::from_secs(600), queue: Some("orders.v2".to_owned()) };
    desk.command(id, elsewhere).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    assert!(page.words("article header").contains("retry due in 10 min , to orders.v2"));
    assert_eq!(page.one(".menu-sheet input[name=queue]").attr("placeholder"), Some("orders.v2"));
    Form::of(&page, "Retry now to orders.v2").press(&desk).await;
    let retry = desk.store.waiting_retry(id).await.unwrap().unwrap();
    assert_eq!((&*retry.queue, retry.due_at), ("orders.v2", super::dead::NOON));
}

#[tokio::test]
async fn a_letter_of_no_known_queue_that_waits_need_not_name_one_again() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_somewhere()).await;
    let elsewhere = Command::Retry { delay: std::time::Duration::from_secs(600), queue: Some("orders".to_owned()) };
    desk.command(id, elsewhere).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    assert_eq!(page.count(".letter-queue"), 0);
    Form::of(&page, "Retry now to orders").press(&desk).await;
    assert_eq!(desk.store.waiting_retry(id).await.unwrap().unwrap().queue, "orders");
}
