//! A storm of groups is not a storm of pages.

use std::{sync::Arc, time::Duration};

use dead_letter_office::{
    config::{NotifyConfig, values::Secret},
    demo::stand_ins::{Misbehaviour, PagerDutyStandIn, SlackStandIn},
    domain::{
        command::Command,
        group_state::GroupCommand,
        letter::{Importance, LetterId},
        notification::{Channel, NotificationRecord, NotificationState},
    },
    metrics::Metrics,
    notify::{Patience, Reach, Sender},
    rabbitmq::health::BrokerBoard,
    services::{
        health::{Health, WorkerBoard},
        live::Live,
        notifications::{
            channels::Channels,
            deliveries::{ChannelDeliveries, Deliveries},
        },
        wakeup::Wakeup,
        worker::{Next, Worker},
    },
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    database::{DISCARD, TestDatabase},
    incidents::{Desk, bodies, does, letters},
    make::later,
};
use crate::support::{PATIENCE, slack_rules::check_slack_message};

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
    deliveries_by(desk, |config| {
        slack_only(config, slack);
        config.slack.per_minute = per_minute;
    })
}

fn deliveries_by(desk: &Desk, change: impl FnOnce(&mut NotifyConfig)) -> Deliveries {
    let mut config = NotifyConfig::default();
    change(&mut config);
    let patience = Patience { connect: PATIENCE, total: PATIENCE };
    Deliveries {
        store: Arc::clone(&desk.store),
        channels: Live::new(Channels::new(&config).unwrap()),
        sender: Sender::with_patience(desk.clock.clone(), &Reach::default(), patience).unwrap(),
        clock: desk.clock.clone(),
        metrics: Metrics::default(),
        health: Health::new(BrokerBoard::new([]), WorkerBoard::default(), desk.clock.clone()),
        outbox: Wakeup::default(),
    }
}

async fn send(deliveries: &Deliveries) {
    while deliveries.deliver_one(Channel::Slack).await.unwrap() {}
}

/// All that a server does to send, until nothing is left.
async fn send_all(deliveries: &Deliveries) {
    let work = |mut worker: ChannelDeliveries| async move {
        while worker.round(&CancellationToken::new()).await.unwrap() == Next::Now {}
    };
    futures_util::future::join_all(deliveries.workers().map(work)).await;
}

fn titles(slack: &SlackStandIn) -> Vec<String> {
    slack.messages().iter().map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// 23 groups of which each is told in a message of its own, ten a minute; none is sent yet.
async fn told_one_by_one(database: &TestDatabase) -> (SlackStandIn, Desk, Deliveries) {
    let slack = SlackStandIn::open(check_slack_message).await.unwrap();
    let desk = Desk::open(database, |config| {
        slack_only(config, &slack);
        config.page.collect_above = 0;
    })
    .await;
    let deliveries = deliveries(&desk, &slack, 10);
    groups(database, 0..23).await;
    desk.looks_at(later(0)).await;
    (slack, desk, deliveries)
}

async fn many_groups_within_a_minute_are_few_calls_that_name_or_count_them_all(database: &TestDatabase) {
    let slack = SlackStandIn::open(check_slack_message).await.unwrap();
    let desk = Desk::open(database, |config| slack_only(config, &slack)).await;
    let deliveries = deliveries(&desk, &slack, 30);
    let mut ids = Vec::new();
    for step in 0..20 {
        ids.extend(groups(database, step * 5..step * 5 + 5).await);
        desk.looks_at(later(step as u64 * 3)).await;
        send(&deliveries).await;
    }
    assert_eq!(titles(&slack).len(), 11, "ten groups, and the storm that begins: {:#?}", titles(&slack));
    desk.looks_at(later(90)).await;
    send(&deliveries).await;
    let told = titles(&slack);
    assert_eq!(told.len(), 12, "{told:#?}");
    assert!(told[11].starts_with("More: 90 error groups within a short time (critical, 90 dead letters open)"));
    let listed = slack.messages()[11].to_string();
    assert_eq!((listed.matches("(1);").count(), listed.contains("and 70 more")), (20, true), "{listed}");
    desk.looks_at(later(9_000)).await;
    send(&deliveries).await;
    assert_eq!(titles(&slack).len(), 12, "nothing is new");

    database.does(&DISCARD, &ids[10..]).await;
    desk.looks_at(later(9_001)).await;
    send(&deliveries).await;
    assert_eq!(titles(&slack)[12..], ["Resolved: 90 error groups within a short time (critical, 0 dead letters open)"]);
    database.does(&DISCARD, &ids[..10]).await;
    desk.looks_at(later(9_002)).await;
    send(&deliveries).await;
    assert_eq!(titles(&slack).len(), 23);
    assert!(database.open_incidents().await.unwrap().is_empty());
    assert!(slack.complaints().is_empty(), "{:?}", slack.complaints());
}

async fn a_channel_is_sent_so_much_in_a_minute_and_the_rest_later(database: &TestDatabase) {
    let (slack, desk, deliveries) = told_one_by_one(database).await;
    for sent in [10, 20, 23, 23] {
        send(&deliveries).await;
        assert_eq!(titles(&slack).len(), sent);
        send(&deliveries).await;
        assert_eq!(titles(&slack).len(), sent, "not more within the minute");
        desk.clock.advance(Duration::from_secs(61));
    }
}

/// What it does not take is not followed by all that waits.
async fn a_channel_that_takes_nothing_is_asked_as_rarely(database: &TestDatabase) {
    let (slack, desk, deliveries) = told_one_by_one(database).await;
    slack.misbehave(1_000, Misbehaviour::status(503));
    for asked in [10, 20, 30] {
        tokio::join!(send(&deliveries), send(&deliveries), send(&deliveries));
        assert_eq!(slack.requests().len(), asked);
        desk.clock.advance(Duration::from_secs(61));
    }
}

async fn a_channel_that_hangs_holds_up_no_other(database: &TestDatabase) {
    let slack = SlackStandIn::open(check_slack_message).await.unwrap();
    let pagerduty = PagerDutyStandIn::open().await.unwrap();
    let both = |config: &mut NotifyConfig| {
        config.slack.webhook_url = Secret::new(slack.webhook_url());
        config.slack.importance = Some(vec![Importance::High]);
        config.pagerduty.url = pagerduty.url().parse().unwrap();
        config.pagerduty.routing_key = Secret::new(pagerduty.routing_key());
        config.page.collect_above = 0;
    };
    let desk = Desk::open(database, both).await;
    let deliveries = deliveries_by(&desk, both);
    for letter in 'a'..='l' {
        letters(database, Importance::High, &format!("no {letter}"), 1).await;
    }
    desk.looks_at(later(1)).await;
    slack.misbehave(1_000, Misbehaviour::Hang);
    let page = async {
        slack.has_heard(1).await;
        letters(database, Importance::Critical, "no power", 1).await;
        desk.looks_at(later(2)).await;
        let is_told = async {
            pagerduty.has_heard(1).await;
            let waits = |it: &NotificationRecord| it.state == NotificationState::Waiting && it.problem.is_none();
            let mut sent = desk.store.notifications(&[], 100).await.unwrap();
            sent.retain(|it| it.channel == Channel::Slack);
            assert!(sent.len() == 12 && sent.iter().all(waits), "nothing came from Slack yet: {sent:?}");
            slack.release();
        };
        tokio::join!(send_all(&deliveries), is_told)
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(send_all(&deliveries), page) }).await.unwrap();
    assert_eq!((titles(&slack).len(), pagerduty.requests().len()), (12, 1));
}

async fn a_storm_that_is_set_aside_says_how_many_are_open_still(database: &TestDatabase) {
    let desk = Desk::open(database, |config| config.slack.webhook_url = Secret::new("https://hooks.example/x")).await;
    groups(database, 0..12).await;
    desk.looks_at(later(1)).await;
    does(&desk, GroupCommand::Resolve, later(2)).await;
    desk.looks_at(later(3)).await;
    let told = bodies(database, Channel::Slack).await;
    let end = "Resolved: 12 error groups within a short time (critical, 12 dead letters open)";
    assert_eq!(told.iter().map(|body| body["text"].as_str().unwrap()).next_back(), Some(end));
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
    a_channel_that_takes_nothing_is_asked_as_rarely,
    a_channel_that_hangs_holds_up_no_other,
    a_storm_that_is_set_aside_says_how_many_are_open_still,
    what_has_waited_is_told_as_one,
    what_waited_for_the_end_of_quiet_hours_is_told_as_one,
    what_becomes_more_important_leaves_the_storm,
    two_servers_tell_a_storm_once,
);
