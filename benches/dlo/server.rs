//! A server of its own process: what it answers, how soon, and what it takes up.

use std::{
    ops::Deref,
    process::Stdio,
    time::{Duration, Instant},
};

use reqwest::{Client, Response};
use serde_json::Value;

use crate::{
    database::TestDatabase,
    support::{
        http,
        process::{self, Leash, Leashed, wait_until},
        rabbit::Vhost,
    },
};

/// Requests of each kind that are timed.
pub const ROUNDS: usize = 60;

/// A `dlo serve`, whose policies retry nothing.
pub struct Server {
    process: Leashed,
    pub visitor: Visitor,
}

impl Deref for Server {
    type Target = Visitor;

    fn deref(&self) -> &Visitor {
        &self.visitor
    }
}

/// Who asks a server.
pub struct Visitor {
    pub url: String,
    pub client: Client,
}

impl Visitor {
    fn of(url: String) -> Self {
        // What is not used is closed soon, so that it is not counted among the server's descriptors.
        let client = http().pool_idle_timeout(Duration::from_secs(1)).build().expect("a client for loopback");
        Self { url, client }
    }

    /// Asks for a page once: how many milliseconds it takes, and how many bytes it is on the wire.
    pub async fn look(&self, path: &str) -> (f64, usize) {
        let begun = Instant::now();
        let request = self.client.get(format!("{}{path}", self.url)).header("accept-encoding", "gzip");
        let answer = request.send().await.expect("an answer");
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let bytes = answer.bytes().await.expect("a body").len();
        (begun.elapsed().as_secs_f64() * 1_000.0, bytes)
    }
}

/// Milliseconds, of many requests.
pub struct Timing {
    pub median: f64,
    pub p95: f64,
    pub slowest: f64,
}

impl Timing {
    /// Of the milliseconds that each took.
    pub fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let [median, p95, slowest] = [times.len() / 2, times.len() * 95 / 100, times.len() - 1].map(|n| times[n]);
        Self { median, p95, slowest }
    }
}

impl Server {
    /// Waits until it takes in.
    pub async fn start(database: &TestDatabase, vhost: &Vhost) -> Self {
        let server = Self::open(database, vhost, &[]);
        let ready = async || server.client.get(format!("{}/readyz", server.url)).send().await;
        let is_ready = async || ready().await.is_ok_and(|answer| answer.status().is_success());
        wait_until("the broker is connected", Duration::from_secs(30), is_ready).await;
        server
    }

    /// Waits until it listens.
    pub fn open(database: &TestDatabase, vhost: &Vhost, settings: &[(&str, &str)]) -> Self {
        let mut command = process::dlo();
        command
            .arg("serve")
            .env("DLO_DATABASE__URL", &database.url)
            .env("DLO_WEB__LISTEN", "127.0.0.1:0")
            .env("DLO_BROKERS__MAIN__URL", vhost.amqp_url())
            .env("DLO_RETRY__DELAYS", "")
            .envs(settings.iter().copied())
            .stdin(Stdio::null());
        let process = Leash::on(command).spawn();
        let line = process.line_with("listening on ", Duration::from_secs(60));
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("an address").to_owned();
        Self { process, visitor: Visitor::of(url) }
    }

    /// Another one, for another runtime.
    pub fn new_visitor(&self) -> Visitor {
        Visitor::of(self.url.clone())
    }

    /// Asks for a page some times, one after the other.
    pub async fn time(&self, path: &str) -> Timing {
        let mut times = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS + 5 {
            let (milliseconds, _) = self.look(path).await;
            // The first few warm the caches of the database.
            if round >= 5 {
                times.push(milliseconds);
            }
        }
        Timing::of(times)
    }

    /// The answer to a call of the API.
    pub async fn get(&self, call: &str) -> Value {
        let url = format!("{}/api/v1/{call}", self.url);
        self.client.get(url).send().await.expect("an answer").json().await.expect("JSON")
    }

    pub async fn post(&self, call: &str, body: &Value) -> Response {
        let url = format!("{}/api/v1/{call}", self.url);
        self.client.post(url).json(body).send().await.expect("an answer")
    }

    /// How many letters the list of them counts.
    pub async fn letters(&self, filter: &str) -> u64 {
        self.get(&format!("letters?limit=1{filter}")).await["total"].as_u64().expect("a total")
    }

    pub fn resident_megabytes(&self) -> f64 {
        let status = std::fs::read_to_string(self.proc("status")).expect("it lives");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        let kilobytes: f64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
        kilobytes / 1_024.0
    }

    /// Of a core, since the start.
    pub fn processor_time(&self) -> Duration {
        /// Of a second, as Linux counts for processes.
        const TICK: Duration = Duration::from_millis(10);
        let stat = std::fs::read_to_string(self.proc("stat")).expect("it lives");
        // The name of the program, in brackets, may have spaces.
        let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
        let ticks = |n: usize| fields[n].parse::<u32>().expect("a number");
        TICK * (ticks(11) + ticks(12))
    }

    /// Files, sockets and whatever else it has open.
    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(self.proc("fd")).expect("it lives").count()
    }

    fn proc(&self, what: &str) -> String {
        format!("/proc/{}/{what}", self.process.command_pid())
    }
}
