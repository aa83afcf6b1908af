//! What a server takes up: memory, descriptors, disk.

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use crate::{database::TestDatabase, server::Server};

const OFTEN: Duration = Duration::from_millis(250);

/// At first, and the most of it since.
pub struct Footprint {
    /// Megabytes of memory.
    first: f64,
    pub highest: f64,
    pub descriptors: usize,
    most_descriptors: usize,
    /// Bytes on disk.
    disk: u64,
    /// Of what SQLite writes beside its file.
    highest_log: u64,
}

pub fn megabytes(megabytes: f64) -> String {
    format!("{megabytes:.0} MB")
}

impl Footprint {
    pub async fn of(server: &Server, database: &TestDatabase) -> Self {
        let (memory, descriptors) = (server.resident_megabytes(), server.descriptors());
        Self {
            first: memory,
            highest: memory,
            descriptors,
            most_descriptors: descriptors,
            disk: size(database).await,
            highest_log: log_size(database),
        }
    }

    pub async fn watch(&mut self, server: &Server, database: &TestDatabase, done: &CancellationToken) {
        let mut looks = interval(OFTEN);
        while done.run_until_cancelled(looks.tick()).await.is_some() {
            self.highest = self.highest.max(server.resident_megabytes());
            self.most_descriptors = self.most_descriptors.max(server.descriptors());
            self.highest_log = self.highest_log.max(log_size(database));
        }
    }

    /// Prints it, now that so many letters have come in.
    pub async fn told(&self, server: &Server, database: &TestDatabase, letters: u32) {
        let (now, size) = (megabytes(server.resident_megabytes()), size(database).await);
        println!("  memory {} at first, {} at most, {now} at the end", megabytes(self.first), megabytes(self.highest));
        println!(
            "  descriptors {} at first, {} at most, {} at the end",
            self.descriptors,
            self.most_descriptors,
            server.descriptors()
        );
        println!(
            "  disk {} at first, {} at the end, {} bytes for each dead letter; the write-ahead log of SQLite {} at most",
            megabytes(self.disk as f64 / 1e6),
            megabytes(size as f64 / 1e6),
            size.saturating_sub(self.disk) / u64::from(letters),
            megabytes(self.highest_log as f64 / 1e6),
        );
    }
}

async fn size(database: &TestDatabase) -> u64 {
    if let Some(file) = file(database) {
        return length(file);
    }
    let mut connection = PgConnection::connect(&database.url).await.expect("a connection");
    let size = sqlx::query_scalar("SELECT pg_database_size(current_database())").fetch_one(&mut connection).await;
    size.map(i64::unsigned_abs).expect("a size")
}

fn log_size(database: &TestDatabase) -> u64 {
    file(database).map_or(0, |file| length(&format!("{file}-wal")))
}

fn file(database: &TestDatabase) -> Option<&str> {
    database.url.strip_prefix("sqlite://")
}

fn length(file: &str) -> u64 {
    std::fs::metadata(file).map_or(0, |found| found.len())
}
