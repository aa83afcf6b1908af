//! A database of one's own, with steps that tests take again and again.

use std::{
    ops::Deref,
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use amqp_message::{message::Message, time::Timestamp};
use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    domain::{
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        content_key::ContentKey,
        filter::LetterFilter,
        history::Event,
        job::{Bulk, Job},
        letter::{LetterId, LetterSummary, Status},
        pacing::Pacing,
        retry::{ClaimedRetry, RetryOutcome},
    },
    store::{
        AckState, Arrival, BulkAudit, BulkWork, EditOrder, EditedMessage, IntakeBatch, Order, Original, Recorded, Store,
    },
};
use sqlx::{AssertSqlSafe, Executor, PgPool, SqlSafeStr, SqlitePool};
use tempfile::TempDir;

use super::make::{NOON, an_arrival, id, later};
pub use crate::support::databases::sqlite_url;
use crate::support::databases::{self, Lent, Users};

/// How long a claim holds in these tests.
pub const LEASE: Duration = Duration::from_secs(60);

/// An order that is due at once.
pub const RETRY_NOW: Command = Command::Retry { delay: Duration::ZERO, queue: None };
/// An order that waits for an hour.
pub const RETRY_LATER: Command = Command::Retry { delay: Duration::from_secs(3600), queue: None };
pub const DISCARD: Command = Command::Discard { note: None };

/// What an edit does to a message.
pub type Change = fn(&mut Message);

/// A migrated, empty database and a way past the store to what is in it.
pub struct TestDatabase {
    store: Store,
    url: String,
    raw: Raw,
    /// A test has broken it on purpose, so there is nothing to audit.
    broken: AtomicBool,
    place: Place,
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Place::Database(database) = &self.place
            && self.broken.load(Ordering::Relaxed)
        {
            database.spoil();
        }
    }
}

enum Raw {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// Where the data is.
enum Place {
    Directory { _only_held: TempDir },
    Database(Lent),
}

macro_rules! raw {
    ($database:expr, |$pool:ident| $body:expr) => {
        match &$database.raw {
            Raw::Sqlite($pool) => $body,
            Raw::Postgres($pool) => $body,
        }
    };
}

impl Deref for TestDatabase {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

impl TestDatabase {
    pub async fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = databases::sqlite_at(&directory.path().join("database.db"));
        let raw = Raw::Sqlite(SqlitePool::connect_lazy(&url).unwrap());
        Self::at(url, raw, Place::Directory { _only_held: directory }).await
    }

    /// `None` where there is no Postgres and tests may be skipped for it.
    pub async fn postgres() -> Option<Self> {
        let database = databases::on_postgres(Users::Test)?;
        let raw = Raw::Postgres(PgPool::connect_lazy(&database.url).unwrap());
        Some(Self::at(database.url.clone(), raw, Place::Database(database)).await)
    }

    async fn at(url: String, raw: Raw, place: Place) -> Self {
        let store = Store::open(&url).await.unwrap();
        Self { store, url, raw, broken: AtomicBool::new(false), place }
    }

    /// The database as another process opens it.
    pub async fn second_server(&self) -> Store {
        Store::open(&self.url).await.unwrap()
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub const fn is_sqlite(&self) -> bool {
        matches!(self.raw, Raw::Sqlite(_))
    }

    /// The server's side of a Postgres database.
    pub fn server(&self) -> Option<&PgPool> {
        match &self.raw {
            Raw::Sqlite(_) => None,
            Raw::Postgres(pool) => Some(pool),
        }
    }
}

/// What a test does to a database.
impl TestDatabase {
    /// Takes in one batch of the broker `main`.
    pub async fn take_in<const N: usize>(&self, arrivals: [Arrival; N]) -> [Recorded; N] {
        let recorded = record(self, "main", &arrivals).await;
        recorded.try_into().unwrap()
    }

    /// Takes in so many new letters.
    pub async fn take_in_many(&self, n: usize) -> Vec<LetterId> {
        let arrivals: Vec<Arrival> = (0..n).map(|_| an_arrival()).collect();
        record(self, "main", &arrivals).await.into_iter().map(Recorded::letter).collect()
    }

    /// Takes in what has to be a new letter.
    pub async fn take_in_new(&self, arrival: Arrival) -> LetterId {
        let [Recorded::New(id)] = self.take_in([arrival]).await else { panic!("it was taken for a known letter") };
        id
    }

    /// Carries out a command of the local user at noon.
    pub async fn command(&self, command: &Command, ids: &[LetterId]) -> CommandReport {
        self.act(&order(command, ids)).await.unwrap()
    }

    /// Carries out a command that every letter has to take.
    pub async fn does(&self, command: &Command, ids: &[LetterId]) {
        assert_eq!(self.command(command, ids).await.refused, []);
    }

    /// Sends an edited copy in the place of a letter at noon, after so many seconds.
    pub async fn edit(&self, id: LetterId, change: Change, seconds: u64) -> Result<LetterId, Refusal> {
        self.edit_at(NOON, id, change, seconds).await
    }

    pub async fn edit_at(
        &self,
        at: Timestamp,
        id: LetterId,
        change: Change,
        seconds: u64,
    ) -> Result<LetterId, Refusal> {
        let edit = |original: &Original<'_>| {
            let mut message = original.message.clone();
            change(&mut message);
            Ok(EditedMessage { message, message_type: None, content: ContentKey(0), id_key: None, danger: None })
        };
        let order = EditOrder {
            letter: id,
            copy: LetterId::from_uuid(self::id()),
            delay: Duration::from_secs(seconds),
            queue: None,
            edit: &edit,
            summary: "body",
            by: &Actor::local(),
            at,
        };
        self.retry_edited(&order).await.unwrap()
    }

    /// The same for a letter that has to take it.
    pub async fn edits(&self, id: LetterId, change: Change) -> LetterId {
        self.edit(id, change, 3_600).await.unwrap()
    }

    /// Carries out an order as a job of its own does.
    pub async fn portion(&self, order: &Order<'_>, whole: &mut BulkAudit) -> CommandReport {
        let bulk = Bulk {
            filter: LetterFilter::default(),
            until: order.at,
            left: None,
            command: order.command.clone(),
            edit: None,
            pacing: Pacing::default(),
            by: order.by.clone(),
        };
        let job = Job::begun(id(), bulk.command.name());
        self.add_bulk(&job, &bulk, order.at, LEASE).await.unwrap();
        let mut work = BulkWork { job, bulk: &bulk, held_until: order.at.plus(LEASE) };
        self.act_on_portion(order, whole, &mut work).await.unwrap().unwrap()
    }

    /// Claims what is due at `now`.
    pub async fn claim(&self, now: Timestamp) -> Vec<ClaimedRetry> {
        self.claim_due_retries("main", now, LEASE, 1_000).await.unwrap()
    }

    pub async fn claims(&self, now: Timestamp) -> Vec<LetterId> {
        self.claim(now).await.into_iter().map(|retry| retry.id).collect()
    }

    /// Says of every retry that it ended so.
    pub async fn finish(&self, claimed: &[ClaimedRetry], outcome: RetryOutcome) {
        let outcomes: Vec<_> = claimed.iter().map(|retry| (retry, outcome.clone())).collect();
        self.finish_retries(&outcomes, NOON).await.unwrap();
    }

    /// A new letter that has come to this status by the usual way.
    pub async fn letter_in(&self, status: Status) -> LetterId {
        let id = self.take_in_new(an_arrival()).await;
        self.bring(id, status).await;
        id
    }

    /// Brings an open letter to this status by the usual way.
    pub async fn bring(&self, id: LetterId, status: Status) {
        match status {
            Status::Open => {}
            Status::Scheduled => self.does(&RETRY_LATER, &[id]).await,
            Status::Discarded => self.does(&DISCARD, &[id]).await,
            Status::Retried => {
                self.does(&RETRY_NOW, &[id]).await;
                let claimed = self.claim(later(1)).await;
                self.finish(&claimed, RetryOutcome::Confirmed).await;
            }
        }
    }
}

/// What a test asks of a database.
impl TestDatabase {
    pub async fn shows(&self, id: LetterId) -> LetterSummary {
        self.summary(id).await.unwrap().unwrap()
    }

    pub async fn status(&self, id: LetterId) -> Status {
        self.shows(id).await.status
    }

    pub async fn total(&self) -> u64 {
        self.count(&LetterFilter::default()).await.unwrap()
    }

    /// What happened to a letter after it came in, without the times.
    pub async fn events(&self, id: LetterId) -> Vec<(Event, String, String)> {
        let history = self.history(id).await.unwrap();
        assert_eq!(history[0].event, Event::Received);
        history.into_iter().skip(1).map(|entry| (entry.event, entry.by.as_str().to_owned(), entry.detail)).collect()
    }

    /// The one number that a statement answers with.
    pub async fn number(&self, sql: &str) -> i64 {
        raw!(self, |pool| sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await.unwrap())
    }

    /// The texts that a statement answers with.
    pub async fn texts(&self, sql: &str) -> Vec<String> {
        raw!(self, |pool| sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(pool).await.unwrap())
    }

    /// Has the database read a statement without doing it.
    pub async fn prepare(&self, sql: &str) -> Result<(), sqlx::Error> {
        let sql = AssertSqlSafe(sql.to_owned()).into_sql_str();
        raw!(self, |pool| pool.prepare(sql).await.map(drop))
    }

    /// Why it does not carry out a statement that some tool sends.
    pub async fn refusal(&self, sql: &str) -> String {
        let sql = AssertSqlSafe(sql.to_owned());
        let done = raw!(self, |pool| sqlx::raw_sql(sql).execute(pool).await.map(drop));
        done.unwrap_err().to_string()
    }

    /// Does something to the database that the store would not do; there is no audit then.
    pub async fn tamper(&self, sql: &str) {
        self.broken.store(true, Ordering::Relaxed);
        raw!(self, |pool| _ = sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await.unwrap());
    }

    /// Fails unless all that is kept equals what is recounted.
    pub async fn audit(&self) {
        if self.broken.load(Ordering::Relaxed) {
            return;
        }
        let questions = AUDIT.map(|(_, violations)| format!("SELECT count(*) FROM {violations}"));
        let counts = match &self.place {
            Place::Database(database) => database.ask(&questions),
            // On one connection: the pool makes another one while it takes back the last.
            Place::Directory { .. } => raw!(self, |pool| {
                let mut connection = pool.acquire().await.unwrap();
                let mut counts = Vec::new();
                for question in questions {
                    let count = sqlx::query_scalar::<_, i64>(AssertSqlSafe(question)).fetch_one(&mut *connection);
                    counts.push(count.await.unwrap().to_string());
                }
                counts
            }),
        };
        assert_eq!(counts.len(), AUDIT.len());
        for ((what, _), violations) in AUDIT.iter().zip(counts) {
            assert_eq!(violations, "0", "audit: {what}");
        }
    }
}

/// What must not be there, and where it would be.
const AUDIT: [(&str, &str); 19] = [
    ("a letter has the group that it is in as another", "letters l WHERE l.key_id = l.group_id OR l.group_id IS NULL AND l.key_id IS NOT NULL"),
    (
        "a job counts other letters than its own",
        "jobs j WHERE j.sent <> (SELECT count(*) FROM job_letters l WHERE l.job_id = j.id AND l.state IN ('sent', 'failed'))
            OR j.failed_again <> (SELECT count(*) FROM job_letters l WHERE l.job_id = j.id AND l.state = 'failed')",
    ),
    ("a facet's count is wrong", "facets f WHERE f.count <> (SELECT count(*) FROM letters l WHERE l.facet_id = f.id)"),
    (
        "a slice's count is wrong",
        "slices s WHERE s.scope > 0 AND s.count <> (SELECT count(*) FROM letters l
            WHERE l.facet_id = s.scope AND l.received_at >= s.start AND l.received_at < s.start + 300000000)",
    ),
    (
        "a letter is in no slice",
        "letters l WHERE NOT EXISTS (SELECT 1 FROM slices s
            WHERE s.scope = l.facet_id AND s.start <= l.received_at AND l.received_at < s.start + 300000000)",
    ),
    (
        "the slices of all facets are not the sum of theirs",
        "slices s WHERE s.scope < 0 AND s.count <> (SELECT coalesce(sum(t.count), 0) FROM slices t
            JOIN facets f ON f.id = t.scope WHERE t.start = s.start AND s.scope =
            -1 - 4 * CASE f.status WHEN 'open' THEN 0 WHEN 'scheduled' THEN 1 WHEN 'retried' THEN 2 ELSE 3 END
            - CASE f.importance WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'normal' THEN 2 ELSE 3 END)",
    ),
    (
        "a day is not what its slices are",
        "days d WHERE d.count <> (SELECT coalesce(sum(s.count), 0) FROM slices s
            WHERE s.scope = d.scope AND s.start >= d.start AND s.start < d.start + 86400000000)
            OR d.count <> d.h00 + d.h01 + d.h02 + d.h03 + d.h04 + d.h05 + d.h06 + d.h07 + d.h08 + d.h09 + d.h10 + d.h11
            + d.h12 + d.h13 + d.h14 + d.h15 + d.h16 + d.h17 + d.h18 + d.h19 + d.h20 + d.h21 + d.h22 + d.h23
            OR d.h13 <> (SELECT coalesce(sum(s.count), 0) FROM slices s WHERE s.scope = d.scope
            AND s.start >= d.start + 13 * 3600000000 AND s.start < d.start + 14 * 3600000000)",
    ),
    (
        "a slice is in no day",
        "slices s WHERE s.count > 0 AND NOT EXISTS (SELECT 1 FROM days d
            WHERE d.scope = s.scope AND d.start <= s.start AND s.start < d.start + 86400000000)",
    ),
    (
        "a letter is scheduled without a retry, or has one without being scheduled",
        "letters l JOIN facets f ON f.id = l.facet_id
            WHERE (f.status = 'scheduled') <> (EXISTS (SELECT 1 FROM retries r WHERE r.letter_id = l.id))",
    ),
    ("a retry has no letter", "retries r WHERE r.letter_id NOT IN (SELECT id FROM letters) OR r.claims < 0"),
    ("a letter has no contents", "letters l WHERE l.id NOT IN (SELECT letter_id FROM contents)"),
    (
        "a letter is settled since no time, or since some time without being settled",
        "letters l JOIN facets f ON f.id = l.facet_id
            WHERE (f.status IN ('retried', 'discarded')) <> (l.closed_at IS NOT NULL)",
    ),
    (
        "two edits of one letter stand",
        "letters a JOIN letters b ON a.family = b.family AND a.id < b.id JOIN facets f ON f.id = a.facet_id
            JOIN facets g ON g.id = b.facet_id WHERE f.status <> 'discarded' AND g.status <> 'discarded'",
    ),
    (
        "an edit is linked with a dead letter that is not there, or not with one of its family",
        "letters l WHERE (l.edited_from IS NOT NULL OR l.replaced_by IS NOT NULL) AND (l.family IS NULL
            OR NOT EXISTS (SELECT 1 FROM letters o WHERE o.id = coalesce(l.edited_from, l.replaced_by) AND o.family = l.family)
            OR NOT EXISTS (SELECT 1 FROM letters o WHERE o.id = coalesce(l.replaced_by, l.edited_from) AND o.family = l.family))",
    ),
    (
        "a letter is in a group that is not there",
        "letters l WHERE l.group_id IS NOT NULL AND l.group_id NOT IN (SELECT id FROM groups)",
    ),
    (
        "a group's counts are wrong",
        "groups g WHERE g.critical <> (SELECT count(*) FROM letters l JOIN facets f ON f.id = l.facet_id
                WHERE l.group_id = g.id AND f.status = 'open' AND f.importance = 'critical')
            OR g.low <> (SELECT count(*) FROM letters l JOIN facets f ON f.id = l.facet_id
                WHERE l.group_id = g.id AND f.status = 'open' AND f.importance = 'low')
            OR g.critical + g.high + g.normal + g.low <> (SELECT count(*) FROM letters l
                JOIN facets f ON f.id = l.facet_id WHERE l.group_id = g.id AND f.status = 'open')
            OR g.scheduled <> (SELECT count(*) FROM letters l JOIN facets f ON f.id = l.facet_id
                WHERE l.group_id = g.id AND f.status = 'scheduled')
            OR g.retried <> (SELECT count(*) FROM letters l JOIN facets f ON f.id = l.facet_id
                WHERE l.group_id = g.id AND f.status = 'retried')
            OR g.discarded <> (SELECT count(*) FROM letters l JOIN facets f ON f.id = l.facet_id
                WHERE l.group_id = g.id AND f.status = 'discarded')",
    ),
    (
        "what came into a group is not counted in its hour",
        "group_hours h JOIN groups g ON g.id = h.group_id WHERE h.received <> (SELECT count(*) FROM letters l
            WHERE l.group_id = g.id AND l.received_at >= h.start AND l.received_at < h.start + 3600000000)",
    ),
    (
        "a group has sent another number than its hours",
        "groups g WHERE g.sent <> (SELECT coalesce(sum(h.sent), 0) FROM group_hours h WHERE h.group_id = g.id)
            OR g.failed_again <> (SELECT coalesce(sum(h.failed_again), 0) FROM group_hours h WHERE h.group_id = g.id)
            OR g.failed_again > g.sent",
    ),
    ("something is kept of a dead letter that is gone", "history h WHERE h.letter_id NOT IN (SELECT id FROM letters)"),
];

/// An order of the local user at noon.
pub fn order<'a>(command: &'a Command, ids: &'a [LetterId]) -> Order<'a> {
    static LOCAL: LazyLock<Actor> = LazyLock::new(Actor::local);
    static LIMITS: LazyLock<RetryLimits> = LazyLock::new(RetryLimits::default);
    Order { ids, command, by: &LOCAL, at: NOON, limits: &LIMITS, edits: None }
}

/// Records a batch of which nothing else matters.
pub async fn record(store: &Store, broker: &str, arrivals: &[Arrival]) -> Vec<Recorded> {
    store.record(&batch(broker, arrivals)).await.unwrap()
}

pub fn batch<'a>(broker: &'a str, arrivals: &'a [Arrival]) -> IntakeBatch<'a> {
    IntakeBatch {
        id: id(),
        broker,
        queue: "dlo.obituaries",
        session: id(),
        is_cut: &|| false,
        is_first: false,
        recorded_at: NOON,
        arrivals,
        settled: AckState::default(),
    }
}
