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
    if failure.rounds > 1 && !decision.keeps_routing_key() && is_seen_under_another_key(failure) {
        remarks.push(format!(
            "its retries came with the routing key {}, the name of the queue, and not {}: if its consumer dispatches by \
             routing key, set keep_routing_key for this queue",
            failure.queue.as_deref().unwrap_or_default(),
            failure.routing_key
        ));
    }
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

fn is_seen_under_another_key(failure: &Failure) -> bool {
    !failure.routing_key.is_empty() && failure.queue.as_deref().is_some_and(|queue| queue != failure.routing_key)
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;
    use crate::domain::policy::{ActivePolicy, Delays, Origin, Policy, Via};

    fn decision(keep_routing_key: bool) -> Option<Decision> {
        let policy = Policy {
            queues: "*".to_owned(),
            reason: None,
            delays: Delays::Listed(vec![Duration::from_secs(10); 3]),
            jitter: 0.0,
            via: Via::Database,
            keep_routing_key,
        };
        Some(Decision::new(Some(Arc::new(ActivePolicy { policy, origin: Origin::Configuration })), 0.5))
    }

    fn check(body: &str, keep_routing_key: bool, rounds: u64, is_retried: bool, remark: Option<&str>) {
        let message = Message { body: body.into(), ..Message::default() };
        let failure = Failure {
            queue: Some("orders".to_owned()),
            routing_key: "order.placed".to_owned(),
            rounds,
            ..Failure::default()
        };
        let mut remarks = Vec::new();
        let now = Timestamp::from_seconds(1_795_262_400);
        let left = with_outlook(decision(keep_routing_key), &message, &failure, now, &mut remarks);
        assert_eq!(left.is_some(), is_retried, "{body}");
        assert_eq!(remarks.len(), usize::from(remark.is_some()), "{remarks:?}");
        assert!(remark.is_none_or(|part| remarks[0].contains(part)), "{remarks:?}");
    }

    #[test]
    fn what_would_have_expired_is_left_to_a_user() {
        let aged = |millis: u64| {
            format!(r#"{{"actor_name":"a","message_timestamp":1795262400000,"options":{{"max_age":{millis}}}}}"#)
        };
        check(&aged(10_001), false, 1, true, None);
        check(&aged(10_000), false, 1, false, Some("without its expiry"));
        check("{}", false, 1, true, None);
    }

    #[test]
    fn a_key_that_the_retry_lost_is_told() {
        check("{}", false, 2, true, Some("keep_routing_key"));
        check("{}", true, 2, true, None);
    }
}
