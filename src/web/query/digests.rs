//! Which digests that were made an address asks for.

use super::{Anchor, form, listed, parameters};
use crate::store::DigestPlace;

parameters! {
    /// Which digests that were made an address asks for.
    pub DigestQuery {
        /// Of this name; of any if left out.
        "name" name: Option<String> as form::One,
        /// Digests of one answer.
        "limit" limit: Option<usize> as form::Limit,
        /// `next_cursor` of the answer before, to the same query.
        "cursor" cursor: Option<Anchor<DigestPlace>> as form::Cursor,
    }
}

listed!(DigestQuery, "/digests", DigestPlace);
