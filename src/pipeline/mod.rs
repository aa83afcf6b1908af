//! The verbs: what the office does with messages and letters.
//!
//! Effects always in this order: commit, then acknowledge; confirm, then mark. A crash anywhere means "again", never
//! "lost". This floor knows the ledger and the brokers; it knows no HTTP.

pub mod bell;
mod bulk;
pub mod channels;
mod confirmed;
pub mod delay_queues;
pub mod deliveries;
pub mod digests;
mod edits;
pub mod heartbeat;
mod ids;
pub mod incidents;
pub mod inquiry;
pub mod intake;
pub mod news;
pub mod policies;
mod portions;
pub mod reader;
pub mod retention;
pub mod rules;
pub mod scheduler;
pub mod schemas;
mod scope;
pub mod sorting;
mod telling;
pub mod triage;
pub mod watch;
