//! Intake against a bare consumer: same queue, same prefetch.

use std::time::{Duration, Instant};

use dead_letter_office::{
    domain::{filter::LetterFilter, letter::Importance, rule::Rule},
    services::{health::WorkerReport, intake::Intake, worker},
};
use tokio_util::sync::CancellationToken;

use crate::{
    MESSAGES, broker,
    database::{self, TestDatabase},
    line,
    support::{postgres::Postgres, process::wait_until, rabbit::Rabbit},
};

const QUEUE: &str = "dlo.obituaries";
pub const PREFETCH: u16 = 1_000;

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let postgres = Postgres::durable();
    println!("\nintake of {MESSAGES} persistent messages of 1 KiB, every commit on disk before its acknowledgement");
    for (queue_type, promised) in [("classic", 0.60), ("quorum", 0.40)] {
        let vhost = rabbit.vhost();
        broker::fill(&vhost, QUEUE, queue_type, "orders", MESSAGES).await;
        let bare = broker::bare_consumer(&vhost, QUEUE, PREFETCH, MESSAGES).await;
        println!("{:<44} {bare:>9.0}/s", format!("bare consumer, {queue_type} queue"));
        let sqlite = TestDatabase::sqlite().await;
        line(&format!("into SQLite, {queue_type} queue"), intake(rabbit, queue_type, &sqlite).await, bare, promised);
        if let Some(postgres) = &postgres {
            let database = TestDatabase::postgres(postgres).await;
            let rate = intake(rabbit, queue_type, &database).await;
            line(&format!("into Postgres, {queue_type} queue"), rate, bare, promised);
        }
    }
    println!("\nintake with 100 rules of importance and grouping beside it, against intake alone");
    let (alone, beside) = (TestDatabase::sqlite().await, TestDatabase::sqlite().await);
    beside_enrichment(rabbit, "with rules, into SQLite", &alone, &beside).await;
    if let Some(postgres) = &postgres {
        let (alone, beside) = (TestDatabase::postgres(postgres).await, TestDatabase::postgres(postgres).await);
        beside_enrichment(rabbit, "with rules, into Postgres", &alone, &beside).await;
    }
}

async fn beside_enrichment(rabbit: &Rabbit, what: &str, alone: &TestDatabase, beside: &TestDatabase) {
    const QUEUE_TYPE: &str = "classic";
    let against = intake(rabbit, QUEUE_TYPE, alone).await;
    let vhost = rabbit.vhost();
    broker::fill(&vhost, QUEUE, QUEUE_TYPE, "orders", MESSAGES).await;
    let (intake, enrichment) = database::intake_and_enrichment(&vhost, beside, &hundred_rules()).await;
    let stop = CancellationToken::new();
    let enriched = async {
        worker::run(enrichment, stop.clone(), WorkerReport::default()).await;
        let left = beside.store.not_enriched(MESSAGES).await.expect("a count").len();
        println!("  of them enriched by the end: {}", MESSAGES as usize - left);
    };
    let (rate, ()) = tokio::join!(until_stored(intake, beside, &stop), enriched);
    line(what, rate, against, 0.90);
}

/// None of them takes a letter, so that all are tried; every other looks into the payload.
pub fn hundred_rules() -> Vec<Rule> {
    let expression = |n: u32| match n % 2 {
        0 => format!("letter.queue.startsWith(\"campaigns.{n}.\") || letter.error.contains(\"Timeout {n}\")"),
        _ => format!("payload.order < 0 && payload.text.startsWith(\"{n}\")"),
    };
    let rule = |n| Rule { name: format!("rule {n}"), expression: expression(n), importance: Importance::High };
    (0..100).map(rule).collect()
}

async fn intake(rabbit: &Rabbit, queue_type: &str, database: &TestDatabase) -> f64 {
    let vhost = rabbit.vhost();
    broker::fill(&vhost, QUEUE, queue_type, "orders", MESSAGES).await;
    until_stored(database::intake(&vhost, database), database, &CancellationToken::new()).await
}

/// Messages a second until all are stored; then `stop` is told.
async fn until_stored(intake: Intake, database: &TestDatabase, stop: &CancellationToken) -> f64 {
    let begun = Instant::now();
    let worker = intake.run(stop.clone());
    let filled = wait_until("all dead letters are stored", Duration::from_secs(300), async || {
        database.store.count(&LetterFilter::default()).await.expect("a count") >= u64::from(MESSAGES)
    });
    let measured = async {
        filled.await;
        stop.cancel();
        f64::from(MESSAGES) / begun.elapsed().as_secs_f64()
    };
    tokio::join!(worker, measured).1
}
