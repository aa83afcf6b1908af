//! Obituaries: messages that a service published when it gave up on them, with headers that say why (see
//! [`dlo_headers`](crate::dlo_headers)).
//!
//! `dlo-reason` tells them from messages that were sent back before and failed once more. What they say goes before
//! anything that a framework has left on the same message.

use amqp_message::{death::Reason, error_report::ErrorReport, field::FieldTable};

use super::{evidence::Evidence, moment, report::FrameworkReport};
use crate::dlo_headers;

/// Lays what an obituary says over what else is `report`. What cannot be read of it is as good as absent.
pub(super) fn over(report: FrameworkReport, evidence: &Evidence) -> FrameworkReport {
    let headers = &evidence.message.headers;
    if !is_obituary(headers) {
        return report;
    }
    let reason = headers.get_str(dlo_headers::REASON).and_then(|reason| reason.parse().ok());
    let queue = dlo_headers::dlo_queue(headers);
    let text = |name| headers.get_str(name).map(str::to_owned);
    let error = ErrorReport::new(
        text(dlo_headers::ERROR_TYPE),
        text(dlo_headers::ERROR_MESSAGE),
        text(dlo_headers::ERROR_STACKTRACE),
    );
    let report = FrameworkReport {
        // Where it says neither why nor where it failed, RabbitMQ may.
        published: reason.or(report.published).or(queue.map(|_| Reason::Unknown)),
        error: error.or(report.error),
        failed_at: text(dlo_headers::FAILED_AT).as_deref().and_then(moment::iso).or(report.failed_at),
        ..report
    };
    // Address and attempts belong to the queue.
    let Some(queue) = queue else { return report };
    FrameworkReport {
        queue: Some(queue.to_owned()),
        exchange: text(dlo_headers::EXCHANGE),
        routing_key: text(dlo_headers::ROUTING_KEY),
        attempts: dlo_headers::dlo_attempts(headers, queue),
        counts_all: true,
        ..report
    }
}

/// Which headers of an obituary are not what they have to be and were not taken: whole clauses.
pub(super) fn not_taken(headers: &FieldTable) -> Vec<String> {
    if !is_obituary(headers) {
        return Vec::new();
    }
    let wrong = |&(name, _): &(&str, &str)| {
        Some(match fault(headers, name)? {
            MISSING => format!("its header {name} is missing"),
            fault => format!("its header {name} was not taken: it is {fault}"),
        })
    };
    dlo_headers::ALL.iter().filter_map(wrong).collect()
}

const MISSING: &str = "missing";

/// Nothing else has this header.
pub(super) fn is_obituary(headers: &FieldTable) -> bool {
    headers.get(dlo_headers::REASON).is_some()
}

fn fault(headers: &FieldTable, name: &str) -> Option<&'static str> {
    let Some(value) = headers.get(name) else {
        return (name == dlo_headers::QUEUE).then_some(MISSING);
    };
    let Some(text) = value.as_str() else { return Some("no string") };
    let (is_right, what) = match name {
        dlo_headers::REASON => {
            (text.parse::<Reason>().is_ok(), "none of rejected, expired, maxlen, delivery_limit and unknown")
        }
        dlo_headers::QUEUE => (!text.is_empty(), "empty"),
        dlo_headers::ATTEMPTS => (text.parse::<u64>().is_ok_and(|attempts| attempts > 0), "no number from 1 on"),
        dlo_headers::ID => (dlo_headers::dlo_id(headers).is_some(), "no UUID"),
        dlo_headers::FAILED_AT => (moment::iso(text).is_some(), "no time in RFC 3339"),
        _ => return None,
    };
    (!is_right).then_some(what)
}

/// Takes off what makes a message an obituary: when it fails again, that is another failure. Where it was first published
/// is still so then, and stays.
pub(super) fn clean(headers: &mut FieldTable) {
    const ADDED: [&str; 6] = [
        dlo_headers::REASON,
        dlo_headers::ERROR_TYPE,
        dlo_headers::ERROR_MESSAGE,
        dlo_headers::ERROR_STACKTRACE,
        dlo_headers::FAILED_AT,
        dlo_headers::WAITED,
    ];
    headers.remove_where(|name| ADDED.contains(&name));
}

#[cfg(test)]
mod tests {
    use crate::Failure;
    use amqp_message::{
        death::Reason,
        error_report::ErrorReport,
        field::{FieldTable, FieldValue},
        message::Message,
        time::Timestamp,
    };

    fn read(headers: &[(&str, &str)]) -> Failure {
        let headers = headers.iter().map(|(name, text)| ((*name).to_owned(), FieldValue::string(*text)));
        crate::read(&Message { headers: headers.collect(), ..Message::default() }).failure
    }

    #[test]
    fn what_it_says_is_all_there_is() {
        let obituary = [
            ("dlo-queue", "orders"),
            ("dlo-reason", "expired"),
            ("dlo-attempts", "4"),
            ("dlo-exchange", "events"),
            ("dlo-routing-key", "order.placed"),
        ];
        let expected = Failure {
            queue: Some("orders".to_owned()),
            reason: Reason::Expired,
            exchange: "events".to_owned(),
            routing_key: "order.placed".to_owned(),
            attempts: 4,
            rounds: 1,
            ..Failure::default()
        };
        assert_eq!(read(&obituary), expected);
    }

    #[test]
    fn of_it_the_first_address_goes_back() {
        let mut headers = crate::dlo_headers::ALL
            .iter()
            .map(|(name, _)| ((*name).to_owned(), FieldValue::string("text")))
            .collect::<FieldTable>();
        super::clean(&mut headers);
        let left: Vec<&str> = headers.iter().map(|(name, _)| name).collect();
        assert_eq!(left, [&crate::dlo_headers::WRITTEN[..], &["dlo-exchange", "dlo-routing-key"]].concat());
    }

    #[test]
    fn without_a_reason_it_is_none() {
        let report = read(&[("dlo-queue", "orders"), ("dlo-attempts", "4")]);
        assert_eq!((report.queue, report.reason), (None, Reason::Unknown));
    }

    #[test]
    fn what_is_wrong_in_it_leaves_the_rest_valid() {
        fn check(name: &str, value: FieldValue, expected: Failure, why: &str) {
            let text = |text: &str| FieldValue::string(text);
            let mut message = Message::default();
            for (name, right) in [("dlo-queue", "orders"), ("dlo-reason", "expired"), ("dlo-attempts", "4")] {
                message.headers.set(name, text(right));
            }
            message.headers.set(name, value);
            let report = crate::read(&message);
            assert_eq!(report.failure, expected, "{name}");
            assert_eq!(report.not_taken, [format!("its header {name} was not taken: it is {why}")]);
        }
        let all = || Failure {
            queue: Some("orders".to_owned()),
            reason: Reason::Expired,
            routing_key: "orders".to_owned(),
            attempts: 4,
            rounds: 1,
            ..Failure::default()
        };
        let unknown = || Failure { reason: Reason::Unknown, ..all() };
        let reasons = "none of rejected, expired, maxlen, delivery_limit and unknown";
        check("dlo-reason", FieldValue::string("bored"), unknown(), reasons);
        check("dlo-reason", FieldValue::LongInt(1), unknown(), "no string");
        check(
            "dlo-queue",
            FieldValue::LongInt(1),
            Failure { queue: None, routing_key: String::new(), attempts: 1, ..all() },
            "no string",
        );
        check("dlo-attempts", FieldValue::string("many"), Failure { attempts: 1, ..all() }, "no number from 1 on");
        check("dlo-failed-at", FieldValue::string("yesterday"), all(), "no time in RFC 3339");
        check("dlo-id", FieldValue::string("1"), all(), "no UUID");
        check("dlo-error-type", FieldValue::Void, all(), "no string");
    }

    #[test]
    fn without_a_queue_the_rest_is_taken() {
        let mut message = Message::default();
        message.headers.set("dlo-reason", FieldValue::string("maxlen"));
        let report = crate::read(&message);
        assert_eq!((report.failure.queue, report.failure.reason), (None, Reason::MaxLen));
        assert_eq!(report.not_taken, ["its header dlo-queue is missing"]);
    }

    #[test]
    fn a_wrong_reason_leaves_what_rabbitmq_says() {
        let death = [("queue", "orders"), ("reason", "rejected"), ("exchange", "events")];
        let death = death.map(|(name, value)| (name.to_owned(), FieldValue::string(value)));
        let mut message = Message::default();
        message.headers.set("x-death", FieldValue::Array(vec![FieldValue::Table(death.into_iter().collect())]));
        message.headers.set("dlo-reason", FieldValue::string("bored"));
        let report = crate::read(&message);
        assert_eq!((report.failure.queue.as_deref(), report.failure.reason), (Some("orders"), Reason::Rejected));
        assert_eq!(report.failure.exchange, "events");
        assert_eq!(report.not_taken.len(), 2, "of the reason and of the queue: {:?}", report.not_taken);
    }

    #[test]
    fn it_may_say_what_went_wrong() {
        let report = read(&[
            ("dlo-queue", "orders"),
            ("dlo-reason", "rejected"),
            ("dlo-error-type", "OutOfStock"),
            ("dlo-error-message", "none left"),
            ("dlo-error-stacktrace", "at shelf"),
            ("dlo-failed-at", "2026-03-14T09:26:53Z"),
            ("reason_poisoned", "what Watermill thought"),
        ]);
        let text = |text: &str| Some(text.to_owned());
        let error = ErrorReport { kind: text("OutOfStock"), message: text("none left"), stacktrace: text("at shelf") };
        assert_eq!(report.error, Some(error));
        assert_eq!(report.last_failed_at, Some(Timestamp::from_seconds(1_773_480_413)));
    }
}
