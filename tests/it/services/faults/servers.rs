//! The real program, once or several times on one database, each with lines of its own to what it depends on.

use dead_letter_office::domain::policy::Via;

use super::super::line::{Line, Pace};
use super::{clock::ServerClock, plan::Fault};
use crate::{
    support::{rabbit::Vhost, small_disk::SmallDisk},
    web::run::{Running, dlo},
};

pub struct Server {
    running: Option<Running>,
    via: Via,
    pub broker: Line,
    /// `None`: its database is a file.
    pub database: Option<Line>,
    database_url: String,
    clock: ServerClock,
    /// What those before the one that runs said, for whoever reads why a test failed.
    said: Vec<String>,
}

impl Server {
    /// It does not run yet.
    pub async fn new(database: &str, vhost: &Vhost, via: Via, clock: ServerClock) -> Self {
        let broker = Line::to(&vhost.amqp_url()).await;
        let is_file = database.starts_with("sqlite:");
        let line = if is_file { None } else { Some(Line::to(database).await) };
        let database_url = line.as_ref().map_or_else(|| database.to_owned(), Line::url);
        Self { running: None, via, broker, database: line, database_url, clock, said: Vec::new() }
    }

    /// Waits until it listens. Its database may be on a small disk.
    pub async fn run(&mut self, disk: Option<&SmallDisk>) {
        let mut program = dlo(&["serve"])
            .set("DLO_WEB__LISTEN", "127.0.0.1:0")
            .set("DLO_DATABASE__URL", &self.database_url)
            .set("DLO_BROKERS__MAIN__URL", &self.broker.url())
            .set("DLO_BROKERS__MAIN__QUEUE_TYPE", "quorum")
            .set("DLO_INTAKE__BATCH_SIZE", "20")
            .set("DLO_RETRY__DELAYS", "100ms,300ms")
            .set("DLO_RETRY__VIA", self.via.as_str())
            .set("DLO_RETRY__JITTER", "0")
            // Longer than a clock jumps.
            .set("DLO_RETENTION__SUCCEEDED", "720h");
        for (name, value) in self.clock.environment() {
            program = program.set(name, &value);
        }
        if let Some(disk) = disk {
            program = program.within(disk);
        }
        self.running = Some(program.open().await);
    }

    pub fn url(&self) -> String {
        self.running.as_ref().map_or_else(String::new, |running| running.url.clone())
    }

    /// Waits until it takes in and sends back.
    pub async fn await_ready(&self) {
        if let Some(running) = &self.running {
            running.await_ready().await;
        }
    }

    /// Whether it says that this is wrong.
    pub async fn says(&self, condition: &str) -> bool {
        let Some(running) = &self.running else { return false };
        let found = running.json("/readyz").await;
        found["conditions"].as_array().is_some_and(|all| all.iter().any(|one| one["condition"] == condition))
    }

    /// Has it look at its clock, as it does for each answer.
    pub async fn looks_at_clock(&self) {
        if let Some(running) = &self.running {
            running.json("/readyz").await;
        }
    }

    /// How often it has noticed since it runs that its clock was put back.
    pub fn set_backs(&self) -> usize {
        let lines = self.running.as_ref().map_or_else(Vec::new, Running::lines);
        lines.iter().filter(|line| line.contains("the clock was ahead")).count()
    }

    pub fn kill(&mut self) {
        self.said.extend(self.running.take().iter().flat_map(Running::lines));
    }

    /// What runs says itself what it has said.
    pub fn tell(&self) {
        self.said.iter().for_each(|line| eprintln!("{line}"));
    }

    /// Sends SIGTERM and waits for the end. What it was: a server that does not finish within its own limit gives up, and
    /// that is as if it were killed.
    pub async fn stop(&mut self) -> Fault {
        let mut running = self.running.take().expect("the server runs");
        let status = running.stop().await;
        self.said.extend(running.lines());
        if status.success() {
            return Fault::StopServer;
        }
        let said = running.lines().join("\n");
        assert!(said.contains("workers did not finish within"), "a server ends in order:\n{said}");
        eprintln!("faults: a server did not finish in time:\n{said}");
        Fault::KillServer
    }

    pub fn set_database_pace(&self, pace: Pace) {
        if let Some(line) = &self.database {
            line.set_pace(pace);
        }
    }
}
