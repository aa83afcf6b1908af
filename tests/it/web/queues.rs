//! The queues: what is where, which policy is in force, and what comes of it.

use std::time::Duration;

use axum::{body::Body, http::Method};
use dead_letter_office::domain::{letter::Status, retry::RetryOutcome};
use scraper::Html;
use serde_json::json;

use super::{
    answer::{Look, words},
    dead::{dead_in, dead_somewhere},
    desk::{Desk, MAIN, builder},
};

/// How long nobody can tell whether a retry succeeded: an hour, and the minutes to which it is known.
const PENDING: Duration = Duration::from_secs(65 * 60);

fn cells(page: &Html, queue: &str) -> Vec<String> {
    let rows = page.all("table.table-queues tbody tr");
    let row = rows.iter().find(|row| row.words("th bdi") == queue).unwrap_or_else(|| panic!("no row {queue}"));
    row.all("td").into_iter().map(words).collect()
}

/// A message fails under its policy, is sent back, and perhaps fails again so often.
async fn fails_times(desk: &Desk, queue: &str, times: u64) {
    let id = desk.fails(dead_in(queue), 1).await;
    for n in 2..=times + 1 {
        let at = desk.clock.now().plus(Duration::from_secs(3_600));
        let claimed = desk.store.claim_due_retries(MAIN, at, Duration::from_secs(60), 10).await.unwrap();
        let sent: Vec<_> = claimed.iter().map(|retry| (retry, RetryOutcome::Confirmed)).collect();
        desk.store.finish_retries(&sent, desk.clock.now()).await.unwrap();
        if n <= times {
            desk.fails(dead_in(queue).with(|arrival| arrival.returning = Some(id)), n).await;
        }
    }
}

#[tokio::test]
async fn each_queue_tells_what_became_of_it() {
    let desk = Desk::open().await;
    fails_times(&desk, "orders", 1).await;
    fails_times(&desk, "orders", 1).await;
    fails_times(&desk, "orders", 2).await;
    fails_times(&desk, "orders", 4).await;
    desk.receive(dead_in("texts")).await;
    desk.receive(dead_somewhere()).await;
    let page = desk.page("/queues").await;
    let orders = cells(&page, "orders");
    assert_eq!(orders[..2], ["1", "0"]);
    assert_eq!(orders[2], "after 10 s, 1 min 40 s, 16 min 40 s; then needs attention from *");
    assert_eq!(orders[3..], ["4", "0 3 pending", "1", "none succeeded"], "a retry of a moment ago may yet fail");
    desk.clock.advance(PENDING);
    let page = desk.page("/queues").await;
    assert_eq!(cells(&page, "orders")[3..], ["4", "3", "1", "after retry 1: 2, 2: 1"]);
    assert_eq!(page.count("svg.queue-trend"), 1);
    assert_eq!(cells(&page, "texts")[3..6], ["1", "0", "1"], "it had no automatic retry");
    assert!(cells(&page, "queue unknown")[2].contains("none"));
    assert!(page.words("main").contains("counts as succeeded when the message has not failed again for 1 h"));
    let api = desk.get("/api/v1/queues").await.expect(200).json();
    let item = api["items"].as_array().unwrap().iter().find(|item| item["queue"] == "orders").unwrap().clone();
    assert_eq!(
        item["last_7_days"],
        json!({"failed": 4, "succeeded": 3, "pending": 0, "exhausted": 1, "succeeded_by_retry": [2, 1, 0]})
    );
    assert_eq!((&item["open"], &item["scheduled"]), (&json!(1), &json!(0)));
    assert_eq!(item["policy"]["meaning"], "after 10 s, 1 min 40 s, 16 min 40 s; then needs attention");
    let nameless = api["items"].as_array().unwrap().iter().find(|item| item["queue"].is_null()).unwrap();
    assert!(nameless["policy"].is_null());
}

#[tokio::test]
async fn numbers_lead_to_their_letters_and_the_policy_to_its_form() {
    let desk = Desk::open().await;
    desk.receive(dead_in("orders, v2")).await;
    desk.fails(dead_in("orders, v2"), 1).await;
    let page = desk.page("/queues").await;
    assert_eq!(cells(&page, "orders, v2")[..2], ["1", "1"]);
    let links = page.values("table.table-queues a", "href");
    assert_eq!(links[0], "/queues/main/orders%2C%20v2");
    for link in &links[1..3] {
        assert_eq!(desk.page(link).await.count(".list-row"), 1, "{link}");
    }
    let form = desk.page(links[3].trim_end_matches("#set")).await;
    assert_eq!(form.one("#policy [name=queues]").attr("value"), Some("orders, v2"));
    assert_eq!(form.one("#policy [name=delays]").attr("value"), Some("10s, 100s, 1000s"), "what is in force");
}

#[tokio::test]
async fn a_policy_of_its_own_and_of_a_reason_shows() {
    let desk = Desk::open().await;
    desk.receive(dead_in("orders")).await;
    let put = async |policy| _ = desk.call(Method::POST, "/api/v1/policies", &policy).await.expect(201);
    put(json!({"queues": "orders", "delays": []})).await;
    assert_eq!(cells(&desk.page("/queues").await, "orders")[2], "no automatic retry");
    put(json!({"queues": "orders", "reason": "expired", "delays": ["1h"]})).await;
    put(json!({"queues": "*", "reason": "maxlen", "delays": ["2h"]})).await;
    let expected = "rejected, queue full, delivery limit, unknown reason no automatic retry \
                    expired after 1 h; then needs attention";
    assert_eq!(cells(&desk.page("/queues").await, "orders")[2], expected);
    let item = &desk.get("/api/v1/queues").await.expect(200).json()["items"][0];
    let others: Vec<_> = item["other_policies"].as_array().unwrap().iter().map(|other| &other["reason"]).collect();
    assert_eq!(others, ["expired"], "the name of a queue goes before any glob");
    assert_eq!(item["other_policies"][0]["policy"]["meaning"], "after 1 h; then needs attention · ± 10 %");
    put(json!({"queues": "orders", "delays": ["1s"], "reason": "rejected"})).await;
    put(json!({"queues": "texts", "reason": "delivery_limit", "delays": ["3h"]})).await;
    put(json!({"queues": "texts", "reason": "expired", "delays": ["3h"]})).await;
    desk.receive(dead_in("texts")).await;
    let expected = "rejected after 1 s; then needs attention expired after 1 h; then needs attention \
                    queue full, delivery limit, unknown reason no automatic retry";
    assert_eq!(cells(&desk.page("/queues").await, "orders")[2], expected);
    let expected = "rejected, unknown reason after 10 s, 1 min 40 s, 16 min 40 s; then needs attention from * \
                    expired, delivery limit after 3 h; then needs attention \
                    queue full after 2 h; then needs attention from *";
    assert_eq!(cells(&desk.page("/queues").await, "texts")[2], expected);
}

#[tokio::test]
async fn the_filter_finds_queues() {
    let desk = Desk::open().await;
    for queue in ["texts.a", "texts.b", "orders"] {
        desk.receive(dead_in(queue)).await;
    }
    assert_eq!(desk.page("/queues?queue_glob=texts.*").await.count("table.table-queues tbody tr"), 2);
    let none = desk.page("/queues?queue=nothing").await;
    assert!(none.words("main").contains("No matching queue."));
}

#[tokio::test]
async fn an_server_with_a_thousand_queues_shows_a_light_page() {
    let desk = Desk::open().await;
    desk.receive_all(MAIN, (0..1_000).map(|n| dead_in(&format!("a.rather-long.name-of-a-queue.{n}"))).collect()).await;
    desk.letter_in(Status::Open).await;
    let page = desk.page("/queues").await;
    assert_eq!(page.count("table.table-queues tbody tr"), 300);
    let head = page.words("header.page-head");
    assert!(head.contains("1,001 queues, 701 not shown"), "{head}");
    let request = builder(Method::GET, "/queues").header("accept-encoding", "br, gzip");
    let packed = desk.send(request.body(Body::empty()).unwrap()).await;
    assert!(packed.body.len() < 40_000, "{} bytes over the wire", packed.body.len());
}
