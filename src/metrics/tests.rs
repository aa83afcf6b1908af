use std::collections::BTreeSet;

use amqp_message::{death::Reason, time::Timestamp};

use super::*;
use crate::domain::{
    broker::{BrokerHealth, ConnectionState, Holding},
    filter::FacetCount,
    health::{Backlog, Condition, ConditionKind},
    letter::Status,
    notification::Attempt,
};

const NOON: Timestamp = Timestamp::from_micros(1_764_000_000_000_000);

fn seconds_ago(seconds: u64) -> Timestamp {
    NOON.minus(std::time::Duration::from_secs(seconds))
}

fn broker(publishing: ConnectionState) -> BrokerHealth {
    BrokerHealth {
        name: "main".to_owned(),
        address: "rabbit.example:5672/".to_owned(),
        consuming: ConnectionState::Connected { since: NOON },
        publishing,
        holding: None,
    }
}

fn connected() -> BrokerHealth {
    broker(ConnectionState::Connected { since: NOON })
}

fn open(importance: Importance, count: u64) -> FacetCount {
    let (broker, queue) = ("main".to_owned(), None);
    FacetCount { broker, queue, reason: Reason::Rejected, status: Status::Open, importance, count }
}

fn observe(metrics: &Metrics, database: Option<DatabaseObservation<'_>>) {
    metrics.observe(&Observation {
        now: NOON,
        brokers: &[connected()],
        health: HealthObservation::default(),
        database,
    });
}

#[track_caller]
fn check(metrics: &Metrics, sample: &str) {
    let text = metrics.encode();
    assert!(text.lines().any(|line| line == sample), "no {sample} in\n{text}");
}

/// The names of all samples, without labels and values.
fn sampled(text: &str) -> BTreeSet<String> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples.filter_map(|line| line.split(['{', ' ']).next()).map(str::to_owned).collect()
}

fn count_everything(metrics: &Metrics) {
    metrics.letter_received("main", None);
    metrics.redelivered("main");
    metrics.retry_stopped("main", None);

    metrics.exhausted("main", None, Importance::Low);
    metrics.retried("main", "orders", RetryKind::Manual);
    metrics.retry_failed("main", "orders", RetryKind::Automatic);
    metrics.rule_failed("vip");
    let database = DatabaseObservation {
        facets: &[open(Importance::High, 1)],
        queues_without_consumers: &[("main".to_owned(), "orders".to_owned())],
        digests_sent: &[("daily".to_owned(), NOON)],
        ..DatabaseObservation::default()
    };
    let not_enriched = Some(Backlog::default());
    let health = HealthObservation { not_enriched, not_indexed: Some(0), ..HealthObservation::default() };
    metrics.observe(&Observation { now: NOON, brokers: &[connected()], health, database: Some(database) });
}

#[test]
fn the_names_are_those_of_the_samples() {
    let metrics = Metrics::default();
    count_everything(&metrics);
    assert_eq!(sampled(&metrics.encode()), metrics.names().iter().cloned().collect());
}

#[test]
fn each_attempt_to_notify_is_counted_from_zero_on() {
    let metrics = Metrics::default();
    check(&metrics, "dlo_notifications_total{channel=\"pagerduty\",outcome=\"refused\"} 0");
    metrics.notification(Channel::PagerDuty, (&Attempt::Refused("401".to_owned())).into());
    check(&metrics, "dlo_notifications_total{channel=\"pagerduty\",outcome=\"refused\"} 1");
    check(&metrics, "dlo_notifications_total{channel=\"slack\",outcome=\"delivered\"} 0");
}

#[test]
fn rules_past_the_bound_share_a_label_and_earlier_ones_keep_theirs() {
    let metrics = Metrics::default();
    for n in 0..MAX_RULES + 7 {
        metrics.rule_failed(&format!("rule {n}"));
    }
    metrics.rule_failed("rule 0");
    check(&metrics, "dlo_rule_failures_total{rule=\"rule 0\"} 2");
    check(&metrics, "dlo_rule_failures_total{rule=\"other\"} 7");
}

#[test]
fn a_long_name_is_cut_between_characters() {
    let metrics = Metrics::default();
    metrics.rule_failed(&"é".repeat(100_000));
    check(&metrics, &format!("dlo_rule_failures_total{{rule=\"{}\"}} 1", "é".repeat(127)));
    metrics.letter_received("main", Some(&"q".repeat(100_000)));
    let queue = "q".repeat(255);
    check(&metrics, &format!("dlo_letters_received_total{{broker=\"main\",queue=\"{queue}\"}} 1"));
}

#[test]
fn queues_without_consumers_are_bounded_and_gone_when_they_have_one() {
    let metrics = Metrics::default();
    let queues: Vec<_> = (0..MAX_QUEUES + 1).map(|n| ("main".to_owned(), format!("queue-{n}"))).collect();
    observe(&metrics, Some(DatabaseObservation { queues_without_consumers: &queues, ..Default::default() }));
    check(&metrics, "dlo_queue_without_consumers{broker=\"main\",queue=\"queue-999\"} 1");
    check(&metrics, "dlo_queue_without_consumers{broker=\"main\",queue=\"other\"} 1");
    assert!(!metrics.encode().contains("queue-1000"));
    observe(&metrics, Some(DatabaseObservation::default()));
    assert!(!metrics.encode().contains("dlo_queue_without_consumers{"));
}

#[test]
fn letters_of_all_queues_add_up() {
    let metrics = Metrics::default();
    let facets = [open(Importance::High, 2), open(Importance::High, 3), open(Importance::Low, u64::MAX)];
    for _ in 0..2 {
        observe(&metrics, Some(DatabaseObservation { facets: &facets, ..Default::default() }));
        check(&metrics, "dlo_letters{status=\"open\",importance=\"high\"} 5");
        check(&metrics, &format!("dlo_letters{{status=\"open\",importance=\"low\"}} {}", i64::MAX));
    }
}

#[test]
fn ages_are_whole_seconds_and_zero_without_anything_to_be_old() {
    let metrics = Metrics::default();
    let database = DatabaseObservation {
        oldest_open: &[(Importance::Critical, seconds_ago(90))],
        oldest_notification: Some(seconds_ago(7)),
        notifications_waiting: 3,
        ..DatabaseObservation::default()
    };
    observe(&metrics, Some(database));
    check(&metrics, "dlo_oldest_open_seconds{importance=\"critical\"} 90");
    check(&metrics, "dlo_oldest_open_seconds{importance=\"low\"} 0");
    check(&metrics, "dlo_oldest_notification_seconds 7");
    check(&metrics, "dlo_notifications_waiting 3");
    observe(&metrics, Some(DatabaseObservation::default()));
    check(&metrics, "dlo_oldest_notification_seconds 0");
}

#[test]
fn a_retry_is_late_when_it_is_due_also_while_the_database_is_away() {
    let metrics = Metrics::default();
    for (at, sample) in [
        (seconds_ago(40), "dlo_scheduler_late_seconds{broker=\"main\"} 40"),
        (NOON.plus(std::time::Duration::from_secs(60)), "dlo_scheduler_late_seconds{broker=\"main\"} 0"),
    ] {
        let first_due = [("main".to_owned(), at)];
        let health = HealthObservation { first_due: &first_due, ..HealthObservation::default() };
        metrics.observe(&Observation { now: NOON, brokers: &[connected()], health, database: None });
        check(&metrics, sample);
    }
}

#[test]
fn what_is_held_or_not_enriched_has_an_age() {
    let metrics = Metrics::default();
    let held = BrokerHealth {
        holding: Some(Holding { since: seconds_ago(7), why: "disk full".to_owned(), is_full: true }),
        ..connected()
    };
    let not_enriched = Some(Backlog { letters: 12, oldest: Some(seconds_ago(90)) });
    let health = HealthObservation { not_enriched, not_indexed: Some(7), ..HealthObservation::default() };
    metrics.observe(&Observation { now: NOON, brokers: &[held], health, database: None });
    check(&metrics, "dlo_intake_held_seconds{broker=\"main\"} 7");
    check(&metrics, "dlo_not_enriched 12");
    check(&metrics, "dlo_oldest_not_enriched_seconds 90");
    check(&metrics, "dlo_not_indexed 7");
    observe(&metrics, None);
    check(&metrics, "dlo_intake_held_seconds{broker=\"main\"} 0");
    assert!(!metrics.encode().contains("dlo_not_enriched "), "nobody knows");
}

#[test]
fn each_condition_is_a_one_or_a_zero() {
    let metrics = Metrics::default();
    let kind = ConditionKind::DatabaseSlow;
    let slow = Condition { kind, subject: String::new(), since: NOON, why: String::new() };
    let conditions = [slow];
    let health = HealthObservation { conditions: &conditions, ..HealthObservation::default() };
    metrics.observe(&Observation { now: NOON, brokers: &[], health, database: None });
    check(&metrics, "dlo_condition{condition=\"database_slow\"} 1");
    check(&metrics, "dlo_condition{condition=\"intake_held\"} 0");
    observe(&metrics, None);
    check(&metrics, "dlo_condition{condition=\"database_slow\"} 0");
}

#[test]
fn incidents_groups_and_digests_are_reported() {
    let metrics = Metrics::default();
    let database = DatabaseObservation {
        groups_open: 12,
        open_incidents: &[(Importance::High, 2)],
        digests_sent: &[("daily".to_owned(), NOON)],
        ..DatabaseObservation::default()
    };
    observe(&metrics, Some(database));
    check(&metrics, "dlo_groups_open 12");
    check(&metrics, "dlo_open_incidents{importance=\"high\"} 2");
    check(&metrics, "dlo_open_incidents{importance=\"critical\"} 0");
    check(&metrics, "dlo_digest_last_sent_timestamp_seconds{digest=\"daily\"} 1764000000");
}

#[test]
fn without_the_ledger_its_numbers_are_left_out_and_the_others_go_on() {
    let metrics = Metrics::default();
    count_everything(&metrics);
    let lost = broker(ConnectionState::Lost { since: NOON, why: "gone".to_owned() });
    metrics.observe(&Observation { now: NOON, brokers: &[lost], health: HealthObservation::default(), database: None });
    let of_the_process = [
        "dlo_letters_received_total",
        "dlo_redelivered_total",
        "dlo_exhausted_total",
        "dlo_retries_total",
        "dlo_retry_failures_total",
        "dlo_retry_stops_total",
        "dlo_notifications_total",
        "dlo_rule_failures_total",
        "dlo_broker_connected",
        "dlo_condition",
        "dlo_intake_held_seconds",
        "dlo_scheduler_late_seconds",
    ];
    assert_eq!(sampled(&metrics.encode()), of_the_process.map(str::to_owned).into());
    check(&metrics, "dlo_broker_connected{broker=\"main\"} 0");
}

#[test]
fn scrapes_at_the_same_time_see_whole_observations() {
    let metrics = Metrics::default();
    let scrape = || {
        for _ in 0..500 {
            let facets = [open(Importance::High, 2), open(Importance::High, 3)];
            observe(&metrics, Some(DatabaseObservation { facets: &facets, ..Default::default() }));
            check(&metrics, "dlo_letters{status=\"open\",importance=\"high\"} 5");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(scrape);
        scope.spawn(scrape);
    });
}
