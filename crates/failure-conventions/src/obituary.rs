//! Obituaries: messages that a service published when it gave up on them, with headers that say why (see
//! [`dlo_headers`](crate::dlo_headers)).
//!
//! `dlo-reason` tells them from messages that were sent back before and failed once more. What they say goes before
//! anything that a framework has left on the same message.

use amqp_message::{error_report::ErrorReport, field::FieldTable};

use super::{evidence::Evidence, moment, report::FrameworkReport};
use crate::dlo_headers;

/// Lays what an obituary says over what else is `report`.
pub(super) fn over(report: FrameworkReport, evidence: &Evidence) -> FrameworkReport {
    let headers = &evidence.message.headers;
    let Some((reason, queue)) = headers
        .get_str(dlo_headers::REASON)
        .and_then(|reason| reason.parse().ok())
        .zip(dlo_headers::dlo_queue(headers))
    else {
        return report;
    };
    let text = |name| headers.get_str(name).map(str::to_owned);
    let error = ErrorReport::new(
        text(dlo_headers::ERROR_TYPE),
        text(dlo_headers::ERROR_MESSAGE),
        text(dlo_headers::ERROR_STACKTRACE),
    );
    FrameworkReport {
        queue: Some(queue.to_owned()),
        exchange: text(dlo_headers::EXCHANGE),
        routing_key: text(dlo_headers::ROUTING_KEY),
        attempts: dlo_headers::dlo_attempts(headers, queue),
        published: Some(reason),
        counts_all: true,
        error: error.or(report.error),
        failed_at: text(dlo_headers::FAILED_AT).as_deref().and_then(moment::iso).or(report.failed_at),
        ..report
    }
}

/// Takes off what makes a message an obituary: when it fails again, that is another failure.
pub(super) fn clean(headers: &mut FieldTable) {
    const ADDED: [&str; 5] = [
        dlo_headers::REASON,
        dlo_headers::ERROR_TYPE,
        dlo_headers::ERROR_MESSAGE,
        dlo_headers::ERROR_STACKTRACE,
        dlo_headers::FAILED_AT,
    ];
    headers.remove_where(|name| ADDED.contains(&name));
}

#[cfg(test)]
mod tests {
    use crate::Failure;
    use amqp_message::{
        death::Reason, error_report::ErrorReport, field::FieldValue, message::Message, time::Timestamp,
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
            ..Failure::default()
        };
        assert_eq!(read(&obituary), expected);
    }

    #[test]
    fn without_a_reason_or_a_queue_it_is_none() {
        assert_eq!(read(&[("dlo-queue", "orders"), ("dlo-attempts", "4")]).reason, Reason::Unknown);
        assert_eq!(read(&[("dlo-reason", "expired")]).reason, Reason::Unknown);
        assert_eq!(read(&[("dlo-queue", "orders"), ("dlo-reason", "bored")]).reason, Reason::Unknown);
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
