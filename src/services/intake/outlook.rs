//! Whether an automatic retry can come to anything, as far as the message says.

use amqp_message::{message::Message, time::Timestamp};
use failure_conventions::{Failure, expiry};

use crate::domain::policy::{Decision, Verdict};

/// The decision of its policy, or none where its consumer would drop the message in silence by then. What to know about
/// it is noted in `remarks`.
pub(crate) fn with_outlook(
    decision: Option<Decision>,
    message: &Message,
    failure: &Failure,
    received_at: Timestamp,
    remarks: &mut Vec<String>,
) -> Option<Decision> {
    let decision = decision?;
    match decision.verdict(failure.rounds) {
        Verdict::Retry { delay } if expiry::at(message).is_some_and(|at| at <= received_at.plus(delay)) => {
            remarks.push(
                "it is not retried by itself: it says that it will have expired by then, and its consumer would drop it \
                 in silence; a retry by hand goes without its expiry"
                    .to_owned(),
            );
            None
        }
        _ => Some(decision),
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;
    use crate::domain::policy::{ActivePolicy, Delays, Origin, Policy, Via};

    fn decision() -> Option<Decision> {
        let policy = Policy {
            queues: "*".to_owned(),
            reason: None,
            delays: Delays::Listed(vec![Duration::from_secs(10); 3]),
            jitter: 0.0,
            via: Via::Database,
            keep_routing_key: false,
        };
        Some(Decision::new(Some(Arc::new(ActivePolicy { policy, origin: Origin::Configuration })), 0.5))
    }

    fn check(body: &str, is_retried: bool) {
        let message = Message { body: body.into(), ..Message::default() };
        let failure = Failure { queue: Some("orders".to_owned()), rounds: 1, ..Failure::default() };
        let mut remarks = Vec::new();
        let now = Timestamp::from_seconds(1_795_262_400);
        let left = with_outlook(decision(), &message, &failure, now, &mut remarks);
        assert_eq!(left.is_some(), is_retried, "{body}");
        assert_eq!(remarks.iter().any(|remark| remark.contains("without its expiry")), !is_retried, "{remarks:?}");
    }

    #[test]
    fn what_would_have_expired_is_left_to_a_user() {
        let aged = |millis: u64| {
            format!(r#"{{"actor_name":"a","message_timestamp":1795262400000,"options":{{"max_age":{millis}}}}}"#)
        };
        check(&aged(10_001), true);
        check(&aged(10_000), false);
        check("{}", true);
    }
}
