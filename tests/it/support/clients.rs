//! AMQP clients of other languages, as commands that lack only the arguments of their scripts in `tests/rig/clients`,
//! and the runner of `tests/frameworks`.

use std::process::Command;

use super::{find_or_skip, rabbit::Rabbit, rig_script};

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

/// The runner with a few frameworks, against the program `dlo`; `None` where it may be skipped.
pub fn few_frameworks(rabbit: &Rabbit, dlo: &str) -> Option<Command> {
    // Its Python has both, or the frameworks are not found.
    let mut command = Command::new(find_or_skip("celery")?);
    find_or_skip("few-frameworks")?;
    command.arg(rig_script("../frameworks/run.py")).args(["--few", "--jobs", "2", "--dlo", dlo]);
    command.args(["--amqp", &rabbit.amqp_url(), "--management", rabbit.management_url()]);
    Some(command)
}
