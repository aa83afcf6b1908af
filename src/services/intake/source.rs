//! By which queue messages come in, and what that means for them.

use failure_conventions::{Failure, dlo_queues};

use super::super::policies::Policies;
use crate::{
    config::BrokerConfig,
    domain::{policy::Decision, retry_limits::RetryLimits},
};

/// Those that send back what is due, beside each other: while one awaits its confirms, the other sends.
pub(crate) const DUE_SESSIONS: usize = 2;

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
    pub const fn sessions(&self) -> usize {
        match self {
            Self::DeadLetters(_) | Self::Obituaries => 1,
            Self::Due => DUE_SESSIONS,
        }
    }

    /// What the policy in force rules for a message; `None` where it is not asked. What a retry would do harm to, or
    /// perhaps bring to the wrong queue, is not retried under any policy; `remarks` say where that queue is not allowed.
    pub(crate) fn decision(
        &self,
        failure: &Failure,
        limits: &RetryLimits,
        remarks: &mut Vec<String>,
    ) -> Option<Decision> {
        // Also of what has had its retries: somebody may want to send it back.
        if let Some(Err(why)) = failure.queue.as_deref().map(|queue| limits.targets.check(queue)) {
            remarks.push(format!("it says that it failed in a queue that it is not retried to: {why}"));
            return None;
        }
        let Self::DeadLetters(policies) = self else { return None };
        let is_settled = |queue: &&String| limits.danger(failure.danger, Some(queue)).is_none();
        let queue = failure.queue.as_ref().filter(|_| !failure.is_disputed).filter(is_settled);
        let policy = queue.and_then(|queue| policies.book().find(queue, failure.reason).cloned());
        Some(Decision::new(policy, fastrand::f64()))
    }
}
