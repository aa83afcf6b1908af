//! Incidents, from the groups of a database to what people are told.

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    config::{NotifyConfig, values::Secret},
    domain::{
        actor::Actor,
        command::Command,
        group::{GroupFilter, GroupId},
        group_state::{GroupCommand, Phase, Until},
        incident::{Incident, IncidentKind},
        letter::{Importance, LetterId, Status},
        notification::{Attempt, Channel, NotificationKind, NotificationState},
        version::Expected,
    },
    services::{
        change_feed::ChangeFeed,
        incidents::{Incidents, Settings},
        live::Live,
        notifications::channels::Channels,
        wakeup::Wakeup,
    },
    store::{Enriched, GroupOrder, Store},
};
use serde_json::Value;

use super::{
    database::{DISCARD, LEASE, TestDatabase},
    make::{InGroup, Make, NOON, an_arrival, enriched, later},
};

const HOUR: Duration = Duration::from_secs(60 * 60);
/// Sent as much as there is.
const PAGERDUTY: (Channel, Option<u64>) = (Channel::PagerDuty, None);

/// What is told, told shortly: `pagerduty opened`.
pub(super) struct Desk {
    pub store: Arc<Store>,
    pub clock: Clock,
    pub incidents: Incidents,
}

impl Desk {
    pub async fn open(database: &TestDatabase, change: impl FnOnce(&mut NotifyConfig)) -> Self {
        let mut config = NotifyConfig::default();
        config.pagerduty.routing_key = Secret::new("0123456789abcdef0123456789abcdef");
        change(&mut config);
        let (store, clock) = (Arc::new(database.second_server().await), Clock::manual(NOON));
        let channels = Live::new(Channels::new(&config).unwrap());
        let settings = Live::new(Settings::new(&config.page, "https://dlo.example/".parse().unwrap()).unwrap());
        let incidents = Incidents::new(
            Arc::clone(&store),
            channels,
            clock.clone(),
            ChangeFeed::default(),
            Wakeup::default(),
            settings,
        );
        Self { store, clock, incidents }
    }

    pub async fn looks_at(&self, at: Timestamp) -> Vec<String> {
        self.clock.advance(at.since(self.clock.now()));
        self.incidents.look().await.unwrap();
        self.told().await
    }

    /// Everything that was told so far, the first first.
    pub async fn told(&self) -> Vec<String> {
        let mut notifications = self.store.notifications(&[], 1_000).await.unwrap();
        notifications.reverse();
        let told = notifications.iter().map(|told| {
            let what = told.kind.as_str().trim_start_matches("incident_").to_owned();
            format!("{} {what}", told.channel)
        });
        told.collect()
    }
}

/// A letter of a group, as it is found to be.
fn found(letter: LetterId, importance: Importance, error: &str) -> Enriched {
    Enriched { importance, ..enriched(letter).in_group("main", "orders", error) }
}

pub(super) async fn letters(database: &TestDatabase, importance: Importance, error: &str, n: usize) -> Vec<LetterId> {
    let arrivals: Vec<_> = (0..n).map(|_| an_arrival()).collect();
    let ids: Vec<LetterId> = arrivals.iter().map(|arrival| arrival.id).collect();
    for arrival in arrivals {
        database.take_in([arrival]).await;
    }
    let found: Vec<Enriched> = ids.iter().map(|id| found(*id, importance, error)).collect();
    database.enrich(&found, 1, NOON).await.unwrap();
    ids
}

async fn a_group_is_one_incident_until_its_last_letter_is_gone(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    let ids = letters(database, Importance::Critical, "no disk", 3).await;
    assert_eq!(desk.looks_at(later(1)).await, ["pagerduty opened"]);
    let more = letters(database, Importance::Critical, "no disk", 2).await;
    database.does(&DISCARD, &ids).await;
    assert_eq!(desk.looks_at(later(2)).await, ["pagerduty opened"]);
    database.does(&DISCARD, &more).await;
    assert_eq!(desk.looks_at(later(3)).await, ["pagerduty opened", "pagerduty resolved"]);
    assert_eq!(desk.looks_at(later(4)).await.len(), 2);
    letters(database, Importance::Critical, "no disk", 1).await;
    assert_eq!(desk.looks_at(later(5)).await[2..], ["pagerduty opened"], "it came again");
    assert_eq!(database.count_open_incidents().await.unwrap(), [(Importance::Critical, 1)]);
}

async fn what_is_not_important_disturbs_nobody(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    letters(database, Importance::High, "no disk", 3).await;
    assert!(desk.looks_at(later(1)).await.is_empty());
    let critical = letters(database, Importance::Normal, "no net", 1).await;
    database.does(&Command::SetImportance(Importance::Critical), &critical).await;
    assert_eq!(desk.looks_at(later(2)).await, ["pagerduty opened"], "somebody said that it is");
    database.does(&Command::SetImportance(Importance::Low), &critical).await;
    assert_eq!(desk.looks_at(later(3)).await, ["pagerduty opened", "pagerduty resolved"]);
}

async fn each_channel_hears_what_it_is_there_for(database: &TestDatabase) {
    let desk = Desk::open(database, |config| {
        config.slack.webhook_url = Secret::new("https://hooks.example/x");
        config.slack.importance = Some(vec![Importance::High, Importance::Critical]);
        config.alertmanager.url = Some("http://alertmanager.example".parse().unwrap());
    })
    .await;
    let ids = letters(database, Importance::High, "no disk", 1).await;
    assert_eq!(desk.looks_at(later(1)).await, ["slack opened"]);
    database.does(&Command::SetImportance(Importance::Critical), &ids).await;
    let mut told = desk.looks_at(later(2)).await;
    told.sort();
    assert_eq!(told, ["alertmanager opened", "pagerduty opened", "slack opened"], "only who had not heard of it");
    database.does(&DISCARD, &ids).await;
    assert_eq!(desk.looks_at(later(3)).await.len(), 6, "all of them hear that it is over");
}

/// PagerDuty hears of what is critical, Slack and Alertmanager of what is high and no more than that.
async fn torn_desk(database: &TestDatabase) -> Desk {
    Desk::open(database, |config| {
        config.slack.webhook_url = Secret::new("https://hooks.example/x");
        config.slack.importance = Some(vec![Importance::High]);
        config.alertmanager.url = Some("http://alertmanager.example".parse().unwrap());
        config.alertmanager.importance = Some(vec![Importance::High]);
        config.page.remind_every = HOUR;
    })
    .await
}

async fn who_heard_of_its_beginning_hears_of_its_end_though_it_rose(database: &TestDatabase) {
    let desk = torn_desk(database).await;
    let ids = letters(database, Importance::High, "no disk", 1).await;
    assert_eq!(desk.looks_at(later(1)).await, ["slack opened", "alertmanager opened"]);
    database.does(&Command::SetImportance(Importance::Critical), &ids).await;
    assert_eq!(desk.looks_at(later(2)).await[2..], ["pagerduty opened"]);
    database.does(&DISCARD, &ids).await;
    let mut ends = desk.looks_at(later(3)).await.split_off(3);
    ends.sort();
    assert_eq!(ends, ["alertmanager resolved", "pagerduty resolved", "slack resolved"]);
    let alerts = bodies(database, Channel::Alertmanager).await;
    assert_eq!(alerts.len(), 2);
    assert_eq!(alerts[1][0]["labels"], alerts[0][0]["labels"], "otherwise it is another alert");
    assert_eq!(alerts[1][0]["labels"]["importance"], "high");
}

async fn who_heard_of_its_beginning_hears_of_its_end_though_it_fell(database: &TestDatabase) {
    let desk = torn_desk(database).await;
    let critical = letters(database, Importance::Critical, "no disk", 1).await;
    let high = letters(database, Importance::High, "no disk", 1).await;
    assert_eq!(desk.looks_at(later(1)).await, ["pagerduty opened"]);
    database.does(&DISCARD, &critical).await;
    assert_eq!(desk.looks_at(later(3_601)).await[1..], ["slack opened", "alertmanager opened"]);
    database.does(&DISCARD, &high).await;
    let mut ends = desk.looks_at(later(3_602)).await.split_off(3);
    ends.sort();
    assert_eq!(ends, ["alertmanager resolved", "pagerduty resolved", "slack resolved"]);
}

/// What one channel is to be told, the first first.
pub(super) async fn bodies(database: &TestDatabase, channel: Channel) -> Vec<Value> {
    let mut bodies = Vec::new();
    while let Some(claimed) = database.claim_notification(later(9_999), HOUR, (channel, None)).await.unwrap() {
        let told = claimed.notification;
        database.end_attempt(told.id, &Attempt::Delivered, later(9_999)).await.unwrap();
        bodies.push(serde_json::from_str(&told.body).unwrap());
    }
    bodies
}

async fn an_incident_is_told_again_every_so_often(database: &TestDatabase) {
    let desk = Desk::open(database, |config| {
        config.pagerduty.routing_key = Secret::default();
        config.slack.webhook_url = Secret::new("https://hooks.example/x");
        config.page.remind_every = HOUR;
    })
    .await;
    letters(database, Importance::Critical, "no disk", 1).await;
    assert_eq!(desk.looks_at(later(0)).await, ["slack opened"]);
    assert_eq!(desk.looks_at(later(3_599)).await.len(), 1);
    assert_eq!(desk.looks_at(later(3_600)).await, ["slack opened", "slack reminder"]);
    assert_eq!(desk.looks_at(later(7_000)).await.len(), 2);
    assert_eq!(desk.looks_at(later(7_200)).await.len(), 3);
}

/// NOON is at 12:00 UTC.
fn quiet(config: &mut NotifyConfig) {
    config.page.importance = vec![Importance::Critical, Importance::High];
    config.page.quiet_hours.from = "11:00".to_owned();
    config.page.quiet_hours.to = "13:00".to_owned();
}

async fn what_can_wait_is_told_after_the_quiet_hours(database: &TestDatabase) {
    let desk = Desk::open(database, quiet).await;
    letters(database, Importance::High, "no disk", 1).await;
    let over = letters(database, Importance::High, "no net", 1).await;
    assert!(desk.looks_at(later(1)).await.is_empty());
    letters(database, Importance::Critical, "no power", 1).await;
    assert_eq!(desk.looks_at(later(2)).await, ["pagerduty opened"], "what cannot wait");
    assert_eq!(database.count_open_incidents().await.unwrap(), [(Importance::Critical, 1)], "one is known");
    database.does(&DISCARD, &over).await;
    assert_eq!(desk.looks_at(later(3_599)).await.len(), 1, "what nobody was told of is not resolved aloud");
    assert_eq!(desk.looks_at(later(3_600)).await, ["pagerduty opened", "pagerduty opened"]);
    assert_eq!(desk.looks_at(later(3_700)).await.len(), 2);
}

async fn two_servers_tell_it_once(database: &TestDatabase) {
    let (one, other) = (Desk::open(database, |_| {}).await, Desk::open(database, |_| {}).await);
    let ids = letters(database, Importance::Critical, "no disk", 1).await;
    let (first, second) = tokio::join!(one.incidents.look(), other.incidents.look());
    first.unwrap();
    second.unwrap();
    assert_eq!(one.told().await, ["pagerduty opened"]);
    database.does(&DISCARD, &ids).await;
    let (first, second) = tokio::join!(one.incidents.look(), other.incidents.look());
    first.unwrap();
    second.unwrap();
    assert_eq!(one.told().await, ["pagerduty opened", "pagerduty resolved"]);
}

/// What the watch says of a queue at that moment.
fn of_watch(importance: Importance, sentence: Option<&str>, at: Timestamp) -> Incident {
    Incident {
        key: "watch:main:orders:consumers".to_owned(),
        kind: IncidentKind::Watch,
        title: "orders has no consumers".to_owned(),
        importance,
        broker: "main".to_owned(),
        queue: Some("orders".to_owned()),
        message_type: None,
        reason: None,
        error: sentence.map(str::to_owned),
        open: 0,
        first_seen: NOON,
        last_seen: at,
        opened_at: at,
        resolved_at: None,
        href: "https://dlo.example/queues".to_owned(),
        storm: None,
    }
}

async fn what_is_about_no_group_is_told_as_it_stands(database: &TestDatabase) {
    let desk = Desk::open(database, quiet).await;
    let noted = async |sentence: &str, at: Timestamp| {
        let was = database.open_incidents().await.unwrap().remove(0);
        desk.incidents.note(&was, &of_watch(Importance::High, Some(sentence), at)).await.unwrap();
        database.open_incidents().await.unwrap().remove(0).incident
    };
    desk.incidents.raise(&of_watch(Importance::High, Some("for 15 min"), NOON)).await.unwrap();
    assert_eq!(noted("for 16 min", later(59)).await.error.as_deref(), Some("for 15 min"), "not all the time");
    let incident = noted("for 1 h", later(3_500)).await;
    assert_eq!((incident.error.as_deref(), incident.opened_at), (Some("for 1 h"), NOON));
    assert_eq!(desk.looks_at(later(3_599)).await, [""; 0]);
    assert_eq!(desk.looks_at(later(3_600)).await, ["pagerduty opened"], "after the quiet hours");
    let told = bodies(database, Channel::PagerDuty).await.remove(0).to_string();
    assert!(told.contains("for 1 h") && !told.contains("15 min"), "{told}");
    assert_eq!(noted("for 2 h", later(7_200)).await.error.as_deref(), Some("for 2 h"), "as Alertmanager is told it");
    assert_eq!(desk.looks_at(later(7_201)).await.len(), 1, "nobody is called for that");
}

async fn what_is_about_no_group_stays_until_it_is_cleared(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    let incident = of_watch(Importance::Critical, None, NOON);
    desk.incidents.raise(&incident).await.unwrap();
    desk.incidents.raise(&incident).await.unwrap();
    assert_eq!(desk.looks_at(later(1)).await, ["pagerduty opened"]);
    assert_eq!(database.open_incidents().await.unwrap()[0].incident, incident);
    desk.incidents.clear(&incident.key).await.unwrap();
    desk.incidents.clear(&incident.key).await.unwrap();
    assert_eq!(desk.looks_at(later(2)).await, ["pagerduty opened", "pagerduty resolved"]);
    assert_eq!(database.number("SELECT count(*) FROM incidents").await, 1);
}

async fn notifications_are_claimed_one_after_the_other(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    let ids = letters(database, Importance::Critical, "no disk", 1).await;
    desk.looks_at(later(1)).await;
    database.does(&DISCARD, &ids).await;
    desk.looks_at(later(2)).await;
    let claim = async |at| database.claim_notification(at, HOUR, PAGERDUTY).await.unwrap();
    let opened = claim(later(3)).await.unwrap();
    assert_eq!((opened.notification.kind, opened.attempts), (NotificationKind::IncidentOpened, 0));
    assert_eq!(claim(later(4)).await, None, "the end is not told before the beginning");
    let first_due = async || database.first_notification_due().await.unwrap();
    assert_eq!(first_due().await, Some(later(3).plus(HOUR)), "the first one is being sent, and the other waits for it");
    let again = Attempt::Later(later(60), "it is busy".to_owned());
    database.end_attempt(opened.notification.id, &again, later(5)).await.unwrap();
    assert_eq!(database.next_notification_due(Channel::PagerDuty, later(5)).await.unwrap(), Some(later(60)));
    assert_eq!(first_due().await, Some(later(60)), "the other waits for it");
    assert_eq!(claim(later(59)).await, None);
    let opened = claim(later(60)).await.unwrap();
    assert_eq!((opened.notification.kind, opened.attempts), (NotificationKind::IncidentOpened, 1));
    let dead = later(60).plus(HOUR);
    let taken_over = claim(dead).await.unwrap();
    assert_eq!((taken_over.notification.id, taken_over.attempts), (opened.notification.id, 2), "nobody ended it");
    database.end_attempt(opened.notification.id, &Attempt::Delivered, dead).await.unwrap();
    let resolved = claim(dead).await.unwrap();
    assert_eq!(resolved.notification.kind, NotificationKind::IncidentResolved);
    assert_eq!(database.waiting_notifications().await.unwrap(), (1, Some(later(2))));
    database.end_attempt(resolved.notification.id, &Attempt::Refused("no such key".to_owned()), dead).await.unwrap();
    let told = database.notifications(std::slice::from_ref(&resolved.notification.subject), 9).await.unwrap();
    let ends: Vec<_> = told.iter().map(|told| (told.state, told.problem.as_deref())).collect();
    assert_eq!(ends, [(NotificationState::Refused, Some("no such key")), (NotificationState::Delivered, None)]);
    assert_eq!(database.waiting_notifications().await.unwrap(), (0, None));
    database.forget_told(dead.plus(HOUR)).await.unwrap();
    assert!(database.notifications(&[], 9).await.unwrap().is_empty());
}

/// Who asks has looked at the clock before it waited for the database.
async fn a_claim_holds_though_another_looked_at_the_clock_before(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    letters(database, Importance::Critical, "no disk", 1).await;
    desk.looks_at(later(1)).await;
    assert!(database.claim_notification(later(3), LEASE, PAGERDUTY).await.unwrap().is_some());
    assert_eq!(database.claim_notification(later(2), LEASE, PAGERDUTY).await.unwrap(), None);
}

/// It takes its time, and the others wait for their turn.
async fn nothing_is_late_for_a_channel_that_is_being_tried(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    for error in ["no disk", "no net"] {
        letters(database, Importance::Critical, error, 1).await;
    }
    desk.looks_at(later(1)).await;
    let first_due = async || database.first_notification_due().await.unwrap();
    assert_eq!(first_due().await, Some(later(1)));
    let claimed = database.claim_notification(later(600), LEASE, PAGERDUTY).await.unwrap().unwrap();
    assert_eq!(first_due().await, Some(later(600).plus(LEASE)));
    let again = Attempt::Later(later(900), "it does not answer".to_owned());
    database.end_attempt(claimed.notification.id, &again, later(610)).await.unwrap();
    assert_eq!(first_due().await, Some(later(610)), "the other one could have been tried since");
}

async fn a_clock_that_was_ahead_holds_nothing_up(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    letters(database, Importance::Critical, "no disk", 1).await;
    desk.looks_at(later(1)).await;
    let tomorrow = NOON.plus(24 * HOUR);
    let claimed = database.claim_notification(tomorrow, LEASE, PAGERDUTY).await.unwrap().unwrap();
    assert_eq!(database.next_notification_due(Channel::PagerDuty, later(2)).await.unwrap(), Some(later(1)));
    let claimed_again = database.claim_notification(later(2), LEASE, PAGERDUTY).await.unwrap().unwrap();
    assert_eq!(claimed_again.notification, claimed.notification, "the clock was put right");
    let again = Attempt::Later(tomorrow, "it is busy".to_owned());
    database.end_attempt(claimed.notification.id, &again, later(3)).await.unwrap();
    assert_eq!(database.next_notification_due(Channel::PagerDuty, later(4)).await.unwrap(), Some(later(4)));
    assert!(database.claim_notification(later(4), LEASE, PAGERDUTY).await.unwrap().is_some());
    assert!(database.claim_notification(later(5), LEASE, PAGERDUTY).await.unwrap().is_none(), "it is being sent");
}

async fn a_letter_that_is_back_is_an_incident_again(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    let ids = letters(database, Importance::Critical, "no disk", 1).await;
    desk.looks_at(later(1)).await;
    database.bring(ids[0], Status::Retried).await;
    assert_eq!(desk.looks_at(later(2)).await, ["pagerduty opened", "pagerduty resolved"]);
    database.take_in([an_arrival().returning(ids[0]).received(later(3))]).await;
    assert_eq!(desk.looks_at(later(4)).await[2..], ["pagerduty opened"]);
}

/// Somebody does that with all groups.
pub(super) async fn does(desk: &Desk, command: GroupCommand, at: Timestamp) {
    let mut ids: Vec<GroupId> =
        desk.store.matching_groups(&GroupFilter::default()).await.unwrap().iter().map(|it| it.id).collect();
    ids.sort();
    let order = GroupOrder { ids: &ids, command: &command, by: &Actor::named("ada"), at };
    let report = desk.store.act_on_groups(&order, &Expected::Anything).await.unwrap();
    assert_eq!((report.done, report.refused), (ids, Vec::new()));
}

async fn who_is_at_it_is_not_reminded(database: &TestDatabase) {
    let desk = Desk::open(database, |config| {
        config.slack.webhook_url = Secret::new("https://hooks.example/x");
        config.page.remind_every = HOUR;
    })
    .await;
    let high = letters(database, Importance::High, "no disk", 1).await;
    letters(database, Importance::Critical, "no disk", 1).await;
    assert_eq!(desk.looks_at(later(1)).await, ["slack opened", "pagerduty opened"]);
    does(&desk, GroupCommand::Acknowledge, later(2)).await;
    assert_eq!(desk.looks_at(later(3)).await[2..], ["pagerduty acknowledged"], "Slack calls nobody for that");
    assert_eq!(desk.looks_at(later(3_700)).await.len(), 3, "nobody is reminded");
    database.does(&DISCARD, &high).await;
    does(&desk, GroupCommand::Reopen, later(3_701)).await;
    assert_eq!(desk.looks_at(later(3_702)).await[3..], ["slack reminder"], "nobody is at it any more");
    does(&desk, GroupCommand::Acknowledge, later(3_703)).await;
    assert_eq!(desk.looks_at(later(3_704)).await[4..], ["pagerduty acknowledged"]);
    let events: Vec<Value> = bodies(database, Channel::PagerDuty).await;
    let actions: Vec<&Value> = events.iter().map(|event| &event["event_action"]).collect();
    assert_eq!(actions, ["trigger", "acknowledge", "acknowledge"]);
    assert!(events.iter().all(|event| event["dedup_key"] == events[0]["dedup_key"]));
}

/// It was acknowledged for what was over since.
async fn what_begins_anew_calls_although_somebody_was_at_it(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    let ids = letters(database, Importance::Critical, "no disk", 1).await;
    does(&desk, GroupCommand::Acknowledge, NOON).await;
    database.does(&DISCARD, &ids).await;
    assert!(desk.looks_at(later(1)).await.is_empty());
    letters(database, Importance::Critical, "no disk", 1).await;
    assert_eq!(desk.looks_at(later(2)).await, ["pagerduty opened"]);
    assert_eq!(desk.looks_at(later(3)).await.len(), 1, "PagerDuty goes on calling");
}

async fn phase(desk: &Desk) -> Phase {
    desk.store.matching_groups(&GroupFilter::default()).await.unwrap()[0].state.phase()
}

fn reminding(config: &mut NotifyConfig) {
    config.slack.webhook_url = Secret::new("https://hooks.example/x");
    config.page.remind_every = HOUR;
}

async fn what_fails_again_after_its_last_letter_is_acknowledged_anew(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    let ids = letters(database, Importance::Critical, "no disk", 1).await;
    desk.looks_at(later(1)).await;
    does(&desk, GroupCommand::Acknowledge, later(2)).await;
    assert_eq!(desk.looks_at(later(3)).await, ["pagerduty opened", "pagerduty acknowledged"]);
    database.bring(ids[0], Status::Retried).await;
    assert_eq!(desk.looks_at(later(4)).await[2..], ["pagerduty resolved"]);
    assert_eq!(phase(&desk).await, Phase::Acknowledged, "nothing has come since");
    database.take_in([an_arrival().returning(ids[0]).received(later(5))]).await;
    assert_eq!(desk.looks_at(later(6)).await[3..], ["pagerduty opened"]);
    assert_eq!(phase(&desk).await, Phase::Open, "nobody is working on this failure yet");
    does(&desk, GroupCommand::Acknowledge, later(7)).await;
    assert_eq!(desk.looks_at(later(8)).await[4..], ["pagerduty acknowledged"]);
}

/// Between its coming and its being enriched the groups are looked at.
async fn what_fails_again_with_another_error_is_told_as_that(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    let ids = letters(database, Importance::Critical, "no disk", 1).await;
    desk.looks_at(later(1)).await;
    database.bring(ids[0], Status::Retried).await;
    assert_eq!(desk.looks_at(later(2)).await, ["pagerduty opened", "pagerduty resolved"]);
    database.take_in([an_arrival().error("no memory").returning(ids[0]).received(later(3))]).await;
    assert_eq!(desk.looks_at(later(4)).await.len(), 2, "nobody knows yet what it is");
    let other = Enriched { received_at: later(3), ..found(ids[0], Importance::Critical, "no memory") };
    database.enrich(&[other], 1, later(5)).await.unwrap();
    assert_eq!(desk.looks_at(later(6)).await[2..], ["pagerduty opened"]);
    let open = database.open_incidents().await.unwrap();
    assert_eq!((open.len(), open[0].incident.error.as_deref()), (1, Some("no memory")));
}

async fn what_is_taken_back_is_acknowledged_anew(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    let ids = letters(database, Importance::Critical, "no disk", 1).await;
    desk.looks_at(later(1)).await;
    does(&desk, GroupCommand::Acknowledge, later(2)).await;
    database.does(&DISCARD, &ids).await;
    assert_eq!(desk.looks_at(later(3)).await, ["pagerduty opened", "pagerduty resolved"]);
    database.does(&Command::Reopen, &ids).await;
    assert_eq!(desk.looks_at(later(4)).await[2..], ["pagerduty opened"]);
    does(&desk, GroupCommand::Acknowledge, later(5)).await;
    assert_eq!(desk.looks_at(later(6)).await[3..], ["pagerduty acknowledged"]);
}

async fn a_more_important_letter_ends_an_acknowledgement(database: &TestDatabase) {
    let desk = Desk::open(database, reminding).await;
    letters(database, Importance::Normal, "no disk", 1).await;
    does(&desk, GroupCommand::Acknowledge, later(1)).await;
    letters(database, Importance::Low, "no disk", 1).await;
    letters(database, Importance::Normal, "no disk", 1).await;
    assert!(desk.looks_at(later(2)).await.is_empty());
    assert_eq!(phase(&desk).await, Phase::Acknowledged, "these are not more important");
    letters(database, Importance::Critical, "no disk", 1).await;
    assert_eq!(phase(&desk).await, Phase::Open);
    let mut told = desk.looks_at(later(3)).await;
    told.sort();
    assert_eq!(told, ["pagerduty opened", "slack opened"]);
    does(&desk, GroupCommand::Acknowledge, later(4)).await;
    assert_eq!(desk.looks_at(later(5)).await[2..], ["pagerduty acknowledged"]);
    assert_eq!(desk.looks_at(later(9_999)).await.len(), 3, "nobody is reminded");
}

/// Somebody was quicker than the server.
async fn what_is_acknowledged_before_it_is_an_incident_is_acknowledged(database: &TestDatabase) {
    let desk = Desk::open(database, reminding).await;
    letters(database, Importance::Critical, "no disk", 1).await;
    does(&desk, GroupCommand::Acknowledge, NOON).await;
    let mut told = desk.looks_at(later(1)).await;
    told.sort();
    assert_eq!(told, ["pagerduty opened", "slack opened"]);
    assert_eq!(desk.looks_at(later(2)).await[2..], ["pagerduty acknowledged"]);
    assert_eq!(desk.looks_at(later(9_999)).await.len(), 3, "nobody is reminded");
}

async fn a_more_important_letter_of_what_is_acknowledged_is_told_in_quiet_hours(database: &TestDatabase) {
    let desk = Desk::open(database, quiet).await;
    letters(database, Importance::High, "no disk", 1).await;
    assert!(desk.looks_at(later(1)).await.is_empty());
    does(&desk, GroupCommand::Acknowledge, later(2)).await;
    letters(database, Importance::Critical, "no disk", 1).await;
    assert_eq!(desk.looks_at(later(3)).await, ["pagerduty opened"], "that cannot wait, and nobody is working on it");
}

async fn what_is_acknowledged_in_quiet_hours_is_not_told_after_them(database: &TestDatabase) {
    let desk = Desk::open(database, quiet).await;
    letters(database, Importance::High, "no disk", 1).await;
    assert!(desk.looks_at(later(1)).await.is_empty());
    does(&desk, GroupCommand::Acknowledge, later(2)).await;
    letters(database, Importance::High, "no disk", 1).await;
    assert!(desk.looks_at(later(3_700)).await.is_empty());
}

async fn what_is_resolved_is_over_until_it_comes_again(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    letters(database, Importance::Critical, "no disk", 2).await;
    desk.looks_at(later(1)).await;
    does(&desk, GroupCommand::Resolve, later(2)).await;
    assert_eq!(desk.looks_at(later(3)).await, ["pagerduty opened", "pagerduty resolved"], "two letters are open");
    let letter = database.take_in_new(an_arrival().received(later(4))).await;
    let again = Enriched { received_at: later(4), ..found(letter, Importance::Critical, "no disk") };
    database.enrich(&[again], 1, later(4)).await.unwrap();
    assert_eq!(desk.looks_at(later(5)).await[2..], ["pagerduty opened"]);
}

async fn what_is_resolved_says_how_many_are_open_still(database: &TestDatabase) {
    let desk = Desk::open(database, reminding).await;
    letters(database, Importance::Critical, "no disk", 2).await;
    desk.looks_at(later(1)).await;
    does(&desk, GroupCommand::Resolve, later(2)).await;
    desk.looks_at(later(3)).await;
    let told: Vec<String> = bodies(database, Channel::Slack).await.iter().map(Value::to_string).collect();
    assert!(told.iter().any(|body| body.contains("Resolved: ") && body.contains("2 dead letters open")), "{told:?}");
}

async fn of_what_is_snoozed_nobody_hears_until_it_wakes(database: &TestDatabase) {
    let desk = Desk::open(database, |config| config.page.remind_every = HOUR).await;
    letters(database, Importance::Critical, "no disk", 1).await;
    desk.looks_at(later(1)).await;
    does(&desk, GroupCommand::Snooze(Until::Time(later(7_200))), later(2)).await;
    assert_eq!(desk.looks_at(later(3)).await, ["pagerduty opened", "pagerduty resolved"], "PagerDuty calls no more");
    letters(database, Importance::Critical, "no disk", 3).await;
    assert_eq!(desk.looks_at(later(7_199)).await.len(), 2);
    database.wake_groups(later(7_200)).await.unwrap();
    assert_eq!(desk.looks_at(later(7_201)).await[2..], ["pagerduty opened"]);
}

/// The same letters as a schema that came later names them.
async fn become_of_type(database: &TestDatabase, letters: &[LetterId], name: &str, at: Timestamp) {
    let named = |letter: &LetterId| {
        let named = Enriched { message_type: Some(name.to_owned()), ..enriched(*letter) };
        Enriched { importance: Importance::Critical, ..named }.in_group("main", "orders", "no disk")
    };
    database.enrich(&letters.iter().map(named).collect::<Vec<_>>(), 2, at).await.unwrap();
}

/// Nobody is called because somebody uploads a schema; what fails when that is over is told as what it is.
async fn what_becomes_of_another_type_is_the_same_incident(database: &TestDatabase) {
    let desk = Desk::open(database, |_| {}).await;
    let ids = letters(database, Importance::Critical, "no disk", 4).await;
    let group = |id: LetterId| async move { database.summary(id).await.unwrap().unwrap().group.unwrap() };
    let was = group(ids[0]).await;
    assert_eq!(desk.looks_at(later(1)).await, ["pagerduty opened"]);
    become_of_type(database, &ids[..2], "acme.Paid", later(2)).await;
    become_of_type(database, &ids[2..3], "acme.Sent", later(2)).await;
    assert_eq!(desk.looks_at(later(3)).await, ["pagerduty opened"]);
    // A server that has not seen yet that another one opened it makes no difference.
    database.tell_apart(was, &format!("group:{was}")).await.unwrap();
    assert_eq!(desk.looks_at(later(3)).await, ["pagerduty opened"]);
    assert_eq!(database.goes_on_as(was).await.unwrap(), [], "a letter is in it still");
    become_of_type(database, &ids[3..], "acme.Sent", later(4)).await;
    assert_eq!(desk.looks_at(later(5)).await, ["pagerduty opened"]);
    let next = async || -> Vec<GroupId> {
        database.goes_on_as(was).await.unwrap().into_iter().map(|group| group.id).collect()
    };
    let both = [group(ids[0]).await, group(ids[3]).await];
    let leads_to = next().await;
    assert!(leads_to.len() == 2 && both.iter().all(|one| leads_to.contains(one)), "its link leads to both");
    database.does(&DISCARD, &ids[..2]).await;
    assert_eq!(next().await, both[1..], "where something is to be done");
    assert_eq!(desk.looks_at(later(6)).await, ["pagerduty opened"], "others are open");
    database.does(&DISCARD, &ids[2..]).await;
    assert_eq!(desk.looks_at(later(7)).await[1..], ["pagerduty resolved"]);
    // What comes from now on is told by itself, also while the first has an incident again.
    letters(database, Importance::Critical, "no disk", 1).await;
    assert_eq!(desk.looks_at(later(8)).await[2..], ["pagerduty opened"]);
    let more = letters(database, Importance::Critical, "another disk", 1).await;
    become_of_type(database, &more, "acme.Paid", later(9)).await;
    assert_eq!(desk.looks_at(later(10)).await[3..], ["pagerduty opened"]);
    assert_eq!(database.count_open_incidents().await.unwrap(), [(Importance::Critical, 2)]);
}

on_both!(
    what_becomes_of_another_type_is_the_same_incident,
    a_group_is_one_incident_until_its_last_letter_is_gone,
    what_is_not_important_disturbs_nobody,
    each_channel_hears_what_it_is_there_for,
    who_heard_of_its_beginning_hears_of_its_end_though_it_rose,
    who_heard_of_its_beginning_hears_of_its_end_though_it_fell,
    an_incident_is_told_again_every_so_often,
    what_can_wait_is_told_after_the_quiet_hours,
    two_servers_tell_it_once,
    what_is_about_no_group_stays_until_it_is_cleared,
    what_is_about_no_group_is_told_as_it_stands,
    nothing_is_late_for_a_channel_that_is_being_tried,
    notifications_are_claimed_one_after_the_other,
    a_claim_holds_though_another_looked_at_the_clock_before,
    a_clock_that_was_ahead_holds_nothing_up,
    a_letter_that_is_back_is_an_incident_again,
    who_is_at_it_is_not_reminded,
    what_begins_anew_calls_although_somebody_was_at_it,
    what_fails_again_after_its_last_letter_is_acknowledged_anew,
    what_fails_again_with_another_error_is_told_as_that,
    what_is_taken_back_is_acknowledged_anew,
    a_more_important_letter_ends_an_acknowledgement,
    what_is_acknowledged_before_it_is_an_incident_is_acknowledged,
    a_more_important_letter_of_what_is_acknowledged_is_told_in_quiet_hours,
    what_is_acknowledged_in_quiet_hours_is_not_told_after_them,
    what_is_resolved_is_over_until_it_comes_again,
    what_is_resolved_says_how_many_are_open_still,
    of_what_is_snoozed_nobody_hears_until_it_wakes,
);
