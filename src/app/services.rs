//! From a configuration to what all workers share.

use std::{path::PathBuf, sync::Arc};

use super::{
    Role, Roles, database,
    lifecycle::{self, Lifecycle},
};
use crate::{
    clock::Clock,
    config::{AuthMode, Config},
    domain::broker::ConnectionState,
    metrics::Metrics,
    notify::{self, Patience, Reach},
    rabbitmq::health::BrokerBoard,
    services::{
        audited_store::AuditedStore,
        change_feed::ChangeFeed,
        decoding::reader::Reader,
        digests::Digests,
        group_splits::GroupSplits,
        grouping_rules::GroupingRules,
        health::{Health, WorkerBoard},
        incidents,
        live::Live,
        notifications::channels::Channels,
        policies::Policies,
        rules::Rules,
        schemas::Schemas,
        sign_in::{Oidc, SignIn},
        wakeup::Wakeup,
    },
    store::Store,
};

/// What all workers share.
pub(super) struct Services {
    pub(super) store: Arc<Store>,
    /// What people change goes through this.
    pub(super) changes: AuditedStore,
    pub(super) policies: Policies,
    pub(super) rules: Rules,
    pub(super) grouping_rules: GroupingRules,
    pub(super) group_splits: GroupSplits,
    pub(super) schemas: Schemas,
    pub(super) reader: Reader,
    pub(super) board: BrokerBoard,
    pub(super) health: Health,
    pub(super) workers: WorkerBoard,
    pub(super) clock: Clock,
    pub(super) metrics: Metrics,
    pub(super) feed: ChangeFeed,
    pub(super) wakeup: Wakeup,
    pub(super) digests: Digests,
    pub(super) channels: Live<Channels>,
    /// When incidents are notified.
    pub(super) paging: Live<incidents::Settings>,
    pub(super) sign_in: SignIn,
    /// Notified when there is something to notify users of.
    pub(super) outbox: Wakeup,
}

impl Services {
    pub(super) async fn build(config: &Config, roles: &Roles, lifecycle: &Lifecycle) -> anyhow::Result<Self> {
        let store = tokio::select! {
            opened = database::open(config) => opened?,
            () = lifecycle::signalled()? => anyhow::bail!("stopped before the database took a connection"),
        };
        store.lock()?;
        if config.database.auto_migrate {
            store.migrate().await?;
        }
        store.check_version().await?;
        if roles.has(Role::Retry) {
            store.release_abandoned_claims().await?;
        }
        if roles.has(Role::Intake) || roles.has(Role::Web) {
            store.release_abandoned_jobs().await?;
        }
        if roles.has(Role::Notify) {
            store.release_abandoned_notifications().await?;
            store.release_abandoned_watches().await?;
        }
        let (store, clock) = (Arc::new(store), Clock::system());
        let (feed, wakeup) = (ChangeFeed::default(), Wakeup::default());
        let changes = AuditedStore::new(Arc::clone(&store), clock.clone(), feed.clone(), wakeup.clone());
        let configured = config.retry.policies().map_err(anyhow::Error::msg)?;
        let policies = Policies::new(configured, changes.clone());
        policies.reload().await?;
        let file = Some(&config.rules.file).filter(|file| !file.is_empty()).map(PathBuf::from);
        let rules = Rules::new(file, changes.clone(), clock.clone());
        rules.reload().await?;
        if let Some(problem) = rules.problem() {
            anyhow::bail!("rules.file: {problem}");
        }
        let grouping_rules = GroupingRules::new(changes.clone(), clock.clone());
        grouping_rules.reload().await?;
        let schemas = Schemas::new(changes.clone(), clock.clone());
        schemas.reload().await?;
        let reader = Reader::new(schemas.clone(), config.decode.clone());
        let group_splits = GroupSplits::new(changes.clone(), reader.clone(), clock.clone());
        group_splits.reload().await?;
        let outbox = Wakeup::default();
        let board = board(config, roles);
        let digests = Digests::new(
            &config.notify,
            config.web.public_url.clone(),
            config.groups.succeeded_after,
            Arc::clone(&store),
            changes.clone(),
            clock.clone(),
            outbox.clone(),
        );
        let sign_in = sign_in(config, &store, &clock, &feed)?;
        let paging = incidents::Settings::new(&config.notify.page, config.web.public_url.clone());
        Ok(Self {
            sign_in,
            channels: Live::new(Channels::new(&config.notify)?),
            paging: Live::new(paging.map_err(anyhow::Error::msg)?),
            digests: digests.map_err(anyhow::Error::msg)?,
            store,
            changes,
            policies,
            rules,
            grouping_rules,
            group_splits,
            reader,
            schemas,
            health: Health::new(board.clone(), lifecycle.board(), clock.clone()),
            workers: lifecycle.board(),
            board,
            clock,
            metrics: Metrics::default(),
            feed,
            wakeup,
            outbox,
        })
    }
}

fn sign_in(config: &Config, store: &Arc<Store>, clock: &Clock, feed: &ChangeFeed) -> anyhow::Result<SignIn> {
    let is_asked = config.auth.mode == AuthMode::Oidc;
    let provider = if is_asked { Some(oidc(config)?) } else { None };
    Ok(SignIn::new(config.auth.clone(), Arc::clone(store), clock.clone(), feed.clone(), provider))
}

pub(super) fn oidc(config: &Config) -> anyhow::Result<Oidc> {
    let reach = Reach::new(&config.outgoing.private);
    let http = notify::client_within(Patience::default(), &reach)?;
    Oidc::new(config.auth.oidc.clone(), &config.web.public_url, (http, reach))
}

fn board(config: &Config, roles: &Roles) -> BrokerBoard {
    let board = BrokerBoard::new(config.brokers.iter().map(|(name, broker)| (name.clone(), broker.address())));
    for name in config.brokers.keys() {
        if !roles.has(Role::Intake) && !roles.has(Role::Retry) {
            board.set_consuming(name, ConnectionState::Elsewhere);
        }
        if !roles.has(Role::Retry) {
            board.set_publishing(name, ConnectionState::Elsewhere);
        }
    }
    board
}
