//! What searches take at a million letters that are in the index, against what they take at ten thousand; and the index.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    database::TestDatabase,
    full::few_and_many,
    pages::{FEW, MANY},
    server::Server,
    support::{process::wait_until, rabbit::Rabbit},
};

/// Milliseconds at p95, and how many times as long as at few letters.
const MILLISECONDS: f64 = 50.0;
const RATIO: f64 = 2.0;

/// A letter in 10,000 has a rare word, one in 124 a common one.
const SEARCHES: [(&str, &str); 8] = [
    ("rare word", "/letters?q=4711"),
    ("rare word, API", "/api/v1/letters?q=4711"),
    ("common word", "/letters?q=StockError17"),
    ("common word of some queues", "/letters?q=StockError17+queue:service-1*"),
    ("without a common word", "/letters?q=-StockError17"),
    ("payload comparison that few pass", "/letters?q=payload.order:>9990"),
    ("payload comparison that half pass", "/letters?q=payload.order:>5000"),
    ("no search, beside a saved one", "/letters"),
];

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    println!("\nsearches at {MANY} letters against {FEW}");
    few_and_many(FEW, MANY, async |name, few, many| compare(name, rabbit, few, many).await).await;
}

async fn compare(database: &str, rabbit: &Rabbit, few: &TestDatabase, many: &TestDatabase) {
    let vhost = rabbit.vhost();
    let at_few = Server::start(few, &vhost).await;
    indexed(few, FEW).await;
    let (begun, before) = (Instant::now(), bytes(many).await);
    let at_many = Server::start(many, &vhost).await;
    indexed(many, MANY).await;
    let rate = f64::from(MANY) / begun.elapsed().as_secs_f64();
    let size = (bytes(many).await - before) / i64::from(MANY);
    println!("{:<44} {rate:>9.0}/s; {size} bytes a letter", format!("put into the index, {database}"));
    for server in [&at_few, &at_many] {
        let view = json!({"name": "half", "query": "q=payload.order:>5000", "shared": true});
        let saved = server.post("views", &view).await;
        assert!(saved.status().is_success(), "{}", saved.text().await.expect("a body"));
    }
    for (what, path) in SEARCHES {
        let (of_few, of_many) = (at_few.time(path).await, at_many.time(path).await);
        let ratio = of_many.median / of_few.median;
        let verdict = if ratio <= RATIO && of_many.p95 <= MILLISECONDS { "kept" } else { "MISSED" };
        println!(
            "{:<44} {:>6.2} ms (p95 {:.2}, promised {MILLISECONDS:.0}) ratio {ratio:>5.2} promised {RATIO:.2}  {verdict}",
            format!("{what}, {database}"),
            of_many.median,
            of_many.p95,
        );
    }
}

/// Waits until so many letters are in the index.
async fn indexed(database: &TestDatabase, letters: u32) {
    const COUNT: &str = "SELECT count(*) FROM search_index";
    let are_there = async || database.number(COUNT, COUNT).await >= i64::from(letters);
    wait_until("all letters are in the index", Duration::from_secs(3_000), are_there).await;
}

/// What the database takes up.
async fn bytes(database: &TestDatabase) -> i64 {
    const SQLITE: &str = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
    database.number(SQLITE, "SELECT pg_database_size(current_database())").await
}
