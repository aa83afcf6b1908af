//! Publishing due retries against RabbitMQ's shovel with the same messages.

use std::time::Instant;

use amqp_message::time::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    MESSAGES, broker,
    database::{self, TestDatabase},
    letters::{ids_of_all, schedule, store_letters},
    line,
    support::{
        postgres::Postgres,
        rabbit::{Rabbit, Vhost},
    },
};

const TARGET: &str = "orders";

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let postgres = Postgres::durable();
    println!("\npublishing {MESSAGES} due retries of 1 KiB with confirms");
    for queue_type in ["classic", "quorum"] {
        let vhost = rabbit.vhost();
        broker::fill(&vhost, "dlq", queue_type, TARGET, MESSAGES).await;
        declare_target(&vhost, queue_type).await;
        let shovel = broker::shovel(&vhost, "dlq", TARGET).await;
        println!("{:<44} {shovel:>9.0}/s", format!("shovel on-confirm, {queue_type} queues"));
        drop(vhost);
        let sqlite = TestDatabase::sqlite().await;
        line(&format!("from SQLite, {queue_type} queue"), retry(rabbit, queue_type, &sqlite).await, shovel, 1.0);
        if let Some(postgres) = &postgres {
            let database = TestDatabase::postgres(postgres).await;
            let rate = retry(rabbit, queue_type, &database).await;
            line(&format!("from Postgres, {queue_type} queue"), rate, shovel, 1.0);
        }
    }
}

async fn declare_target(vhost: &Vhost, queue_type: &str) {
    vhost.declare_queue(TARGET, json!({ "x-queue-type": queue_type })).await;
}

async fn retry(rabbit: &Rabbit, queue_type: &str, database: &TestDatabase) -> f64 {
    let vhost = rabbit.vhost();
    declare_target(&vhost, queue_type).await;
    store_letters(database, MESSAGES, |_| TARGET.to_owned(), |_| None).await;
    schedule_all(database).await;
    let stop = CancellationToken::new();
    let begun = Instant::now();
    let worker = database::scheduler(&vhost, database).run(stop.clone());
    let measured = async {
        broker::filled(&vhost, TARGET).await;
        let elapsed = begun.elapsed();
        stop.cancel();
        f64::from(MESSAGES) / elapsed.as_secs_f64()
    };
    tokio::join!(worker, measured).1
}

async fn schedule_all(database: &TestDatabase) {
    for ids in ids_of_all(database, 5_000).await {
        schedule(database, &ids, Timestamp::from_micros(1)).await;
    }
}
