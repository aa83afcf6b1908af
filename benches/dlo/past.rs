//! What pages take with tens of thousands of queues in the past, against as many letters of a few queues.

use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    clock::Clock,
    domain::{actor::Actor, command::Command},
    store::Order,
};

use crate::{
    database::TestDatabase,
    letters::{ids_of_all, store_letters},
    server::Server,
    support::{postgres::Postgres, rabbit::Rabbit},
};

/// Letters that were discarded, each of a queue of its own or of one of a few.
const PAST: u32 = 50_000;
const FEW: u32 = 10;
/// Open letters, of a few queues.
const OPEN: u32 = 2_000;
/// How long a page may take, and how many times as long as with few queues.
const MILLISECONDS: f64 = 50.0;
const RATIO: f64 = 1.5;

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    println!("\npages with {PAST} queues in the past against {FEW}, of as many letters");
    compare("SQLite", rabbit, [TestDatabase::sqlite().await, TestDatabase::sqlite().await]).await;
    if let Some(server) = Postgres::durable() {
        let databases = [TestDatabase::postgres(&server).await, TestDatabase::postgres(&server).await];
        compare("Postgres", rabbit, databases).await;
    }
}

async fn compare(database: &str, rabbit: &Rabbit, [few, many]: [TestDatabase; 2]) {
    fill(&few, FEW).await;
    fill(&many, PAST).await;
    let vhost = rabbit.vhost();
    let (few, many) = (Server::start(&few, &vhost).await, Server::start(&many, &vhost).await);
    for path in ["/letters", "/", "/groups"] {
        let (at_few, at_many) = (few.time(path).await, many.time(path).await);
        let ratio = at_many.median / at_few.median;
        let verdict = if ratio <= RATIO && at_many.p95 <= MILLISECONDS { "kept" } else { "MISSED" };
        println!(
            "{:<44} {:>6.2} ms (p95 {:.2}, promised {MILLISECONDS:.0}) ratio {ratio:>5.2} promised {RATIO:.2}  {verdict}",
            format!("{path}, {database}"),
            at_many.median,
            at_many.p95,
        );
    }
}

async fn fill(database: &TestDatabase, queues: u32) {
    store_letters(database, PAST, |n| format!("temporary-{}", n % queues), |_| None).await;
    let (command, by, bodies) = (Command::Discard { note: None }, Actor::local(), RetryLimits::default());
    for ids in ids_of_all(database, 5_000).await {
        let order =
            Order { ids: &ids, command: &command, by: &by, at: Clock::system().now(), limits: &bodies, edits: None };
        database.store.act(&order).await.expect("they are discarded");
    }
    store_letters(database, OPEN, |n| format!("orders-{}", n % FEW), |_| None).await;
}
