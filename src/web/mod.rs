//! Floor 4: what a browser and a script see.
//!
//! Pages work as plain HTML; htmx makes them quick by asking for one block of the same page (`?part=`). The JSON API
//! has types of its own. This floor decides how things are shown, asked for and refused. It knows no SQL and no AMQP,
//! and it has nothing to change the database
//! with: each change goes through a service, which takes who makes it, and from there through
//! [`AuditedStore`](crate::services::audited_store::AuditedStore).
//!
//! A request comes in by `server`, which limits it, and `security`, which says who asks. `input` and `query` read it, `orders`
//! makes of it what is to be done. `pages` and `api` answer it with what `shared` finds and, for people, `view` puts into words;
//! what is wrong is an `error`.

mod api;
mod assets;
mod docs;
mod error;
mod events;
mod handlers;
mod health;
mod htmx;
mod input;
mod orders;
mod pages;
mod problem;
mod query;
mod security;
mod server;
mod shared;
mod view;

pub use api::Decoded;
pub use error::codes::{FaultCode, ProblemCode};
pub use health::LastFigures;
pub use security::{GuardedStore, Need, Peer, table as routes};
pub use server::{
    Bounds,
    limits::Limits,
    serve,
    tls::{Certificate, CertificateFiles},
};
pub use shared::{saved_views::ViewCounts, seen_changes::SeenChanges};

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, http::Request, middleware};
use ipnet::IpNet;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceBuilder;
use tower_http::{
    catch_panic::CatchPanicLayer,
    compression::{CompressionLayer, CompressionLevel},
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
    trace::TraceLayer,
};
use url::Url;

use handlers::get;

use crate::{
    clock::Clock,
    domain::{
        self,
        letter::{Letter, LetterId},
        rule::RuleFailures,
    },
    metrics::Metrics,
    rabbitmq::health::BrokerBoard,
    services::{
        causes::Causes,
        change_feed::ChangeFeed,
        decoding::reader::Reader,
        digests::Digests,
        getting_started::GettingStarted,
        group_splits::GroupSplits,
        grouping_rules::GroupingRules,
        health::Health,
        idempotency::Keys,
        policies::Policies,
        rules::Rules,
        schemas::Schemas,
        sign_in::{SignIn, Tokens, Users},
        triage::Triage,
    },
    store::{StoreError, StoreReader},
};

/// All that pages and API need of the lower floors.
pub struct AppState {
    /// Only for asking: what changes anything goes through the services below.
    pub store: GuardedStore,
    /// What people do to letters and groups.
    pub triage: Triage,
    /// What is in force for automatic retries.
    pub policies: Policies,
    /// What says how important letters are.
    pub rules: Rules,
    /// What makes errors alike beside what is alike by itself.
    pub grouping_rules: GroupingRules,
    pub group_splits: GroupSplits,
    /// What messages are made of.
    pub schemas: Schemas,
    /// Reads them.
    pub reader: Reader,
    /// Compares letters of a group with others.
    pub causes: Causes,
    /// What is sent every so often.
    pub digests: Digests,
    /// Looks at brokers when somebody sets them up.
    pub getting_started: GettingStarted,
    /// Where work goes on that outlives its request.
    pub tasks: TaskTracker,
    /// The same for work that pages go before.
    pub background: Handle,
    pub feed: ChangeFeed,
    pub brokers: BrokerBoard,
    /// What is wrong with this server.
    pub health: Health,
    pub clock: Clock,
    pub metrics: Metrics,
    /// Who comes in.
    pub sign_in: SignIn,
    pub users: Users,
    pub tokens: Tokens,
    /// Calls that happen once.
    pub keys: Keys,
    /// What the database last said to who asks for metrics.
    pub figures: LastFigures,
    /// How many letters saved views show.
    pub view_counts: ViewCounts,
    /// What has changed for who sees some queues only.
    pub seen_changes: SeenChanges,
    pub settings: WebSettings,
}

pub struct WebSettings {
    /// The address that is really listened on: with port 0, the one that was given out.
    pub listen: SocketAddr,
    /// Where people reach this app; its host is accepted beside the address listened on.
    pub public_url: Url,
    /// Named where a page says how a message is handed over.
    pub dead_letter_exchange: String,
    /// Who is believed when it says for whom it asks.
    pub trusted_proxies: Vec<IpNet>,
    /// How long requests may take, and how many connections there may be.
    pub limits: Limits,
    /// Bytes of a body that is decoded at most.
    pub decode_max_bytes: u64,
    /// Whether words and fields of letters can be searched.
    pub is_search_enabled: bool,
    /// A letter that was sent back and has not failed again for so long counts as succeeded.
    pub succeeded_after: Duration,
    /// The brokers whose management API is asked.
    pub watch: BTreeMap<String, domain::watch::Settings>,
    /// Where the services of the demo are mended, in the demo.
    pub demo: Option<Url>,
    /// Who is notified, by name.
    pub channels: Vec<String>,
    /// Ends the event streams, which would otherwise hold up a shutdown for as long as a page is open.
    pub closing: CancellationToken,
}

impl AppState {
    /// The database as far as who asks may see it.
    pub fn store(&self) -> StoreReader {
        self.store.seen()
    }

    /// On which letters rules could not be tried; who does not see all queues is not told.
    pub async fn rule_failures(&self) -> Result<BTreeMap<String, RuleFailures>, StoreError> {
        let is_confined = security::Visitor::current().is_none_or(|visitor| visitor.is_confined());
        if is_confined { Ok(BTreeMap::new()) } else { self.rules.failures().await }
    }

    /// A letter, which is looked at from now on: what may be done depends on its queue.
    pub async fn letter(&self, id: LetterId) -> Result<Option<Letter>, StoreError> {
        let letter = self.store().letter(id).await?;
        if let Some(Letter { summary, .. }) = &letter {
            security::Visitor::looks_at_queue(&summary.broker, summary.queue.as_deref());
        }
        Ok(letter)
    }
}

/// How well answers are compressed while somebody waits: for each better step it takes longer than it spares.
const COMPRESSION: i32 = 5;

/// All pages, the API and what surrounds them.
pub fn router(app: Arc<AppState>) -> Router {
    let hosts = security::Hosts::new(&app.settings);
    let is_tls = app.settings.public_url.scheme() == "https";
    // From the outside in: an error made anywhere inside is presented, compressed and carries the security headers. In three
    // parts, each of which sees the next as one type: else the type of a layer names all that are in it, for each route.
    let answers = ServiceBuilder::new()
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .layer(TraceLayer::new_for_http().make_span_with(request_span).on_failure(()))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(CompressionLayer::new().quality(CompressionLevel::Precise(COMPRESSION)))
        .layer(middleware::from_fn_with_state(is_tls, security::set_headers));
    let faults = ServiceBuilder::new()
        .layer(middleware::from_fn_with_state(Arc::clone(&app), problem::present))
        .layer(middleware::from_fn(server::unread::close))
        .layer(CatchPanicLayer::custom(error::on_panic))
        .layer(middleware::from_fn(server::crowded::refuse));
    let requests = ServiceBuilder::new()
        .layer(middleware::from_fn_with_state(hosts, security::refuse_foreign_hosts))
        .layer(middleware::from_fn(security::refuse_other_sites))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), server::in_time::answer_in_time))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), security::guard))
        .layer(middleware::from_fn_with_state(Arc::<server::shares::Shares>::default(), server::shares::keep_to))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), events::note_changes));
    Router::new()
        .merge(pages::routes())
        .merge(api::routes(&app))
        .merge(health::routes())
        .route("/events", get(events::stream))
        .route("/assets/{version}/{*name}", get(assets::serve))
        .route("/docs/{*file}", get(docs::serve))
        .with_state(app)
        .layer(requests)
        .layer(faults)
        .layer(answers)
}

/// Probes and metrics alone, for whoever asks: where they have a port of their own, who reaches it is a matter of the network.
pub fn probes(app: Arc<AppState>) -> Router {
    let layers = ServiceBuilder::new()
        .layer(middleware::from_fn_with_state(Arc::clone(&app), problem::present))
        .layer(CatchPanicLayer::custom(error::on_panic));
    health::routes().with_state(app).layer(layers)
}

fn request_span<B>(request: &Request<B>) -> tracing::Span {
    let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok());
    tracing::debug_span!("request", method = %request.method(), path = request.uri().path(), id = id.unwrap_or("none"))
}
