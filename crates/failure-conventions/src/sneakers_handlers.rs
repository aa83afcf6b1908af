//! Sneakers and Kicks with the retry handlers of AlphaSights' sneakers_handlers.

use amqp_message::{death::Death, message::Message};

use super::{evidence::Evidence, exception, framework::Framework, report::FrameworkReport, site};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "sneakers_handlers",
    records: "what the error says, attempts",
    retried: "the headers of the failure are removed",
    read,
    clean,
    advice: "The retry handlers of sneakers_handlers record the exception in rejection_reason, DeadLetterHandler records \
             nothing.",
};

/// The retry handlers leave `rejection_reason`.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let reason = evidence.header("rejection_reason")?.as_str();
    let error = reason.filter(|reason| *reason != "reject").and_then(exception::ruby);
    if evidence.site.is_some() {
        // RetryHandler publishes to the queue itself, numbering the try to come, and rejects the last.
        return Some(FrameworkReport { error, ..FrameworkReport::attempts(evidence.number("x-retry-count")) });
    }
    Some(FrameworkReport { error, ..after_backoff(evidence) })
}

/// ExponentialBackoffHandler lets it wait in `<queue>.retry.<seconds>` after each try but the last.
fn after_backoff(evidence: &Evidence) -> FrameworkReport {
    let queue_of = |death: &Death| site::sneakers_handlers_queue(&death.queue).map(str::to_owned);
    let Some(newest) = evidence.deaths.iter().find(|death| queue_of(death).is_some()) else {
        return FrameworkReport::published();
    };
    let queue = queue_of(newest);
    let waits = evidence.deaths.iter().filter(|death| queue_of(death) == queue);
    let tries = waits.map(|death| death.count).fold(1, u64::saturating_add);
    FrameworkReport {
        exchange: Some(newest.exchange.clone()),
        attempts: Some(tries),
        queue,
        ..FrameworkReport::published()
    }
}

fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    message.headers.remove_where(|name| name == "rejection_reason" || name == "x-retry-count");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::field::FieldValue;

    #[test]
    fn a_word_of_the_handler_is_no_exception() {
        fn check(reason: FieldValue, expected: Option<(Option<&str>, Option<&str>)>) {
            let headers = [("rejection_reason".to_owned(), reason)].into_iter().collect();
            let message = Message { headers, ..Message::default() };
            let report = read(&Evidence { message: &message, deaths: &[], site: None }).unwrap();
            let found = report.error.as_ref().map(|error| (error.kind.as_deref(), error.message.as_deref()));
            assert_eq!(found, expected);
        }
        check(FieldValue::string("#<A: b>"), Some((Some("A"), Some("b"))));
        check(FieldValue::string("timeout"), Some((None, Some("timeout"))));
        check(FieldValue::string("reject"), None);
        check(FieldValue::Void, None);
    }
}
