//! Ledgers to measure with, and workers on them.

use std::sync::Arc;

use dead_letter_office::{
    broker::health::BrokerBoard,
    clock::Clock,
    config::{BrokerConfig, IntakeConfig, values::Secret},
    metrics::Metrics,
    pipeline::{
        intake::Intake,
        news::News,
        scheduler::{Bell, Scheduler},
    },
    store::Store,
};

use crate::support::{
    postgres::{Postgres, TestDatabase},
    rabbit::Vhost,
};

pub const BROKER: &str = "main";

/// A ledger at full durability, and what keeps it alive.
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

pub fn intake(vhost: &Vhost, ledger: &Ledger) -> Intake {
    Intake {
        broker: BROKER.to_owned(),
        config: broker_config(vhost),
        batching: IntakeConfig::default(),
        store: Arc::clone(&ledger.store),
        board: board(),
        clock: Clock::system(),
        metrics: Metrics::default(),
        news: News::default(),
    }
}

pub fn scheduler(vhost: &Vhost, ledger: &Ledger) -> Scheduler {
    Scheduler {
        broker: BROKER.to_owned(),
        config: broker_config(vhost),
        store: Arc::clone(&ledger.store),
        board: board(),
        clock: Clock::system(),
        metrics: Metrics::default(),
        news: News::default(),
        bell: Bell::default(),
    }
}

fn board() -> BrokerBoard {
    BrokerBoard::new([(BROKER.to_owned(), "here".to_owned())])
}
