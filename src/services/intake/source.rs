//! By which queue messages come in, and what that means for them.

use failure_conventions::{Failure, dlo_queues, inner_body::InnerBodies};

use super::{super::policies::Policies, due::WORKERS};
use crate::{config::BrokerConfig, domain::policy::Decision};

#[derive(Clone)]
pub enum IntakeSource {
    /// Dead letters as they come; the policies say what becomes of each.
    DeadLetters(Policies),
    /// Messages whose retries are used up.
    Obituaries,
    /// What has waited in RabbitMQ and goes back to its queue.
    Due,
}

impl IntakeSource {
    /// Which queue it is.
    pub(crate) fn queue<'a>(&self, config: &'a BrokerConfig) -> &'a str {
        match self {
            Self::DeadLetters(_) => &config.dead_letter_queue,
            Self::Obituaries => &config.obituary_queue,
            Self::Due => dlo_queues::DUE,
        }
    }

    /// How many sessions share it.
    pub(crate) const fn sessions(&self) -> usize {
        match self {
            Self::DeadLetters(_) | Self::Obituaries => 1,
            Self::Due => WORKERS,
        }
    }

    /// What the policy in force rules for a message; `None` where it is not asked. What a retry would do harm to, or
    /// perhaps bring to the wrong queue, is not retried under any policy.
    pub(crate) fn decision(&self, failure: &Failure, bodies: &InnerBodies) -> Option<Decision> {
        let Self::DeadLetters(policies) = self else { return None };
        let is_settled = |queue: &&String| failure.danger.is_none_or(|danger| danger.is_settled(queue, bodies));
        let queue = failure.queue.as_ref().filter(|_| !failure.is_disputed).filter(is_settled);
        let policy = queue.and_then(|queue| policies.book().find(queue, failure.reason).cloned());
        Some(Decision::new(policy, fastrand::f64()))
    }
}
