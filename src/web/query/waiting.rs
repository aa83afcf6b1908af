//! Which waiting letters an address asks for.

use super::{Anchor, cursor, form, listed, names, parameters, queue_words};
use crate::domain::{filter::LetterFilter, letter::Status, waiting::WaitingCursor};

parameters! {
    /// Which waiting letters an address asks for.
    pub WaitingQuery {
        "broker" brokers: Vec<String> as form::Repeated,
        /// Names of the queues they failed in, and patterns for them.
        "queue" queues: Vec<String> as form::Repeated,
        "queue_glob" queue_globs: Vec<String> as form::Repeated,
        "queue_unknown" queue_unknown: Option<bool> as form::One,
        "limit" limit: Option<usize> as form::Limit,
        "cursor" cursor: Option<Anchor<WaitingCursor>> as form::Cursor,
    }
}

listed!(WaitingQuery, "/scheduled", WaitingCursor, reach);

fn reach(_query: &WaitingQuery, place: &WaitingCursor) -> String {
    cursor::in_order(&[place.due_at.as_micros() as u64], place.id.as_uuid().as_u128())
}

impl WaitingQuery {
    /// Those of one queue, or those whose queue is unknown.
    pub fn of_queue(queue: Option<&str>) -> Self {
        let (queues, queue_unknown) = queue_words(queue);
        Self { queues, queue_unknown, ..Self::default() }
    }

    pub fn filter(&self) -> LetterFilter {
        LetterFilter {
            statuses: vec![Status::Scheduled],
            brokers: self.brokers.clone(),
            queues: names(&self.queues, &self.queue_globs, self.queue_unknown),
            ..LetterFilter::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::query::Listed;
    use crate::web::query::{Pairs, Parameters};

    #[test]
    fn what_is_written_is_read_again() {
        let check = |text: &str, canonical: &str| {
            let query = WaitingQuery::read(Pairs::parse(text.as_bytes())).map(|query| query.href());
            assert_eq!(query.ok().as_deref(), Some(canonical));
        };
        check("", "/scheduled");
        check("queue=&broker=", "/scheduled");
        check("queue_glob=texts.*&broker=main&limit=7", "/scheduled?broker=main&queue_glob=texts.*&limit=7");
    }
}
