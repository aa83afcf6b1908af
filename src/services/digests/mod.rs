//! Digests: each is made when it is due, from the database as it is at that moment, and put into the outbox.
//!
//! A slot of a schedule is taken by the row that is written for it, in one transaction with what is to be sent: whichever
//! process comes first makes the digest, and it is made once, wherever a process dies. Until that transaction nothing has
//! happened; after it, the outbox sends.
//!
//! # When dlo was closed, and when the clock jumps
//! The clock is read again and again, so that a jump of it is noticed at once. Only the last slot that is over counts: if
//! nobody has made its digest, it is made now, up to [`MOST_LATE`] late. Those before it are left out, and nothing is lost
//! by that, as a digest says what happened since the last one that was sent. A clock that is put back comes to slots that
//! are taken. A digest that is new, or whose schedule has changed, begins with the next slot.

mod plan;

use std::{collections::HashMap, sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use serde_json::Value;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use url::Url;
use uuid::Uuid;

use super::{
    audited_store::AuditedStore,
    ids,
    live::Live,
    wakeup::Wakeup,
    worker::{Next, Worker},
};
use crate::{
    clock::Clock,
    config::NotifyConfig,
    crash_point,
    domain::{
        actor::Actor,
        digest::{DigestPeriod, DigestReport, GroupSnapshot},
        notification::{Channel, NewNotification, NotificationKind},
    },
    notify::slack::{self, Link},
    store::{DigestScope, NewDigest, SlotState, Store, StoreError, StoreReader},
};

pub use self::plan::{Destination, Plan};

/// How often the clock is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// A digest is made so long after its slot at most; then the next one will do.
pub const MOST_LATE: Duration = Duration::from_secs(24 * 60 * 60);
/// So long a digest waits for letters that came before its slot and are not in their groups yet.
const SORTING: Duration = Duration::from_secs(60);
/// How long a digest can be looked up.
const KEEP: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Makes digests. Cheap to clone.
#[derive(Clone)]
pub struct Digests(Arc<Shared>);

struct Shared {
    plans: Live<Vec<Plan>>,
    store: Arc<Store>,
    changes: AuditedStore,
    clock: Clock,
    /// Notified when there is something to send.
    outbox: Wakeup,
    public_url: Url,
    succeeded_after: Duration,
}

/// A digest of this moment.
pub struct Made {
    pub id: Uuid,
    pub report: DigestReport,
    /// As it goes to Slack.
    pub message: Value,
    snapshot: GroupSnapshot,
}

/// Why a digest was not sent when somebody asked for it.
#[derive(Debug, Error)]
pub enum DigestError {
    #[error(
        "there is no Slack to send it to; set notify.slack.webhook_url, or notify.slack.token and notify.slack.channel"
    )]
    NoSlack,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes each digest when it is due.
pub struct DueDigests {
    digests: Digests,
    /// By a digest's name, the last slot for which there is nothing to do any more, and the schedule that it is of: one that
    /// changes while dlo runs is noted at once, also where its last slot is the same.
    settled: HashMap<String, (Timestamp, String)>,
}

impl DueDigests {
    pub fn new(digests: Digests) -> Self {
        Self { digests, settled: HashMap::new() }
    }
}

impl Worker for DueDigests {
    const NAME: &'static str = "digests";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    /// Makes what is due at this moment.
    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        for plan in self.digests.plans().iter().filter(|plan| plan.destination.is_some()) {
            let now = self.digests.0.clock.now();
            let Some(slot) = plan.schedule.last_at_or_before(now) else { continue };
            let due = (slot, plan.schedule.to_string());
            if self.settled.get(&plan.name) == Some(&due) {
                continue;
            }
            match self.digests.make_for(plan, slot, now).await {
                Ok(is_over) => is_over.then(|| self.settled.insert(plan.name.clone(), due)),
                // Those of other names must not wait for it.
                Err(error) if error.is_refusal() => {
                    tracing::error!(digest = plan.name, error = %error, "a digest cannot be made; it is tried again");
                    None
                }
                Err(error) => return Err(error),
            };
        }
        Ok(Next::Later)
    }
}

impl Digests {
    /// `public_url` is where links lead, `succeeded_after` how long after a retry a letter counts as succeeded.
    ///
    /// # Errors
    /// Names the key of the configuration and what it takes.
    pub fn new(
        config: &NotifyConfig,
        public_url: Url,
        succeeded_after: Duration,
        store: Arc<Store>,
        changes: AuditedStore,
        clock: Clock,
        outbox: Wakeup,
    ) -> Result<Self, String> {
        let plans = Live::new(Plan::all(config)?);
        Ok(Self(Arc::new(Shared { plans, store, changes, clock, outbox, public_url, succeeded_after })))
    }

    /// The digests of the configuration, by name.
    pub fn plans(&self) -> Arc<Vec<Plan>> {
        self.0.plans.now()
    }

    /// Others of the configuration.
    pub fn configure(&self, plans: Vec<Plan>) {
        self.0.plans.replace(plans);
    }

    /// The digest of that name; without a name, the only one there is.
    ///
    /// # Errors
    /// Says which names there are.
    pub fn plan(&self, name: Option<&str>) -> Result<Plan, String> {
        let plans = self.plans();
        let found = match (name, plans.as_slice()) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(name), plans) => plans.iter().find(|plan| plan.name == name),
        };
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
            format!("it takes the name of a digest of the configuration: {}", names.join(", "))
        })
    }

    /// What would be sent now, as far as `store` shows it.
    pub async fn preview(&self, plan: &Plan, store: &StoreReader) -> Result<Made, StoreError> {
        self.make(plan, self.0.clock.now(), store).await
    }

    /// Sends a digest because somebody asks for it, whatever it has to tell. The next one of the schedule says all the
    /// same what happened since the last one of the schedule.
    pub async fn send_now(&self, plan: &Plan, by: &Actor) -> Result<Uuid, DigestError> {
        if plan.destination.is_none() {
            return Err(DigestError::NoSlack);
        }
        let now = self.0.clock.now();
        let made = self.make(plan, now, &self.0.store).await?;
        self.add(plan, &made, None, by, now).await?;
        Ok(made.id)
    }

    /// Makes the digest of a slot that is over, unless that is done. The answer is whether there is no more to do.
    async fn make_for(&self, plan: &Plan, slot: Timestamp, now: Timestamp) -> Result<bool, StoreError> {
        let store = &self.0.store;
        store.keep_digest_schedule(&plan.name, &plan.schedule.to_string(), now).await?;
        if now.since(slot) > MOST_LATE || store.digest_slot(&plan.name, slot).await? != SlotState::Due {
            return Ok(true);
        }
        if now.since(slot) < patience(plan, slot) && store.is_sorting_before(slot).await? {
            return Ok(false);
        }
        let made = self.make(plan, now, &self.0.store).await?;
        crash_point::point("digest made");
        let is_ours = self.add(plan, &made, Some(slot), &Actor::system(), now).await?;
        crash_point::point("digest taken");
        if is_ours {
            tracing::info!(digest = plan.name, quiet = made.report.is_quiet(), "a digest is made");
            store.forget_digests(now, KEEP).await?;
        }
        Ok(true)
    }

    async fn add(
        &self,
        plan: &Plan,
        made: &Made,
        slot: Option<Timestamp>,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let notification = NewNotification {
            id: made.id,
            channel: Channel::Slack,
            subject: plan.name.clone(),
            kind: NotificationKind::Digest,
            body: made.message.to_string(),
        };
        let new = NewDigest {
            id: made.id,
            name: &plan.name,
            slot,
            made_at: now,
            by,
            since: made.report.period.from,
            notification: (slot.is_none() || made.report.is_worth_sending()).then_some(&notification),
            report: &made.report.write(),
            snapshot: &made.snapshot.write(),
        };
        let is_ours = self.0.changes.add_digest(&new).await?;
        self.0.outbox.notify();
        Ok(is_ours)
    }

    async fn make(&self, plan: &Plan, now: Timestamp, store: &StoreReader) -> Result<Made, StoreError> {
        let scope = DigestScope {
            name: &plan.name,
            importances: &plan.importances,
            queues: &plan.queues,
            now,
            pending_since: now.minus(self.0.succeeded_after),
        };
        let figures = store.digest_figures(scope).await?;
        let from = figures.last.as_ref().map(|last| last.made_at);
        let (groups, snapshot) = figures.settle(&plan.importances);
        let period = DigestPeriod { from, until: now, label: plan.label(from, now) };
        let report = DigestReport::new(plan.title(), period, groups, plan.options);
        let id = ids::uuid(now);
        let message = slack::message(&report, &|link| Some(self.href(id, link)));
        Ok(Made { id, report, message, snapshot })
    }

    fn href(&self, digest: Uuid, link: Link) -> String {
        let services = self.0.public_url.as_str().trim_end_matches('/');
        match link {
            Link::Digest => format!("{services}/digests/{digest}"),
            Link::Section(kind) => format!("{services}/digests/{digest}#{kind}"),
            Link::Group(group) => format!("{services}/groups/{group}"),
        }
    }
}

/// How long the digest of a slot can wait, which must not be until the next slot takes its place.
fn patience(plan: &Plan, slot: Timestamp) -> Duration {
    let until_next = plan.schedule.next_after(slot).map_or(SORTING, |next| next.since(slot) / 2);
    SORTING.min(until_next)
}
