//! A command of somebody.

use amqp_message::time::Timestamp;
use failure_conventions::inner_body::InnerBodies;

use crate::domain::{actor::Actor, command::Command, letter::LetterId};

/// A command with who gave it and when.
pub struct Order<'a> {
    pub ids: &'a [LetterId],
    pub command: &'a Command,
    pub by: &'a Actor,
    pub at: Timestamp,
    /// They settle some of the dangers for which letters are not retried.
    pub bodies: &'a InnerBodies,
}
