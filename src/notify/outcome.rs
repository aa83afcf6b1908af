//! The result of a delivery.

use std::time::Duration;

/// The result of sending a delivery once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Delivered {
        /// How the other side calls it: `CHANNEL/TS` of a Slack message, the dedup key of a PagerDuty alert.
        reference: Option<String>,
    },
    /// It did not get through, or nobody knows whether it did: it may arrive twice.
    TryAgain {
        /// A clause for users.
        why: String,
        /// How long the other side asks us to wait at least; an hour at most.
        after: Option<Duration>,
    },
    /// It was understood and refused. The same again would be refused again.
    Refused { why: String },
}
