//! The watch over a broker's queues: it asks the management API, keeps in the database what it has seen, and opens and
//! ends incidents.
//!
//! What is a concern is decided by [`crate::domain::watch`]. A look is written down first and told afterwards: told is whatever
//! is a concern by the database and not an open incident yet, and over is whatever is an open incident and no concern. So
//! a process that dies in between leaves nothing unreported, and the next look reports nothing twice.
//!
//! Of several processes that share a database one watches each broker, as long as it renews its claim.

mod tidying;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use amqp_message::time::Timestamp;
use failure_conventions::dlo_queues;
use tokio_util::sync::CancellationToken;
use url::Url;
use uuid::Uuid;

pub use tidying::Tidying;

use super::{
    ids,
    incidents::Incidents,
    worker::{Next, Worker},
};
use crate::{
    clock::Clock,
    domain::{
        broker::ConnectionState,
        incident::{Incident, IncidentKind},
        letter::Importance,
        queue_level::{DeadLetterRoute, QueueLevel},
        watch::{BrokerWatch, Change, Concern, LONGEST_LOOK, Poll, Settings},
    },
    rabbitmq::{health::BrokerBoard, management::Management},
    store::{Claim, Store, StoreError, WatchKept, WatchUpdate},
};

/// Intervals that a process may miss before another takes over, beside the time that a look takes.
const MISSED: u32 = 3;

/// Watches one broker.
pub struct Watch {
    pub broker: String,
    pub management: Management,
    pub settings: Settings,
    /// How important what it says is.
    pub importance: Importance,
    /// Where links lead.
    pub public_url: Url,
    pub store: Arc<Store>,
    pub board: BrokerBoard,
    pub clock: Clock,
    pub incidents: Incidents,
}

/// The watch at work.
pub struct Watcher {
    watch: Watch,
    /// Names this process in its claim.
    id: Uuid,
    /// What is in the database; `None` where that is not known.
    kept: Option<WatchKept>,
    /// What was said last of how the broker answers.
    problem: String,
}

impl Worker for Watcher {
    const NAME: &'static str = "watch";
    type Error = StoreError;

    fn every(&self) -> Duration {
        self.watch.settings.interval
    }

    async fn round(&mut self, stop: &CancellationToken) -> Result<Next, StoreError> {
        stop.run_until_cancelled(self.look()).await.transpose()?;
        Ok(Next::Later)
    }

    /// Leaves the broker to other processes.
    async fn end(&mut self) {
        if let Err(error) = self.watch.store.release_watch(&self.watch.broker, self.id).await {
            tracing::debug!(error = %error, "the claim on a watch ends by itself");
        }
    }
}

impl Watch {
    pub fn begin(self) -> Watcher {
        let id = ids::uuid(self.clock.now());
        Watcher { watch: self, id, kept: None, problem: String::new() }
    }
}

impl Watcher {
    /// One look at the broker, unless another process watches it.
    pub async fn look(&mut self) -> Result<(), StoreError> {
        let Some(before) = self.take_kept().await? else { return Ok(()) };
        let begun = self.watch.clock.now();
        let levels = self.ask().await;
        let feeds = self.feeds().await;
        let Watch { broker, store, clock, settings, .. } = &self.watch;
        let now = clock.now();
        let overdue = store.next_retry_due(broker).await?.map_or(Duration::ZERO, |due| now.since(due));
        let is_consuming = self.watch.is_consuming();
        let (queues, feeds) = (levels.as_deref(), feeds.as_ref());
        let poll = Poll { begun, at: now, queues, feeds, is_consuming, overdue: Some(overdue) };
        let mut watch = before.watch.clone();
        let changes = watch.observe(settings, &poll);
        let after = WatchKept { levels: levels_after(&before, &watch, levels), watch };
        let claimed_until = now.plus(self.watch.lease());
        let (watcher, problem) = (self.id, self.problem.as_str());
        let update = WatchUpdate { broker, watcher, claimed_until, before: &before, after: &after, problem };
        if !store.keep_watch(&update).await? {
            return Ok(());
        }
        changes.iter().for_each(|change| log(broker, change));
        self.watch.resume(now).await?;
        self.watch.tell(&after.watch, now).await?;
        self.kept = Some(after);
        Ok(())
    }

    /// What is known before a look; `None` where another process watches.
    async fn take_kept(&mut self) -> Result<Option<WatchKept>, StoreError> {
        let Watch { broker, store, clock, .. } = &self.watch;
        let claim = store.claim_watch(broker, self.id, clock.now(), self.watch.lease()).await?;
        match (claim, self.kept.take()) {
            (Claim::Elsewhere, _) => Ok(None),
            (Claim::Kept, Some(kept)) => Ok(Some(kept)),
            (Claim::Kept | Claim::Taken, _) => store.watch_kept(broker).await.map(Some),
        }
    }

    /// How the queues stand; `None` where nobody answers.
    async fn ask(&mut self) -> Option<Vec<QueueLevel>> {
        match self.watch.management.queues().await {
            Ok(levels) => {
                self.say(remark(&levels));
                Some(levels)
            }
            Err(error) => {
                self.say(error.to_string());
                None
            }
        }
    }

    /// The exchanges that lead to dlo; `None` where that cannot be told.
    async fn feeds(&self) -> Option<BTreeSet<String>> {
        let Settings { dead_letter_queue, obituary_queue, .. } = &self.watch.settings;
        let feeds = self.watch.management.feeds(&[dead_letter_queue, obituary_queue]).await;
        feeds.inspect_err(|error| tracing::debug!(error = %error, "bindings of dlo cannot be read")).ok()
    }

    fn say(&mut self, problem: String) {
        if problem == self.problem {
            return;
        }
        let broker = &self.watch.broker;
        if problem.is_empty() {
            tracing::info!(broker, "the management API answers completely again");
        } else {
            tracing::warn!(broker, problem, "the management API answers incompletely or not at all");
        }
        self.problem = problem;
    }
}

impl Watch {
    fn lease(&self) -> Duration {
        self.settings.interval.saturating_mul(MISSED).saturating_add(LONGEST_LOOK)
    }

    /// Whether somebody ought to be consuming from our own queues at this moment: we, or a process of which we know
    /// nothing else.
    fn is_consuming(&self) -> bool {
        let ours = self.board.all().into_iter().find(|health| health.name == self.broker);
        let state = ours.map(|health| health.consuming);
        matches!(state, Some(ConnectionState::Connected { .. } | ConnectionState::Elsewhere))
    }

    /// Ends the pauses of queues that were to wait for a consumer and have one, as far as the broker says so now.
    async fn resume(&self, now: Timestamp) -> Result<(), StoreError> {
        for queue in self.store.resume_queues_with_consumers(&self.broker, now).await? {
            tracing::info!(broker = self.broker, queue, "retries resumed: the queue has a consumer");
        }
        Ok(())
    }

    /// Brings the incidents that are open in line with what is a concern.
    async fn tell(&self, watch: &BrokerWatch, now: Timestamp) -> Result<(), StoreError> {
        let mut due: BTreeMap<String, Incident> = BTreeMap::new();
        for concern in watch.concerns() {
            due.entry(concern.incident_key(&self.broker)).or_insert_with(|| self.incident(&concern, now));
        }
        for record in self.store.open_incidents().await? {
            let was = &record.incident;
            if was.kind != IncidentKind::Watch || was.broker != self.broker {
                continue;
            }
            match due.remove(&was.key) {
                Some(incident) => self.incidents.note(&record, &incident).await?,
                None => self.incidents.clear(&was.key).await?,
            }
        }
        for incident in due.values() {
            self.incidents.raise(incident).await?;
        }
        Ok(())
    }

    fn incident(&self, concern: &Concern, now: Timestamp) -> Incident {
        let mut href = self.public_url.join("queues").unwrap_or_else(|_| self.public_url.clone());
        if let Some(queue) = concern.queue() {
            // There a comma stands between names; this matches it.
            href.query_pairs_mut().append_pair("queue", &queue.replace(',', "?"));
        }
        Incident {
            key: concern.incident_key(&self.broker),
            kind: IncidentKind::Watch,
            title: concern.title(),
            importance: self.importance,
            broker: self.broker.clone(),
            queue: concern.queue().map(str::to_owned),
            message_type: None,
            reason: None,
            error: Some(concern.sentence(now)),
            open: 0,
            first_seen: concern.since(),
            last_seen: now,
            opened_at: now,
            resolved_at: None,
            href: href.into(),
            storm: None,
        }
    }
}

/// What is kept of queues after a look. Those that come and go with their connections or consumers are left out, and so
/// are those in which messages of ours wait.
fn levels_after(
    before: &WatchKept,
    watch: &BrokerWatch,
    levels: Option<Vec<QueueLevel>>,
) -> BTreeMap<String, QueueLevel> {
    let Some(levels) = levels else { return before.levels.clone() };
    let stays = |level: &QueueLevel| !level.exclusive && !level.auto_delete && !dlo_queues::is_delay_queue(&level.name);
    let steady = |level: QueueLevel| QueueLevel {
        idle_since: None,
        message_ttl: None,
        grows_by: level.growth(),
        publish_rate: None,
        deliver_rate: None,
        redeliver_rate: None,
        acknowledge_rate: None,
        dead_letters: DeadLetterRoute::default(),
        ..level
    };
    let mut after: BTreeMap<String, QueueLevel> =
        levels.into_iter().filter(stays).map(|level| (level.name.clone(), steady(level))).collect();
    // One that is missing for once is still remembered.
    for queue in watch.queues.keys() {
        let missing = || QueueLevel { name: queue.clone(), ..QueueLevel::default() };
        let last = || before.levels.get(queue).cloned().unwrap_or_else(missing);
        after.entry(queue.clone()).or_insert_with(last);
    }
    after
}

/// What an answer does not say; empty where nothing is missing.
fn remark(levels: &[QueueLevel]) -> String {
    if levels.is_empty() || levels.iter().any(|level| level.consumers.is_some()) {
        return String::new();
    }
    "it answers, but without consumers: its statistics are off, or not there yet".to_owned()
}

fn log(broker: &str, change: &Change) {
    let concern = change.concern().key();
    match change {
        Change::Raised(_) => tracing::warn!(broker, concern = %concern, "queue problem detected"),
        Change::Cleared(_) => tracing::info!(broker, concern = %concern, "queue problem resolved"),
    }
}
