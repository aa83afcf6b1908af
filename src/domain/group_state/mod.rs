//! How far people are with an error group: the state machine of groups.
//!
//! Open, acknowledged, snoozed or resolved; who has it, and where its ticket is. A command of somebody makes the next state
//! or is refused with a reason; letters that come, the clock and what is found of letters wake what was set aside.

mod commands;
mod state;
mod waking;
mod work;

#[cfg(test)]
mod tests;

pub use commands::{GroupCommand, GroupRefusal};
pub use state::{GroupState, LastChange, Phase, Progress, Regressed, Until, Why};
pub use waking::Arrivals;
pub use work::{Assignee, read_ticket};
