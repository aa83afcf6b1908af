//! A command of somebody.

use amqp_message::time::Timestamp;

use crate::domain::{actor::Actor, command::Command, letter::LetterId, retry_limits::RetryLimits};

/// A command with who gave it and when.
pub struct Order<'a> {
    pub ids: &'a [LetterId],
    pub command: &'a Command,
    pub by: &'a Actor,
    pub at: Timestamp,
    pub limits: &'a RetryLimits,
}
