//! Many retries at once, some of which cannot go: each outcome belongs to its own letter.

use std::{collections::HashMap, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    domain::letter::{LetterId, Status},
};
use lapin::BasicProperties;

use super::{
    desk::{AppState, MAIN, TestDatabase, broker},
    service::{OBITUARIES, Service, confirming_channel, flood, publish, text, texts},
};
use crate::support::{
    rabbit::{Rabbit, STRICT_LIMIT},
    soak,
};

/// A returned message may ride on another one's confirm.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unroutable_ones_among_a_thousand_are_told_apart() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::postgres_or_sqlite().or_both() {
        let vhost = rabbit.vhost();
        let clock = Clock::manual(Timestamp::from_seconds(1_900_000_000));
        let server = AppState::begin(&database.url, clock, [(MAIN, broker(vhost.amqp_url()))]).await;
        server.await_work().await;
        let orders = Service::start(&vhost, "orders").await;
        let channel = confirming_channel(&vhost).await;
        flood(&channel, OBITUARIES, 0..1_000).await;
        let letters = server.await_letters(1_000).await;
        let is_lost = |n: usize| n % 7 < 3;
        let (mut lost, mut fine): (Vec<LetterId>, Vec<LetterId>) = (Vec::new(), Vec::new());
        let by_body: HashMap<Vec<u8>, LetterId> = bodies(&server).await;
        for n in 0..1_000 {
            let id = by_body[text(n).as_bytes()];
            if is_lost(n) { lost.push(id) } else { fine.push(id) }
        }
        assert_eq!((letters.len(), lost.len()), (1_000, 429));
        let due = Duration::from_secs(1);
        // Due together, so that they go in one window.
        server.schedule("no-such-queue", &lost, due).await;
        server.schedule("orders", &fine, due).await;
        server.advance(due);

        server.await_count(Status::Scheduled, 0).await;
        for letter in server.letters().await {
            let expected = if lost.contains(&letter.id) { Status::Open } else { Status::Retried };
            assert_eq!(letter.status, expected, "{:?}", letter.problem);
        }
        let mut arrived = orders.work_on(fine.len()).await;
        arrived.sort();
        let expected: Vec<String> = (0..1_000).filter(|n| !is_lost(*n)).map(text).collect();
        assert_eq!(arrived, expected);
    }
}

async fn bodies(server: &AppState) -> HashMap<Vec<u8>, LetterId> {
    let ids: Vec<LetterId> = server.letters().await.iter().map(|letter| letter.id).collect();
    let messages = server.store.messages(&ids).await.unwrap();
    messages.into_iter().map(|(id, message)| (message.body, id)).collect()
}

/// What is larger than the broker allows closes the channel, and nobody knows what became of the rest of its window.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_large_fails_alone() {
    let Some(strict) = Rabbit::strict() else { return };
    let Some(rabbit) = Rabbit::shared() else { return };
    let (database, others) = (TestDatabase::sqlite(), soak(1_100, 5_000));
    // It came in when the broker took more.
    let lenient = rabbit.vhost();
    let server = AppState::open(&database, broker(lenient.amqp_url())).await;
    let channel = confirming_channel(&lenient).await;
    publish(&channel, OBITUARIES, BasicProperties::default(), "x".repeat(STRICT_LIMIT + 1).as_bytes()).await;
    let too_large = server.await_letter().await.summary.id;
    flood(&channel, OBITUARIES, 0..others).await;
    let letters = server.await_letters(others as u64 + 1).await;
    server.close().await;

    let vhost = strict.vhost();
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let orders = Service::start(&vhost, "orders").await;
    let ids: Vec<LetterId> = letters.iter().map(|letter| letter.id).collect();
    server.retry_to("orders", &ids).await;
    server.await_count(Status::Scheduled, 0).await;
    server.await_count(Status::Retried, others as u64).await;
    let letter = server.await_status(too_large, Status::Open).await;
    assert!(letter.problem.as_deref().is_some_and(|why| why.contains("larger than")), "{:?}", letter.problem);

    let arrived = vhost.depth("orders").await as usize;
    let mut arrived = orders.work_on(arrived).await;
    arrived.sort();
    let mut times: HashMap<&String, usize> = HashMap::new();
    for body in &arrived {
        *times.entry(body).or_default() += 1;
    }
    // Those whose confirm went down with the channel are sent once more, and only these.
    assert!(times.values().all(|times| *times <= 2), "some were sent more than twice");
    assert!(arrived.len() <= others + 1_000, "{} arrived", arrived.len());
    arrived.dedup();
    assert_eq!(arrived, texts(0..others));
}
