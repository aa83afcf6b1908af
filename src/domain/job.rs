//! Long work that is kept in the ledger, so that it can be watched.

use uuid::Uuid;

words! {
    JobState, "job state" {
        Queued = "queued",
        Running = "running",
        Done = "done",
        /// It ended, and some of it could not be done.
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: Uuid,
    /// The name of the command it carries out.
    pub action: String,
    pub state: JobState,
    pub total: u64,
    pub done: u64,
    pub failed: u64,
    /// Why letters were refused, one sentence each.
    pub errors: Vec<String>,
}
