//! Intake as users meet it: dead letters wait in the queue when the server starts, it enriches them too, and somebody
//! looks at the list meanwhile. Against a bare consumer of the same messages, in turn with it.

use std::time::{Duration, Instant};

use dead_letter_office::domain::filter::LetterFilter;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{
    broker,
    database::{self, TestDatabase},
    intake::{PREFETCH, hundred_rules},
    line,
    server::{Server, Timing},
    support::{
        postgres::Postgres,
        process::wait_until,
        rabbit::{Rabbit, Vhost},
    },
};

const MESSAGES: u32 = 60_000;
const QUEUE: &str = "dlo.dead-letters";
/// How often the list is asked for.
const LOOKS: Duration = Duration::from_millis(100);
/// Of which the median counts: what else the machine does comes and goes.
const TURNS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(300);

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let postgres = Postgres::durable();
    println!("\nintake of {MESSAGES} that wait when the server starts, 100 rules, the list asked for every {LOOKS:?}");
    for (queue_type, promised) in [("classic", 0.65), ("quorum", 0.45)] {
        let (mut bare, mut sqlite_rates, mut postgres_rates) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            bare.push(bare_consumer(rabbit, queue_type).await);
            sqlite_rates.push(intake(rabbit, queue_type, TestDatabase::sqlite().await).await);
            if let Some(postgres) = &postgres {
                postgres_rates.push(intake(rabbit, queue_type, TestDatabase::postgres(postgres).await).await);
            }
        }
        println!("{:<44} {:>9.0}/s", format!("bare consumer, {queue_type} queue"), median(&bare));
        for (name, rates) in [("SQLite", sqlite_rates), ("Postgres", postgres_rates)] {
            if !rates.is_empty() {
                line(&format!("into {name}, {queue_type} queue"), median(&rates), median(&bare), promised);
            }
        }
    }
}

fn median(rates: &[f64]) -> f64 {
    Timing::of(rates.to_vec()).median
}

async fn filled(rabbit: &Rabbit, queue_type: &str) -> Vhost {
    let vhost = rabbit.vhost();
    broker::fill(&vhost, QUEUE, queue_type, "orders", MESSAGES).await;
    vhost
}

async fn bare_consumer(rabbit: &Rabbit, queue_type: &str) -> f64 {
    let vhost = filled(rabbit, queue_type).await;
    let rate = broker::bare_consumer(&vhost, QUEUE, PREFETCH, MESSAGES).await;
    println!("  {rate:.0}/s, the bare consumer");
    rate
}

/// Messages a second until all are stored, counted from when the server listens.
async fn intake(rabbit: &Rabbit, queue_type: &str, database: TestDatabase) -> f64 {
    database::set_rules(&database, &hundred_rules()).await;
    let vhost = filled(rabbit, queue_type).await;
    let server = Server::open(&database, &vhost, &[]);
    let (begun, done) = (Instant::now(), CancellationToken::new());
    let stored = async {
        let is_stored = async || database.store.count(&LetterFilter::default()).await.expect("a count");
        wait_until("all are stored", PATIENCE, async || is_stored().await >= u64::from(MESSAGES)).await;
        done.cancel();
        f64::from(MESSAGES) / begun.elapsed().as_secs_f64()
    };
    let (rate, looks) = tokio::join!(stored, look_again_and_again(&server, &done));
    let left = database.store.not_enriched(MESSAGES).await.expect("a count").len();
    let all_are = async || database.store.not_enriched(1).await.expect("a count").is_empty();
    wait_until("all are enriched", PATIENCE, all_are).await;
    println!(
        "  {rate:.0}/s, of them enriched by then {}, the last after {:.1} s; the list in {:.1} ms (p95 {:.1})",
        MESSAGES as usize - left,
        begun.elapsed().as_secs_f64(),
        looks.median,
        looks.p95,
    );
    drop(server);
    assert_eq!(vhost.depth(QUEUE).await, 0, "all are acknowledged");
    rate
}

async fn look_again_and_again(server: &Server, done: &CancellationToken) -> Timing {
    let mut looks = interval(LOOKS);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut times = Vec::new();
    while done.run_until_cancelled(looks.tick()).await.is_some() {
        times.push(server.look("/letters").await.0);
    }
    Timing::of(times)
}
