//! What is never sent back, and where nothing is sent to.
//!
//! Whoever may write to the dead-letter exchange can say which queue a message failed in, and dlo publishes with rights of
//! its own. So it is decided here, and asked at intake, at every command and once more before anything is published.

use std::{collections::BTreeSet, sync::Arc};

use amqp_message::glob::Globs;
use failure_conventions::{danger::Danger, inner_body::InnerBodies};

/// What limits retries, by policy and by hand.
#[derive(Clone, Debug, Default)]
pub struct RetryLimits {
    /// They settle some of the dangers for which letters are not retried.
    pub bodies: InnerBodies,
    pub targets: Targets,
}

impl RetryLimits {
    /// A danger that the configuration has not settled for messages that failed in `queue`.
    pub fn danger(&self, danger: Option<Danger>, queue: Option<&str>) -> Option<Danger> {
        danger.filter(|danger| !danger.is_settled(queue.unwrap_or_default(), &self.bodies))
    }
}

/// The queues that messages may be sent to.
#[derive(Clone, Debug)]
pub struct Targets {
    patterns: Arc<[String]>,
    globs: Globs,
    /// Queues that dlo consumes, whatever they are called.
    own: Arc<BTreeSet<String>>,
}

/// Queues of dlo and of RabbitMQ: what is sent there comes back without end, is lost, or reaches whoever asked for it by
/// an address of his own.
const NEVER: [&str; 2] = ["dlo.", "amq."];

/// In AMQP, in bytes.
pub const LONGEST_NAME: usize = 255;

impl Default for Targets {
    fn default() -> Self {
        Self::new(vec!["*".to_owned()], BTreeSet::new())
    }
}

impl Targets {
    /// `patterns` are names of queues or globs, of which one has to match; `own` are the queues that dlo consumes.
    pub fn new(patterns: Vec<String>, own: BTreeSet<String>) -> Self {
        Self { globs: Globs::new(&patterns), patterns: patterns.into(), own: Arc::new(own) }
    }

    /// Whether nothing is ever sent there, whatever is configured.
    pub fn are_never(&self, queue: &str) -> bool {
        self.own.contains(queue) || NEVER.iter().any(|prefix| queue.starts_with(prefix))
    }

    /// # Errors
    /// Why nothing is sent to `queue`: a clause.
    pub fn check(&self, queue: &str) -> Result<(), String> {
        if queue.len() > LONGEST_NAME {
            return Err(format!("the name of a queue has {LONGEST_NAME} bytes at most"));
        }
        if self.are_never(queue) {
            return Err(format!("{queue:?} is a queue of dlo's own or of RabbitMQ, to which nothing is retried"));
        }
        if self.patterns.is_empty() || !self.globs.matches(queue) {
            return Err(format!("{queue:?} is none of the queues that retry.targets allows"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &[&str], queue: &str, part: Option<&str>) {
        let patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let targets = Targets::new(patterns, BTreeSet::from(["graves".to_owned()]));
        match (targets.check(queue), part) {
            (Ok(()), None) => {}
            (Err(why), Some(part)) if why.contains(part) => {}
            (found, _) => panic!("{queue}: {found:?}"),
        }
    }

    #[test]
    fn only_what_is_named_is_sent_to() {
        check(&["*"], "payments", None);
        check(&["orders", "texts.*"], "orders", None);
        check(&["orders", "texts.*"], "texts.persist", None);
        check(&["orders", "texts.*"], "payments", Some("retry.targets"));
        check(&["orders"], "Orders", Some("retry.targets"));
        check(&[], "orders", Some("retry.targets"));
        check(&["*"], &"o".repeat(255), None);
        check(&["*"], &"o".repeat(256), Some("255 bytes"));
    }

    #[test]
    fn own_queues_are_refused_whatever_is_named() {
        for queue in ["dlo.dead-letters", "dlo.due", "dlo.", "amq.rabbitmq.reply-to.x", "amq.gen-x", "graves"] {
            check(&["*", queue], queue, Some("dlo's own"));
        }
        check(&["*"], "dlo", None);
        check(&["*"], "amqp", None);
    }
}
