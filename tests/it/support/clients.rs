//! AMQP clients of other languages, as commands that lack only the arguments of their scripts in `tests/rig/clients`.

use std::process::Command;

use super::{find_or_skip, rig_script};

/// `None` where it may be skipped.
pub fn pika() -> Option<Command> {
    let mut command = Command::new(find_or_skip("pika")?);
    command.arg(rig_script("clients/pika_consumer.py"));
    Some(command)
}

/// `None` where it may be skipped.
pub fn amqplib() -> Option<Command> {
    let mut command = Command::new(find_or_skip("node")?);
    command.arg(rig_script("clients/amqplib_consumer.js")).env("NODE_PATH", find_or_skip("amqplib")?);
    Some(command)
}
