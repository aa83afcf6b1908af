//! The watch over brokers: one process keeps it, and what it has seen outlives it.

use std::time::Duration;

use amqp_message::{glob::Globs, time::Timestamp};
use dead_letter_office::{
    domain::{
        queue_level::{QueueKind, QueueLevel, QueueState},
        watch::{BrokerWatch, ConcernKind, Poll, Settings},
    },
    store::{Claim, WatchKept, WatchUpdate, WatchedBroker},
};
use uuid::Uuid;

use super::{
    database::TestDatabase,
    make::{NOON, id, later},
};

const LEASE: Duration = Duration::from_secs(60);

fn settings() -> Settings {
    let minutes = |n: u64| Duration::from_secs(60 * n);
    Settings {
        interval: minutes(1),
        no_consumers_for: minutes(3),
        growing_for: minutes(4),
        lags_for: minutes(2),
        queues: Globs::new(&[]),
        vhost: "/".to_owned(),
        dead_letter_exchange: "dlx".to_owned(),
        dead_letter_queue: "dlo.dead-letters".to_owned(),
        obituary_queue: "dlo.obituaries".to_owned(),
    }
}

fn level(name: &str, consumers: u64, messages: u64) -> QueueLevel {
    QueueLevel {
        name: name.to_owned(),
        kind: QueueKind::Quorum,
        state: Some(QueueState::Running),
        messages: Some(messages),
        messages_ready: Some(messages),
        messages_unacknowledged: Some(0),
        consumers: Some(consumers),
        policy: Some("ha".to_owned()),
        ..QueueLevel::default()
    }
}

/// One watch of the broker `main`, with a look a minute.
struct Story<'a> {
    database: &'a TestDatabase,
    watcher: Uuid,
    kept: WatchKept,
    minute: u64,
}

impl<'a> Story<'a> {
    async fn begin(database: &'a TestDatabase) -> Self {
        let watcher = id();
        assert_eq!(database.claim_watch("main", watcher, NOON, LEASE).await.unwrap(), Claim::Taken);
        Self { database, watcher, kept: database.watch_kept("main").await.unwrap(), minute: 0 }
    }

    fn now(&self) -> Timestamp {
        later(60 * self.minute)
    }

    /// A look that finds these queues, written down and read again.
    async fn look(&mut self, levels: Option<&[QueueLevel]>) {
        self.minute += 1;
        let mut after = self.kept.clone();
        let (at, overdue) = (self.now(), Some(Duration::ZERO));
        let poll = Poll { begun: at, at, queues: levels, feeds: None, is_consuming: true, overdue };
        after.watch.observe(&settings(), &poll);
        if let Some(levels) = levels {
            after.levels.retain(|queue, _| after.watch.queues.contains_key(queue));
            after.levels.extend(levels.iter().map(|level| (level.name.clone(), level.clone())));
        }
        let problem = if levels.is_some() { "" } else { "it does not answer" };
        assert!(self.keep(&after, problem).await);
        let kept = self.database.watch_kept("main").await.unwrap();
        assert!(kept == after, "what is read is not what was written");
        self.kept = kept;
    }

    async fn keep(&self, after: &WatchKept, problem: &str) -> bool {
        let update = WatchUpdate {
            broker: "main",
            watcher: self.watcher,
            claimed_until: self.now().plus(LEASE),
            before: &self.kept,
            after,
            problem,
        };
        self.database.keep_watch(&update).await.unwrap()
    }
}

async fn one_process_watches_a_broker_at_a_time(database: &TestDatabase) {
    let [first, second] = [id(), id()];
    let claim = async |broker: &str, watcher, at| database.claim_watch(broker, watcher, at, LEASE).await.unwrap();
    assert_eq!(claim("main", first, NOON).await, Claim::Taken);
    assert_eq!(claim("main", second, later(59)).await, Claim::Elsewhere);
    assert_eq!(claim("other", second, later(59)).await, Claim::Taken, "each broker by itself");
    assert_eq!(claim("main", first, later(59)).await, Claim::Kept);
    assert_eq!(claim("main", second, later(118)).await, Claim::Elsewhere, "it was renewed");
    assert_eq!(claim("main", second, later(119)).await, Claim::Taken, "it has ended");
    assert_eq!(claim("main", first, later(120)).await, Claim::Elsewhere);
    database.release_watch("main", first).await.unwrap();
    assert_eq!(claim("main", first, later(121)).await, Claim::Elsewhere, "it was not its own to give");
    database.release_watch("main", second).await.unwrap();
    assert_eq!(claim("main", first, later(122)).await, Claim::Taken);
}

async fn what_is_seen_is_remembered(database: &TestDatabase) {
    let mut story = Story::begin(database).await;
    assert_eq!(story.kept, WatchKept::default());
    let odd = QueueLevel {
        name: "ö \"q\"".to_owned(),
        messages: Some(u64::MAX >> 1),
        grows_by: Some(3),
        ..QueueLevel::default()
    };
    let there = |consumers, stuck| [level("orders", consumers, 5), level("dlo.obituaries", 1, stuck), odd.clone()];
    story.look(Some(&there(3, 0))).await;
    story.look(Some(&there(0, 7))).await;
    story.look(None).await;
    for _ in 0..3 {
        story.look(Some(&there(0, 9))).await;
    }
    let kinds: Vec<ConcernKind> = story.kept.watch.concerns().map(|concern| concern.kind()).collect();
    assert!(kinds.contains(&ConcernKind::IntakeLags), "{kinds:?}");
    story.look(Some(&[level("orders", 0, 5)])).await;
    story.look(Some(&[level("orders", 0, 5)])).await;
    assert_eq!(story.kept.levels.len(), 1, "what is gone is gone");
    for _ in 0..3 {
        story.look(None).await;
    }
    let kinds: Vec<ConcernKind> = story.kept.watch.concerns().map(|concern| concern.kind()).collect();
    assert_eq!(kinds, [ConcernKind::Unreachable, ConcernKind::NoConsumers]);
    let told = database.concerns().await.unwrap();
    let expected: Vec<_> = story.kept.watch.concerns().map(|concern| ("main".to_owned(), concern)).collect();
    assert_eq!(told, expected);
    let without = database.queues_without_consumers().await.unwrap();
    assert_eq!(without, [("main".to_owned(), "orders".to_owned())]);
    let broker = WatchedBroker {
        name: "main".to_owned(),
        polled_at: Some(story.now()),
        looked_at: Some(later(60 * (story.minute - 3))),
        problem: Some("it does not answer".to_owned()),
        hints: Vec::new(),
    };
    assert_eq!(database.watched_brokers().await.unwrap(), [broker]);
}

async fn who_has_lost_the_claim_writes_nothing(database: &TestDatabase) {
    let mut story = Story::begin(database).await;
    story.look(Some(&[level("orders", 3, 0)])).await;
    assert_eq!(database.claim_watch("main", id(), later(600), LEASE).await.unwrap(), Claim::Taken);
    let after = WatchKept { watch: BrokerWatch::default(), ..WatchKept::default() };
    assert!(!story.keep(&after, "lost").await);
    assert_eq!(database.watch_kept("main").await.unwrap(), story.kept);
    assert_eq!(database.watched_brokers().await.unwrap()[0].problem, None);
}

async fn only_rows_that_change_are_written(database: &TestDatabase) {
    let mut story = Story::begin(database).await;
    let busy = |n| [level("busy", 1, n), level("steady", 1, 0)];
    story.look(Some(&busy(1))).await;
    // Whoever writes the row again takes this away.
    database.tamper("UPDATE watched_queues SET policy = 'mark'").await;
    story.kept = database.watch_kept("main").await.unwrap();
    story.minute += 1;
    let mut after = story.kept.clone();
    after.levels.get_mut("busy").unwrap().messages = Some(2);
    after.levels.get_mut("busy").unwrap().policy = None;
    let before = WatchKept { levels: busy(1).map(|level| (level.name.clone(), level)).into(), ..story.kept.clone() };
    after.levels.insert("steady".to_owned(), level("steady", 1, 0));
    story.kept = before;
    assert!(story.keep(&after, "").await);
    let marked = database.texts("SELECT queue FROM watched_queues WHERE policy = 'mark'").await;
    assert_eq!(marked, ["steady"]);
}

async fn thousands_of_queues_are_kept_and_let_go(database: &TestDatabase) {
    let mut story = Story::begin(database).await;
    let levels: Vec<QueueLevel> = (0..2_500).map(|n| level(&format!("q{n:04}"), n % 2, n)).collect();
    story.look(Some(&levels)).await;
    assert_eq!(story.kept.levels.len(), 2_500);
    story.look(Some(&levels[..10])).await;
    story.look(Some(&levels[..10])).await;
    assert_eq!(database.number("SELECT count(*) FROM watched_queues").await, 10);
}

async fn how_a_queue_stood_is_kept_for_a_day(database: &TestDatabase) {
    let mut story = Story::begin(database).await;
    let worst = async |now| {
        let samples = database.queue_samples("main", "busy", now).await.unwrap();
        samples.iter().map(|sample| (sample.messages, sample.consumers)).collect::<Vec<_>>()
    };
    let there = |consumers, messages| [level("busy", consumers, messages), level("steady", 1, 0)];
    for (consumers, messages) in [(3, 10), (0, 50), (2, 5)] {
        story.look(Some(&there(consumers, messages))).await;
    }
    story.look(None).await;
    assert_eq!(worst(story.now()).await, [(Some(50), Some(0))]);
    story.minute += 14;
    story.look(None).await;
    assert_eq!(worst(story.now()).await.len(), 1, "nobody knows how it stands");
    let down = QueueLevel { state: Some(QueueState::Down), ..level("busy", 2, 7) };
    story.look(Some(&[down])).await;
    assert_eq!(worst(story.now()).await, [(Some(50), Some(0)), (None, None)]);
    story.look(Some(&there(2, 7))).await;
    story.look(Some(&there(2, 6))).await;
    assert_eq!(worst(story.now()).await, [(Some(50), Some(0)), (Some(7), Some(2))], "of what was told");
    assert_eq!(database.queue_samples("main", "steady", story.now()).await.unwrap().len(), 2);
    assert_eq!(database.queue_samples("other", "busy", story.now()).await.unwrap(), []);
    story.minute = 24 * 60;
    story.look(Some(&there(2, 1))).await;
    assert_eq!(worst(story.now()).await, [(Some(7), Some(2)), (Some(1), Some(2))]);
    let oldest = database.number("SELECT min(at) FROM queue_samples").await;
    assert_eq!(oldest, later(15 * 60).as_micros(), "what is older is gone");
}

async fn those_that_need_a_hand_come_first(database: &TestDatabase) {
    let mut story = Story::begin(database).await;
    let there = |lost, losing| {
        [level("deep", 1, 900), level("shallow", 1, 2), level("losing", losing, 0), level("lost", lost, 0)]
    };
    story.look(Some(&there(2, 2))).await;
    for _ in 0..4 {
        story.look(Some(&there(0, 2))).await;
    }
    story.look(Some(&there(0, 0))).await;
    let names = |found: Vec<dead_letter_office::store::WatchedQueue>| -> Vec<String> {
        found.into_iter().map(|queue| queue.level.name).collect()
    };
    assert_eq!(names(database.watched_queues(9).await.unwrap()), ["lost", "losing", "deep", "shallow"]);
    assert_eq!(names(database.watched_queues(2).await.unwrap()), ["lost", "losing"]);
    let named = database.watched_queues_named(&["deep", "nothing"]).await.unwrap();
    assert_eq!(
        (named[0].broker.as_str(), &named[0].level, named[0].watched.is_some()),
        ("main", &level("deep", 1, 900), true)
    );
    assert_eq!((named.len(), database.watched_queues_named(&[]).await.unwrap()), (1, vec![]));
}

async fn what_nobody_watches_any_more_is_forgotten(database: &TestDatabase) {
    let mut story = Story::begin(database).await;
    story.look(Some(&[level("orders", 3, 0)])).await;
    database.claim_watch("other", id(), later(7_200), LEASE).await.unwrap();
    assert_eq!(database.forget_watches(later(60)).await.unwrap(), [""; 0], "not to the moment");
    assert_eq!(database.forget_watches(later(61)).await.unwrap(), ["main"]);
    assert_eq!(database.watch_kept("main").await.unwrap(), WatchKept::default());
    assert_eq!(database.number("SELECT count(*) FROM watched_queues").await, 0);
    assert_eq!(database.number("SELECT count(*) FROM queue_samples").await, 0);
    assert_eq!(database.watched_brokers().await.unwrap().len(), 1, "the other is still there");
}

async fn claims_of_an_server_that_died_end_where_it_is_alone(database: &TestDatabase) {
    database.claim_watch("main", id(), NOON, LEASE).await.unwrap();
    database.release_abandoned_watches().await.unwrap();
    let claim = database.claim_watch("main", id(), later(1), LEASE).await.unwrap();
    let is_alone = database.url().starts_with("sqlite");
    assert_eq!(claim, if is_alone { Claim::Taken } else { Claim::Elsewhere });
}

on_both!(
    one_process_watches_a_broker_at_a_time,
    what_is_seen_is_remembered,
    who_has_lost_the_claim_writes_nothing,
    only_rows_that_change_are_written,
    how_a_queue_stood_is_kept_for_a_day,
    thousands_of_queues_are_kept_and_let_go,
    those_that_need_a_hand_come_first,
    what_nobody_watches_any_more_is_forgotten,
    claims_of_an_server_that_died_end_where_it_is_alone,
);
