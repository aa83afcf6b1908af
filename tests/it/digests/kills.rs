//! The real program, killed again and again around the moment of sending: nothing stays unsent, and nothing goes twice
//! but where the answer of Slack was lost.
//!
//! Needs the feature `crash-points`, as in `make test`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use dead_letter_office::{
    demo::stand_ins::SlackStandIn, domain::notification::NotificationState, store::DigestRecord, store::Store,
};
use serde_json::Value;

use super::newsroom::slack;
use crate::{
    store::database::TestDatabase,
    support::{
        PATIENCE,
        process::{self, Leash, Leashed, wait_until},
        soak,
    },
};

/// Each second all of these are due.
const DIGESTS: [&str; 4] = ["a", "b", "c", "d"];
/// Where the program dies by itself: before a slot is taken, after that and before it is sent, and after it was sent and
/// before that is written down.
const PLACES: [&str; 3] = ["digest made", "digest taken", "notification sent"];

/// A database and a Slack, and a program between them that does not live long.
struct World<'a> {
    database: &'a TestDatabase,
    store: Store,
    slack: SlackStandIn,
    /// How often each digest may go twice: once for each kill between its sending and the mark.
    unmarked: BTreeMap<String, usize>,
}

impl<'a> World<'a> {
    async fn begin(database: &'a TestDatabase) -> Self {
        Self { database, store: database.second_server().await, slack: slack().await, unmarked: BTreeMap::new() }
    }

    fn command(&self) -> Command {
        let mut command = process::dlo();
        command
            .args(["serve", "--roles", "notify"])
            .current_dir(Path::new(env!("CARGO_TARGET_TMPDIR")))
            .env("DLO_DATABASE__URL", self.database.url())
            .env("DLO_NOTIFY__SLACK__WEBHOOK_URL", self.slack.webhook_url())
            // However long the lives before, all of theirs are sent at once.
            .env("DLO_NOTIFY__SLACK__PER_MINUTE", "0");
        for name in DIGESTS {
            let key = |key: &str| format!("DLO_NOTIFY__DIGESTS__{}__{key}", name.to_uppercase());
            command.env(key("SCHEDULE"), "* * * * * *").env(key("ALL_QUIET"), "true");
        }
        command
    }

    fn run(&self) -> Leashed {
        Leash::on(self.command()).spawn()
    }

    async fn dies_at(&mut self, place: &str, nth: usize) {
        let mut command = self.command();
        command.env("DLO_TEST_CRASH_AT", format!("{place}:{nth}"));
        let status = Leash::on(command).spawn().exited(PATIENCE).await;
        assert!(!status.success(), "it did not die at {place}");
        self.has_died().await;
    }

    /// Killed in the moment in which Slack hears of something.
    async fn is_killed(&mut self) {
        let mut running = self.run();
        let heard = self.slack.requests().len() + fastrand::usize(1..4);
        tokio::time::timeout(PATIENCE, self.slack.has_heard(heard)).await.unwrap();
        running.kill();
        self.has_died().await;
    }

    async fn has_died(&mut self) {
        // What it had sent before is read by then.
        let elsewhere = reqwest::Url::parse(&self.slack.webhook_url()).unwrap().join("/").unwrap();
        crate::support::http().build().unwrap().get(elsewhere).send().await.unwrap();
        let marked: BTreeSet<String> = self
            .made()
            .await
            .iter()
            .filter(|digest| is_delivered(digest))
            .map(|digest| digest.id.to_string())
            .collect();
        for (digest, _) in self.heard() {
            if !marked.contains(&digest) {
                *self.unmarked.entry(digest).or_default() += 1;
            }
        }
        // As if so much time had passed that the claims of a process that died have ended.
        if !self.database.is_sqlite() {
            self.database.tamper("UPDATE notifications SET claimed_until = 0 WHERE claimed_until IS NOT NULL").await;
        }
    }

    async fn made(&self) -> Vec<DigestRecord> {
        self.store.digests(None, None, 100_000).await.unwrap()
    }

    /// How often Slack took each digest, which links to its page.
    fn heard(&self) -> BTreeMap<String, usize> {
        let mut heard = BTreeMap::new();
        for message in self.slack.messages() {
            *heard.entry(id_of(&message)).or_default() += 1;
        }
        heard
    }

    async fn ends_well(mut self) {
        let made_before = self.made().await.len();
        assert!(made_before > DIGESTS.len(), "it lived too short to tell anything");
        let mut running = self.run();
        let all_sent = async || {
            let made = self.made().await;
            made.len() > made_before && made.iter().rev().take(made_before).all(is_delivered)
        };
        wait_until("everything to be sent", PATIENCE, all_sent).await;
        running.kill();
        self.has_died().await;
        let heard = self.heard();
        for digest in self.made().await.iter().filter(|digest| is_delivered(digest)) {
            assert!(heard.contains_key(&digest.id.to_string()), "{} is marked and was not sent", digest.id);
        }
        for (digest, times) in heard {
            let most = 1 + self.unmarked.get(&digest).copied().unwrap_or(0);
            assert!((1..=most).contains(&times), "{digest} came {times} times, and {most} times at most is right");
        }
        let slots: Vec<_> = self.made().await.iter().map(|digest| (digest.name.clone(), digest.slot)).collect();
        assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), slots.len(), "each time once");
    }
}

fn is_delivered(digest: &DigestRecord) -> bool {
    digest.sending.as_ref().is_some_and(|sending| sending.state == NotificationState::Delivered)
}

fn id_of(message: &Value) -> String {
    let text = message.to_string();
    let (_, rest) = text.split_once("/digests/").unwrap();
    rest.chars().take_while(|c| c.is_ascii_hexdigit() || *c == '-').collect()
}

/// `n` kills by a signal, and as many at each of the places.
async fn check(database: &TestDatabase, n: usize) {
    let mut world = World::begin(database).await;
    for kill in 0..n {
        world.is_killed().await;
        for place in PLACES {
            world.dies_at(place, 1 + kill % 3).await;
        }
    }
    world.ends_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_lose_no_digest_and_double_none_that_was_answered() {
    // At the first, the second and the third time that it comes to a place; two hundred kills in the long run.
    let (of_sqlite, of_postgres) = soak(((1, 3), (1, 2)), ((11, 4), (2, 3)));
    let mut databases = Vec::new();
    for _ in 0..of_sqlite.0 {
        databases.push((TestDatabase::sqlite().await, of_sqlite.1));
    }
    for _ in 0..of_postgres.0 {
        databases.extend(TestDatabase::postgres().await.map(|database| (database, of_postgres.1)));
    }
    // Side by side, as most of it is waiting for the next second.
    futures_util::future::join_all(databases.iter().map(|(database, n)| check(database, *n))).await;
}
