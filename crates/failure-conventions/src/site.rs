//! Which of a message's deaths is its failure, by RabbitMQ's account.

use amqp_message::death::{Death, Reason};

use crate::dlo_queues;

/// The newest death by a consumer's refusal; without one, the newest at all.
///
/// `x-death[0]` alone will not do: hops through delay queues push entries in front.
fn choose(deaths: &[Death]) -> Option<&Death> {
    let refused = deaths.iter().find(|death| is_refusal(death));
    refused.or_else(|| deaths.iter().find(|death| !is_delay(death)))
}

/// The death that counts, by `x-death` or, where that cannot be read, by the headers about the first death.
pub(super) fn by_rabbitmq<'a>(deaths: &'a [Death], first_death: Option<&'a Death>) -> Option<&'a Death> {
    choose(deaths).or_else(|| first_death.filter(|death| !is_delay(death)))
}

/// Whether a consumer had the message and did not take it.
pub(super) fn is_refusal(death: &Death) -> bool {
    matches!(death.reason.parse(), Ok(Reason::Rejected | Reason::DeliveryLimit))
}

/// Whether the message only waited there. Nobody consumes a delay queue, so what is refused was no delay.
pub(super) fn is_delay(death: &Death) -> bool {
    !is_refusal(death) && (is_delay_queue(&death.queue) || is_nameko_backoff(death))
}

/// Our own delay queues and those of the frameworks.
fn is_delay_queue(queue: &str) -> bool {
    dlo_queues::is_delay_queue(queue)
        // NServiceBus
        || queue.starts_with("nsb.v2.delay-level-")
        || queue.starts_with("nsb.delay-level-")
        // Symfony: delay_<exchange>_<key>_<ms>_retry or _delay
        || (queue.starts_with("delay_") && (queue.ends_with("_retry") || queue.ends_with("_delay")))
        // Sneakers Maxretry
        || queue.ends_with("-retry")
        // Dramatiq
        || queue.ends_with(".DQ")
        || sneakers_handlers_queue(queue).is_some()
        // Laravel: <queue>.delay.<ms>
        || before_number(queue, ".delay.").is_some()
        || is_machinery_delay(queue)
}

/// The queue that `<queue>.retry.<seconds>` of sneakers_handlers' exponential backoff belongs to.
pub(super) fn sneakers_handlers_queue(delay_queue: &str) -> Option<&str> {
    before_number(delay_queue, ".retry.")
}

/// `<before><separator><digits>`
fn before_number<'a>(name: &'a str, separator: &str) -> Option<&'a str> {
    let (before, number) = name.rsplit_once(separator)?;
    is_number(number).then_some(before)
}

/// `delay.<ms>.<exchange>.<routing key>`
fn is_machinery_delay(queue: &str) -> bool {
    let number = queue.strip_prefix("delay.").and_then(|rest| rest.split_once('.'));
    number.is_some_and(|(number, _)| is_number(number))
}

/// nameko-amqp-retry lets messages wait in a queue `backoff` by overflowing it.
fn is_nameko_backoff(death: &Death) -> bool {
    death.queue == "backoff" && death.reason == Reason::MaxLen.as_str()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn death(queue: &str, reason: &str) -> Death {
        Death {
            queue: queue.to_owned(),
            reason: reason.to_owned(),
            count: 1,
            first_at: None,
            exchange: String::new(),
            routing_keys: vec![],
            original_expiration: None,
        }
    }

    #[test]
    fn chooses_the_newest_refusal() {
        fn check(deaths: &[(&str, &str)], expected: Option<&str>) {
            let deaths: Vec<Death> = deaths.iter().map(|(queue, reason)| death(queue, reason)).collect();
            assert_eq!(choose(&deaths).map(|death| &*death.queue), expected);
        }
        check(&[], None);
        check(&[("a", "expired"), ("b", "rejected"), ("c", "delivery_limit")], Some("b"));
        check(&[("a", "expired"), ("c", "delivery_limit"), ("b", "rejected")], Some("c"));
        check(&[("a", "expired"), ("b", "maxlen")], Some("a"));
        check(&[("q.retry.5", "expired"), ("b", "maxlen")], Some("b"));
        check(&[("q.retry.5", "expired")], None);
        check(&[("dlo.delay.5000.2968.a", "expired")], None);
        check(&[("dlo.delay.5000.2968.a", "expired"), ("a", "expired")], Some("a"));
        check(&[("a", "expired"), ("dlo.delay.5000.2968.a", "expired")], Some("a"));
        check(&[("dlo.delay.5000.2968.a", "expired"), ("a", "rejected")], Some("a"));
        check(&[("a", "of a later version")], Some("a"));
    }

    #[test]
    fn knows_delay_queues() {
        fn check(queue: &str, reason: &str, expected: bool) {
            assert_eq!(is_delay(&death(queue, reason)), expected, "{queue} {reason}");
        }
        check("nsb.v2.delay-level-03", "expired", true);
        check("nsb.delay-level-27", "expired", true);
        check("delay_messages__2000_retry", "expired", true);
        check("delay_messages_key_2000_delay", "expired", true);
        check("billing.retry.9", "expired", true);
        check("billing-retry", "expired", true);
        check("default.delay.5000", "expired", true);
        check("delay.5000.machinery_exchange.machinery_tasks", "expired", true);
        check("default.DQ", "expired", true);
        check("dlo.delay.5000.2968.orders", "expired", true);
        check("backoff", "maxlen", true);

        check("billing-retry", "rejected", false);
        check("dlo.delay.5000.2968.orders", "rejected", false);
        check("dlo.delay.orders", "expired", false);
        check("billing-retry", "delivery_limit", false);
        check("backoff", "expired", false);
        check("billing.retry.", "expired", false);
        check("billing.retry.soon", "expired", false);
        check("delay.soon.exchange.key", "expired", false);
        check("delayed", "expired", false);
    }
}
