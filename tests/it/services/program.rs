//! The real program, `dlo serve`, to be killed and run again.

use std::{path::Path, process::Command};

use dead_letter_office::{config::QueueType, domain::policy::Via};

use super::desk::{PATIENCE, TestDatabase};
use crate::support::{
    process::{self, Leash, Leashed, wait_until},
    rabbit::Vhost,
};

/// How to run `dlo serve` on a database and a virtual host.
pub struct Program<'a> {
    pub database: &'a TestDatabase,
    pub vhost: &'a Vhost,
    pub queue_type: QueueType,
    pub retry: Retry,
    /// What it takes in together.
    pub batch_size: usize,
    /// How long the first of them waits for others.
    pub batch_wait: &'static str,
}

/// Where messages wait for their retries, and how long before each.
#[derive(Clone, Copy)]
pub struct Retry {
    pub via: Via,
    pub delays: &'static str,
}

impl Retry {
    pub const NEVER: Self = Self { via: Via::Database, delays: "" };
}

impl<'a> Program<'a> {
    /// Retries nothing by itself.
    pub fn new(database: &'a TestDatabase, vhost: &'a Vhost, queue_type: QueueType) -> Self {
        Self { database, vhost, queue_type, retry: Retry::NEVER, batch_size: 500, batch_wait: "5ms" }
    }

    fn command(&self) -> Command {
        let mut command = process::dlo();
        command
            .args(["serve", "--roles", "intake,retry"])
            .current_dir(Path::new(env!("CARGO_TARGET_TMPDIR")))
            .env("DLO_DATABASE__URL", &self.database.url)
            .env("DLO_BROKERS__MAIN__URL", self.vhost.amqp_url())
            .env("DLO_BROKERS__MAIN__QUEUE_TYPE", self.queue_type.as_str())
            .env("DLO_INTAKE__BATCH_SIZE", self.batch_size.to_string())
            .env("DLO_INTAKE__BATCH_WAIT", self.batch_wait)
            .env("DLO_RETRY__DELAYS", self.retry.delays)
            .env("DLO_RETRY__VIA", self.retry.via.as_str())
            .env("DLO_RETRY__JITTER", "0");
        command
    }

    pub fn run(&self) -> Leashed {
        Leash::on(self.command()).spawn()
    }

    /// Runs it until it dies at the `nth` time it comes to that place.
    pub async fn die_at(&self, place: &str, nth: usize) {
        let status = self.run_to(place, nth).exited(PATIENCE).await;
        assert!(!status.success(), "it did not die at {place}");
    }

    /// Runs it; it will die there.
    pub fn run_to(&self, place: &str, nth: usize) -> Leashed {
        let mut command = self.command();
        command.env("DLO_TEST_CRASH_AT", format!("{place}:{nth}"));
        Leash::on(command).spawn()
    }

    /// Runs it until the database is as expected, and closes it in order.
    pub async fn finish(&self, what: &str, is_done: impl AsyncFnMut() -> bool) {
        let mut program = self.run();
        wait_until(what, PATIENCE, is_done).await;
        // Before it listens for signals, one would just kill it.
        program.line_with("consuming dead letters", PATIENCE);
        program.terminate();
        assert!(program.exited(PATIENCE).await.success());
    }
}
