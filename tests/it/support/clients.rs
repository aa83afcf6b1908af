//! AMQP clients of other languages, as commands that lack only the arguments of their scripts in `tests/rig/clients`,
//! and the runner of `tests/frameworks`.

use std::process::Command;

use super::{
    ServerFacts, find_or_skip,
    process::{Leash, Leashed},
    rabbit::Rabbit,
    rig_script,
};

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

/// An OpenID provider that signs people in to dlo at one address; whoever is `ada` is in the group `dlo-admins`, `otto` in
/// `on-call`, `vera` in `staff`. It ends when dropped.
pub struct OidcProvider {
    pub issuer: String,
    _process: Leashed,
}

impl OidcProvider {
    /// `None` where it may be skipped.
    pub fn start(dlo: &str) -> Option<Self> {
        find_or_skip("node")?;
        find_or_skip("oidc-provider")?;
        let mut script = Command::new(rig_script("oidc.sh"));
        script.args(["serve", dlo]);
        let process = Leash::on(script).spawn();
        let issuer = ServerFacts::await_from(&process).require("ISSUER").to_owned();
        Some(Self { issuer, _process: process })
    }
}
