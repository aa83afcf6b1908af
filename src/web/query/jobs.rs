//! Which jobs an address asks for.

use super::{Anchor, form, listed, parameters};
use crate::domain::job::{JobPlace, JobState};

parameters! {
    /// Which jobs an address asks for.
    pub JobQuery {
        /// In one of these states; in any if left out.
        "state" states: Vec<JobState> as form::Repeated,
        /// Jobs of one answer.
        "limit" limit: Option<usize> as form::Limit,
        /// `next_cursor` of the answer before, to the same query.
        "cursor" cursor: Option<Anchor<JobPlace>> as form::Cursor,
    }
}

listed!(JobQuery, "/jobs", JobPlace);
