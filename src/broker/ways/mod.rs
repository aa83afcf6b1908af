//! The ways of a message to its one queue, where the default exchange alone does not lead there.
//!
//! | destination | published to | and on |
//! |---|---|---|
//! | a queue | the default exchange | |
//! | a queue, keeping a routing key | `dlo.to.<queue>` | |
//! | a queue, after a delay | the default exchange | `dlo.delay.<ms>.<term>.<queue>`, `dlo.back.<queue>` |
//! | both | exchange `dlo.delay.keyed.<ms>.<term>.<queue>` | the queue of that name, `dlo.back.<queue>` |
//!
//! `dlo.to.<queue>` and `dlo.back.<queue>` are fanout exchanges bound to that queue alone. They are two, since a
//! message that goes at once has to be returned when its queue is gone, while one that comes out of a delay queue can
//! be returned to nobody: `dlo.back.<queue>` therefore has the alternate exchange `dlo.astray`, which is bound to the
//! obituary queue. With one exchange for both, nothing would ever be unroutable.
//!
//! All of it is durable, and declared when it is first needed in a session, also with `declare = false`: nobody else
//! could know the names. A binding goes with its queue, so that of the target is made anew with each window of messages
//! that wait for it: a target that was deleted and declared again meanwhile gets them. One that is deleted and declared
//! again *after* that and before the delay ends does not: they become obituaries.
//!
//! # What has waited is not lost
//! Delay queues are quorum queues that dead-letter at least once: a message leaves one when its target has confirmed it.
//! Where that refuses (`overflow: reject-publish`) or has no leader, RabbitMQ tries again every three minutes
//! (<https://www.rabbitmq.com/docs/quorum-queues#dead-lettering>). A target with `drop-head` still drops its oldest
//! message. RabbitMQ 3.10 needs its feature flag `stream_queue` for this, which every new node has enabled.
//!
//! # Rights
//! Beside those of the office itself:
//! - configure, read and write: `^dlo\.(to|back|astray|delay)`
//! - write: the target queues and the obituary queue, for binding them; `amq.default`
//!
//! # Costs
//! A quorum queue for each delay, target and term, and one or two exchanges for each target. Delay queues that are [out
//! of use](crate::own_names::is_out_of_use) and empty are deleted when their target is empty, too. The exchanges of the targets stay: to delete one under a
//! publisher closes his channel.

mod declaring;
mod disused;
mod way;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use lapin::Connection;
use tokio::{sync::Mutex, time::sleep_until};

use super::{PublishOutcome, SessionError, refusal};
use declaring::Declarer;
pub use disused::Deletion;
pub(super) use way::Way;

/// What has been declared in one session. The lanes share it.
pub(super) struct Ways {
    state: Mutex<State>,
}

struct State {
    declarer: Declarer,
    declared: HashSet<String>,
}

impl Ways {
    pub fn new(connection: &Arc<Connection>, obituary_queue: &str) -> Self {
        let declarer = Declarer::new(Arc::clone(connection), obituary_queue.to_owned());
        Self { state: Mutex::new(State { declarer, declared: HashSet::new() }) }
    }

    /// Sees to it that `ways` can be gone. Those that cannot are told with what is to become of their messages.
    pub async fn open<'a>(&self, ways: impl Iterator<Item = &'a Way<'a>>) -> HashMap<&'a str, PublishOutcome> {
        let (mut seen, mut bound, mut blocked) = (HashSet::new(), HashSet::new(), HashMap::new());
        let (mut silent, mut waits) = (false, false);
        for way in ways {
            waits |= way.waits();
            let Some(name) = way.declared().filter(|name| seen.insert(*name)) else { continue };
            // A broker that answers nothing is waited for once in a window.
            if silent {
                blocked.insert(name, PublishOutcome::NotSent);
            } else if let Err(error) = self.state.lock().await.open(way, name, &mut bound).await {
                silent = matches!(error, SessionError::Timeout { .. });
                blocked.insert(name, outcome(&error));
            }
        }
        let settled = self.state.lock().await.declarer.settled();
        if let Some(settled) = settled.filter(|_| waits) {
            sleep_until(settled).await;
        }
        blocked
    }

    /// Has them declared again when they are needed next.
    pub async fn forget<'a>(&self, ways: impl Iterator<Item = &'a Way<'a>>) {
        let mut state = self.state.lock().await;
        for name in ways.filter_map(Way::declared) {
            state.declared.remove(name);
        }
    }

    /// Deletes a delay queue, unless it may still be needed.
    pub async fn delete(&self, name: &str) -> Deletion {
        let mut state = self.state.lock().await;
        state.declared.remove(name);
        state.declarer.delete_if_empty(name).await
    }
}

impl State {
    /// `bound` are the targets that have been bound for this window.
    async fn open<'a>(
        &mut self,
        way: &'a Way<'_>,
        name: &str,
        bound: &mut HashSet<&'a str>,
    ) -> Result<(), SessionError> {
        if !self.declared.contains(name) {
            self.declarer.declare(way).await?;
            self.declared.insert(name.to_owned());
        } else if way.waits() && !bound.contains(way.target) {
            self.declarer.bind_landing(way.target).await?;
        }
        if way.waits() {
            bound.insert(way.target);
        }
        Ok(())
    }
}

/// What becomes of messages whose way could not be opened.
fn outcome(error: &SessionError) -> PublishOutcome {
    match error {
        SessionError::Refused { what, source } => match refusal(source) {
            Some(words) => PublishOutcome::Failed(format!("{what}: {words}")),
            None => PublishOutcome::NotSent,
        },
        SessionError::Timeout { .. } | SessionError::Name(_) | SessionError::NoName => {
            PublishOutcome::Failed(error.to_string())
        }
        SessionError::Connect(_) | SessionError::Lost(_) | SessionError::Cancelled { .. } => PublishOutcome::NotSent,
    }
}
