//! The life of a letter: what may become of it, and why not.
//!
//! Every function here takes how letters stand and what happens, and answers with a [`Transition`] or with a
//! [`Refusal`](super::command::Refusal). It knows no SQL, no AMQP and no clock: times are handed in. Whoever keeps
//! letters locks them, asks here, and applies the answer; nothing else may change a letter's status.
//!
//! ```text
//!                   retry, edit's copy              confirmed
//! arrival ──> open ────────────────────> scheduled ───────────> retried
//!    │        ^  ^ └────────┐  <──────────── │                     │
//!    │        │  │  discard │  reopen, failed│ discard             │
//!    │        │  └────────┐ v                v                     │
//!    │        │ reopen    discarded <────────┘                     │
//!    │        └──────────────┴──────── came back ──────────────────┘
//!    └──> scheduled, where a retry policy says so; the same when it came back
//! ```
//! What was retried and came as another message, which is not retried any more, is discarded: that one is open.
//! Letters that are edits of one another are a *family*; all of them but one at most are discarded.

pub mod commands;
pub mod edits;
pub mod enrichment;
pub mod failures;
pub mod publishing;
pub mod recognition;
pub mod retention;
mod state;
mod transition;

pub use state::{LetterState, PendingRetry};
pub use transition::{
    Change, ColumnChanges, GroupStep, HistoryLine, NewRetry, PolicyOutcome, PolicyStep, RetryChange, Transition,
};

#[cfg(test)]
mod tests;
