//! Sending what the database holds to be sent.
//!
//! A notification is on disk before anything is sent and marked once the other side has taken it. A process that dies in
//! between leaves it to be sent again: at least once, and twice only where the answer was lost.

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
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
/// What a limit is counted over.
const MINUTE: Duration = Duration::from_secs(60);
/// So many are sent at the same time.
pub const AT_ONCE: usize = 4;

/// Sends notifications. Several work at the same time, as one that does not answer must not hold up the others; cheap to
/// clone.
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

impl Worker for Deliveries {
    const NAME: &'static str = "notifications";
    type Error = StoreError;

    fn every(&self) -> Duration {
        POLL
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        Ok(if self.deliver_one().await? { Next::Now } else { Next::Later })
    }

    async fn called(&mut self) {
        self.outbox.notified().await;
    }
}

impl Deliveries {
    /// Sends what is due first. The answer is whether there was something.
    pub async fn deliver_one(&self) -> Result<bool, StoreError> {
        let now = self.clock.now();
        // Asking costs no lock that writers wait for.
        if self.store.next_notification_due(now).await?.is_none_or(|due| due > now) {
            return Ok(false);
        }
        let Some(claimed) = self.store.claim_notification(now, LEASE, &self.at_their_limit(now).await?).await? else {
            return Ok(false);
        };
        let attempt = self.attempt(&claimed).await;
        crash_point::point("notification sent");
        let notification = &claimed.notification;
        self.metrics.notification(notification.channel, (&attempt).into());
        self.health.notified(notification.channel, &attempt);
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
        self.store.end_attempt(notification.id, &attempt, self.clock.now()).await?;
        Ok(true)
    }

    /// Channels that have been sent as much as they take in a minute; the rest of what is for them waits.
    async fn at_their_limit(&self, now: Timestamp) -> Result<Vec<ChannelKind>, StoreError> {
        let channels = self.channels.now();
        let is_full =
            |(channel, sent): &(ChannelKind, u64)| channels.limit(*channel).is_some_and(|limit| *sent >= limit);
        let sent = self.store.sent_since(now.minus(MINUTE), now).await?;
        Ok(sent.into_iter().filter(is_full).map(|(channel, _)| channel).collect())
    }

    async fn attempt(&self, claimed: &ClaimedNotification) -> Attempt {
        let notification = &claimed.notification;
        let channels = self.channels.now();
        let Some(channel) = channel(&channels, claimed) else {
            return Attempt::Refused(format!("{} is not configured any more", notification.channel));
        };
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
