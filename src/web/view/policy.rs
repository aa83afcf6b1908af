//! Policies as pages and forms show them.

use std::time::Duration;

use amqp_message::{death::Reason, time::Timestamp};

use super::{text, time::Moment};
use crate::domain::policy::{ActivePolicy, Delays, Origin, Policy};

pub use crate::domain::policy_meaning::{in_full, meaning, percent, remarks};

/// `any reason`, `expired`
pub const fn reason_words(reason: Option<Reason>) -> &'static str {
    match reason {
        None => "any reason",
        Some(Reason::Rejected) => "rejected",
        Some(Reason::Expired) => "expired",
        Some(Reason::MaxLen) => "queue full",
        Some(Reason::DeliveryLimit) => "delivery limit",
        Some(Reason::Unknown) => "unknown reason",
    }
}

/// Which failures it is for: `texts.*`, `texts.* when expired`
pub fn target(policy: &Policy) -> String {
    let queues = text::one_line(&policy.queues);
    match policy.reason {
        None => queues,
        Some(_) => format!("{queues}, {}", reason_words(policy.reason)),
    }
}

/// Who set it.
#[derive(Debug, PartialEq, Eq)]
pub enum OriginView {
    Configuration,
    Person { by: String, at: Moment },
}

impl OriginView {
    pub fn new(active: &ActivePolicy, now: Timestamp) -> Self {
        match &active.origin {
            Origin::Configuration => Self::Configuration,
            Origin::Person { by, at } => Self::Person { by: text::one_line(by.as_str()), at: Moment::new(*at, now) },
        }
    }
}

/// `retry 2 of 3`: which retry of its policy a message waits for that has failed so often.
pub fn which_retry(failures: u64, policy: Option<&ActivePolicy>) -> String {
    let retries = policy.map_or(0, |active| active.policy.delays.retries() as u64);
    // A policy may have become shorter since.
    if (1..=retries).contains(&failures) {
        format!("retry {failures} of {retries}")
    } else {
        format!("retry {failures}")
    }
}

/// The delays as they are typed into a form.
pub fn typed(delays: &Delays) -> String {
    match delays {
        Delays::Listed(delays) => delays.iter().map(|delay| typed_duration(*delay)).collect::<Vec<_>>().join(", "),
        Delays::Growing { .. } => String::new(),
    }
}

/// In the largest unit of which it is a whole number, as people write it into a configuration: `100s`, `36h`.
pub fn typed_duration(length: Duration) -> String {
    const UNITS: [(u128, &str); 6] = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
    ];
    let nanos = length.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let unit = UNITS.into_iter().find(|(unit, _)| nanos.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or((1, "ns"));
    format!("{}{name}", nanos / unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::policy::Via;

    fn policy(delays: Delays) -> Policy {
        Policy {
            queues: "*".to_owned(),
            reason: None,
            delays,
            jitter: 0.0,
            via: Via::Database,
            keep_routing_key: false,
        }
    }

    fn listed(seconds: &[u64]) -> Delays {
        Delays::Listed(seconds.iter().copied().map(Duration::from_secs).collect())
    }

    #[test]
    fn a_duration_is_typed_in_one_unit_and_read_back() {
        for text in ["0s", "1ns", "1500ms", "100s", "61m", "36h", "7d"] {
            assert_eq!(typed_duration(crate::config::values::parse_duration(text).unwrap()), text);
        }
    }

    #[test]
    fn which_retry_it_is() {
        let active = ActivePolicy { policy: policy(listed(&[1, 2, 3])), origin: Origin::Configuration };
        assert_eq!(which_retry(2, Some(&active)), "retry 2 of 3");
        assert_eq!(which_retry(4, Some(&active)), "retry 4");
        assert_eq!(which_retry(4, None), "retry 4");
    }
}
