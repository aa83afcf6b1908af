//! How the server is: what is not as it should be, since when, why, and what to do about it.
//!
//! Workers, connections and the probe of the database report [`Facts`]; [`conditions`] makes one picture of them, which
//! `/readyz`, `/healthz`, the metrics, the pages and the log show.

mod condition;
mod facts;
mod picture;

#[cfg(test)]
mod tests;

pub use condition::{Condition, ConditionKind, DatabaseTrouble, Status};
pub use facts::{Backlog, DatabaseFacts, Facts, Failing, Figures, WorkerFacts};
pub use picture::{NO_ANSWER, conditions};
