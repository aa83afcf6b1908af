//! A server for one test: a database and the workers on it, put together as `dlo serve` does.

use std::{path::Path, sync::Arc, time::Duration};

use amqp_message::message::Message;
use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    clock::Clock,
    config::{BrokerConfig, DecodeConfig, IntakeConfig, QueueType, values::Secret},
    domain::{
        actor::Actor,
        broker::BrokerHealth,
        command::{Command, CommandReport, Refusal},
        edit::Edit,
        filter::{LetterFilter, PageRequest, Sort},
        history::{Event, HistoryEntry},
        letter::{Letter, LetterId, LetterSummary, Status},
        policy::Policy,
    },
    metrics::Metrics,
    rabbitmq::health::BrokerBoard,
    services::{
        audited_store::AuditedStore,
        change_feed::ChangeFeed,
        decoding::reader::Reader,
        health::WorkerBoard,
        intake::{Intake, IntakeSource},
        policies::Policies,
        scheduler::Scheduler,
        schemas::Schemas,
        triage::Triage,
        wakeup::Wakeup,
    },
    store::Store,
};
use sqlx::{Connection, Executor};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use crate::support::PATIENCE;
use crate::support::{
    databases::{self, Lent, Users},
    postgres::{Postgres, PostgresDatabase},
    process::{wait_for, wait_to_see, wait_until},
    rabbit::Vhost,
    soak,
};

/// The name of the broker in a server that has one.
pub const MAIN: &str = "main";

/// A database for one test.
pub struct TestDatabase {
    pub url: String,
    keep: Keep,
}

enum Keep {
    Sqlite { directory: tempfile::TempDir },
    Postgres(Lent),
    OwnPostgres { _database: PostgresDatabase },
}

impl TestDatabase {
    pub fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = databases::sqlite_at(&directory.path().join("database.db"));
        Self { url, keep: Keep::Sqlite { directory } }
    }

    /// Where it is, if it is a file.
    #[cfg_attr(not(feature = "crash-points"), expect(dead_code, reason = "only random sequences of faults need it"))]
    pub fn directory(&self) -> Option<&Path> {
        match &self.keep {
            Keep::Sqlite { directory } => Some(directory.path()),
            Keep::Postgres(_) | Keep::OwnPostgres { .. } => None,
        }
    }

    /// `None` where tests for it may be skipped.
    pub fn postgres() -> Option<Self> {
        let database = databases::on_postgres(Users::Servers)?;
        Some(Self { url: database.url.clone(), keep: Keep::Postgres(database) })
    }

    /// On Postgres, or where tests for that may be skipped on SQLite.
    pub fn postgres_or_sqlite() -> Self {
        Self::postgres().unwrap_or_else(Self::sqlite)
    }

    /// On a server of one's own.
    pub fn on(server: &Postgres) -> Self {
        let database = server.database();
        Self { url: database.url.clone(), keep: Keep::OwnPostgres { _database: database } }
    }

    /// As if so much time had passed that claims of processes that died have ended.
    #[cfg_attr(not(feature = "crash-points"), expect(dead_code, reason = "only tests that end the process need it"))]
    pub async fn let_leases_end(&self) {
        const END: &str = "UPDATE retries SET claimed_until = 0 WHERE claimed_until IS NOT NULL";
        if !matches!(self.keep, Keep::Sqlite { .. }) {
            sqlx::PgConnection::connect(&self.url).await.unwrap().execute(END).await.unwrap();
        }
    }

    /// SQLite and, where it is installed, Postgres.
    pub fn both() -> impl Iterator<Item = Self> {
        [Some(Self::sqlite()), Self::postgres()].into_iter().flatten()
    }

    /// This one alone; in `make soak` SQLite and Postgres.
    pub fn or_both(self) -> Vec<Self> {
        if soak(false, true) { Self::both().collect() } else { vec![self] }
    }

    /// The first case on SQLite, the other on Postgres; in `make soak` each on both.
    pub fn spread<T: Copy>([one, other]: [T; 2]) -> Vec<(T, Self)> {
        let mut spread = vec![(one, Self::sqlite())];
        spread.extend(Self::postgres().map(|database| (other, database)));
        if soak(false, true) || spread.len() < 2 {
            spread.push((other, Self::sqlite()));
            spread.extend(Self::postgres().map(|database| (one, database)));
        }
        spread
    }

    /// A test does something to its tables that `dlo` would not do.
    pub fn spoil(&self) {
        if let Keep::Postgres(database) = &self.keep {
            database.spoil();
        }
    }
}

/// Opens a database as `dlo serve` does.
pub async fn open_database(url: &str) -> Arc<Store> {
    let store = Store::open(url).await.unwrap();
    store.migrate().await.unwrap();
    store.release_abandoned_claims().await.unwrap();
    Arc::new(store)
}

/// A broker as the configuration names it, with queues of the default type.
pub fn broker(url: String) -> BrokerConfig {
    BrokerConfig { url: Secret::new(url), ..BrokerConfig::default() }
}

pub fn with_queues(queue_type: QueueType, vhost: &Vhost) -> BrokerConfig {
    BrokerConfig { queue_type, ..broker(vhost.amqp_url()) }
}

/// A running server. It ends when dropped, without finishing anything.
pub struct AppState {
    pub store: Arc<Store>,
    pub board: BrokerBoard,
    pub clock: Clock,
    pub metrics: Metrics,
    triage: Triage,
    limits: RetryLimits,
    pub policies: Policies,
    feed: ChangeFeed,
    wakeup: Wakeup,
    stop: CancellationToken,
    workers: TaskTracker,
    reports: WorkerBoard,
}

impl AppState {
    /// A server for the broker [`MAIN`], on SQLite and by the system's clock, that is at work.
    pub async fn open(database: &TestDatabase, broker: BrokerConfig) -> Self {
        let server = Self::begin(&database.url, Clock::system(), [(MAIN, broker)]).await;
        server.await_work().await;
        server
    }

    /// The same for any brokers and any clock, without waiting until it is at work.
    pub async fn begin<const N: usize>(database: &str, clock: Clock, brokers: [(&str, BrokerConfig); N]) -> Self {
        Self::on(open_database(database).await, clock, brokers)
    }

    /// The same on a database that is open already.
    pub fn on<const N: usize>(store: Arc<Store>, clock: Clock, brokers: [(&str, BrokerConfig); N]) -> Self {
        Self::with_policies(store, clock, brokers, Vec::new())
    }

    /// The same with policies of automatic retries; by default nothing is retried.
    pub fn with_policies<const N: usize>(
        store: Arc<Store>,
        clock: Clock,
        brokers: [(&str, BrokerConfig); N],
        policies: Vec<Policy>,
    ) -> Self {
        Self::with_limits(store, clock, brokers, policies, RetryLimits::default())
    }

    /// The same where some queues get nothing.
    pub fn with_limits<const N: usize>(
        store: Arc<Store>,
        clock: Clock,
        brokers: [(&str, BrokerConfig); N],
        policies: Vec<Policy>,
        limits: RetryLimits,
    ) -> Self {
        let (metrics, feed, wakeup) = (Metrics::default(), ChangeFeed::default(), Wakeup::default());
        let changes = AuditedStore::new(Arc::clone(&store), clock.clone(), feed.clone(), wakeup.clone());
        let addresses = brokers.iter().map(|(name, broker)| ((*name).to_owned(), broker.address()));
        let reader = Reader::new(Schemas::new(changes.clone(), clock.clone()), DecodeConfig::default());
        let server = Self {
            board: BrokerBoard::new(addresses),
            triage: Triage::new(Arc::clone(&store), changes.clone(), clock.clone(), limits.clone(), reader),
            limits,
            policies: Policies::new(policies, changes),
            store,
            clock,
            metrics,
            feed,
            wakeup,
            stop: CancellationToken::new(),
            workers: TaskTracker::new(),
            reports: WorkerBoard::default(),
        };
        for (name, config) in brokers {
            server.hire(name, config);
        }
        server
    }

    /// Has workers begin with the broker of that name.
    fn hire(&self, name: &str, config: BrokerConfig) {
        let sources =
            vec![IntakeSource::Obituaries, IntakeSource::DeadLetters(self.policies.clone()), IntakeSource::Due];
        self.attend(sources, name, config.clone());
        let scheduler = Scheduler {
            broker: name.to_owned(),
            config,
            store: Arc::clone(&self.store),
            policies: self.policies.clone(),
            limits: self.limits.clone(),
            board: self.board.clone(),
            clock: self.clock.clone(),
            metrics: self.metrics.clone(),
            feed: self.feed.clone(),
            wakeup: self.wakeup.clone(),
            workers: self.reports.clone(),
        };
        self.workers.spawn(scheduler.run(self.stop.clone()));
    }

    /// Has a worker begin that takes in what comes by `sources`, and nothing else.
    pub fn attend(&self, sources: Vec<IntakeSource>, name: &str, config: BrokerConfig) {
        let intake = Intake {
            broker: name.to_owned(),
            config,
            sources,
            batching: IntakeConfig::default(),
            limits: self.limits.clone(),
            store: Arc::clone(&self.store),
            board: self.board.clone(),
            clock: self.clock.clone(),
            metrics: self.metrics.clone(),
            feed: self.feed.clone(),
            wakeup: self.wakeup.clone(),
        };
        self.workers.spawn(intake.run(self.stop.clone()));
    }

    /// Closes it in order, as a first SIGTERM does.
    pub async fn close(self) {
        self.stop.cancel();
        self.workers.close();
        tokio::time::timeout(PATIENCE, self.workers.wait()).await.expect("the server closes in time");
    }

    /// Waits until all brokers are consumed from and can be published to.
    pub async fn await_work(&self) {
        let connected = |health: &BrokerHealth| health.consuming.is_connected() && health.publishing.is_connected();
        wait_until("the server to be at work", PATIENCE, async || self.board.all().iter().all(connected)).await;
    }

    pub fn health(&self, broker: &str) -> BrokerHealth {
        self.board.all().into_iter().find(|health| health.name == broker).unwrap()
    }

    pub async fn count(&self) -> u64 {
        self.store.count(&LetterFilter::default()).await.unwrap()
    }

    /// How many letters have that status.
    pub async fn count_of(&self, status: Status) -> u64 {
        let filter = LetterFilter { statuses: vec![status], ..LetterFilter::default() };
        self.store.count(&filter).await.unwrap()
    }

    /// How many letters came from that broker.
    pub async fn count_from(&self, broker: &str) -> u64 {
        let filter = LetterFilter { brokers: vec![broker.to_owned()], ..LetterFilter::default() };
        self.store.count(&filter).await.unwrap()
    }

    /// Waits until there are exactly so many letters, and returns them in the order in which they came in.
    #[track_caller]
    pub fn await_letters(&self, expected: u64) -> impl Future<Output = Vec<LetterSummary>> {
        let arrived = async move || match self.count().await {
            count if count == expected => Ok(self.letters().await),
            count => Err(count),
        };
        wait_to_see("exactly as many letters as expected", PATIENCE, arrived)
    }

    /// Waits until the database holds the only letter it is going to hold, and returns it in full.
    pub async fn await_letter(&self) -> Letter {
        let summary = self.await_letters(1).await.remove(0);
        self.letter(summary.id).await
    }

    pub async fn letters(&self) -> Vec<LetterSummary> {
        let all = PageRequest { sort: Sort::Oldest, after: None, limit: 1_000_000 };
        self.store.letters(&LetterFilter::default(), &all).await.unwrap().items
    }

    pub async fn letter(&self, id: LetterId) -> Letter {
        self.store.letter(id).await.unwrap().expect("the letter is in the database")
    }

    pub async fn messages(&self) -> Vec<Message> {
        let ids: Vec<LetterId> = self.letters().await.iter().map(|letter| letter.id).collect();
        self.store.messages(&ids).await.unwrap().into_values().collect()
    }

    /// The bodies of all letters as text, sorted.
    pub async fn bodies(&self) -> Vec<String> {
        let text = |message: Message| String::from_utf8(message.body).unwrap();
        let mut bodies: Vec<String> = self.messages().await.into_iter().map(text).collect();
        bodies.sort();
        bodies
    }

    pub async fn retry(&self, ids: &[LetterId]) {
        self.retry_later(ids, Duration::ZERO).await;
    }

    pub async fn retry_later(&self, ids: &[LetterId], delay: Duration) {
        self.expect_done(ids, Command::Retry { delay, queue: None }).await;
    }

    pub async fn retry_to(&self, queue: &str, ids: &[LetterId]) {
        self.schedule(queue, ids, Duration::ZERO).await;
    }

    pub async fn schedule(&self, queue: &str, ids: &[LetterId], delay: Duration) {
        self.expect_done(ids, Command::Retry { delay, queue: Some(queue.to_owned()) }).await;
    }

    pub const fn triage(&self) -> &Triage {
        &self.triage
    }

    pub async fn act(&self, id: LetterId, command: Command) -> CommandReport {
        self.triage.act(&[id], &command, &Actor::local()).await.unwrap()
    }

    async fn expect_done(&self, ids: &[LetterId], command: Command) {
        let report = self.triage.act(ids, &command, &Actor::local()).await.unwrap();
        assert_eq!(report.refused, []);
    }

    /// Moves a manual clock on, and has the scheduler look at it.
    /// Sends an edited copy, or says why not.
    pub async fn edit(&self, id: LetterId, edit: &Edit, queue: Option<&str>) -> Result<LetterId, Refusal> {
        self.triage.retry_edited(id, edit, Duration::ZERO, queue, &Actor::local()).await.unwrap()
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.wakeup.notify();
    }

    /// Waits until the letter has that status.
    #[track_caller]
    pub fn await_status(&self, id: LetterId, status: Status) -> impl Future<Output = LetterSummary> {
        wait_for("the letter to have the expected status", PATIENCE, async move || {
            let summary = self.store.summary(id).await.unwrap()?;
            (summary.status == status).then_some(summary)
        })
    }

    /// Waits until so many letters have that status.
    #[track_caller]
    pub fn await_count(&self, status: Status, expected: u64) -> impl Future<Output = ()> {
        let reached = async move || self.count_of(status).await == expected;
        wait_until("as many letters of that status as expected", PATIENCE, reached)
    }

    pub async fn history(&self, id: LetterId) -> Vec<HistoryEntry> {
        self.store.history(id).await.unwrap()
    }

    pub async fn events(&self, id: LetterId) -> Vec<Event> {
        self.history(id).await.into_iter().map(|entry| entry.event).collect()
    }
}

impl Drop for AppState {
    fn drop(&mut self) {
        self.stop.cancel();
        if std::thread::panicking() {
            eprintln!("{:#?}", self.board.all());
        }
    }
}
