//! Digests: made by their schedules, once for each time, true to the database, and brought to Slack whatever happens on the
//! way.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the error handling")]

mod newsroom;

mod big;
mod figures;
#[cfg(feature = "crash-points")]
mod kills;
mod sending;
mod slots;
