//! What machines ask: alive, ready, numbers.

use std::{collections::BTreeMap, time::Duration};

use dead_letter_office::{
    domain::{
        broker::ConnectionState,
        letter::{Importance, Status},
        notification::{Attempt, Channel},
    },
    metrics::RetryKind,
};
use serde_json::Value;

use super::{
    dead::{NOON, before_noon, dead_in},
    desk::{Desk, MAIN},
    groups::sort,
};

fn lost(why: &str) -> ConnectionState {
    ConnectionState::Lost { since: NOON, why: why.to_owned() }
}

/// What is wrong, as `condition subject: why`.
async fn conditions(desk: &Desk, path: &str, code: u16, status: &str) -> Vec<String> {
    let answer = desk.get(path).await.expect(code);
    assert_eq!(answer.header("content-type"), "application/json");
    let report = answer.json();
    assert_eq!(report["status"], status);
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let line = |item: &Value| format!("{} {}: {}", text(item, "condition"), text(item, "subject"), text(item, "why"));
    report["conditions"].as_array().unwrap().iter().map(line).collect()
}

#[tokio::test]
async fn alive_is_alive_whatever_else_is_not() {
    let desk = Desk::open().await;
    desk.board_says(MAIN, lost("gone"));
    let found = conditions(&desk, "/healthz", 200, "unready").await;
    assert_eq!(found, ["broker_unreachable main: gone"]);
}

#[tokio::test]
async fn a_server_at_work_is_ready() {
    let mut desk = Desk::with_brokers(&[MAIN, "other"]).await;
    desk.probe.ask().await;
    assert!(conditions(&desk, "/readyz", 200, "ready").await.is_empty());
}

#[tokio::test]
async fn one_broker_that_is_down_is_enough_not_to_be_ready() {
    let desk = Desk::with_brokers(&[MAIN, "other"]).await;
    desk.board.set_publishing("other", lost("connection refused"));
    let found = conditions(&desk, "/readyz", 503, "unready").await;
    assert_eq!(found, ["broker_unreachable other: connection refused"]);
    let item = &desk.get("/readyz").await.json()["conditions"][0];
    assert_eq!(item["since"], "2026-11-21T12:00:00.000000Z");
    assert_eq!(item["title"], "No connection to broker other");
    assert!(item["what_to_do"].as_str().unwrap().contains("brokers.other.url"), "{item}");
    desk.board_says("other", ConnectionState::Connected { since: NOON });
    assert!(conditions(&desk, "/readyz", 200, "ready").await.is_empty());
}

#[tokio::test]
async fn each_way_of_not_being_connected_has_its_reason() {
    let desk = Desk::open().await;
    let blocked = ConnectionState::Blocked { since: NOON, why: "memory alarm".to_owned() };
    for (state, condition) in [
        (ConnectionState::Connecting, "broker_unreachable main: not connected yet"),
        (blocked, "broker_blocked main: memory alarm"),
    ] {
        desk.board_says(MAIN, state);
        assert_eq!(conditions(&desk, "/readyz", 503, "unready").await, [condition]);
    }
    desk.board_says(MAIN, ConnectionState::Elsewhere);
    assert!(conditions(&desk, "/readyz", 200, "ready").await.is_empty());
}

#[tokio::test]
async fn letters_that_nobody_enriches_are_told_after_a_minute() {
    let mut desk = Desk::open().await;
    for _ in 0..3 {
        desk.receive(dead_in("orders").received(NOON.minus(Duration::from_secs(3_600)))).await;
    }
    desk.probe.ask().await;
    assert!(conditions(&desk, "/readyz", 200, "ready").await.is_empty(), "they may be looked at anew for a moment");
    desk.clock.advance(Duration::from_secs(90));
    desk.probe.ask().await;
    let found = conditions(&desk, "/readyz", 200, "degraded").await;
    assert_eq!(found, ["not_enriched : 3 dead letters not enriched"]);
    let told = numbers(&desk).await;
    assert_eq!((told["dlo_not_enriched"], told["dlo_oldest_not_enriched_seconds"]), (3.0, 90.0));
    assert_eq!(told["dlo_condition{condition=\"not_enriched\"}"], 1.0);
    sort(&desk).await;
    desk.probe.ask().await;
    assert!(conditions(&desk, "/readyz", 200, "ready").await.is_empty());
    let told = numbers(&desk).await;
    assert_eq!((told["dlo_not_enriched"], told["dlo_oldest_not_enriched_seconds"]), (0.0, 0.0));
    assert_eq!(told["dlo_condition{condition=\"not_enriched\"}"], 0.0);
}

#[tokio::test]
async fn a_retry_that_nobody_sends_is_late() {
    let mut desk = Desk::open().await;
    desk.letter_in(Status::Scheduled).await;
    desk.probe.ask().await;
    assert_eq!(numbers(&desk).await["dlo_scheduler_late_seconds{broker=\"main\"}"], 0.0);
    desk.clock.advance(Duration::from_secs(3_700));
    desk.probe.ask().await;
    assert_eq!(numbers(&desk).await["dlo_scheduler_late_seconds{broker=\"main\"}"], 100.0);
    let found = conditions(&desk, "/readyz", 200, "degraded").await;
    assert!(found.contains(&"scheduler_late main: the first one that is due is not sent".to_owned()), "{found:?}");
}

#[tokio::test]
async fn work_that_goes_on_failing_is_told() {
    let desk = Desk::open().await;
    let report = desk.workers.begins("enrichment");
    for _ in 0..2 {
        report.fails(&"a trigger objects");
        desk.clock.advance(Duration::from_secs(20));
    }
    let found = conditions(&desk, "/readyz", 200, "degraded").await;
    assert_eq!(found, ["worker_failing enrichment: a trigger objects"]);
    report.goes_well();
    assert!(conditions(&desk, "/readyz", 200, "ready").await.is_empty());
}

#[tokio::test]
async fn notifications_that_are_refused_are_told_until_one_is_delivered() {
    let desk = Desk::open().await;
    desk.health.notified(Channel::Slack, &Attempt::Refused("404: no_service".to_owned()));
    let found = conditions(&desk, "/readyz", 200, "degraded").await;
    assert_eq!(found, ["notifications_failing Slack: 404: no_service"]);
    desk.health.notified(Channel::PagerDuty, &Attempt::Delivered);
    assert_eq!(conditions(&desk, "/readyz", 200, "degraded").await.len(), 1);
    desk.health.notified(Channel::Slack, &Attempt::Delivered);
    assert!(conditions(&desk, "/readyz", 200, "ready").await.is_empty());
}

/// The samples of a text in the format of OpenMetrics, by name and labels. Checks the format on the way.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let (body, end) = text.split_at(text.len() - "# EOF\n".len());
    assert_eq!(end, "# EOF\n");
    let mut described = Vec::new();
    let mut samples = BTreeMap::new();
    for line in body.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, sentence) = help.split_once(' ').unwrap();
            assert!(!sentence.is_empty(), "{line}");
            described.push(name);
        } else if !line.starts_with("# ") {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let family = name.split('{').next().unwrap().trim_end_matches("_total");
            assert!(described.contains(&family), "{line} has no help");
            assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{line} is there twice");
        }
    }
    samples
}

async fn numbers(desk: &Desk) -> BTreeMap<String, f64> {
    let answer = desk.get("/metrics").await.expect(200);
    assert_eq!(answer.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    samples(&answer.text())
}

#[tokio::test]
async fn numbers_go_by_the_names_of_the_contract() {
    let desk = Desk::open().await;
    desk.metrics.letter_received(MAIN, Some("orders"));
    desk.metrics.retried(MAIN, "orders", RetryKind::Manual);
    desk.letter_in(Status::Discarded).await;
    let numbers = numbers(&desk).await;
    for name in [
        "dlo_letters_received_total{broker=\"main\",queue=\"orders\"}",
        "dlo_retries_total{broker=\"main\",queue=\"orders\",kind=\"manual\"}",
        "dlo_letters{status=\"discarded\",importance=\"normal\"}",
        "dlo_broker_connected{broker=\"main\"}",
    ] {
        assert_eq!(numbers.get(name), Some(&1.0), "{name} in {numbers:#?}");
    }
    assert_eq!(numbers.get("dlo_oldest_open_seconds{importance=\"critical\"}"), Some(&0.0));
}

#[tokio::test]
async fn numbers_follow_the_database() {
    let desk = Desk::open().await;
    let minute = Duration::from_secs(60);
    let id = desk.receive(dead_in("orders").of(Importance::High).received(before_noon(minute))).await;
    let open = "dlo_letters{status=\"open\",importance=\"high\"}";
    let age = "dlo_oldest_open_seconds{importance=\"high\"}";
    let before = numbers(&desk).await;
    assert_eq!((before[open], before[age]), (1.0, 60.0));
    desk.bring(id, Status::Discarded).await;
    let after = numbers(&desk).await;
    assert_eq!((after.get(open), after[age]), (None, 0.0));
}

#[tokio::test]
async fn a_lost_broker_is_a_zero() {
    let desk = Desk::open().await;
    desk.board.set_publishing(MAIN, lost("gone"));
    assert_eq!(numbers(&desk).await["dlo_broker_connected{broker=\"main\"}"], 0.0);
}

#[tokio::test]
async fn names_in_labels_are_escaped_and_bounded() {
    let desk = Desk::open().await;
    desk.metrics.letter_received(MAIN, Some("a\"b\\c\nd"));
    for n in 0..1_100 {
        desk.metrics.letter_received(MAIN, Some(&format!("queue-{n}")));
    }
    let numbers = numbers(&desk).await;
    assert!(numbers.contains_key("dlo_letters_received_total{broker=\"main\",queue=\"a\\\"b\\\\c\\nd\"}"));
    assert!(numbers["dlo_letters_received_total{broker=\"main\",queue=\"other\"}"] > 100.0);
}
