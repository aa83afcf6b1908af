//! Each time of a schedule has one digest: over the nights on which the clock is changed, when somebody puts the clock
//! forward or back, when dlo was closed, and with several servers on one database.

use std::time::Duration;

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    config::{DigestConfig, NotifyConfig, values::Secret},
    domain::letter::Importance,
    services::digests::Plan,
};

use super::newsroom::{DAY, HOUR, MINUTE, Newsroom, at, config, fail, shown, slack, sort, text};
use crate::{
    store::{
        database::TestDatabase,
        make::{Make, an_arrival},
    },
    support::soak,
};

/// The digests of a schedule over some days, on SQLite and on Postgres.
async fn check_nights([cron, zone]: [&str; 2], [from, until]: [&str; 2], expected: &[&str]) {
    let slack = slack().await;
    let config = config(&slack, cron, zone);
    let databases = [Some(TestDatabase::sqlite().await), TestDatabase::postgres().await];
    for database in databases.iter().flatten() {
        let before = slack.messages().len();
        let mut newsroom = Newsroom::open(database, &Clock::manual(at(from)), &config).await;
        newsroom.lives_until(at(until), soak(15, 5) * MINUTE).await;
        assert_eq!(newsroom.slots().await, expected, "{cron} {zone}");
        assert_eq!(slack.messages().len() - before, expected.len());
    }
}

#[tokio::test]
async fn on_the_night_in_which_an_hour_is_missing() {
    let london = ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"];
    let days = ["2026-03-28T00:00:00Z", "2026-03-30T12:00:00Z"];
    check_nights(["30 1 * * *", "Europe/London"], days, &london).await;
    let new_york = ["2026-03-07T07:30:00Z", "2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"];
    let days = ["2026-03-07T00:00:00Z", "2026-03-09T12:00:00Z"];
    check_nights(["30 2 * * *", "America/New_York"], days, &new_york).await;
}

#[tokio::test]
async fn on_the_night_in_which_an_hour_comes_twice() {
    let london = ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"];
    let days = ["2026-10-24T00:00:00Z", "2026-10-26T12:00:00Z"];
    check_nights(["30 1 * * *", "Europe/London"], days, &london).await;
    let new_york = ["2026-10-31T05:30:00Z", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"];
    let days = ["2026-10-31T00:00:00Z", "2026-11-02T12:00:00Z"];
    check_nights(["30 1 * * *", "America/New_York"], days, &new_york).await;
}

/// The clock of a server with a digest at nine is put from one time to another; all is as if it had not been.
async fn check_jump(from: Timestamp, to: Timestamp) {
    let (slack, database) = (slack().await, TestDatabase::sqlite().await);
    let clock = Clock::manual(at("2026-06-01T12:00:00Z"));
    let mut newsroom = Newsroom::open(&database, &clock, &config(&slack, "0 9 * * *", "UTC")).await;
    newsroom.lives_until(from, 10 * MINUTE).await;
    clock.set(to);
    newsroom.works().await;
    newsroom.lives_until(at("2026-06-05T12:00:00Z"), 10 * MINUTE).await;
    let mut slots = newsroom.slots().await;
    slots.sort();
    let expected = [2, 3, 4, 5].map(|day| format!("2026-06-0{day}T09:00:00Z"));
    assert_eq!(slots, expected, "from {} to {}", shown(from), shown(to));
    assert_eq!(slack.messages().len(), expected.len());
}

#[tokio::test]
async fn a_jump_of_the_clock_loses_and_repeats_nothing() {
    for moment in soak(&["08:50", "09:00", "09:10"][..], &["08:10", "08:50", "09:00", "09:10", "09:50", "22:00"]) {
        let from = at(&format!("2026-06-03T{moment}:00Z"));
        for jump in [HOUR, DAY] {
            check_jump(from, from.plus(jump)).await;
            check_jump(from, from.minus(jump)).await;
        }
    }
}

#[tokio::test]
async fn a_clock_that_was_a_year_ahead_holds_nothing_up() {
    let (slack, database) = (slack().await, TestDatabase::sqlite().await);
    let clock = Clock::manual(at("2027-06-01T12:00:00Z"));
    let mut newsroom = Newsroom::open(&database, &clock, &config(&slack, "0 9 * * *", "UTC")).await;
    newsroom.lives_until(at("2027-06-03T12:00:00Z"), HOUR).await;
    clock.set(at("2026-06-01T12:00:00Z"));
    newsroom.works().await;
    assert_eq!(slack.messages().len(), 2, "nothing is due that was over before");
    newsroom.lives_until(at("2026-06-03T12:00:00Z"), HOUR).await;
    assert_eq!(slack.messages().len(), 4);
}

#[tokio::test]
async fn what_was_over_before_the_first_start_is_not_made_up_for() {
    let (slack, database) = (slack().await, TestDatabase::sqlite().await);
    let clock = Clock::manual(at("2026-06-01T09:00:01Z"));
    let mut newsroom = Newsroom::open(&database, &clock, &config(&slack, "0 9 * * *", "UTC")).await;
    fail(&database, &clock, 3, "orders", "timeout").await;
    newsroom.lives_until(at("2026-06-02T08:59:01Z"), HOUR).await;
    assert_eq!(newsroom.slots().await, [""; 0]);

    // Nor what is over when a schedule changes, or a digest is new.
    let mut changed = config(&slack, "0 8 * * *", "UTC");
    changed.digests.insert("another".to_owned(), changed.digest.clone());
    changed.digests.insert("digest".to_owned(), changed.digest.clone());
    let mut newsroom = Newsroom::open(&database, &clock, &changed).await;
    newsroom.lives_until(at("2026-06-03T07:59:01Z"), HOUR).await;
    assert_eq!(newsroom.slots().await, [""; 0]);
    newsroom.lives_until(at("2026-06-03T09:00:00Z"), HOUR).await;
    assert_eq!(newsroom.slots().await, ["2026-06-03T08:00:00Z"; 2]);
}

/// The last time of the new schedule is the one that was just settled.
#[tokio::test]
async fn a_schedule_that_changes_while_it_runs_loses_nothing() {
    let (slack, database) = (slack().await, TestDatabase::sqlite().await);
    let clock = Clock::manual(at("2026-06-01T08:30:00Z"));
    let mut newsroom = Newsroom::open(&database, &clock, &config(&slack, "0 9 * * *", "UTC")).await;
    newsroom.lives_until(at("2026-06-01T10:00:00Z"), HOUR).await;
    newsroom.digests.configure(Plan::all(&config(&slack, "0 9,17 * * *", "UTC")).unwrap());
    newsroom.lives_until(at("2026-06-01T18:00:00Z"), HOUR).await;
    assert_eq!(newsroom.slots().await, ["2026-06-01T09:00:00Z", "2026-06-01T17:00:00Z"]);
}

#[tokio::test]
async fn an_server_that_was_closed_makes_up_for_the_last_time_only() {
    let (slack, database) = (slack().await, TestDatabase::sqlite().await);
    let clock = Clock::manual(at("2026-06-01T08:00:00Z"));
    let config = config(&slack, "0 9 * * *", "UTC");
    let mut newsroom = Newsroom::open(&database, &clock, &config).await;
    newsroom.lives_until(at("2026-06-01T10:00:00Z"), HOUR).await;
    clock.set(at("2026-06-02T20:00:00Z"));
    fail(&database, &clock, 3, "orders", "timeout").await;

    clock.set(at("2026-06-04T21:00:00Z"));
    let mut newsroom = Newsroom::open(&database, &clock, &config).await;
    newsroom.works().await;
    newsroom.works().await;
    let made = newsroom.made().await;
    assert_eq!(newsroom.slots().await, ["2026-06-01T09:00:00Z", "2026-06-04T09:00:00Z"]);
    assert_eq!(made[1].since, Some(made[0].made_at), "it tells all that happened meanwhile");
    assert!(text(&slack.messages()[1]).contains("3 new"), "{:?}", slack.messages());
}

#[tokio::test]
async fn what_is_more_than_a_day_late_is_left_to_the_next() {
    let (slack, database) = (slack().await, TestDatabase::sqlite().await);
    // Mondays at nine; 1 June 2026 is one.
    let (clock, config) = (Clock::manual(at("2026-05-31T08:00:00Z")), config(&slack, "0 9 * * MON", "UTC"));
    Newsroom::open(&database, &clock, &config).await.works().await;
    clock.set(at("2026-06-02T09:00:01Z"));
    let mut newsroom = Newsroom::open(&database, &clock, &config).await;
    newsroom.lives_until(at("2026-06-08T10:00:00Z"), HOUR).await;
    assert_eq!(newsroom.slots().await, ["2026-06-08T09:00:00Z"]);
    assert_eq!(slack.messages().len(), 1);
}

#[tokio::test]
async fn a_restart_repeats_nothing() {
    let (slack, database) = (slack().await, TestDatabase::sqlite().await);
    let (clock, config) = (Clock::manual(at("2026-06-01T08:30:00Z")), config(&slack, "0 * * * *", "UTC"));
    for _ in 0..40 {
        let mut newsroom = Newsroom::open(&database, &clock, &config).await;
        newsroom.makes().await;
        if fastrand::bool() {
            newsroom.sends().await;
        }
        clock.advance(20 * MINUTE);
    }
    let mut newsroom = Newsroom::open(&database, &clock, &config).await;
    newsroom.works().await;
    let slots = newsroom.slots().await;
    assert_eq!((slots.len(), slots[0].as_str()), (13, "2026-06-01T09:00:00Z"));
    assert_eq!(slack.messages().len(), 13);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_servers_on_one_database_make_one_digest() {
    const SERVERS: usize = 5;
    const SLOTS: usize = 20;
    let Some(database) = TestDatabase::postgres().await else { return };
    let slack = slack().await;
    let (clock, config) = (Clock::manual(at("2026-06-01T08:30:00Z")), config(&slack, "0 * * * *", "UTC"));
    fail(&database, &clock, 3, "orders", "timeout").await;
    let mut servers = Vec::new();
    for _ in 0..SERVERS {
        servers.push(Newsroom::open(&database, &clock, &config).await);
    }
    for _ in 0..=SLOTS {
        futures_util::future::join_all(servers.iter_mut().map(Newsroom::works)).await;
        clock.advance(HOUR);
    }
    assert_eq!(servers[0].slots().await.len(), SLOTS);
    assert_eq!(slack.messages().len(), SLOTS);
}

#[tokio::test]
async fn a_quiet_digest_is_sent_where_it_is_wanted() {
    let (slack, database) = (slack().await, TestDatabase::sqlite().await);
    let clock = Clock::manual(at("2026-06-01T08:30:00Z"));
    let mut config = config(&slack, "0 9 * * *", "UTC");
    config.digest.all_quiet = false;
    let mut newsroom = Newsroom::open(&database, &clock, &config).await;
    newsroom.lives_until(at("2026-06-01T10:00:00Z"), HOUR).await;
    assert!(newsroom.made().await[0].is_quiet);
    fail(&database, &clock, 1, "orders", "timeout").await;
    newsroom.lives_until(at("2026-06-02T10:00:00Z"), HOUR).await;
    assert_eq!(slack.messages().len(), 1);
    assert!(!newsroom.made().await[1].is_quiet);

    config.digest.all_quiet = true;
    config.digest.importance = vec![Importance::Critical];
    let mut newsroom = Newsroom::open(&database, &clock, &config).await;
    newsroom.lives_until(at("2026-06-03T10:00:00Z"), HOUR).await;
    assert_eq!(text(&slack.messages()[1]), "Dead letters: All quiet. Nothing in the scope of this digest is open.");
}

#[tokio::test]
async fn several_digests_each_tell_their_own() {
    let (one, other, database) = (slack().await, slack().await, TestDatabase::sqlite().await);
    let clock = Clock::manual(at("2026-06-01T08:30:00Z"));
    let mut all: NotifyConfig = config(&one, "0 9 * * *", "UTC");
    let mail = DigestConfig {
        schedule: "0 */2 * * *".to_owned(),
        queues: vec!["mail.*".to_owned()],
        webhook_url: Secret::new(other.webhook_url()),
        ..DigestConfig::default()
    };
    all.digests.insert("mail".to_owned(), mail);
    all.digests.insert("orders".to_owned(), DigestConfig { queues: vec!["orders".to_owned()], ..all.digest.clone() });
    let mut newsroom = Newsroom::open(&database, &clock, &all).await;
    newsroom.makes().await;
    fail(&database, &clock, 2, "mail.out", "refused").await;
    fail(&database, &clock, 5, "orders", "timeout").await;
    newsroom.lives_until(at("2026-06-01T12:30:00Z"), Duration::from_secs(10 * 60)).await;
    let told = |messages: Vec<serde_json::Value>| messages.iter().map(|one| text(one).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        told(one.messages()),
        ["Dead letters: orders: 5 dead letters open in 1 group, 5 new, 0 succeeded, 0 failed again"]
    );
    assert_eq!(
        told(other.messages()),
        ["Dead letters: mail: 2 dead letters open in 1 group, 2 new, 0 succeeded, 0 failed again"]
    );
}

#[tokio::test]
async fn letters_that_came_before_are_waited_for_a_little() {
    let (slack, database) = (slack().await, TestDatabase::sqlite().await);
    let clock = Clock::manual(at("2026-06-01T08:59:59Z"));
    let mut newsroom = Newsroom::open(&database, &clock, &config(&slack, "0 * * * *", "UTC")).await;
    newsroom.works().await;
    let unsorted = database.take_in_new(an_arrival().received(clock.now())).await;
    clock.advance(Duration::from_secs(2));
    database.take_in_new(an_arrival().received(clock.now())).await;
    newsroom.works().await;
    assert_eq!(slack.messages().len(), 0);
    sort(&database, &[unsorted], "orders", "timeout").await;
    newsroom.works().await;
    assert!(text(&slack.messages()[0]).contains("1 dead letter open"), "{:?}", slack.messages());
    clock.set(at("2026-06-01T09:59:58Z"));
    database.take_in_new(an_arrival().received(clock.now())).await;
    newsroom.lives_until(at("2026-06-01T10:01:00Z"), Duration::from_secs(1)).await;
    assert_eq!(slack.messages().len(), 2, "but not for long");
}
