//! A storm of groups is not a storm of pages.

use std::{sync::Arc, time::Duration};

use dead_letter_office::{
    config::{NotifyConfig, values::Secret},
    demo::stand_ins::SlackStandIn,
    domain::{
        command::Command,
        letter::{Importance, LetterId},
        notification::Channel,
    },
    metrics::Metrics,
    notify::{Reach, Sender},
    rabbitmq::health::BrokerBoard,
    services::{
        health::{Health, WorkerBoard},
        live::Live,
        notifications::{channels::Channels, deliveries::Deliveries},
        wakeup::Wakeup,
    },
};
use serde_json::Value;

use super::{
    database::{DISCARD, TestDatabase},
    incidents::{Desk, bodies, letters},
    make::later,
};
use crate::support::slack_rules::check_slack_message;

/// A letter each of so many groups that nobody has heard of.
async fn groups(database: &TestDatabase, numbers: std::ops::Range<usize>) -> Vec<LetterId> {
    let mut ids = Vec::new();
    for n in numbers {
        // Numbers are left out of what makes a group.
        let error: String = n.to_string().chars().map(|digit| (digit as u8 - b'0' + b'a') as char).collect();
        ids.extend(letters(database, Importance::Critical, &format!("no {error}"), 1).await);
    }
    ids
}

fn slack_only(config: &mut NotifyConfig, slack: &SlackStandIn) {
    config.pagerduty.routing_key = Secret::default();
    config.slack.webhook_url = Secret::new(slack.webhook_url());
}

/// Who sends what `desk` has written down to be sent.
fn deliveries(desk: &Desk, slack: &SlackStandIn, per_minute: u64) -> Deliveries {
    let mut config = NotifyConfig::default();
    slack_only(&mut config, slack);
    config.slack.per_minute = per_minute;
    Deliveries {
        store: Arc::clone(&desk.store),
        channels: Live::new(Channels::new(&config).unwrap()),
        sender: Sender::new(desk.clock.clone(), &Reach::default()).unwrap(),
        clock: desk.clock.clone(),
        metrics: Metrics::default(),
        health: Health::new(BrokerBoard::new([]), WorkerBoard::default(), desk.clock.clone()),
        outbox: Wakeup::default(),
    }
}

async fn send(deliveries: &Deliveries) {
    while deliveries.deliver_one().await.unwrap() {}
}

fn titles(slack: &SlackStandIn) -> Vec<String> {
    slack.messages().iter().map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
}

async fn many_groups_within_a_minute_are_few_calls_that_name_or_count_them_all(database: &TestDatabase) {
    let slack = SlackStandIn::open(check_slack_message).await.unwrap();
    let desk = Desk::open(database, |config| slack_only(config, &slack)).await;
    let deliveries = deliveries(&desk, &slack, 30);
    let mut ids = Vec::new();
    for step in 0..40 {
        ids.extend(groups(database, step * 5..step * 5 + 5).await);
        desk.looks_at(later(step as u64 * 3 / 2)).await;
        send(&deliveries).await;
    }
    assert_eq!(titles(&slack).len(), 11, "ten groups, and the storm that begins: {:#?}", titles(&slack));
    desk.looks_at(later(90)).await;
    send(&deliveries).await;
    let told = titles(&slack);
    assert_eq!(told.len(), 12, "{told:#?}");
    assert!(told[11].starts_with("More: 190 error groups within a short time (critical, 190 dead letters open)"));
    let listed = slack.messages()[11].to_string();
    assert_eq!((listed.matches("(1);").count(), listed.contains("and 170 more")), (20, true), "{listed}");
    desk.looks_at(later(9_000)).await;
    send(&deliveries).await;
    assert_eq!(titles(&slack).len(), 12, "nothing is new");

    database.does(&DISCARD, &ids[10..]).await;
    desk.looks_at(later(9_001)).await;
    send(&deliveries).await;
    assert_eq!(
        titles(&slack)[12..],
        ["Resolved: 190 error groups within a short time (critical, 0 dead letters open)"]
    );
    database.does(&DISCARD, &ids[..10]).await;
    desk.looks_at(later(9_002)).await;
    send(&deliveries).await;
    assert_eq!(titles(&slack).len(), 23);
    assert!(database.open_incidents().await.unwrap().is_empty());
    assert!(slack.complaints().is_empty(), "{:?}", slack.complaints());
}

async fn a_channel_is_sent_so_much_in_a_minute_and_the_rest_later(database: &TestDatabase) {
    let slack = SlackStandIn::open(check_slack_message).await.unwrap();
    let desk = Desk::open(database, |config| {
        slack_only(config, &slack);
        config.page.collect_above = 0;
    })
    .await;
    let deliveries = deliveries(&desk, &slack, 30);
    groups(database, 0..70).await;
    desk.looks_at(later(0)).await;
    for sent in [30, 60, 70, 70] {
        send(&deliveries).await;
        assert_eq!(titles(&slack).len(), sent);
        send(&deliveries).await;
        assert_eq!(titles(&slack).len(), sent, "not more within the minute");
        desk.clock.advance(Duration::from_secs(61));
    }
}

async fn what_has_waited_is_told_as_one(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    let old = groups(database, 0..5).await;
    assert_eq!(desk.looks_at(later(900)).await, ["pagerduty opened"]);
    let incident = database.open_incidents().await.unwrap().remove(0).incident;
    assert_eq!((incident.open, &*incident.title), (5, "5 error groups within a short time"));
    database.does(&DISCARD, &old[..3]).await;
    assert_eq!(desk.looks_at(later(1_000)).await.len(), 1);
    // What left the storm and fails again is new.
    groups(database, 0..1).await;
    assert_eq!(desk.looks_at(later(1_001)).await[1..], ["pagerduty opened"]);
    database.does(&DISCARD, &old[3..]).await;
    assert_eq!(desk.looks_at(later(1_002)).await[2..], ["pagerduty resolved"]);
}

/// NOON is at 12:00 UTC.
async fn what_waited_for_the_end_of_quiet_hours_is_told_as_one(database: &TestDatabase) {
    let desk = Desk::open(database, |config| {
        config.page.quiet_hours.from = "11:00".to_owned();
        config.page.quiet_hours.to = "13:00".to_owned();
        config.page.quiet_hours.importance = vec![Importance::Critical];
    })
    .await;
    let ids = groups(database, 0..12).await;
    assert!(desk.looks_at(later(1)).await.is_empty());
    assert_eq!(desk.looks_at(later(3_600)).await, ["pagerduty opened"]);
    assert_eq!(database.open_incidents().await.unwrap().len(), 1);
    database.does(&DISCARD, &ids).await;
    assert_eq!(desk.looks_at(later(3_601)).await, ["pagerduty opened", "pagerduty resolved"]);
}

async fn what_becomes_more_important_leaves_the_storm(database: &TestDatabase) {
    let desk = Desk::open(database, |config| {
        config.slack.webhook_url = Secret::new("https://hooks.example/x");
        config.slack.importance = Some(vec![Importance::Critical, Importance::High]);
    })
    .await;
    let mut ids = Vec::new();
    for letter in 'a'..='l' {
        ids.extend(letters(database, Importance::High, &format!("no {letter}"), 1).await);
    }
    assert_eq!(desk.looks_at(later(1)).await, ["slack opened"]);
    database.does(&Command::SetImportance(Importance::Critical), &ids[..1]).await;
    assert_eq!(desk.looks_at(later(2)).await[1..], ["slack opened", "pagerduty opened"]);
    assert_eq!(database.count_open_incidents().await.unwrap().len(), 2);
}

async fn two_servers_tell_a_storm_once(database: &TestDatabase) {
    let (one, other) = (Desk::open(database, |_| {}).await, Desk::open(database, |_| {}).await);
    let ids = groups(database, 0..15).await;
    let (first, second) = tokio::join!(one.incidents.look(), other.incidents.look());
    first.unwrap();
    second.unwrap();
    assert_eq!(one.told().await, ["pagerduty opened"]);
    let bodies: Vec<Value> = bodies(database, Channel::PagerDuty).await;
    assert_eq!(bodies[0]["dedup_key"], "storm:critical:1");
    database.does(&DISCARD, &ids).await;
    assert_eq!(one.looks_at(later(1)).await, ["pagerduty opened", "pagerduty resolved"]);
}

on_both!(
    many_groups_within_a_minute_are_few_calls_that_name_or_count_them_all,
    a_channel_is_sent_so_much_in_a_minute_and_the_rest_later,
    what_has_waited_is_told_as_one,
    what_waited_for_the_end_of_quiet_hours_is_told_as_one,
    what_becomes_more_important_leaves_the_storm,
    two_servers_tell_a_storm_once,
);
