//! Getting started: whether the dead letters of a broker come to dlo, what makes them come, and a test that they do.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use amqp_message::time::Timestamp;

use super::{audited_store::AuditedStore, ids};
use crate::{
    clock::Clock,
    config::BrokerConfig,
    domain::{
        actor::Actor,
        queue_level::QueueKind,
        watch::{DeadLetterPath, Settings, dead_letter_paths},
    },
    rabbitmq::{
        self,
        management::{Management, ManagementError},
        topology::Topology,
    },
    store::StoreError,
};

/// How long what a broker said is taken for what it says.
const FRESH: Duration = Duration::from_secs(3);
/// A broker that takes long to list its queues is asked the less often.
const REST: u32 = 10;

/// Looks at brokers when somebody sets them up. Cheap to clone.
#[derive(Clone)]
pub struct GettingStarted {
    brokers: Arc<BTreeMap<String, Entry>>,
    changes: AuditedStore,
    clock: Clock,
}

/// A broker of the configuration.
pub struct Source {
    pub config: BrokerConfig,
    /// How its management API is asked; `None` where none is configured.
    pub management: Option<Result<Management, ManagementError>>,
    pub settings: Settings,
}

struct Entry {
    source: Source,
    /// Held while the broker is asked, so that many pages ask once.
    look: tokio::sync::Mutex<Option<(Arc<Look>, Duration)>>,
    tested: Mutex<Option<TestRun>>,
}

/// What a broker said.
#[derive(Debug)]
pub struct Look {
    pub at: Timestamp,
    /// Of RabbitMQ; empty where it did not say.
    pub version: String,
    pub queues: Result<Vec<ServiceQueue>, LookError>,
}

/// Why the queues of a broker are not known.
#[derive(Debug)]
pub enum LookError {
    /// No management API is configured.
    NotConfigured,
    /// Why it did not answer.
    Failed(String),
}

/// A queue whose dead letters could come to dlo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceQueue {
    pub name: String,
    pub kind: QueueKind,
    pub path: DeadLetterPath,
    /// An argument of the queue says where they go, which no policy changes.
    pub by_argument: bool,
    /// The policy of RabbitMQ that applies to it; another would take its place.
    pub policy: Option<String>,
}

/// The test that was sent last.
#[derive(Clone, Debug)]
pub struct TestRun {
    pub at: Timestamp,
    pub by: String,
    pub outcome: Result<(), String>,
}

/// What makes the dead letters of a queue come to dlo, in three ways.
#[derive(Debug, PartialEq, Eq)]
pub struct PointingCommands {
    pub policy: String,
    /// Takes the policy back.
    pub clear: String,
    pub arguments: String,
    pub terraform: String,
}

impl GettingStarted {
    pub fn new(brokers: BTreeMap<String, Source>, changes: AuditedStore, clock: Clock) -> Self {
        let entry = |source| Entry { source, look: tokio::sync::Mutex::default(), tested: Mutex::default() };
        let brokers = brokers.into_iter().map(|(name, source)| (name, entry(source))).collect();
        Self { brokers: Arc::new(brokers), changes, clock }
    }

    /// What a broker says of its queues at this moment; `None` where there is none of that name.
    pub async fn look(&self, broker: &str) -> Option<Arc<Look>> {
        let entry = self.brokers.get(broker)?;
        let mut kept = entry.look.lock().await;
        let now = self.clock.now();
        if let Some((look, valid_for)) = &*kept
            && now.since(look.at) < *valid_for
        {
            return Some(Arc::clone(look));
        }
        let look = Arc::new(entry.source.ask(now).await);
        let took = self.clock.now().since(now);
        *kept = Some((Arc::clone(&look), FRESH.max(took * REST)));
        Some(look)
    }

    /// What it said last, if that is known and it is not being asked just now.
    pub fn last_look(&self, broker: &str) -> Option<Arc<Look>> {
        let kept = self.brokers.get(broker)?.look.try_lock().ok()?;
        kept.as_ref().map(|(look, _)| Arc::clone(look))
    }

    /// What makes the dead letters of a queue come to dlo.
    ///
    /// # Errors
    /// Why they cannot: a sentence.
    pub fn commands(&self, broker: &str, queue: &str) -> Result<PointingCommands, String> {
        let entry = self.brokers.get(broker).ok_or_else(|| "There is no such broker.".to_owned())?;
        let config = &entry.source.config;
        let topology = Topology::dead_lettering(config, &[queue.to_owned()])?;
        Ok(PointingCommands {
            policy: topology.policy_commands().trim_end().to_owned(),
            clear: topology.clear_commands().trim_end().to_owned(),
            arguments: format!("x-dead-letter-exchange: {}", config.dead_letter_exchange),
            terraform: topology.terraform(),
        })
    }

    /// The command that gives a user of RabbitMQ all rights that dlo needs; none where there is no such broker.
    pub fn permissions(&self, broker: &str) -> Option<String> {
        let config = &self.brokers.get(broker)?.source.config;
        Some(Topology::dead_lettering(config, &[]).ok()?.permissions_command("USER"))
    }

    /// Has a broker dead-letter a message of dlo's own, and writes down who asked for it. The answer is why it could not be
    /// sent, or whether there is such a broker at all.
    pub async fn test(&self, broker: &str, by: &Actor) -> Result<Option<Result<(), String>>, StoreError> {
        let Some(entry) = self.brokers.get(broker) else { return Ok(None) };
        let at = self.clock.now();
        let sent = rabbitmq::dead_letter_a_test(broker, &entry.source.config, ids::uuid(at)).await;
        let outcome = sent.map_err(|error| error.to_string());
        let run = TestRun { at, by: by.as_str().to_owned(), outcome: outcome.clone() };
        *entry.tested.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
        self.changes.test_sent(broker, outcome.as_ref().err().map(String::as_str), by).await?;
        Ok(Some(outcome))
    }

    /// The test that was sent last, as far as this process knows.
    pub fn tested(&self, broker: &str) -> Option<TestRun> {
        self.brokers.get(broker)?.tested.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Source {
    async fn ask(&self, at: Timestamp) -> Look {
        let management = match &self.management {
            None => return Look { at, version: String::new(), queues: Err(LookError::NotConfigured) },
            Some(Err(error)) => return Look { at, version: String::new(), queues: Err(LookError::of(error)) },
            Some(Ok(management)) => management,
        };
        let version = management.overview().await.map(|overview| overview.version).unwrap_or_default();
        Look { at, version, queues: self.queues(management).await.map_err(|error| LookError::of(&error)) }
    }

    async fn queues(&self, management: &Management) -> Result<Vec<ServiceQueue>, ManagementError> {
        let levels = management.queues().await?;
        let ours = [&*self.config.dead_letter_queue, &*self.config.obituary_queue];
        let feeds = management.feeds(&ours).await?;
        let paths = dead_letter_paths(&self.settings, &levels, &feeds);
        let queue = |(level, path): (&crate::domain::queue_level::QueueLevel, DeadLetterPath)| ServiceQueue {
            name: level.name.clone(),
            kind: level.kind,
            path,
            by_argument: level.dead_letters.by_argument,
            policy: level.policy.clone(),
        };
        Ok(paths.into_iter().map(queue).collect())
    }
}

impl LookError {
    fn of(error: &ManagementError) -> Self {
        Self::Failed(error.to_string())
    }
}
