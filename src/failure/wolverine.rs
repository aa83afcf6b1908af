//! Wolverine with enhanced dead-lettering. Its native way only rejects.

use super::{evidence::Evidence, told::Told};

/// Only 6.21 and later name the queue.
pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    if !evidence.has("exception-type") || !evidence.has("failed-at") {
        return None;
    }
    let destination = evidence.message.headers.get_str("original-destination");
    Some(Told { queue: destination.and_then(queue), attempts: evidence.number("attempts"), ..Told::published() })
}

/// Of `rabbitmq://queue/<queue>`, the queue.
fn queue(destination: &str) -> Option<String> {
    let (_, queue) = destination.split_once("://queue/")?;
    (!queue.is_empty()).then(|| queue.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_destinations() {
        fn check(destination: &str, expected: Option<&str>) {
            assert_eq!(queue(destination).as_deref(), expected);
        }
        check("rabbitmq://queue/orders", Some("orders"));
        check("rabbitmq://queue/a/queue/b", Some("a/queue/b"));
        check("rabbitmq://exchange/orders", None);
        check("rabbitmq://queue/", None);
    }
}
