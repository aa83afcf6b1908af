//! What a framework's own fields tell of a failure.

use amqp_message::{
    death::{Death, Reason},
    error_report::ErrorReport,
    time::Timestamp,
};

use super::original::Original;
use crate::danger::Danger;

/// Every field is `None` where the framework does not say.
#[derive(Debug, Default)]
pub(super) struct FrameworkReport {
    pub queue: Option<String>,
    /// What the queue may be called, where something is named that is no queue itself.
    pub queue_candidates: Vec<String>,
    pub exchange: Option<String>,
    pub routing_key: Option<String>,
    pub attempts: Option<u64>,
    /// The reason, where the framework published this message itself instead of rejecting the one it failed on.
    pub published: Option<Reason>,
    /// `attempts` are all there were; our own header has been counted in.
    pub counts_all: bool,
    pub error: Option<ErrorReport>,
    pub failed_at: Option<Timestamp>,
    pub message_type: Option<String>,
    /// What the message had, where the framework has put that away.
    pub original: Option<Original>,
    pub danger: Option<Danger>,
    /// What else to know before a retry: whole sentences.
    pub caution: Option<&'static str>,
    /// It is a copy that the framework published to retry it by itself.
    pub own_retry: Option<OwnRetry>,
}

/// A copy that a framework published to retry a message by itself, though it rejected that one as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnRetry {
    /// Which of its retries it is: 1 for the first.
    pub number: u64,
    /// When the try before had failed, where it says so.
    pub failed_before: Option<Timestamp>,
}

impl FrameworkReport {
    /// The framework's handler failed, and it published a copy of the message.
    pub fn published() -> Self {
        Self { published: Some(Reason::Rejected), ..Self::default() }
    }

    /// The framework rejected the message and only knows how often it has tried.
    pub fn attempts(attempts: Option<u64>) -> Self {
        Self { attempts, ..Self::default() }
    }

    /// The framework rejected the message, which says what it is.
    pub fn typed(message_type: Option<String>) -> Self {
        Self { message_type, ..Self::default() }
    }

    /// Whether `death` is the failure report of. In a message that was published anew, deaths are history, but for one
    /// in the same queue, or one of a message published to the same address.
    pub fn agrees_with(&self, death: &Death) -> bool {
        if self.published.is_none() {
            return true;
        }
        match &self.queue {
            Some(queue) => *queue == death.queue,
            None => {
                self.exchange.as_ref() == Some(&death.exchange)
                    && self.routing_key.is_some()
                    && self.routing_key.as_ref() == death.routing_keys.first()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(report: FrameworkReport, expected: bool) {
        let death = Death {
            queue: "q".to_owned(),
            reason: "rejected".to_owned(),
            count: 1,
            first_at: None,
            exchange: "orders".to_owned(),
            routing_keys: vec!["order.placed".to_owned()],
            original_expiration: None,
        };
        assert_eq!(report.agrees_with(&death), expected);
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_copy_has_its_deaths_behind_it() {
        check(FrameworkReport::default(), true);
        check(FrameworkReport::published(), false);
        check(FrameworkReport { queue: text("q"), ..FrameworkReport::published() }, true);
        check(FrameworkReport { queue: text("other"), ..FrameworkReport::published() }, false);
        check(
            FrameworkReport {
                exchange: text("orders"),
                routing_key: text("order.placed"),
                ..FrameworkReport::published()
            },
            true,
        );
        check(
            FrameworkReport { exchange: text("orders"), routing_key: text("other"), ..FrameworkReport::published() },
            false,
        );
        check(FrameworkReport { exchange: text("orders"), ..FrameworkReport::published() }, false);
    }
}
