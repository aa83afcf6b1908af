//! How far people are with an error group: the state machine of groups.
//!
//! Open, acknowledged, snoozed or resolved; who has it, and where its ticket is. A command of somebody makes the next state
//! or is refused with a reason; letters that come, the clock and what is found of letters open it again.

mod commands;
mod known;
mod state;
mod stored;
mod waking;
mod work;

#[cfg(test)]
mod tests;

pub use commands::{GroupCommand, GroupRefusal};
pub use known::{Known, Traits};
pub use state::{Before, GroupState, LastChange, Phase, Progress, Reopened, Until, Why};
pub use waking::Arrivals;
pub use work::Assignee;
