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
