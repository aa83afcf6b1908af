//! Whether a delay queue takes messages.
//!
//! A node that is killed within seconds of a quorum queue's declaration may keep the queue's name and lose its process
//! (measured on RabbitMQ 3.10). Such a queue answers a declaration like any other, and a channel that publishes to it
//! hears nothing for more than a minute. A queue without a majority of its members is alike. So each gets an empty bundle
//! before any message, on a channel of its own; until it has confirmed that, its messages wait elsewhere.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use lapin::{
    Channel, Confirmation, Connection, PublisherConfirm,
    options::{BasicPublishOptions, ConfirmSelectOptions},
};
use tokio::time::{Instant, timeout};

use crate::{
    crash_point,
    rabbitmq::{SessionError, bundle, patience::patient_step, short},
};

/// How long the answer is waited for. A later one is taken when the queue is needed next.
const PATIENCE: Duration = crash_point::short_patience(Duration::from_secs(1));
/// How long a queue is left alone that has not confirmed.
const PAUSE: Duration = Duration::from_secs(30);

pub(super) struct Prober {
    connection: Arc<Connection>,
    /// One on which nothing is awaited.
    channel: Option<Channel>,
    proven: HashSet<String>,
    failing: HashMap<String, Failing>,
}

/// A queue that has not confirmed.
struct Failing {
    until: Instant,
    /// What is still awaited; nothing once the broker has refused it.
    awaited: Option<Probe>,
}

/// An empty bundle on its way.
struct Probe {
    channel: Channel,
    confirm: PublisherConfirm,
}

impl Prober {
    pub fn new(connection: Arc<Connection>) -> Self {
        Self { connection, channel: None, proven: HashSet::new(), failing: HashMap::new() }
    }

    /// Until when nothing should go to `queue`, where messages for `target` wait; `None` once it has confirmed.
    pub async fn unproven(&mut self, queue: &str, target: &str) -> Result<Option<Instant>, SessionError> {
        if self.proven.contains(queue) {
            return Ok(None);
        }
        let failed = self.failing.remove(queue);
        let was_failing = failed.is_some();
        let (mut probe, patience) = match failed {
            Some(Failing { awaited: Some(probe), .. }) => (probe, Duration::ZERO),
            Some(failing) if failing.until > Instant::now() => return Ok(Some(self.fail(queue, failing))),
            _ => (self.send(queue, target).await?, PATIENCE),
        };
        let until = Instant::now() + PAUSE;
        let failing = match timeout(patience, &mut probe.confirm).await {
            Ok(Ok(Confirmation::Ack(_))) => {
                self.channel = Some(probe.channel);
                self.proven.insert(queue.to_owned());
                return Ok(None);
            }
            Ok(_) => Failing { until, awaited: None },
            Err(_) => Failing { until, awaited: Some(probe) },
        };
        if !was_failing {
            tracing::warn!(
                queue.name = queue,
                "a delay queue confirms nothing; what would wait there waits in the database"
            );
        }
        Ok(Some(self.fail(queue, failing)))
    }

    fn fail(&mut self, queue: &str, failing: Failing) -> Instant {
        let until = failing.until;
        self.failing.insert(queue.to_owned(), failing);
        until
    }

    /// Has it proven again when it is needed next.
    pub fn forget(&mut self, queue: &str) {
        self.proven.remove(queue);
        self.failing.remove(queue);
    }

    async fn send(&mut self, queue: &str, target: &str) -> Result<Probe, SessionError> {
        let routing_key = short(queue)?;
        let channel = match self.channel.take().filter(|channel| channel.status().connected()) {
            Some(channel) => channel,
            None => self.open_channel().await?,
        };
        let (options, properties) = (BasicPublishOptions::default(), bundle::empty(target));
        let publishing = channel.basic_publish("".into(), routing_key, options, &[], properties);
        let confirm = patient_step(&self.connection, &format!("publishing to queue {queue}"), publishing).await?;
        Ok(Probe { channel, confirm })
    }

    async fn open_channel(&self) -> Result<Channel, SessionError> {
        let opening = async {
            let channel = self.connection.create_channel().await?;
            channel.confirm_select(ConfirmSelectOptions::default()).await?;
            Ok(channel)
        };
        patient_step(&self.connection, "opening a channel", opening).await
    }
}
