//! What pages and API tell alike, and how it is found.

pub mod audit_subjects;
pub mod changes;
pub mod job_outcomes;
pub mod marks;
pub mod payload;
pub mod policy_effect;
pub mod queue_details;
pub mod queue_health;
pub mod recent;
pub mod remarks;
pub mod saved_views;
pub mod search;
