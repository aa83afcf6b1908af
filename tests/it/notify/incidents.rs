//! What those who are notified of incidents come to believe: that something fails, that somebody works on it, that it is
//! over.

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    config::NotifyConfig,
    demo::stand_ins::Misbehaviour,
    domain::{
        group_state::GroupCommand,
        incident::{Incident, IncidentKind},
        letter::Importance,
        notification::NotificationState,
    },
    services::watch::Tidying,
    store::Enriched,
};

use super::{
    incident,
    pager::{Pager, databases},
};
use crate::{
    store::{
        database::{DISCARD, LEASE, TestDatabase},
        make::{InGroup, NOON, enriched, id, later},
    },
    support::PATIENCE,
};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// NOON is at 12:00 UTC.
fn quiet_from(from: &str) -> impl FnOnce(&mut NotifyConfig) {
    move |config| {
        config.page.importance = vec![Importance::Critical, Importance::High, Importance::Normal];
        config.page.quiet_hours.from = from.to_owned();
        config.page.quiet_hours.to = "13:00".to_owned();
    }
}

/// So many groups are acknowledged in quiet hours, which end.
async fn check_acknowledged_in_quiet_hours(database: &TestDatabase, groups: usize) {
    let pager = Pager::open(database, quiet_from("11:00")).await;
    pager.fail_in_groups(groups, Importance::High).await;
    pager.looks_at(later(1)).await;
    pager.does(GroupCommand::Acknowledge).await;
    for seconds in [2, 3_600, 3_700] {
        pager.looks_at(later(seconds)).await;
        assert!(pager.actions().is_empty(), "{groups} groups after {seconds} s: {:?}", pager.actions());
    }
    pager.fail(Importance::High, "no power").await;
    pager.looks_at(later(3_701)).await;
    assert_eq!(pager.actions(), ["trigger"], "nobody works on this one");
}

#[tokio::test]
async fn what_is_acknowledged_in_quiet_hours_calls_nobody_after_them() {
    for groups in [2, 12] {
        for database in &databases().await {
            check_acknowledged_in_quiet_hours(database, groups).await;
        }
    }
}

#[tokio::test]
async fn what_rises_to_what_can_wait_is_told_after_the_quiet_hours() {
    for database in &databases().await {
        let pager = Pager::open(database, |config| {
            quiet_from("12:30")(config);
            config.pagerduty.importance = Some(vec![Importance::High]);
        })
        .await;
        let firing = || -> Vec<String> {
            pager.alertmanager.firing().iter().map(|labels| labels["importance"].clone()).collect()
        };
        pager.fail(Importance::Normal, "no disk").await;
        pager.looks_at(later(1)).await;
        pager.clock.set(later(2_000));
        pager.fail(Importance::High, "no disk").await;
        pager.looks_at(later(2_001)).await;
        assert_eq!((pager.actions(), firing()), (Vec::new(), vec!["normal".to_owned()]));
        pager.looks_at(later(3_600)).await;
        assert_eq!((pager.actions(), firing()), (vec!["trigger".to_owned()], vec!["high".to_owned()]));
    }
}

/// A schema names the type of a letter while its incident is open, and the incident is written down once more.
#[tokio::test]
async fn an_alert_whose_type_becomes_known_is_resolved() {
    for database in &databases().await {
        let pager = Pager::open(database, |config| config.page.remind_every = HOUR).await;
        let letter = pager.fail(Importance::Critical, "no disk").await;
        pager.looks_at(later(1)).await;
        let named = Enriched { message_type: Some("acme.Paid".to_owned()), ..enriched(letter) };
        let named = Enriched { importance: Importance::Critical, ..named }.in_group("main", "orders", "no disk");
        pager.store.enrich(&[named], 2, later(2)).await.unwrap();
        pager.looks_at(later(3_700)).await;
        pager.heartbeat.beat().await.unwrap();
        assert_eq!(pager.alertmanager.firing().len(), 1, "{:?}", pager.alertmanager.firing());
        database.does(&DISCARD, &[letter]).await;
        pager.looks_at(later(3_702)).await;
        assert_eq!(pager.alertmanager.firing(), []);
    }
}

#[tokio::test]
async fn the_alert_of_a_storm_that_spreads_to_another_broker_is_resolved() {
    for database in &databases().await {
        let pager = Pager::open(database, |_| {}).await;
        let mut letters = pager.fail_in_groups(11, Importance::Critical).await;
        pager.looks_at(later(1)).await;
        letters.push(pager.fail_on("other", Importance::Critical, "no power").await);
        pager.looks_at(later(30)).await;
        pager.heartbeat.beat().await.unwrap();
        assert_eq!(pager.alertmanager.firing().len(), 1, "{:?}", pager.alertmanager.firing());
        database.does(&DISCARD, &letters).await;
        pager.looks_at(later(100)).await;
        assert_eq!(pager.alertmanager.firing(), []);
    }
}

/// An incident of high importance that was acknowledged at PagerDuty too.
async fn acknowledged(database: &TestDatabase, change: impl FnOnce(&mut NotifyConfig)) -> Pager {
    let pager = Pager::open(database, change).await;
    let letter = pager.fail(Importance::High, "no disk").await;
    pager.looks_at(later(1)).await;
    pager.does(GroupCommand::Acknowledge).await;
    pager.looks_at(later(2)).await;
    assert_eq!(pager.actions(), ["trigger", "acknowledge"]);
    // A letter that comes before the next look, when no other is open.
    pager.clock.set(later(2_000));
    database.does(&DISCARD, &[letter]).await;
    pager.fail(Importance::High, "no disk").await;
    pager
}

#[tokio::test]
async fn an_acknowledgement_that_ends_by_itself_calls_somebody() {
    for database in &databases().await {
        let pager = acknowledged(database, |config| config.page.importance = vec![Importance::High]).await;
        pager.looks_at(later(2_001)).await;
        pager.looks_at(later(2_002)).await;
        assert_eq!(pager.actions()[2..], ["resolve", "trigger"]);
        pager.does(GroupCommand::Acknowledge).await;
        pager.looks_at(later(2_003)).await;
        pager.does(GroupCommand::Reopen).await;
        pager.looks_at(later(2_004)).await;
        pager.looks_at(later(2_005)).await;
        assert_eq!(pager.actions()[4..], ["acknowledge"], "who reopens it knows");
    }
}

#[tokio::test]
async fn an_acknowledgement_that_a_more_important_letter_ends_calls_somebody() {
    for database in &databases().await {
        let pager = Pager::open(database, quiet_from("12:30")).await;
        pager.fail(Importance::High, "no disk").await;
        pager.looks_at(later(1)).await;
        pager.does(GroupCommand::Acknowledge).await;
        pager.looks_at(later(2)).await;
        pager.fail(Importance::Critical, "no disk").await;
        pager.looks_at(later(3)).await;
        pager.looks_at(later(4)).await;
        assert_eq!(pager.actions(), ["trigger", "acknowledge", "resolve", "trigger"]);
        let known: Vec<_> = pager.pagerduty.incidents().into_values().map(|it| (it.is_open, it.pages)).collect();
        assert_eq!(known, [(true, 2)]);
    }
}

#[tokio::test]
async fn an_acknowledgement_that_ends_in_quiet_hours_calls_nobody_before_they_are_over() {
    for database in &databases().await {
        let pager = acknowledged(database, quiet_from("12:30")).await;
        pager.looks_at(later(2_001)).await;
        pager.looks_at(later(2_002)).await;
        assert_eq!(pager.actions().len(), 2);
        pager.looks_at(later(3_600)).await;
        pager.looks_at(later(3_601)).await;
        assert_eq!(pager.actions()[2..], ["resolve", "trigger"]);
    }
}

#[tokio::test]
async fn a_group_whose_acknowledgement_ends_leaves_its_storm() {
    for database in &databases().await {
        let pager = Pager::open(database, |_| {}).await;
        let letters = pager.fail_in_groups(12, Importance::Critical).await;
        pager.looks_at(later(1)).await;
        pager.does(GroupCommand::Acknowledge).await;
        pager.looks_at(later(2)).await;
        database.does(&DISCARD, &letters[..1]).await;
        pager.fail(Importance::Critical, "no a").await;
        pager.looks_at(later(3)).await;
        pager.looks_at(later(4)).await;
        assert_eq!(pager.actions(), ["trigger", "acknowledge", "trigger"]);
        let mut known: Vec<_> = pager.pagerduty.incidents().into_values().map(|it| (it.is_open, it.pages)).collect();
        known.sort_unstable();
        assert_eq!(known, [(true, 1), (true, 1)], "the others are worked on");
    }
}

/// What is repeated was read before an incident ended, and arrives after its end.
#[tokio::test]
async fn what_is_repeated_does_not_revive_what_was_resolved() {
    let database = TestDatabase::sqlite().await;
    let pager = Pager::open(&database, |_| {}).await;
    let letter = pager.fail(Importance::Critical, "no disk").await;
    pager.looks_at(later(1)).await;
    assert_eq!(pager.alertmanager.firing().len(), 1);
    pager.alertmanager.misbehave(1, Misbehaviour::Hang);
    let ends = async {
        pager.alertmanager.has_heard(2).await;
        database.does(&DISCARD, &[letter]).await;
        pager.looks_at(later(2)).await;
        assert_eq!(pager.alertmanager.firing(), []);
        pager.alertmanager.release();
    };
    let (beat, ()) = tokio::join!(pager.heartbeat.beat(), ends);
    beat.unwrap();
    assert_eq!(pager.alertmanager.firing(), []);
}

/// What the watch raises.
fn of_watch(broker: &str) -> Incident {
    let key = format!("watch:{broker}:unreachable");
    Incident { key, kind: IncidentKind::Watch, broker: broker.to_owned(), ..incident() }
}

#[tokio::test]
async fn what_nobody_watches_is_over_though_who_forgot_it_died() {
    for database in &databases().await {
        let pager = Pager::open(database, |_| {}).await;
        let open = async || -> Vec<String> {
            let records = pager.store.open_incidents().await.unwrap();
            records.into_iter().map(|record| record.incident.broker).collect()
        };
        pager.store.claim_watch("main", id(), NOON, LEASE).await.unwrap();
        pager.incidents.raise(&of_watch("main")).await.unwrap();
        assert_eq!(pager.store.forget_watches(NOON.plus(2 * LEASE)).await.unwrap(), ["main"]);
        pager.store.claim_watch("other", id(), NOON, LEASE).await.unwrap();
        pager.incidents.raise(&of_watch("other")).await.unwrap();
        assert_eq!(open().await.len(), 2);
        let (store, clock) = (Arc::clone(&pager.store), pager.clock.clone());
        Tidying { store, clock, incidents: pager.incidents.clone() }.tidy().await.unwrap();
        assert_eq!(open().await, ["other"]);
    }
}

/// So many groups begin while the clock is ahead, and one more when it is put back; how many incidents there are then, and
/// how many of them are of one group.
async fn check_clock_put_back(database: &TestDatabase, groups: usize, expected: (usize, usize)) {
    const AHEAD: Timestamp = Timestamp::from_micros(NOON.as_micros() + 6 * 3_600_000_000);
    let pager = Pager::open(database, |_| {}).await;
    pager.clock.set(AHEAD);
    pager.fail_in_groups(groups, Importance::Critical).await;
    pager.looks_at(AHEAD).await;
    pager.store.observe_clock(AHEAD, LEASE).await.unwrap();
    assert!(pager.store.observe_clock(later(10), LEASE).await.unwrap().is_some());
    pager.clock.set(later(100));
    pager.fail(Importance::Critical, "no power").await;
    pager.looks_at(later(100)).await;
    let open = pager.store.open_incidents().await.unwrap();
    let alone = open.iter().filter(|record| record.incident.storm.is_none()).count();
    assert_eq!((open.len(), alone), expected, "{groups} groups");
}

#[tokio::test]
async fn what_begins_after_the_clock_was_put_back_is_told_by_itself() {
    for (groups, expected) in [(12, (2, 1)), (10, (11, 11))] {
        for database in &databases().await {
            check_clock_put_back(database, groups, expected).await;
        }
    }
}

#[tokio::test]
async fn one_server_looks_at_a_time() {
    const WAITING: &str = "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
        WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()";
    let Some(database) = TestDatabase::postgres().await else { return };
    let pager = Pager::open(&database, |_| {}).await;
    pager.fail_in_groups(5, Importance::Critical).await;
    let turn = database.incident_turn().await.unwrap();
    let goes_on = async {
        while database.number(WAITING).await == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(database.open_incidents().await.unwrap(), []);
        pager.fail_in_groups(12, Importance::Critical).await;
        turn.end().await.unwrap();
    };
    let both = async { tokio::join!(pager.looks_at(later(1)), goes_on) };
    tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert_eq!(pager.actions(), ["trigger"], "it sees all that began while it waited");
}

#[tokio::test]
async fn a_channel_fails_until_any_server_delivers() {
    for database in &databases().await {
        let (here, there) = (Pager::open(database, |_| {}).await, Pager::open(database, |_| {}).await);
        here.pagerduty.misbehave(1, Misbehaviour::status(503));
        here.fail(Importance::Critical, "no disk").await;
        here.looks_at(later(1)).await;
        here.clock.set(later(100));
        assert_eq!(here.failing(), ["PagerDuty"]);
        there.looks_at(later(50)).await;
        assert_eq!(there.actions(), ["trigger"]);
        assert_eq!(here.failing_after_a_round().await, [""; 0]);
        // What was delivered before it failed says nothing.
        here.pagerduty.misbehave(2, Misbehaviour::status(503));
        here.fail(Importance::Critical, "no power").await;
        here.looks_at(later(200)).await;
        here.clock.set(later(300));
        assert_eq!(here.failing_after_a_round().await, ["PagerDuty"]);
    }
}

#[tokio::test]
async fn a_channel_that_was_removed_does_not_fail() {
    for database in &databases().await {
        let pager = Pager::open(database, |_| {}).await;
        pager.pagerduty.misbehave(1, Misbehaviour::status(503));
        pager.fail(Importance::Critical, "no disk").await;
        pager.looks_at(later(1)).await;
        pager.clock.set(later(100));
        assert_eq!(pager.failing(), ["PagerDuty"]);
        pager.remove_channels();
        pager.failing_after_a_round().await;
        let sent = pager.store.notifications(&[], 10).await.unwrap();
        assert!(sent.iter().any(|it| it.state == NotificationState::Refused), "what waited for it ends: {sent:?}");
        assert_eq!(pager.failing_after_a_round().await, [""; 0]);
        let counted = pager.metrics();
        assert!(!counted.contains("{channel=\"pagerduty\",outcome=\"refused\"} 1"), "{counted}");
    }
}
