//! What searches take at a million letters that are in the index, against what they take at ten thousand; and the index.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    database::TestDatabase,
    full::{Planted, few_and_many, plant},
    pages::{FEW, MANY},
    server::Server,
    setting,
    support::{process::wait_until, rabbit::Rabbit},
};

/// Milliseconds at p95, and how many times as long as at few letters.
const MILLISECONDS: f64 = 50.0;
const RATIO: f64 = 2.0;

/// Letters that say otherwise what they failed with, and letters with another payload: as many among few as among many, so
/// that what grows is what is searched and not what is found.
const RARE: u32 = 50;
const COMMON: u32 = 5_000;
const LARGE: u32 = 500;

/// The first five find as many among few as among many; the next four find 100 times as many among 100 times as many.
const SEARCHES: [(&str, &str); 10] = [
    ("rare word", "/letters?q=beacon"),
    ("rare word, API", "/api/v1/letters?q=beacon"),
    ("common word", "/letters?q=lantern"),
    ("common word of some queues", "/letters?q=lantern+queue:service-1*"),
    ("payload comparison that few pass", "/letters?q=payload.order:>100000"),
    ("word of one letter in 124", "/letters?q=StockError16"),
    ("without it", "/letters?q=-StockError16"),
    ("payload comparison that one in 20 passes", "/letters?q=payload.order:>9500"),
    ("payload comparison that half pass", "/letters?q=payload.order:>5000"),
    ("no search, beside a saved one", "/letters"),
];

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let letters = setting("DLO_TEST_SEARCH_LETTERS", MANY);
    println!("\nsearches at {letters} letters against {FEW}");
    let compare = async |name, few: &_, many: &_| compare(name, rabbit, (few, FEW), (many, letters)).await;
    few_and_many(FEW, letters, compare).await;
}

async fn compare(database: &str, rabbit: &Rabbit, few: (&TestDatabase, u32), many: (&TestDatabase, u32)) {
    let vhost = rabbit.vhost();
    for (database, letters) in [few, many] {
        plant(database, COMMON, letters, Planted::Error("the lantern is out")).await;
        plant(database, RARE, letters, Planted::Error("the beacon is out")).await;
        plant(database, LARGE, letters, Planted::Payload("{\"order\":1000000}")).await;
    }
    let at_few = Server::start(few.0, &vhost).await;
    indexed(few.0, few.1).await;
    let (begun, before) = (Instant::now(), bytes(many.0).await);
    let at_many = Server::start(many.0, &vhost).await;
    indexed(many.0, many.1).await;
    let rate = f64::from(many.1) / begun.elapsed().as_secs_f64();
    let size = (bytes(many.0).await - before) / i64::from(many.1);
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
    // To count all of them again and again takes a good part of a core.
    const COUNT: &str = "SELECT CASE WHEN EXISTS (SELECT 1 FROM search_backlog) THEN 0
        ELSE (SELECT count(*) FROM search_index) END";
    let are_there = async || database.number(COUNT, COUNT).await >= i64::from(letters);
    wait_until("all letters are in the index", Duration::from_secs(6_000), are_there).await;
}

/// What the database takes up.
async fn bytes(database: &TestDatabase) -> i64 {
    const SQLITE: &str = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
    database.number(SQLITE, "SELECT pg_database_size(current_database())").await
}
