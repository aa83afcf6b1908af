//! Sending what the database holds to be sent.
//!
//! A notification is on disk before anything is sent and marked once the other side has taken it. A process that dies in
//! between leaves it to be sent again: at least once, and twice only where the answer was lost.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::channels::Channels;
use crate::{
    clock::Clock,
    crash_point,
    domain::notification::{Attempt, Channel as ChannelKind, ClaimedNotification, NotificationKind},
    metrics::Metrics,
    notify::{Channel, Delivery, Outcome, Sender, backoff},
    services::{
        health::Health,
        live::Live,
        wakeup::Wakeup,
        worker::{Next, Worker},
    },
    store::{Store, StoreError},
};

/// How long a claim holds before another process may take it over; sending takes less.
const LEASE: Duration = Duration::from_secs(30);
/// How often the database is looked at without being told: another process may have written something.
const POLL: Duration = Duration::from_millis(500);
/// What nobody has taken for so long is given up; people have learned of it in some other way by then.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// How far back deliveries of other servers are looked for: much longer than the time from one look to the next.
const LOOKS_BACK: Duration = Duration::from_secs(10 * 60);

/// Sends notifications; cheap to clone.
#[derive(Clone)]
pub struct Deliveries {
    pub store: Arc<Store>,
    pub channels: Live<Channels>,
    pub sender: Sender,
    pub clock: Clock,
    pub metrics: Metrics,
    pub health: Health,
    /// Notified when something was written down to be sent.
    pub outbox: Wakeup,
}

/// Sends what is for one channel. Each has one of its own, so that one which does not answer holds up no other.
pub struct ChannelDeliveries {
    deliveries: Deliveries,
    channel: ChannelKind,
}

impl Worker for ChannelDeliveries {
    const NAME: &'static str = "notifications";
    type Error = StoreError;

    fn every(&self) -> Duration {
        POLL
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        self.deliveries.end_failures().await?;
        Ok(if self.deliveries.deliver_one(self.channel).await? { Next::Now } else { Next::Later })
    }

    async fn called(&mut self) {
        self.deliveries.outbox.notified().await;
    }
}

impl Deliveries {
    /// A worker for each channel there can be.
    pub fn workers(&self) -> impl Iterator<Item = ChannelDeliveries> {
        ChannelKind::ALL.iter().map(move |channel| ChannelDeliveries { deliveries: self.clone(), channel: *channel })
    }

    /// Sends what is due first for a channel. The answer is whether there was something.
    pub async fn deliver_one(&self, kind: ChannelKind) -> Result<bool, StoreError> {
        let now = self.clock.now();
        // Asking costs no lock that writers wait for.
        if self.store.next_notification_due(kind, now).await?.is_none_or(|due| due > now) {
            return Ok(false);
        }
        // What is for a channel that was sent as much as it takes in a minute waits.
        let channels = self.channels.now();
        let Some(claimed) = self.store.claim_notification(now, LEASE, (kind, channels.limit(kind))).await? else {
            return Ok(false);
        };
        let notification = &claimed.notification;
        let channel = channel(&channels, &claimed);
        let attempt = match channel {
            Some(channel) => self.attempt(channel, &claimed).await,
            None => Attempt::Refused(format!("{} is not configured any more", notification.channel)),
        };
        let ended_at = self.clock.now();
        crash_point::point("notification sent");
        // What was removed on purpose does not fail.
        if channel.is_some() {
            self.metrics.notification(notification.channel, (&attempt).into());
            self.health.notified(notification.channel, &attempt);
        }
        match &attempt {
            Attempt::Delivered => {
                tracing::info!(channel = %notification.channel, subject = notification.subject, "notification delivered");
            }
            Attempt::Later(_, why) | Attempt::Refused(why) => tracing::warn!(
                channel = %notification.channel,
                subject = notification.subject,
                why,
                is_final = matches!(attempt, Attempt::Refused(_)),
                "a notification did not get through"
            ),
        }
        self.store.end_attempt(notification.id, &attempt, ended_at).await?;
        Ok(true)
    }

    /// Ends what is said of channels that were removed, and of those to which another server has delivered since they
    /// failed here.
    async fn end_failures(&self) -> Result<(), StoreError> {
        if self.health.has_failing_channels() {
            let delivered = self.store.last_delivered(self.clock.now().minus(LOOKS_BACK)).await?;
            let channels = self.channels.now();
            self.health.end_failures(|channel, failed_at| {
                !channels.has(channel) || delivered.get(&channel).is_some_and(|at| *at > failed_at)
            });
        }
        Ok(())
    }

    async fn attempt(&self, channel: &Channel, claimed: &ClaimedNotification) -> Attempt {
        let notification = &claimed.notification;
        let delivery = Delivery { id: notification.id, body: notification.body.clone() };
        match self.sender.send(channel, &delivery).await {
            Outcome::Delivered { .. } => Attempt::Delivered,
            Outcome::Refused { why } => Attempt::Refused(why),
            Outcome::TryAgain { why, after } => {
                let now = self.clock.now();
                if now.since(claimed.created_at) > PATIENCE {
                    return Attempt::Refused(format!("given up after {} attempts: {why}", claimed.attempts + 1));
                }
                let delay = backoff::delay(claimed.attempts + 1, fastrand::f64()).max(after.unwrap_or_default());
                Attempt::Later(now.plus(delay), why)
            }
        }
    }
}

fn channel<'a>(channels: &'a Channels, claimed: &ClaimedNotification) -> Option<&'a Channel> {
    let notification = &claimed.notification;
    match notification.kind {
        NotificationKind::Digest => channels.of_digest(&notification.subject),
        NotificationKind::IncidentOpened
        | NotificationKind::IncidentReminder
        | NotificationKind::IncidentAcknowledged
        | NotificationKind::IncidentUpdated
        | NotificationKind::IncidentResolved => channels.get(notification.channel),
    }
}
