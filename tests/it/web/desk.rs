//! A server without brokers, whose router a test asks directly.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use argon2::Params;
use axum::{
    Router,
    body::Body,
    http::{Method, Request, request::Builder},
};
use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    clock::Clock,
    config::{AuthConfig, DecodeConfig, NotifyConfig},
    domain::{
        actor::Actor,
        broker::ConnectionState,
        command::Command,
        letter::{LetterId, Status},
        policy::{Decision, Delays, Policy, Via},
        retry::RetryOutcome,
    },
    metrics::Metrics,
    rabbitmq::health::BrokerBoard,
    services::{
        audited_store::AuditedStore,
        causes::Causes,
        change_feed::ChangeFeed,
        decoding::reader::Reader,
        digests::Digests,
        getting_started::GettingStarted,
        group_splits::GroupSplits,
        grouping_rules::GroupingRules,
        health::{Health, Probe, WorkerBoard},
        idempotency::Keys,
        live::Live,
        notifications::channels::Channels,
        policies::Policies,
        rules::Rules,
        schemas::Schemas,
        sign_in::{Passwords, SignIn, Tokens, Users},
        triage::Triage,
        wakeup::Wakeup,
    },
    store::{AckState, IntakeBatch, Recorded, Store},
    web::{AppState, GuardedStore, LastFigures, Limits, SeenChanges, ViewCounts, WebSettings, router},
};
use http_body_util::BodyExt;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;
use uuid::Uuid;

use super::{
    answer::Answer,
    dead::{Dead, NOON, dead_in},
};
use crate::support::databases::{self, Lent};

/// The broker of a server that has one.
pub const MAIN: &str = "main";
/// Where dlo believes to listen.
pub const HOST: &str = "127.0.0.1:8420";
/// Bodies above this are not decoded.
pub const DECODE_MAX_BYTES: u64 = 256 * 1024;

/// What was sent back so long ago counts as succeeded.
pub const SUCCEEDED_AFTER: Duration = Duration::from_secs(60 * 60);

pub struct Desk {
    pub store: Arc<Store>,
    pub changes: AuditedStore,
    pub board: BrokerBoard,
    pub workers: WorkerBoard,
    pub health: Health,
    pub probe: Probe,
    pub clock: Clock,
    pub feed: ChangeFeed,
    pub metrics: Metrics,
    pub policies: Policies,
    pub rules: Rules,
    pub grouping_rules: GroupingRules,
    pub group_splits: GroupSplits,
    pub schemas: Schemas,
    pub reader: Reader,
    pub digests: Digests,
    pub closing: CancellationToken,
    pub sign_in: SignIn,
    pub users: Users,
    pub tokens: Tokens,
    router: Router,
    directory: TempDir,
}

/// What a server has that is not as usual.
#[derive(Default)]
struct Own {
    limits: Limits,
    hidden_fields: Vec<String>,
    auth: AuthConfig,
}

impl Desk {
    /// An empty server, connected to the broker [`MAIN`].
    pub async fn open() -> Self {
        Self::with_brokers(&[MAIN]).await
    }

    /// A server whose configuration says this of whom to tell what.
    pub async fn that_tells(notify: &NotifyConfig) -> Self {
        Self::of(&[MAIN], &[], notify).await
    }

    /// The same, where the management API of its broker is asked.
    pub async fn watching() -> Self {
        Self::with(&[MAIN], &[MAIN]).await
    }

    pub async fn with_brokers(names: &[&str]) -> Self {
        Self::with(names, &[]).await
    }

    /// With the brokers `names`, of which those in `watched` are watched.
    pub async fn with(names: &[&str], watched: &[&str]) -> Self {
        Self::of(names, watched, &NotifyConfig::default()).await
    }

    async fn of(names: &[&str], watched: &[&str], notify: &NotifyConfig) -> Self {
        Self::of_limits(names, watched, notify, Limits::default()).await
    }

    /// A server that hides fields of these names.
    pub async fn hiding(names: &[&str]) -> Self {
        let hidden = names.iter().map(|name| (*name).to_owned()).collect();
        let (directory, store, board) = Self::prepare(&[MAIN]).await;
        let own = Own { hidden_fields: hidden, ..Own::default() };
        Self::on(store, board, directory, &[], &NotifyConfig::default(), own)
    }

    /// A server with these limits.
    pub async fn limited(limits: Limits) -> Self {
        Self::of_limits(&[MAIN], &[], &NotifyConfig::default(), limits).await
    }

    /// All that it answers, for a server on a port.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    async fn of_limits(names: &[&str], watched: &[&str], notify: &NotifyConfig, limits: Limits) -> Self {
        let (directory, store, board) = Self::prepare(names).await;
        Self::on(store, board, directory, watched, notify, Own { limits, ..Own::default() })
    }

    async fn prepare(names: &[&str]) -> (TempDir, Arc<Store>, BrokerBoard) {
        let directory = tempfile::tempdir().unwrap();
        let url = databases::sqlite_at(&directory.path().join("database.db"));
        let store = Arc::new(Store::open(&url).await.unwrap());
        let board = BrokerBoard::new(names.iter().map(|name| ((*name).to_owned(), format!("{name}.example:5672"))));
        for name in names {
            board.set_consuming(name, ConnectionState::Connected { since: NOON });
            board.set_publishing(name, ConnectionState::Connected { since: NOON });
        }
        (directory, store, board)
    }

    /// A server where people sign in, on SQLite.
    pub async fn where_people_sign_in(auth: AuthConfig) -> Self {
        let (directory, store, board) = Self::prepare(&[MAIN]).await;
        let own = Own { auth, ..Own::default() };
        Self::on(store, board, directory, &[], &NotifyConfig::default(), own)
    }

    /// The same on both databases; that of Postgres is kept beside it.
    pub async fn where_people_sign_in_on_both(auth: &AuthConfig) -> Vec<(Self, Option<Lent>)> {
        let mut both = vec![(Self::where_people_sign_in(auth.clone()).await, None)];
        if let Some((Self { store, board, directory, .. }, database)) = Self::on_postgres().await {
            let own = Own { auth: auth.clone(), ..Own::default() };
            let desk = Self::on(store, board, directory, &[], &NotifyConfig::default(), own);
            both.push((desk, Some(database)));
        }
        both
    }

    /// A server that hides fields of these names, on Postgres.
    pub async fn hiding_on_postgres(names: &[&str]) -> Option<(Self, Lent)> {
        let (Self { store, board, directory, .. }, database) = Self::on_postgres().await?;
        let hidden_fields = names.iter().map(|name| (*name).to_owned()).collect();
        let own = Own { hidden_fields, ..Own::default() };
        Some((Self::on(store, board, directory, &[], &NotifyConfig::default(), own), database))
    }

    /// The same on Postgres; `None` where there is none and tests may be skipped for it.
    pub async fn on_postgres() -> Option<(Self, Lent)> {
        let database = databases::on_postgres(databases::Users::Servers)?;
        let store = Arc::new(Store::open(&database.url).await.unwrap());
        let board = BrokerBoard::new([(MAIN.to_owned(), format!("{MAIN}.example:5672"))]);
        let directory = tempfile::tempdir().unwrap();
        Some((Self::on(store, board, directory, &[], &NotifyConfig::default(), Own::default()), database))
    }

    fn on(
        store: Arc<Store>,
        board: BrokerBoard,
        directory: TempDir,
        watched: &[&str],
        notify: &NotifyConfig,
        Own { limits, hidden_fields, auth }: Own,
    ) -> Self {
        let (clock, feed, metrics) = (Clock::manual(NOON), ChangeFeed::default(), Metrics::default());
        let closing = CancellationToken::new();
        let workers = WorkerBoard::new(clock.clone());
        let health = Health::new(board.clone(), workers.clone(), clock.clone());
        let brokers = board.all().into_iter().map(|broker| broker.name).collect();
        let changes = AuditedStore::new(Arc::clone(&store), clock.clone(), feed.clone(), Wakeup::default());
        let policies = Policies::new(vec![every_queue()], changes.clone());
        let rules = Rules::new(None, changes.clone(), clock.clone());
        let grouping_rules = GroupingRules::new(changes.clone(), clock.clone());
        let schemas = Schemas::new(changes.clone(), clock.clone());
        let decode = DecodeConfig { max_bytes: DECODE_MAX_BYTES, hidden_fields, ..DecodeConfig::default() };
        let reader = Reader::new(schemas.clone(), decode);
        let group_splits = GroupSplits::new(changes.clone(), reader.clone(), clock.clone());
        let digests = Digests::new(
            notify,
            "http://dlo.example.com".parse().unwrap(),
            SUCCEEDED_AFTER,
            Arc::clone(&store),
            changes.clone(),
            clock.clone(),
            Wakeup::default(),
        )
        .unwrap();
        let sign_in = SignIn::new(auth, Arc::clone(&store), clock.clone(), feed.clone(), None);
        // What makes passwords hard to guess makes tests slow: this is the least that there is.
        let cheap = Passwords::costing(Params::new(Params::MIN_M_COST, 1, 1, None).unwrap());
        let users = Users::new(Arc::clone(&store), clock.clone(), feed.clone()).with_passwords(cheap);
        let tokens = Tokens::new(Arc::clone(&store), clock.clone(), feed.clone());
        let server = AppState {
            sign_in: sign_in.clone(),
            users: users.clone(),
            tokens: tokens.clone(),
            triage: Triage::new(
                Arc::clone(&store),
                changes.clone(),
                clock.clone(),
                RetryLimits::default(),
                reader.clone(),
            ),
            store: GuardedStore::new(store.reader()),
            policies: policies.clone(),
            rules: rules.clone(),
            grouping_rules: grouping_rules.clone(),
            group_splits: group_splits.clone(),
            causes: Causes::new(reader.clone()),
            reader: reader.clone(),
            schemas: schemas.clone(),
            digests: digests.clone(),
            channels: Live::new(Channels::default()),
            getting_started: GettingStarted::new(BTreeMap::new(), changes.clone(), clock.clone()),
            tasks: TaskTracker::new(),
            background: Handle::current(),
            feed: feed.clone(),
            brokers: board.clone(),
            health: health.clone(),
            clock: clock.clone(),
            metrics: metrics.clone(),
            keys: Keys::new(Arc::clone(&store), clock.clone()),
            figures: LastFigures::default(),
            view_counts: ViewCounts::default(),
            seen_changes: SeenChanges::default(),
            settings: WebSettings {
                listen: HOST.parse::<SocketAddr>().unwrap(),
                is_tls: false,
                public_url: "http://dlo.example.com".parse().unwrap(),
                dead_letter_exchange: "the-dlx".to_owned(),
                trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
                limits,
                decode_max_bytes: DECODE_MAX_BYTES,
                is_search_enabled: true,
                succeeded_after: SUCCEEDED_AFTER,
                watch: watched.iter().map(|name| ((*name).to_owned(), super::watch::settings())).collect(),
                demo: None,
                closing: closing.clone(),
            },
        };
        let probe = Probe::new(Arc::clone(&store), health.clone(), brokers);
        Self {
            store,
            changes,
            board,
            workers,
            probe,
            health,
            clock,
            feed,
            metrics,
            policies,
            rules,
            grouping_rules,
            group_splits,
            schemas,
            reader,
            digests,
            closing,
            sign_in,
            users,
            tokens,
            router: router(Arc::new(server)),
            directory,
        }
    }

    /// The database's file, for a test that breaks it.
    pub fn database_url(&self) -> String {
        databases::sqlite_url(&self.directory.path().join("database.db"))
    }
}

/// The policy of the configuration: after 10 s, 1 min 40 s, 16 min 40 s.
fn every_queue() -> Policy {
    Policy {
        queues: Policy::EVERY_QUEUE.to_owned(),
        reason: None,
        delays: Delays::Listed([10, 100, 1_000].map(Duration::from_secs).to_vec()),
        jitter: 0.0,
        via: Via::Database,
        keep_routing_key: false,
    }
}

/// What happens in dlo.
impl Desk {
    /// A message that fails for the `n`th time, under the policy that is in force.
    pub async fn fails(&self, dead: Dead, n: u64) -> LetterId {
        let book = self.policies.book();
        let ruled = dead.attempts(n).with(|arrival| {
            let policy = arrival.failure.queue.as_deref().and_then(|queue| book.find(queue, arrival.failure.reason));
            arrival.decision = Some(Decision::new(policy.cloned(), 0.5));
        });
        self.receive(ruled).await
    }

    pub async fn receive(&self, dead: Dead) -> LetterId {
        self.receive_from(MAIN, [dead]).await[0]
    }

    pub async fn receive_from<const N: usize>(&self, broker: &str, dead: [Dead; N]) -> [LetterId; N] {
        self.receive_all(broker, dead.into()).await.try_into().unwrap()
    }

    pub async fn receive_all(&self, broker: &str, dead: Vec<Dead>) -> Vec<LetterId> {
        let arrivals: Vec<_> = dead.into_iter().map(Dead::arrival).collect();
        let batch = IntakeBatch {
            id: Uuid::now_v7(),
            broker,
            queue: "dlo.obituaries",
            session: Uuid::now_v7(),
            is_cut: &|| false,
            is_first: false,
            recorded_at: self.clock.now(),
            arrivals: &arrivals,
            settled: AckState::default(),
        };
        let recorded = self.store.record(&batch).await.unwrap();
        self.feed.received(recorded.len() as u64);
        recorded.into_iter().map(Recorded::letter).collect()
    }

    /// A letter of the queue `orders` that has come to this status.
    pub async fn letter_in(&self, status: Status) -> LetterId {
        let id = self.receive(dead_in("orders")).await;
        self.bring(id, status).await;
        id
    }

    /// Brings an open letter to this status by the usual way.
    pub async fn bring(&self, id: LetterId, status: Status) {
        let hour = Duration::from_secs(3_600);
        match status {
            Status::Open => {}
            Status::Scheduled => self.command(id, Command::Retry { delay: hour, queue: None }).await,
            Status::Discarded => self.command(id, Command::Discard { note: None }).await,
            Status::Retried => self.retry_ends(id, RetryOutcome::Confirmed).await,
        }
    }

    /// Retries an open letter, which ends so.
    pub async fn retry_ends(&self, id: LetterId, outcome: RetryOutcome) {
        self.command(id, Command::Retry { delay: Duration::ZERO, queue: None }).await;
        let claimed = self.store.claim_due_retries(MAIN, NOON, Duration::from_secs(60), 100).await.unwrap();
        let ours: Vec<_> =
            claimed.iter().filter(|retry| retry.id == id).map(|retry| (retry, outcome.clone())).collect();
        assert_eq!(ours.len(), 1);
        self.store.finish_retries(&ours, NOON).await.unwrap();
    }

    pub async fn command(&self, id: LetterId, command: Command) {
        let order = dead_letter_office::store::Order {
            ids: &[id],
            command: &command,
            by: &Actor::local(),
            at: NOON,
            limits: &RetryLimits::default(),
            edits: None,
        };
        assert_eq!(self.store.act(&order).await.unwrap().refused, []);
    }

    pub async fn status(&self, id: LetterId) -> Status {
        self.store.summary(id).await.unwrap().unwrap().status
    }

    pub async fn note(&self, id: LetterId) -> Option<String> {
        self.store.summary(id).await.unwrap().unwrap().note
    }

    pub fn board_says(&self, broker: &str, state: ConnectionState) {
        self.board.set_consuming(broker, state.clone());
        self.board.set_publishing(broker, state);
    }
}

/// What is asked of dlo.
impl Desk {
    pub async fn get(&self, path: &str) -> Answer {
        self.send(ask(Method::GET, path)).await
    }

    /// A page, which has to be there.
    #[track_caller]
    pub fn page(&self, path: &str) -> impl Future<Output = scraper::Html> {
        let getting = self.get(path);
        let at = std::panic::Location::caller();
        async move {
            let answer = getting.await;
            assert_eq!(answer.status, 200, "{at}: {}: {}", answer.asked, answer.text());
            answer.page()
        }
    }

    /// As a program does: a call of the API with a body of JSON, without a word about where it comes from.
    pub async fn call(&self, method: Method, path: &str, body: &Value) -> Answer {
        let request = builder(method, path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::POST, path, body).await
    }

    /// What the API says of a letter.
    pub async fn letter(&self, id: LetterId) -> Value {
        self.get(&format!("/api/v1/letters/{id}")).await.expect(200).json()
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let asked = format!("{} {}", request.method(), request.uri());
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Answer { asked, status: parts.status, headers: parts.headers, body }
    }

    /// The answer's body as it flows, for what has no end.
    pub async fn stream(&self, path: &str) -> Body {
        self.router.clone().oneshot(ask(Method::GET, path)).await.unwrap().into_body()
    }
}

/// A request for this server that says nothing of where it comes from.
pub fn builder(method: Method, path: &str) -> Builder {
    Request::builder().method(method).uri(path).header("host", HOST)
}

pub fn ask(method: Method, path: &str) -> Request<Body> {
    builder(method, path).body(Body::empty()).unwrap()
}
