//! What the server takes for a page at a million letters, against what it takes at ten thousand; and its memory.

use std::time::Duration;

use crate::{
    MESSAGES, broker,
    database::TestDatabase,
    full::few_and_many,
    server::{ROUNDS, Server},
    support::{process::wait_until, rabbit::Rabbit},
};

pub const FEW: u32 = 10_000;
pub const MANY: u32 = 1_000_000;

/// What is asked for, and how many times as long it may take. Those of which something is promised are filtered by
/// queue and importance, which leaves one letter in 160.
const REQUESTS: [(&str, &str, Option<f64>); 4] = [
    ("letters page", "/letters?queue_glob=service-7.*&importance=critical", Some(1.5)),
    ("API list", "/api/v1/letters?queue_glob=service-7.*&importance=critical&status=open", Some(1.5)),
    ("letters page, unfiltered", "/letters", None),
    ("overview", "/", None),
];

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    println!("\npages at {MANY} letters against {FEW}, median and p95 of {ROUNDS} requests");
    few_and_many(FEW, MANY, async |name, few, many| {
        compare(name, rabbit, few, many).await;
        if name == "SQLite" {
            memory(rabbit, many).await;
        }
    })
    .await;
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
            many.look(path).await.1 as f64 / 1_000.0,
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
    tokio::join!(broker::pour(&vhost, "dlo.obituaries", "orders", MESSAGES), taken_in);
    println!(
        "{:<44} {highest:>6.1} MB  promised 200  {}",
        format!("resident while {MESSAGES} pour in"),
        kept(highest, 200.0)
    );
}

fn kept(figure: f64, limit: f64) -> &'static str {
    if figure <= limit { "kept" } else { "MISSED" }
}
