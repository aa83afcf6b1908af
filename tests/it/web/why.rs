//! Why a letter failed, and why some are not retried.

use amqp_message::{field::FieldValue, message::Message};
use dead_letter_office::domain::{
    command::Command,
    letter::{LetterId, Status},
};
use scraper::Html;
use serde_json::{Value, json};

use super::{
    answer::Look,
    dead::{Dead, dead_in, dead_somewhere},
    desk::Desk,
    form::buttons,
};
use crate::support::conventions::{self, message_of, vectors};

const SECTION: &str = "section[aria-labelledby=why-title]";

/// What a message tells when it is read as the intake reads it.
fn told_by(message: Message) -> Dead {
    dead_somewhere().read(message)
}

async fn shown(dead: Dead) -> (Desk, LetterId, Html) {
    let desk = Desk::open().await;
    let id = desk.receive(dead).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    (desk, id, page)
}

fn text<'a>(expect: &'a Value, field: &str) -> Option<&'a str> {
    expect[field].as_str()
}

#[tokio::test]
async fn page_list_and_api_tell_what_each_framework_recorded() {
    let desk = Desk::open().await;
    for vector in vectors() {
        let (name, expect) = (&vector["id"], &vector["expect"]);
        let id = desk.receive(told_by(message_of(&vector))).await;
        let section = desk.page(&format!("/letters/{id}")).await.words(SECTION);
        let letter = desk.letter(id).await;
        assert_eq!(letter["message_type"], expect["message_type"], "{name}");
        assert_eq!(letter["type_source"], expect["message_type"].as_str().map_or(Value::Null, |_| json!("header")));
        let Some(message) = text(expect, "error_message") else {
            assert_eq!(letter["error"], Value::Null, "{name}");
            assert!(
                section.contains("recorded")
                    || section.contains("full")
                    || section.contains("expired")
                    || section.contains("does not say"),
                "{name}: {section}"
            );
            continue;
        };
        assert!(section.contains(message), "{name}: {section}");
        assert!(section.contains(text(expect, "error_type").unwrap_or_default()), "{name}: {section}");
        let trace = text(expect, "stacktrace_contains").unwrap_or_default();
        assert!(section.contains(trace), "{name}: {section}");
        assert_eq!(letter["error"]["message"], message, "{name}");
        assert_eq!(letter["error"]["type"], expect["error_type"], "{name}");
        assert!(letter["error"]["stacktrace"].as_str().unwrap_or_default().contains(trace), "{name}");
        let list = desk.get("/api/v1/letters").await.expect(200).json();
        let listed = list["items"].as_array().unwrap().iter().find(|item| item["id"] == letter["id"]).unwrap().clone();
        assert_eq!((&listed["error"]["message"], &listed["error"]["stacktrace"]), (&json!(message), &Value::Null));
    }
}

#[tokio::test]
async fn a_row_says_what_went_wrong() {
    let desk = Desk::open().await;
    desk.receive(told_by(conventions::message("nservicebus-error"))).await;
    assert_eq!(
        desk.page("/letters").await.words(".list-row .row-why"),
        "System.InvalidOperationException: Pricing failed"
    );
    let id = desk.receive(dead_in("orders")).await;
    let rows = desk.page("/letters?queue=orders").await;
    assert_eq!(rows.words(".list-row .row-why"), "rejected by its consumer, no reason recorded");
    let titles = [(format!("/letters/{id}"), "#letter-title"), (format!("/letters/{id}/edit"), ".page-crumb bdi")];
    for (path, title) in titles {
        assert_eq!(desk.page(&path).await.words(title), "Rejected by its consumer, no reason recorded", "{path}");
    }
    let asked = desk.page("/letters/all?queue=orders&all=discard").await.words(".confirm-box");
    assert!(asked.contains("This one is meant, as it is now."), "{asked}");
}

#[tokio::test]
async fn the_head_says_it_in_one_line_with_the_type_of_the_message() {
    let (_, _, page) = shown(told_by(conventions::message("masstransit-error-envelope"))).await;
    let head = page.words("article header");
    assert_eq!(page.words("#letter-title"), "Inventory is locked");
    for part in ["System.InvalidOperationException in ", "SubmitOrder", "4 attempts"] {
        assert!(head.contains(part), "{part}: {head}");
    }
}

#[tokio::test]
async fn a_stack_trace_is_folded_under_its_first_line() {
    let (_, _, page) = shown(told_by(conventions::message("spring-republish-recoverer"))).await;
    let summary = page.words(".error-trace summary");
    assert!(summary.starts_with("org.springframework.amqp") && summary.contains("5 lines"), "{summary}");
    assert_eq!(page.one(".error-trace").attr("open"), None);
    let trace: String = page.one(".error-trace pre").text().collect();
    assert!(trace.contains("\n\tat com.acme.OrderListener.on(OrderListener.java:31)\n"), "{trace}");
    assert!(page.words(SECTION).contains("as recorded by Spring AMQP"));
}

#[tokio::test]
async fn where_nothing_is_recorded_that_is_said_with_what_would_help() {
    let (_, _, page) = shown(dead_in("orders")).await;
    let section = page.words(SECTION);
    for part in ["no reason is recorded", "x-original-routingKey: orders", "the exchange the-dlx", "dlo-error-type"] {
        assert!(section.contains(part), "{part}: {section}");
    }
    let (_, _, page) = shown(told_by(conventions::message("wolverine-native"))).await;
    let section = page.words(SECTION);
    assert!(
        section.contains("EnableEnhancedDeadLettering()") && !section.contains("x-original-routingKey"),
        "{section}"
    );
}

/// The example works: what it says is read as it says.
#[tokio::test]
async fn the_example_is_understood() {
    let headers = [
        ("x-exception-message", "none left in stock"),
        ("x-exception-stacktrace", "OutOfStock: none left in stock\n  at shelf"),
        ("x-original-exchange", ""),
        ("x-original-routingKey", "orders"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), FieldValue::string(value))).into_iter().collect();
    let published = Message { exchange: "the-dlx".to_owned(), headers, ..Message::default() };
    let (desk, id, page) = shown(told_by(published)).await;
    assert_eq!(
        (page.words("#letter-title"), page.words(".cause-type")),
        ("none left in stock".into(), "OutOfStock".into())
    );
    assert_eq!(desk.letter(id).await["error"]["message"], "none left in stock");
}

#[tokio::test]
async fn what_no_consumer_saw_asks_nothing_of_a_service() {
    for id in ["rmq-expired-ttl", "rmq-maxlen"] {
        let (_, _, page) = shown(told_by(conventions::message(id))).await;
        assert_eq!(page.count(".error-advice"), 0, "{id}");
    }
}

#[tokio::test]
async fn what_to_know_before_a_retry_is_said() {
    for (id, part) in [
        ("rmq-shovelled", "A shovel"),
        ("rmq-stream-dlq", "a stream"),
        ("rmq-amqp10-value-body", "AMQP 1.0"),
        ("masstransit-skipped", "no consumer for this type"),
        ("symfony-failure-transport-json", "async"),
    ] {
        let section = shown(told_by(conventions::message(id))).await.2.words(SECTION);
        assert!(section.contains(part), "{id}: {section}");
    }
}

#[tokio::test]
async fn a_trace_cannot_deceive_the_eye_or_the_page() {
    let hostile = "</pre><script>alert(1)</script>\u{202e}\0\r\nat x";
    let dead = dead_in("orders")
        .header("x-exception-message", FieldValue::string(hostile))
        .header("x-exception-stacktrace", FieldValue::string(hostile))
        .with(|arrival| arrival.failure.error = None);
    let (_, _, page) = shown(dead).await;
    let trace: String = page.one(".error-trace pre").text().collect();
    assert!(trace.contains("<script>alert(1)</script>\u{2066}‹U+202E›\u{2069}␀\nat x"), "{trace}");
}

/// An error message of EasyNetQ, of which nobody can tell how the body stands in it.
async fn a_dangerous_letter() -> (Desk, LetterId, Html) {
    shown(told_by(conventions::message("easynetq-base64-inner"))).await
}

#[tokio::test]
async fn a_retry_that_would_do_harm_is_not_offered() {
    let (desk, id, page) = a_dangerous_letter().await;
    assert!(!buttons(&page).contains(&"Schedule".to_owned()));
    assert_eq!(page.one("button[aria-describedby=danger]").attr("disabled"), Some(""));
    assert!(page.words("#danger").contains("[easynetq.bodies]"), "{}", page.words("#danger"));
    assert!(desk.letter(id).await["retry_refused"].as_str().unwrap().contains("base64"));
    let (desk, id, _) = shown(dead_in("orders")).await;
    assert_eq!(desk.letter(id).await["retry_refused"], Value::Null);
}

#[tokio::test]
async fn nor_carried_out_if_it_is_asked_for_all_the_same() {
    let (desk, id, _) = a_dangerous_letter().await;
    let answer = desk.post(&format!("/api/v1/letters/{id}/retry"), &json!({})).await;
    assert!(answer.problem(422).contains("[easynetq.bodies]"));
    let harmless = desk.receive(dead_in("orders")).await;
    let ids = json!([id.as_uuid(), harmless.as_uuid()]);
    let started = desk.post("/api/v1/actions", &json!({"action": "retry", "ids": ids})).await.expect(202).json();
    let job = desk.get(&format!("/api/v1/jobs/{}", started["job"].as_str().unwrap())).await.json();
    assert_eq!((&job["done"], &job["failed"]), (&json!(1), &json!(1)));
    assert!(job["errors"].to_string().contains("[easynetq.bodies]"), "{job}");
    assert_eq!(desk.status(id).await, Status::Open);
    desk.command(id, Command::Discard { note: None }).await;
}
