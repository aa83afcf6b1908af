//! Databases to measure with, and workers on them.

use std::sync::Arc;

use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    clock::Clock,
    config::{BrokerConfig, DecodeConfig, IntakeConfig, values::Secret},
    domain::{
        actor::Actor,
        policy::Policy,
        rule::{Rule, RuleId},
        version::Expected,
    },
    metrics::Metrics,
    rabbitmq::health::BrokerBoard,
    services::{
        audited_store::AuditedStore,
        change_feed::ChangeFeed,
        decoding::reader::Reader,
        enrichment::{Enrichment, SoFar},
        group_splits::GroupSplits,
        grouping_rules::GroupingRules,
        health::WorkerBoard,
        intake::{Intake, IntakeSource},
        policies::Policies,
        rules::Rules,
        scheduler::Scheduler,
        schemas::Schemas,
        wakeup::Wakeup,
    },
    store::{RuleChange, Store},
};
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use uuid::Uuid;

use crate::support::{
    postgres::{Postgres, PostgresDatabase},
    rabbit::Vhost,
};

pub const BROKER: &str = "main";

/// A database at full durability, and what keeps it alive.
pub struct TestDatabase {
    pub store: Arc<Store>,
    pub url: String,
    _keep: Keep,
}

enum Keep {
    Directory { _directory: tempfile::TempDir },
    Database { _database: PostgresDatabase },
}

impl TestDatabase {
    pub async fn sqlite() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let url = format!("sqlite://{}/database.db", directory.path().display());
        Self::open(url, Keep::Directory { _directory: directory }).await
    }

    pub async fn postgres(server: &Postgres) -> Self {
        let database = server.database();
        Self::open(database.url.clone(), Keep::Database { _database: database }).await
    }

    async fn open(url: String, keep: Keep) -> Self {
        let store = Store::open(&url).await.expect("the database opens");
        store.migrate().await.expect("the database is migrated");
        Self { store: Arc::new(store), url, _keep: keep }
    }
}

impl TestDatabase {
    /// The number that a statement of the database's kind answers with.
    pub async fn number(&self, sqlite: &'static str, postgres: &'static str) -> i64 {
        if self.url.starts_with("sqlite:") {
            let mut connection = SqliteConnection::connect(&self.url).await.expect("a connection");
            return sqlx::query_scalar(sqlite).fetch_one(&mut connection).await.expect("a number");
        }
        let mut connection = PgConnection::connect(&self.url).await.expect("a connection");
        sqlx::query_scalar(postgres).fetch_one(&mut connection).await.expect("a number")
    }

    /// Runs a statement that both kinds know.
    pub async fn execute(&self, statement: String) {
        let statement = sqlx::raw_sql(AssertSqlSafe(statement));
        if self.url.starts_with("sqlite:") {
            let mut connection = SqliteConnection::connect(&self.url).await.expect("a connection");
            statement.execute(&mut connection).await.expect("a statement");
        } else {
            let mut connection = PgConnection::connect(&self.url).await.expect("a connection");
            statement.execute(&mut connection).await.expect("a statement");
        }
    }
}

pub fn broker_config(vhost: &Vhost) -> BrokerConfig {
    BrokerConfig { url: Secret::new(vhost.amqp_url()), ..BrokerConfig::default() }
}

/// An intake of obituaries.
pub fn intake(vhost: &Vhost, database: &TestDatabase) -> Intake {
    worker(vhost, database, vec![IntakeSource::Obituaries])
}

/// The same with letters enriched beside it, by `rules`.
pub async fn intake_and_enrichment(vhost: &Vhost, database: &TestDatabase, rules: &[Rule]) -> (Intake, Enrichment) {
    let intake = intake(vhost, database);
    let enrichment = enrichment(database, rules, intake.feed.clone()).await;
    (intake, enrichment)
}

/// Writes rules into the database.
pub async fn set_rules(database: &TestDatabase, rules: &[Rule]) {
    let (by, at) = (Actor::system(), Clock::system().now());
    for rule in rules {
        let change = RuleChange { by: &by, at, detail: "", expected: &Expected::Anything };
        database.store.set_rule(RuleId::from_uuid(Uuid::now_v7()), rule, None, &change).await.expect("a rule");
    }
}

/// What enriches letters, by `rules`, which are written into the database.
pub async fn enrichment(database: &TestDatabase, rules: &[Rule], feed: ChangeFeed) -> Enrichment {
    set_rules(database, rules).await;
    let clock = Clock::system();
    let changes = AuditedStore::new(Arc::clone(&database.store), clock.clone(), feed.clone(), Wakeup::default());
    let in_force = Rules::new(None, changes.clone(), clock.clone());
    in_force.reload().await.expect("rules");
    let grouping_rules = GroupingRules::new(changes.clone(), clock.clone());
    let schemas = Schemas::new(changes.clone(), clock.clone());
    let reader = Reader::new(schemas.clone(), DecodeConfig::default());
    Enrichment {
        store: Arc::clone(&database.store),
        reader: reader.clone(),
        schemas,
        rules: in_force,
        grouping_rules,
        group_splits: GroupSplits::new(changes, reader, clock.clone()),
        clock,
        metrics: Metrics::default(),
        feed,
        so_far: SoFar::default(),
    }
}

/// A retrier, which takes dead letters in and has `policies` say what becomes of them.
pub fn retrier(vhost: &Vhost, database: &TestDatabase, policies: Policies) -> Intake {
    worker(vhost, database, vec![IntakeSource::DeadLetters(policies), IntakeSource::Due])
}

fn worker(vhost: &Vhost, database: &TestDatabase, sources: Vec<IntakeSource>) -> Intake {
    Intake {
        broker: BROKER.to_owned(),
        config: broker_config(vhost),
        sources,
        batching: IntakeConfig::default(),
        limits: RetryLimits::default(),
        store: Arc::clone(&database.store),
        board: board(),
        clock: Clock::system(),
        metrics: Metrics::default(),
        feed: ChangeFeed::default(),
        wakeup: Wakeup::default(),
    }
}

pub fn policies(database: &TestDatabase, policies: Vec<Policy>) -> Policies {
    let (feed, wakeup) = (ChangeFeed::default(), Wakeup::default());
    Policies::new(policies, AuditedStore::new(Arc::clone(&database.store), Clock::system(), feed, wakeup))
}

pub fn scheduler(vhost: &Vhost, database: &TestDatabase) -> Scheduler {
    Scheduler {
        broker: BROKER.to_owned(),
        config: broker_config(vhost),
        store: Arc::clone(&database.store),
        policies: policies(database, Vec::new()),
        limits: RetryLimits::default(),
        board: board(),
        clock: Clock::system(),
        metrics: Metrics::default(),
        feed: ChangeFeed::default(),
        wakeup: Wakeup::default(),
        workers: WorkerBoard::default(),
    }
}

fn board() -> BrokerBoard {
    BrokerBoard::new([(BROKER.to_owned(), "here".to_owned())])
}
