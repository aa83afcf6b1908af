use std::time::Duration;

use amqp_message::time::Timestamp;

use super::*;
use crate::domain::{
    broker::{BrokerHealth, ConnectionState, Holding},
    notification::Channel,
};

const NOON: Timestamp = Timestamp::from_micros(1_764_000_000_000_000);

fn ago(seconds: u64) -> Timestamp {
    NOON.minus(Duration::from_secs(seconds))
}

fn failing(since: u64, last: u64, times: u32) -> Failing {
    Failing { since: ago(since), last: ago(last), times, why: "refused".to_owned() }
}

fn broker(consuming: ConnectionState) -> BrokerHealth {
    let publishing = ConnectionState::Connected { since: ago(900) };
    BrokerHealth { name: "main".to_owned(), address: "rabbit.example".to_owned(), consuming, publishing, holding: None }
}

fn connected() -> BrokerHealth {
    broker(ConnectionState::Connected { since: ago(900) })
}

/// What is wrong, and since how many seconds.
#[track_caller]
fn check(facts: &Facts, brokers: &[BrokerHealth], expected: &[(ConditionKind, u64)]) {
    let found = conditions(facts, brokers, ago(1_000), NOON);
    let found: Vec<_> = found.iter().map(|found| (found.kind, NOON.since(found.since).as_secs())).collect();
    assert_eq!(found, expected);
}

#[test]
fn nothing_is_wrong_with_a_server_at_work() {
    check(&Facts::default(), &[connected()], &[]);
    check(&Facts::default(), &[broker(ConnectionState::Elsewhere)], &[]);
    assert_eq!(Status::of(&[]), Status::Ready);
}

#[test]
fn brokers_are_lost_blocked_or_held() {
    let none = Facts::default();
    check(&none, &[broker(ConnectionState::Connecting)], &[(ConditionKind::BrokerUnreachable, 1_000)]);
    let lost = ConnectionState::Lost { since: ago(3), why: "refused".to_owned() };
    check(&none, &[broker(lost.clone())], &[(ConditionKind::BrokerUnreachable, 3)]);
    let refused = ConnectionState::Refused { since: ago(4), why: "no access".to_owned() };
    check(&none, &[broker(refused)], &[(ConditionKind::BrokerRefuses, 4)]);
    let blocked = ConnectionState::Blocked { since: ago(4), why: "memory".to_owned() };
    check(&none, &[broker(blocked.clone())], &[(ConditionKind::BrokerBlocked, 4)]);
    let both = BrokerHealth { publishing: lost, ..broker(blocked) };
    check(&none, &[both], &[(ConditionKind::BrokerUnreachable, 3)]);
    let held = |is_full| {
        let holding = Holding { since: ago(7), why: "disk full".to_owned(), is_full };
        BrokerHealth { holding: Some(holding), ..connected() }
    };
    check(&none, &[held(false)], &[(ConditionKind::IntakeHeld, 7)]);
    check(&none, &[held(true)], &[(ConditionKind::DatabaseFull, 7), (ConditionKind::IntakeHeld, 7)]);
}

#[test]
fn retries_are_late_where_they_could_be_sent() {
    let mut facts = Facts::default();
    facts.database.figures.first_due = vec![("main".to_owned(), ago(59))];
    check(&facts, &[connected()], &[]);
    facts.database.figures.first_due = vec![("main".to_owned(), ago(60))];
    check(&facts, &[connected()], &[(ConditionKind::SchedulerLate, 60)]);
    let lost = ConnectionState::Lost { since: ago(3), why: "refused".to_owned() };
    check(&facts, &[broker(lost)], &[(ConditionKind::BrokerUnreachable, 3)]);
}

#[test]
fn letters_may_take_a_minute_to_be_enriched() {
    let mut facts = Facts::default();
    let backlog = |seconds| Backlog { letters: 3, oldest: Some(ago(seconds)) };
    facts.database.figures.not_enriched = backlog(59);
    check(&facts, &[], &[]);
    facts.database.figures.not_enriched = backlog(100);
    check(&facts, &[], &[(ConditionKind::NotEnriched, 40)]);
    assert_eq!(conditions(&facts, &[], NOON, NOON)[0].why, "3 dead letters not enriched");
}

#[test]
fn a_database_that_is_away_is_told_alone() {
    let mut facts =
        Facts { workers: vec![WorkerFacts { name: "x", failing: Some(failing(60, 1, 9)) }], ..Facts::default() };
    facts.database.figures.not_enriched = Backlog { letters: 3, oldest: Some(ago(100)) };
    facts.database.figures.first_due = vec![("main".to_owned(), ago(60))];
    for (trouble, kind) in [
        (DatabaseTrouble::Unreachable, ConditionKind::DatabaseUnreachable),
        (DatabaseTrouble::ReadOnly, ConditionKind::DatabaseReadOnly),
        (DatabaseTrouble::Full, ConditionKind::DatabaseFull),
        (DatabaseTrouble::Refuses, ConditionKind::DatabaseRefuses),
    ] {
        facts.database.trouble = Some((trouble, failing(8, 1, 2)));
        check(&facts, &[connected()], &[(kind, 8)]);
        assert_eq!(kind.status(), Status::Unready);
    }
}

#[test]
fn a_database_that_hangs_does_not_answer() {
    let mut facts = Facts::default();
    facts.database.asked_at = Some(ago(4));
    check(&facts, &[], &[]);
    facts.database.asked_at = Some(ago(5));
    check(&facts, &[], &[(ConditionKind::DatabaseUnreachable, 5)]);
}

#[test]
fn slow_is_what_stays_slow() {
    let mut facts = Facts::default();
    facts.database.slow_since = Some(ago(9));
    check(&facts, &[], &[]);
    facts.database.slow_since = Some(ago(10));
    check(&facts, &[], &[(ConditionKind::DatabaseSlow, 10)]);
}

#[test]
fn a_worker_fails_that_goes_on_failing() {
    let mut facts = Facts::default();
    let mut check_worker = |found, well, expected: &[(ConditionKind, u64)]| {
        facts.workers = vec![WorkerFacts { name: "enrichment", failing: Some(found) }];
        facts.database.well_since = well;
        check(&facts, &[], expected);
    };
    check_worker(failing(60, 60, 1), None, &[]);
    check_worker(failing(5, 1, 9), None, &[]);
    check_worker(failing(60, 1, 9), None, &[(ConditionKind::WorkerFailing, 60)]);
    check_worker(failing(60, 3, 9), Some(ago(2)), &[]);
    check_worker(failing(60, 1, 9), Some(ago(2)), &[(ConditionKind::WorkerFailing, 60)]);
}

#[test]
fn workers_of_one_name_are_one_condition() {
    let worker = |since| WorkerFacts { name: "notifications", failing: Some(failing(since, 1, 9)) };
    let well = WorkerFacts { name: "notifications", failing: None };
    let facts = Facts { workers: vec![worker(30), worker(40), well], ..Facts::default() };
    check(&facts, &[], &[(ConditionKind::WorkerFailing, 40)]);
}

#[test]
fn notifications_fail_when_they_go_on_failing_or_are_refused_or_wait() {
    let channel =
        |found, is_final| Facts { channels: [(Channel::Slack, (found, is_final))].into(), ..Facts::default() };
    check(&channel(failing(59, 1, 4), false), &[], &[]);
    check(&channel(failing(60, 1, 4), false), &[], &[(ConditionKind::NotificationsFailing, 60)]);
    check(&channel(failing(1, 1, 1), true), &[], &[(ConditionKind::NotificationsFailing, 1)]);
    let mut waits = Facts::default();
    waits.database.figures.notification_due = Some(ago(299));
    check(&waits, &[], &[]);
    waits.database.figures.notification_due = Some(ago(300));
    check(&waits, &[], &[(ConditionKind::NotificationsFailing, 300)]);
}

#[test]
fn a_failure_is_counted_from_the_first_one() {
    let first = Failing::again(None, ago(9), "one".to_owned());
    let second = Failing::again(Some(first), ago(4), "two".to_owned());
    assert_eq!(second, Failing { since: ago(9), last: ago(4), times: 2, why: "two".to_owned() });
}

#[test]
fn the_worst_decides_and_each_says_what_to_do() {
    for kind in ConditionKind::ALL {
        let condition = Condition { kind: *kind, subject: "main".to_owned(), since: NOON, why: String::new() };
        assert!(!condition.title().ends_with('.') && condition.what_to_do().ends_with('.'), "{kind}");
        let slow = Condition { kind: ConditionKind::DatabaseSlow, ..condition.clone() };
        assert_eq!(Status::of(&[slow, condition]), kind.status().max(Status::Degraded));
    }
}
