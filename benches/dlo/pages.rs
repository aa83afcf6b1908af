//! What the server takes for a page at a million letters, against what it takes at ten thousand; and its memory.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use reqwest::Client;

use crate::{
    MESSAGES, broker,
    database::TestDatabase,
    full::fill,
    support::{
        http,
        postgres::Postgres,
        process::{Leash, Leashed, wait_until},
        rabbit::{Rabbit, Vhost},
    },
};

pub const FEW: u32 = 10_000;
pub const MANY: u32 = 1_000_000;
/// Requests of each kind that are timed.
const ROUNDS: usize = 60;

/// What is asked for, and how many times as long it may take. Those of which something is promised are filtered by
/// queue and importance, which leaves one letter in 160.
const REQUESTS: [(&str, &str, Option<f64>); 4] = [
    ("letters page", "/letters?queue=service-7.*&importance=critical", Some(1.5)),
    ("API list", "/api/v1/letters?queue=service-7.*&importance=critical&status=open", Some(1.5)),
    ("letters page, unfiltered", "/letters", None),
    ("overview", "/", None),
];

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    println!("\npages at {MANY} letters against {FEW}, median and p95 of {ROUNDS} requests");
    let few = fill(TestDatabase::sqlite().await, FEW).await;
    let many = fill(TestDatabase::sqlite().await, MANY).await;
    compare("SQLite", rabbit, &few, &many).await;
    memory(rabbit, &many).await;
    drop((few, many));
    if let Some(postgres) = Postgres::durable() {
        let few = fill(TestDatabase::postgres(&postgres).await, FEW).await;
        let many = fill(TestDatabase::postgres(&postgres).await, MANY).await;
        compare("Postgres", rabbit, &few, &many).await;
    }
}

async fn compare(database: &str, rabbit: &Rabbit, few: &TestDatabase, many: &TestDatabase) {
    let vhost = rabbit.vhost();
    let (few, many) = (Server::start(few, &vhost).await, Server::start(many, &vhost).await);
    for (what, path, promised) in REQUESTS {
        let (at_few, at_many) = (few.time(path).await, many.time(path).await);
        let ratio = at_many.median / at_few.median;
        let verdict = promised.map_or(String::new(), |promised| {
            format!("  promised {promised:.2}  {}", if ratio <= promised { "kept" } else { "MISSED" })
        });
        println!(
            "{:<44} {:>6.2} ms (p95 {:.2}) ratio {ratio:>5.2}{verdict}; {:.1} kB on the wire",
            format!("{what}, {database}"),
            at_many.median,
            at_many.p95,
            at_many.kilobytes,
        );
    }
}

async fn memory(rabbit: &Rabbit, many: &TestDatabase) {
    let vhost = rabbit.vhost();
    let server = Server::start(many, &vhost).await;
    server.time("/letters").await;
    let rest = server.resident_megabytes();
    println!("{:<44} {rest:>6.1} MB  promised 60  {}", format!("resident at rest, {MANY} letters"), kept(rest, 60.0));
    let mut highest: f64 = 0.0;
    let taken_in = wait_until("all messages are taken in", Duration::from_secs(300), async || {
        highest = highest.max(server.resident_megabytes());
        server.letters("").await >= u64::from(MANY + MESSAGES)
    });
    tokio::join!(broker::pour(&vhost, "dlo.obituaries", "orders"), taken_in);
    println!(
        "{:<44} {highest:>6.1} MB  promised 200  {}",
        format!("resident while {MESSAGES} pour in"),
        kept(highest, 200.0)
    );
}

fn kept(figure: f64, limit: f64) -> &'static str {
    if figure <= limit { "kept" } else { "MISSED" }
}

/// A `dlo serve` of its own process.
pub struct Server {
    process: Leashed,
    url: String,
    client: Client,
}

pub struct Timing {
    /// Milliseconds.
    pub median: f64,
    pub p95: f64,
    kilobytes: f64,
}

impl Server {
    pub async fn start(database: &TestDatabase, vhost: &Vhost) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dlo"));
        command
            .arg("serve")
            .env("DLO_DATABASE__URL", &database.url)
            .env("DLO_WEB__LISTEN", "127.0.0.1:0")
            .env("DLO_BROKERS__MAIN__URL", vhost.amqp_url())
            .env("DLO_RETRY__DELAYS", "")
            .stdin(Stdio::null());
        let process = Leash::on(command).spawn();
        let line = process.line_with("listening on ", Duration::from_secs(60));
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("an address").to_owned();
        let client = http().build().expect("a client for loopback");
        let server = Self { process, url, client };
        wait_until("the broker is connected", Duration::from_secs(30), async || {
            server
                .client
                .get(format!("{}/readyz", server.url))
                .send()
                .await
                .is_ok_and(|answer| answer.status().is_success())
        })
        .await;
        server
    }

    pub async fn time(&self, path: &str) -> Timing {
        let mut times = Vec::with_capacity(ROUNDS);
        let mut bytes = 0;
        for round in 0..ROUNDS + 5 {
            let begun = Instant::now();
            let request = self.client.get(format!("{}{path}", self.url)).header("accept-encoding", "gzip");
            let answer = request.send().await.expect("an answer");
            assert!(answer.status().is_success(), "{path}: {}", answer.status());
            bytes = answer.bytes().await.expect("a body").len();
            // The first few warm the caches of the database.
            if round >= 5 {
                times.push(begun.elapsed().as_secs_f64() * 1_000.0);
            }
        }
        times.sort_by(f64::total_cmp);
        Timing { median: times[ROUNDS / 2], p95: times[ROUNDS * 95 / 100], kilobytes: bytes as f64 / 1_000.0 }
    }

    /// The answer to a call of the API.
    pub async fn get(&self, call: &str) -> serde_json::Value {
        let url = format!("{}/api/v1/{call}", self.url);
        self.client.get(url).send().await.expect("an answer").json().await.expect("JSON")
    }

    /// How many letters the list of them counts.
    pub async fn letters(&self, filter: &str) -> u64 {
        self.get(&format!("letters?limit=1{filter}")).await["total"].as_u64().expect("a total")
    }

    fn resident_megabytes(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.command_pid())).expect("it lives");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        let kilobytes: f64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
        kilobytes / 1_024.0
    }
}
