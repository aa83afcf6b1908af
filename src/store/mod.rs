//! The database: letters and all that is known of them, in SQLite or in Postgres.
//!
//! This floor knows SQL and the domain. It knows no broker and no clock: what time it is is handed in. It decides
//! nothing about messages: it locks letters, asks [`lifecycle`](crate::domain::lifecycle) what becomes of them, and
//! applies the answer. There is one concrete [`Store`] and no trait in front of it; every statement has a test
//! that runs on both databases.
//!
//! Counts are kept, not recounted. Every letter points to a *facet*, the combination of broker, queue, reason, status
//! and importance it has at the moment; `facets` holds how many letters each has, `slices` the same over time, in slices
//! of five minutes, and `days` in days and hours. A filter is first turned into the facets it lets through, and then every
//! list is a merge of short index ranges and every count a sum over a small table, however many letters there are.

mod access;
mod announcements;
pub(crate) mod audit;
mod backup;
mod clock;
mod counts;
mod db;
mod dump;
mod error;
mod grouping_rules;
mod groups;
mod idempotency;
mod jobs;
mod letters;
mod markers;
mod memo;
mod notifications;
mod origin;
mod retries;
mod rules;
mod schemas;
mod search;
mod space;
mod versions;
mod views;
mod watch;

use std::{ops::Deref, path::PathBuf, sync::Arc, time::Duration};

use uuid::Uuid;

use counts::{facet_scope::FacetIds, seen::FacetKeys};
use db::{Db, on};
use memo::Memo;

use crate::domain::rights::{Grants, QueueScope, Right};

pub use access::{NewSession, NewToken, NewUser, SecretHash, UserError, Vouched};
pub(crate) use announcements::Announcements;
pub use audit::BulkAudit;
pub use backup::BackupError;
pub use clock::SetBack;
pub use counts::slices::SLICE;
pub use dump::{DumpError, LEFT_OUT, exported_tables};
pub use error::{ChangeError, StoreError};
pub use grouping_rules::GroupingRuleAdded;
pub use groups::{
    merging::MergeOrder,
    splitting::PlaceInGroup,
    state::{GroupOrder, GroupReport},
    waking::Waiting,
};
pub use idempotency::{KeptAnswer, KeyClaim, KeyedCall};
pub use jobs::bulk::ClaimedBulk;
pub use jobs::held_back::{Advance, HeldBack};
pub use jobs::portion::BulkWork;

pub use letters::enrichment::{Enriched, Exhausted};
pub use letters::intake::{AckState, Arrival, Fingerprint, IntakeBatch, Recorded, SentOn};
pub use letters::order::{EditOrder, EditedMessage, LetterEdits, Order, Original};
pub use letters::sweep::Sweep;
pub use notifications::digest_figures::DigestScope;
pub use notifications::digests::{DigestPlace, DigestRecord, NewDigest, Sending, SlotState};
pub use notifications::incidents::{IncidentRecord, Telling};
pub use retries::outcomes::RetryTally;
pub use retries::pauses::resumed_entry;
pub use retries::sent_on::{KnownDelivery, SendingOn};
pub use retries::stops::{QueueStops, StoppedRetry};
pub use rules::{OrderError, RuleChange, RuleFailure, RuleSet};
pub use schemas::SchemaAdded;
pub use search::ToIndex;
pub use views::ViewRefusal;
pub use watch::findings::{WatchedBroker, WatchedQueue};
pub use watch::{Claim, WatchKept, WatchUpdate};

/// The database to whoever may not change it: all that can be asked, and none of what writes. Cheap to clone.
#[derive(Clone)]
pub struct StoreReader {
    db: Db,
    facets: Arc<FacetIds>,
    facet_keys: Arc<FacetKeys>,
    /// What is of other queues is not there.
    scope: QueueScope,
    /// Nor are jobs that concern others.
    concerned: QueueScope,
    /// Of letters of other queues it is not told what is in them.
    payloads: QueueScope,
    /// Only where it is for one request.
    memo: Option<Arc<Memo>>,
}

/// The database. What can be asked of it is asked of its [`StoreReader`], which is all that pages and API are given.
pub struct Store(StoreReader);

impl Deref for Store {
    type Target = StoreReader;

    fn deref(&self) -> &StoreReader {
        &self.0
    }
}

impl StoreReader {
    /// The same as far as somebody may see it. Of counts it shows one moment, so that it is for one request.
    #[must_use]
    pub fn within(&self, grants: &Grants) -> Self {
        let scope = |right| grants.scope(right).clone();
        Self {
            scope: scope(Right::Read),
            concerned: grants.concerned().clone(),
            payloads: scope(Right::Payload),
            memo: Some(Arc::default()),
            ..self.clone()
        }
    }

    /// The same on connections that nobody else uses.
    #[must_use]
    pub fn with_own_connections(&self) -> Self {
        Self { db: self.db.with_own_readers(), ..self.clone() }
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        on!(self.db.reader(), |pool| sqlx::query("SELECT 1").execute(pool).await.map(drop)?);
        Ok(())
    }
}

impl StoreReader {
    /// Whether there is a database at all: asked on a connection of its own, so that those which wait for one of the others
    /// need not wait in vain. It takes a fraction of a second, and a file is always there.
    pub async fn is_there(&self) -> bool {
        self.db.is_there().await
    }

    /// Whether it was there when somebody last asked [`is_there`](Self::is_there), which was a moment ago. Asks nobody.
    pub fn was_there(&self) -> bool {
        self.db.was_there()
    }
}

impl Store {
    /// Opens the database at `url` (`sqlite://…` or `postgres://…`). It does not migrate it.
    ///
    /// # Errors
    /// [`StoreError::Url`] when the address is malformed, [`StoreError::NoConnection`] when no Postgres takes a connection there.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_logging(url, db::SLOW_STATEMENT).await
    }

    /// The same, where statements are logged that take as long as `slow`: their texts, never the values that are bound to
    /// them.
    pub async fn open_logging(url: &str, slow: Duration) -> Result<Self, StoreError> {
        Ok(Self(StoreReader {
            db: Db::open(url, slow).await?,
            facets: Arc::default(),
            facet_keys: Arc::default(),
            scope: QueueScope::everything(),
            concerned: QueueScope::everything(),
            payloads: QueueScope::everything(),
            memo: None,
        }))
    }

    /// The file of the database that `url` names, where it is SQLite and has one.
    pub fn file(url: &str) -> Option<PathBuf> {
        Db::file(url)
    }

    /// The file of the database that `url` names, where it is SQLite and there is none yet: [`open`](Self::open)
    /// creates it.
    pub fn missing_file(url: &str) -> Option<PathBuf> {
        Db::missing_file(url)
    }

    /// Keeps other servers from a SQLite database as long as this lives; any number may share one on Postgres.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process has it.
    pub fn lock(&self) -> Result<(), StoreError> {
        self.db.lock()
    }

    /// Uses new connections from now on, where the database has any: on Postgres one that was made while the server was
    /// read-only stays so.
    pub fn renew_connections(&self) {
        self.db.renew_connections();
        self.facet_keys.forget();
    }

    /// The same database for whoever only asks.
    pub fn reader(&self) -> StoreReader {
        self.0.clone()
    }

    /// Whether the database can be written at this moment: what is consumed has to be stored.
    ///
    /// It writes and takes that back: a statement that finds nothing to write succeeds also on a full disk.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        const WRITE: &str = "INSERT INTO jobs (id, created_at, actor, action, state, total, done, failed, errors)
            VALUES ($1, 0, '', '', '', 0, 0, 0, '')";
        const TAKE_BACK: &str = "DELETE FROM jobs WHERE id = $1";
        let mut tx = self.db.begin().await?;
        on!(&mut tx, |tx| {
            sqlx::query(WRITE).bind(Uuid::nil()).execute(&mut **tx).await?;
            sqlx::query(TAKE_BACK).bind(Uuid::nil()).execute(&mut **tx).await?;
        });
        tx.commit().await
    }
}
