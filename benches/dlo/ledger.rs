//! Databases to measure with, and workers on them.

use std::sync::Arc;

use dead_letter_office::{
    clock::Clock,
    config::{BrokerConfig, DecodeConfig, IntakeConfig, values::Secret},
    domain::{
        actor::Actor,
        policy::Policy,
        rule::{Rule, RuleId},
    },
    metrics::Metrics,
    rabbitmq::health::BrokerBoard,
    services::{
        audited_store::AuditedStore,
        change_feed::ChangeFeed,
        decoding::reader::Reader,
        enrichment::Sorting,
        intake::{Intake, IntakeSource},
        policies::Policies,
        rules::Rules,
        scheduler::Scheduler,
        schemas::Schemas,
        wakeup::Wakeup,
    },
    store::{RuleChange, Store},
};
use failure_conventions::inner_body::InnerBodies;
use uuid::Uuid;

use crate::support::{
    postgres::{Postgres, TestDatabase},
    rabbit::Vhost,
};

pub const BROKER: &str = "main";

/// A database at full durability, and what keeps it alive.
pub struct Ledger {
    pub store: Arc<Store>,
    pub url: String,
    _keep: Keep,
}

enum Keep {
    Directory { _directory: tempfile::TempDir },
    Database { _database: TestDatabase },
}

impl Ledger {
    pub async fn sqlite() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let url = format!("sqlite://{}/ledger.db", directory.path().display());
        Self::open(url, Keep::Directory { _directory: directory }).await
    }

    pub async fn postgres(server: &Postgres) -> Self {
        let database = server.database();
        Self::open(database.url.clone(), Keep::Database { _database: database }).await
    }

    async fn open(url: String, keep: Keep) -> Self {
        let store = Store::open(&url).await.expect("the ledger opens");
        store.migrate().await.expect("the ledger is migrated");
        Self { store: Arc::new(store), url, _keep: keep }
    }
}

pub fn broker_config(vhost: &Vhost) -> BrokerConfig {
    BrokerConfig { url: Secret::new(vhost.amqp_url()), ..BrokerConfig::default() }
}

/// An intake of obituaries.
pub fn intake(vhost: &Vhost, ledger: &Ledger) -> Intake {
    worker(vhost, ledger, vec![IntakeSource::Obituaries])
}

/// The same with letters sorted beside it, by `rules`.
pub async fn intake_and_sorting(vhost: &Vhost, ledger: &Ledger, rules: &[Rule]) -> (Intake, Sorting) {
    let intake = intake(vhost, ledger);
    let sorting = sorting(ledger, rules, intake.feed.clone()).await;
    (intake, sorting)
}

/// What sorts letters, by `rules`, which are written into the database.
pub async fn sorting(ledger: &Ledger, rules: &[Rule], feed: ChangeFeed) -> Sorting {
    let clock = Clock::system();
    let by = Actor::system();
    for rule in rules {
        let change = RuleChange { by: &by, at: clock.now(), detail: "" };
        ledger.store.set_rule(RuleId::from_uuid(Uuid::now_v7()), rule, None, &change).await.expect("a rule");
    }
    let changes = AuditedStore::new(Arc::clone(&ledger.store), clock.clone(), feed.clone(), Wakeup::default());
    let in_force = Rules::new(None, changes.clone(), clock.clone());
    in_force.reload().await.expect("rules");
    let schemas = Schemas::new(changes, clock.clone());
    Sorting {
        store: Arc::clone(&ledger.store),
        reader: Reader::new(schemas.clone(), DecodeConfig::default()),
        schemas,
        rules: in_force,
        clock,
        metrics: Metrics::default(),
        feed,
    }
}

/// A retrier, which takes dead letters in and has `policies` say what becomes of them.
pub fn retrier(vhost: &Vhost, ledger: &Ledger, policies: Policies) -> Intake {
    worker(vhost, ledger, vec![IntakeSource::DeadLetters(policies), IntakeSource::Due])
}

fn worker(vhost: &Vhost, ledger: &Ledger, doors: Vec<IntakeSource>) -> Intake {
    Intake {
        broker: BROKER.to_owned(),
        config: broker_config(vhost),
        doors,
        batching: IntakeConfig::default(),
        bodies: InnerBodies::default(),
        store: Arc::clone(&ledger.store),
        board: board(),
        clock: Clock::system(),
        metrics: Metrics::default(),
        feed: ChangeFeed::default(),
        wakeup: Wakeup::default(),
    }
}

pub fn policies(ledger: &Ledger, policies: Vec<Policy>) -> Policies {
    let (feed, wakeup) = (ChangeFeed::default(), Wakeup::default());
    Policies::new(policies, AuditedStore::new(Arc::clone(&ledger.store), Clock::system(), feed, wakeup))
}

pub fn scheduler(vhost: &Vhost, ledger: &Ledger) -> Scheduler {
    Scheduler {
        broker: BROKER.to_owned(),
        config: broker_config(vhost),
        store: Arc::clone(&ledger.store),
        policies: policies(ledger, Vec::new()),
        bodies: InnerBodies::default(),
        board: board(),
        clock: Clock::system(),
        metrics: Metrics::default(),
        feed: ChangeFeed::default(),
        wakeup: Wakeup::default(),
    }
}

fn board() -> BrokerBoard {
    BrokerBoard::new([(BROKER.to_owned(), "here".to_owned())])
}
