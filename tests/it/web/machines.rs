//! What machines ask: alive, ready, numbers.

use std::{collections::BTreeMap, time::Duration};

use dead_letter_office::{
    domain::{
        broker::ConnectionState,
        letter::{Importance, Status},
    },
    metrics::RetryKind,
};

use super::{
    dead::{NOON, before_noon, dead_in},
    desk::{Desk, MAIN},
};

fn lost(why: &str) -> ConnectionState {
    ConnectionState::Lost { since: NOON, why: why.to_owned() }
}

#[tokio::test]
async fn alive_is_alive_whatever_else_is_not() {
    let desk = Desk::open().await;
    desk.board_says(MAIN, lost("gone"));
    assert_eq!(desk.get("/healthz").await.expect(200).text(), "ok\n");
}

#[tokio::test]
async fn ready_is_told_thing_by_thing() {
    let desk = Desk::with_brokers(&[MAIN, "other"]).await;
    let answer = desk.get("/readyz").await.expect(200);
    assert_eq!(answer.text(), "database: ok\nbroker main: ok\nbroker other: ok\n");
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
}

#[tokio::test]
async fn one_broker_that_is_down_is_enough_not_to_be_ready() {
    let desk = Desk::with_brokers(&[MAIN, "other"]).await;
    desk.board.set_publishing("other", lost("connection refused"));
    let text = desk.get("/readyz").await.expect(503).text();
    assert_eq!(text, "database: ok\nbroker main: ok\nbroker other: publishing: connection refused\n");
    desk.board_says("other", ConnectionState::Connected { since: NOON });
    desk.get("/readyz").await.expect(200);
}

#[tokio::test]
async fn each_way_of_not_being_connected_has_its_reason() {
    let desk = Desk::open().await;
    let blocked = ConnectionState::Blocked { since: NOON, why: "memory alarm".to_owned() };
    for (state, reason) in [(ConnectionState::Connecting, "not connected yet"), (blocked, "memory alarm")] {
        desk.board_says(MAIN, state);
        let text = desk.get("/readyz").await.expect(503).text();
        assert!(text.contains(&format!("consuming: {reason}; publishing: {reason}")), "{text}");
    }
    desk.board_says(MAIN, ConnectionState::Elsewhere);
    desk.get("/readyz").await.expect(200);
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
    desk.metrics.retried(MAIN, "orders", RetryKind::Manual, 1);
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
