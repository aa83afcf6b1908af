//! Many retries at once, some of which cannot go: each outcome belongs to its own letter.

use std::{collections::HashMap, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    domain::letter::{LetterId, Status},
};
use lapin::BasicProperties;

use super::{
    desk::{AppState, Ledger, MAIN, broker},
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
    for ledger in Ledger::both() {
        let vhost = rabbit.vhost();
        let clock = Clock::manual(Timestamp::from_seconds(1_900_000_000));
        let office = AppState::begin(&ledger.url, clock, [(MAIN, broker(vhost.amqp_url()))]).await;
        office.await_work().await;
        let orders = Service::start(&vhost, "orders").await;
        let channel = confirming_channel(&vhost).await;
        flood(&channel, OBITUARIES, 0..1_000).await;
        let letters = office.await_letters(1_000).await;
        let is_lost = |n: usize| n % 7 < 3;
        let (mut lost, mut fine): (Vec<LetterId>, Vec<LetterId>) = (Vec::new(), Vec::new());
        let by_body: HashMap<Vec<u8>, LetterId> = bodies(&office).await;
        for n in 0..1_000 {
            let id = by_body[text(n).as_bytes()];
            if is_lost(n) { lost.push(id) } else { fine.push(id) }
        }
        assert_eq!((letters.len(), lost.len()), (1_000, 429));
        let due = Duration::from_secs(1);
        // Due together, so that they go in one window.
        office.schedule("no-such-queue", &lost, due).await;
        office.schedule("orders", &fine, due).await;
        office.advance(due);

        office.await_count(Status::Scheduled, 0).await;
        for letter in office.letters().await {
            let expected = if lost.contains(&letter.id) { Status::Open } else { Status::Retried };
            assert_eq!(letter.status, expected, "{:?}", letter.problem);
        }
        let mut arrived = orders.work_on(fine.len()).await;
        arrived.sort();
        let expected: Vec<String> = (0..1_000).filter(|n| !is_lost(*n)).map(text).collect();
        assert_eq!(arrived, expected);
    }
}

async fn bodies(office: &AppState) -> HashMap<Vec<u8>, LetterId> {
    let ids: Vec<LetterId> = office.letters().await.iter().map(|letter| letter.id).collect();
    let messages = office.store.messages(&ids).await.unwrap();
    messages.into_iter().map(|(id, message)| (message.body, id)).collect()
}

/// What is larger than the broker allows closes the channel, and nobody knows what became of the rest of its window.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_large_fails_alone() {
    let Some(strict) = Rabbit::strict() else { return };
    let Some(rabbit) = Rabbit::shared() else { return };
    let (ledger, others) = (Ledger::sqlite(), soak(1_500, 5_000));
    // It came in when the broker took more.
    let lenient = rabbit.vhost();
    let office = AppState::open(&ledger, broker(lenient.amqp_url())).await;
    let channel = confirming_channel(&lenient).await;
    publish(&channel, OBITUARIES, BasicProperties::default(), "x".repeat(STRICT_LIMIT + 1).as_bytes()).await;
    let too_large = office.await_letter().await.summary.id;
    flood(&channel, OBITUARIES, 0..others).await;
    let letters = office.await_letters(others as u64 + 1).await;
    office.close().await;

    let vhost = strict.vhost();
    let office = AppState::open(&ledger, broker(vhost.amqp_url())).await;
    let orders = Service::start(&vhost, "orders").await;
    let ids: Vec<LetterId> = letters.iter().map(|letter| letter.id).collect();
    office.retry_to("orders", &ids).await;
    office.await_count(Status::Scheduled, 0).await;
    office.await_count(Status::Retried, others as u64).await;
    let letter = office.await_status(too_large, Status::Open).await;
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
