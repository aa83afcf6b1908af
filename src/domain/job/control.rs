//! Who stops, resumes and undoes a job.

use std::fmt;

use crate::domain::{
    actor::Actor,
    rights::{QueueScope, Right},
};

/// Why somebody does not get to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobRefusal {
    NotFound,
    /// They see it, and may not act on all that it acts on.
    NotAllowed,
}

impl fmt::Display for JobRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("There is no such job."),
            Self::NotAllowed => write!(
                f,
                "It acts on queues in which you may not {}: only who may in all of them pauses, resumes, cancels or undoes it.",
                Right::Act.verb()
            ),
        }
    }
}

/// Whether somebody who sees a job may stop, resume and undo it, which acts on these queues.
///
/// # Errors
/// They may not act on all of them.
pub fn check_control(acts_on: &QueueScope, by: &Actor) -> Result<(), JobRefusal> {
    if acts_on.is_within(&by.scope(Right::Act)) { Ok(()) } else { Err(JobRefusal::NotAllowed) }
}
