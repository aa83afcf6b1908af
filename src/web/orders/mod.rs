//! What somebody wants done, field by field, as a form or a call says it: read and refused in one way.

pub mod grouping_rule;
pub mod groups;
pub mod jobs;
pub mod letters;
pub mod marker;
pub mod marker_removal;
pub mod pacing;
pub mod policy;
pub mod queue_pausing;
pub mod rule_error;
