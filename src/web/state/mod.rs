//! What all requests work with.

pub mod last_figures;
pub mod limits;
pub mod seen_changes;
pub mod view_counts;

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use ipnet::IpNet;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use url::Url;

use last_figures::LastFigures;
use seen_changes::SeenChanges;
use view_counts::ViewCounts;

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
        live::Live,
        notifications::channels::Channels,
        policies::Policies,
        rules::Rules,
        schemas::Schemas,
        sign_in::{SignIn, Tokens, Users},
        triage::Triage,
    },
    store::{StoreError, StoreReader},
    web::{
        state::limits::Limits,
        visitor::{GuardedStore, Visitor},
    },
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
    /// Where users are notified.
    pub channels: Live<Channels>,
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
    /// Whether TLS is spoken there.
    pub is_tls: bool,
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
        let is_confined = Visitor::current().is_none_or(|visitor| visitor.is_confined());
        if is_confined { Ok(BTreeMap::new()) } else { self.rules.failures().await }
    }

    /// A letter, which is looked at from now on: what may be done depends on its queue.
    pub async fn letter(&self, id: LetterId) -> Result<Option<Letter>, StoreError> {
        let letter = self.store().letter(id).await?;
        if let Some(Letter { summary, .. }) = &letter {
            Visitor::looks_at_queue(&summary.broker, summary.queue.as_deref());
        }
        Ok(letter)
    }
}
