//! The ways of a message to its one queue, where the default exchange alone does not lead there.
//!
//! | destination | published to |
//! |---|---|
//! | a queue | the default exchange |
//! | a queue, keeping a routing key | `dlo.to.<queue>`, a fanout exchange bound to that queue alone |
//! | a queue, after a delay | `dlo.delay.<ms>.<term>.<queue>` and, from there, `dlo.due` |
//!
//! All of it is durable, and declared when it is first needed in a session, also with `declare = false`: nobody else
//! could know the names.
//!
//! # What waits
//! It waits in [bundles](super::bundle), as each passage through a queue costs the broker as much for a hundred messages
//! as for one. What is due comes to `dlo.due`, from where dlo itself sends it to its queue: so it learns when that
//! queue is gone or full, which RabbitMQ reports to nobody of what it dead-letters.
//!
//! Delay queues are quorum queues that dead-letter at least once: a bundle leaves one when `dlo.due` has confirmed it
//! (<https://www.rabbitmq.com/docs/quorum-queues#dead-lettering>). RabbitMQ 3.10 needs its feature flag `stream_queue`
//! for this, which every new node has enabled.
//!
//! A delay queue gets messages once it has settled and has [confirmed](probing) an empty bundle.
//!
//! # Rights
//! Beside those of dlo itself:
//! - configure, read and write: `^dlo\.(to|due|delay)`
//! - write: the target queues, for binding them; `amq.default`
//!
//! # Costs
//! A quorum queue for each delay, target and term, and where routing keys are kept an exchange for each target. Delay
//! queues that are [out of use](crate::rabbitmq::names::is_out_of_use) and empty are deleted. The exchanges stay: to delete one
//! under a publisher closes his channel.

mod declaring;
mod disused;
mod probing;
pub mod route;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use lapin::Connection;
use tokio::{sync::Mutex, time::Instant};

use declaring::Declarer;
use failure_conventions::dlo_queues;
use probing::Prober;

use super::{PublishOutcome, SessionError, refusal};

pub use disused::DelayQueueState;
pub(super) use route::Route;

/// What has been declared in one session. The lanes share it.
pub(super) struct Routes {
    state: Mutex<State>,
}

struct State {
    declarer: Declarer,
    prober: Prober,
    declared: HashSet<String>,
}

impl Routes {
    pub fn new(connection: &Arc<Connection>) -> Self {
        let (declarer, prober) = (Declarer::new(Arc::clone(connection)), Prober::new(Arc::clone(connection)));
        Self { state: Mutex::new(State { declarer, prober, declared: HashSet::new() }) }
    }

    /// Sees to it that `routes` can be gone. Those that cannot are reported with what is to become of their messages.
    pub async fn open<'a>(&self, routes: impl Iterator<Item = &'a Route<'a>>) -> HashMap<&'a str, PublishOutcome> {
        let (mut seen, mut blocked, mut silent) = (HashSet::new(), HashMap::new(), false);
        for route in routes {
            let Some(name) = route.declared().filter(|name| seen.insert(*name)) else { continue };
            // A broker that answers nothing is waited for once in a window.
            if silent {
                blocked.insert(name, PublishOutcome::NotSent);
                continue;
            }
            match self.state.lock().await.open(route, name).await {
                Ok(None) => {}
                Ok(Some(settled)) => _ = blocked.insert(name, PublishOutcome::Settling(settled)),
                Err(error) => {
                    silent = matches!(error, SessionError::Timeout { .. });
                    blocked.insert(name, outcome(&error));
                }
            }
        }
        blocked
    }

    /// Has them declared again when they are needed next.
    pub async fn forget<'a>(&self, routes: impl Iterator<Item = &'a Route<'a>>) {
        let mut state = self.state.lock().await;
        for name in routes.filter_map(Route::declared) {
            state.forget(name);
        }
    }

    /// How a delay queue is found.
    pub async fn state_of(&self, name: &str) -> DelayQueueState {
        self.state.lock().await.declarer.state_of(name).await
    }

    /// Deletes a delay queue if it shows no message.
    pub async fn delete(&self, name: &str) -> DelayQueueState {
        let mut state = self.state.lock().await;
        state.forget(name);
        state.declarer.delete_if_empty(name).await
    }
}

impl State {
    /// The answer is until when nothing should go there.
    async fn open(&mut self, route: &Route<'_>, name: &str) -> Result<Option<Instant>, SessionError> {
        if !self.declared.contains(name) {
            self.declarer.declare(route).await?;
            self.declared.insert(name.to_owned());
        }
        if !route.waits() {
            return Ok(None);
        }
        if let Some(settled) = self.declarer.settled(name) {
            return Ok(Some(settled));
        }
        for queue in [dlo_queues::DUE, name] {
            if let Some(until) = self.prober.unproven(queue, route.target).await? {
                return Ok(Some(until));
            }
        }
        Ok(None)
    }

    fn forget(&mut self, name: &str) {
        self.declared.remove(name);
        self.prober.forget(name);
    }
}

/// What becomes of messages whose way could not be opened.
fn outcome(error: &SessionError) -> PublishOutcome {
    match error {
        SessionError::Refused { what, source } => match refusal(source) {
            Some(words) => PublishOutcome::Failed(format!("{what}: {words}")),
            None => PublishOutcome::NotSent,
        },
        SessionError::Timeout { .. }
        | SessionError::Name(_)
        | SessionError::NoName
        | SessionError::DirectExchange { .. } => PublishOutcome::Failed(error.to_string()),
        SessionError::Connect(_)
        | SessionError::Lost(_)
        | SessionError::Cancelled { .. }
        | SessionError::Forgotten { .. }
        | SessionError::Forbidden(_) => PublishOutcome::NotSent,
    }
}
