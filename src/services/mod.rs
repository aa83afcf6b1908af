//! The verbs: what dlo does with messages and letters.
//!
//! Effects always in this order: commit, then acknowledge; confirm, then mark. A crash anywhere means "again", never
//! "lost". This floor knows the database and the brokers; it knows no HTTP.

mod audit_log;
mod audited_grouping_rules;
mod audited_jobs;
mod audited_markers;
mod audited_merges;
mod audited_queues;
pub mod audited_store;
pub mod audited_views;
pub mod causes;
pub mod change_feed;
pub mod clock_watch;
pub mod columns;
pub mod decoding;
pub mod digests;
pub mod enrichment;
pub mod getting_started;
pub mod group_moves;
pub mod group_splits;
pub mod grouping_rules;
mod halving;
pub mod health;
pub mod idempotency;
mod ids;
pub mod incidents;
pub mod intake;
pub mod live;
pub mod notifications;
mod one_by_one;
pub mod policies;
pub mod processes;
pub mod retention;
pub mod rules;
pub mod scheduler;
pub mod schemas;
pub mod search;
pub mod settings;
pub mod sign_in;
pub mod snoozes;
mod throttle;
pub mod triage;
pub mod wakeup;
pub mod watch;
pub mod worker;
