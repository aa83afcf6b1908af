//! Intake against a bare consumer: same queue, same prefetch.

use std::time::{Duration, Instant};

use dead_letter_office::domain::filter::LetterFilter;
use tokio_util::sync::CancellationToken;

use crate::{
    MESSAGES, broker,
    ledger::{self, Ledger},
    line,
    support::{postgres::Postgres, process::wait_until, rabbit::Rabbit},
};

const QUEUE: &str = "dlo.obituaries";
const PREFETCH: u16 = 1_000;

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let postgres = Postgres::durable();
    println!("\nintake of {MESSAGES} persistent messages of 1 KiB, every commit on disk before its acknowledgement");
    for (queue_type, promised) in [("classic", 0.60), ("quorum", 0.40)] {
        let vhost = rabbit.vhost();
        broker::fill(&vhost, QUEUE, queue_type, "orders").await;
        let bare = broker::bare_consumer(&vhost, QUEUE, PREFETCH).await;
        println!("{:<44} {bare:>9.0}/s", format!("bare consumer, {queue_type} queue"));
        let sqlite = Ledger::sqlite().await;
        line(&format!("into SQLite, {queue_type} queue"), intake(rabbit, queue_type, &sqlite).await, bare, promised);
        if let Some(postgres) = &postgres {
            let ledger = Ledger::postgres(postgres).await;
            let rate = intake(rabbit, queue_type, &ledger).await;
            line(&format!("into Postgres, {queue_type} queue"), rate, bare, promised);
        }
    }
}

async fn intake(rabbit: &Rabbit, queue_type: &str, ledger: &Ledger) -> f64 {
    let vhost = rabbit.vhost();
    broker::fill(&vhost, QUEUE, queue_type, "orders").await;
    let stop = CancellationToken::new();
    let begun = Instant::now();
    let worker = ledger::intake(&vhost, ledger).run(stop.clone());
    let filled = wait_until("all letters are stored", Duration::from_secs(300), async || {
        ledger.store.count(&LetterFilter::default()).await.expect("a count") >= u64::from(MESSAGES)
    });
    let measured = async {
        filled.await;
        stop.cancel();
        f64::from(MESSAGES) / begun.elapsed().as_secs_f64()
    };
    tokio::join!(worker, measured).1
}
