//! How long a request may take, and its parts.

use std::time::Duration;

use crate::crash_point;

/// What the server puts up with.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For the header of a request to arrive, and for the next one to begin.
    pub header: Duration,
    /// Between two pieces of a body.
    pub pause: Duration,
    /// For a whole body.
    pub body: Duration,
    /// In which nothing of an answer is taken.
    pub pause_of_reader: Duration,
    /// For the answer, once all of the request is there; opening a long list on a cold disk takes a fraction of it.
    pub answer: Duration,
    /// How often a request that takes longer asks whether the database is there.
    pub look: Duration,
    /// Connections at once. Their descriptors leave room for files, brokers and databases where a process may have 1,024.
    pub connections: usize,
    /// Further ones that only probes can use.
    pub reserve: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header: crash_point::patience(Duration::from_secs(30)),
            pause: crash_point::patience(Duration::from_secs(10)),
            body: crash_point::patience(Duration::from_secs(120)),
            pause_of_reader: crash_point::patience(Duration::from_secs(60)),
            answer: crash_point::patience(Duration::from_secs(30)),
            look: Duration::from_millis(500),
            connections: 512,
            reserve: 32,
        }
    }
}
