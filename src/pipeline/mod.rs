//! The verbs: what the office does with messages and letters.
//!
//! Effects always in this order: commit, then acknowledge; confirm, then mark. A crash anywhere means "again", never
//! "lost". This floor knows the ledger and the brokers; it knows no HTTP.

pub mod delay_queues;
mod edits;
mod ids;
pub mod inquiry;
pub mod intake;
pub mod naming;
pub mod news;
pub mod policies;
pub mod reader;
pub mod retention;
pub mod scheduler;
pub mod schemas;
pub mod triage;
