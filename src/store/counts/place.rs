//! Where letters are counted.

use std::collections::HashMap;

use amqp_message::time::Timestamp;

use super::facets::FacetId;
use crate::domain::{
    group::GroupId,
    letter::{Importance, Status},
};

/// Where a letter is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) facet: FacetId,
    /// `None` until it is sorted.
    pub(crate) group: Option<GroupId>,
    pub(crate) received_at: Timestamp,
}

/// Which status and importance facets have.
pub(crate) type Kinds = HashMap<FacetId, (Status, Importance)>;
