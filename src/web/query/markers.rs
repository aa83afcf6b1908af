//! Which markers an address asks for.

use amqp_message::time::Timestamp;

use super::{Anchor, When, form, listed, parameters};
use crate::domain::marker::{MarkerFilter, MarkerKind, MarkerPlace};

parameters! {
    /// Which markers an address asks for.
    pub MarkerQuery {
        /// Of one of these kinds; of any if left out.
        "kind" kinds: Vec<MarkerKind> as form::Repeated,
        /// At or after: RFC 3339, or how long ago (`24h`).
        "since" since: Option<When> as form::One,
        /// Before: RFC 3339, or how long ago.
        "until" until: Option<When> as form::One,
        /// Markers of one answer.
        "limit" limit: Option<usize> as form::Limit,
        /// `next_cursor` of the answer before, to the same query.
        "cursor" cursor: Option<Anchor<MarkerPlace>> as form::Cursor,
    }
}

listed!(MarkerQuery, "/markers", MarkerPlace);

impl MarkerQuery {
    pub fn filter(&self, now: Timestamp) -> MarkerFilter {
        let at = |when: &Option<When>| when.as_ref().map(|when| when.resolve(now));
        MarkerFilter { kinds: self.kinds.clone(), since: at(&self.since), until: at(&self.until) }
    }
}
