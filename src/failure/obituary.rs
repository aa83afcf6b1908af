//! Obituaries: messages published by whoever gave up on them, in the form that the README describes.
//!
//! `dlo-reason` tells them from messages that were sent back before and failed once more: what they say is all there is
//! to say.

use super::{evidence::Evidence, told::Told};
use crate::own_headers;

pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let headers = &evidence.message.headers;
    let reason = headers.get_str(own_headers::REASON)?.parse().ok()?;
    let queue = own_headers::dlo_queue(headers)?;
    let text = |name| headers.get_str(name).map(str::to_owned);
    Some(Told {
        queue: Some(queue.to_owned()),
        exchange: text(own_headers::EXCHANGE),
        routing_key: text(own_headers::ROUTING_KEY),
        attempts: own_headers::dlo_attempts(headers, queue),
        published: Some(reason),
        counts_all: true,
    })
}

#[cfg(test)]
mod tests {
    use crate::{
        domain::{
            death::{Failure, Reason},
            field::FieldValue,
            message::Message,
        },
        failure,
    };

    fn read(headers: &[(&str, &str)]) -> Failure {
        let headers = headers.iter().map(|(name, text)| ((*name).to_owned(), FieldValue::string(*text)));
        failure::read(&Message { headers: headers.collect(), ..Message::default() })
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
            first_failed_at: None,
        };
        assert_eq!(read(&obituary), expected);
    }

    #[test]
    fn without_a_reason_or_a_queue_it_is_none() {
        assert_eq!(read(&[("dlo-queue", "orders"), ("dlo-attempts", "4")]).reason, Reason::Unknown);
        assert_eq!(read(&[("dlo-reason", "expired")]).reason, Reason::Unknown);
        assert_eq!(read(&[("dlo-queue", "orders"), ("dlo-reason", "bored")]).reason, Reason::Unknown);
    }
}
