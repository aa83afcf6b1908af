//! What waits for its retry while the broker dies.

use std::{collections::BTreeSet, time::Duration};

use dead_letter_office::{
    clock::Clock,
    config::QueueType,
    domain::{
        letter::Status,
        policy::{Delays, Policy, Via},
        retry::Destination,
    },
    rabbitmq::names,
};

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, open_database, with_queues},
    service::{DEAD_LETTERS, Service, confirming_channel, flood, texts},
    worker::{Answer, Worker},
};
use crate::support::{
    delay_queues,
    process::wait_until,
    rabbit::{Rabbit, Vhost},
    soak,
};

/// Longer than it takes until all wait, and over when the broker is back.
const DELAY: Duration = Duration::from_secs(10);

/// A queue of its own for each place to wait in.
fn policy(via: Via) -> Policy {
    Policy {
        queues: via.as_str().to_owned(),
        reason: None,
        delays: Delays::Listed(vec![DELAY]),
        jitter: 0.0,
        via,
        keep_routing_key: false,
    }
}

/// Fails each message once.
async fn worker(vhost: &Vhost, via: Via) -> Worker {
    let decide = |_: &str, attempts| if attempts == 0 { Answer::Reject } else { Answer::Done };
    Worker::start(vhost, via.as_str(), 100, decide).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_killed_with_messages_waiting_loses_none() {
    let Some(mut doomed) = Rabbit::doomed().await else { return };
    let (database, messages) = (TestDatabase::sqlite(), soak(150, 1_000));
    let vhost = doomed.vhost();
    // RabbitMQ 3.10 loses queues that are only just declared when it is killed, so all are there before one settles.
    let brokers = [(MAIN, with_queues(QueueType::Classic, &vhost))];
    let policies = vec![policy(Via::Database), policy(Via::Broker)];
    let server = AppState::with_policies(open_database(&database.url).await, Clock::system(), brokers, policies);
    server.await_work().await;
    for via in [Via::Database, Via::Broker] {
        Service::start(&vhost, via.as_str()).await;
    }
    delay_queues::settle(vhost.amqp_url(), Via::Broker.as_str(), [DELAY], server.clock.now()).await;
    for via in [Via::Database, Via::Broker] {
        flood(&confirming_channel(&vhost).await, via.as_str(), 0..messages).await;
    }
    let (by_database, by_broker) = (worker(&vhost, Via::Database).await, worker(&vhost, Via::Broker).await);
    wait_until("all to have failed", PATIENCE, async || {
        by_database.count() >= messages && by_broker.count() >= messages && vhost.depth(DEAD_LETTERS).await == 0
    })
    .await;
    let waiting = Destination::straight_to(Via::Broker.as_str()).after(DELAY, server.clock.now());
    let delay_queue = names::delay_queue(&waiting).unwrap();
    // On a slow machine some may have come back before the last one waits.
    let back = |worker: &Worker| worker.count_of(|seen| seen.attempts > 0);
    wait_until("all to wait", PATIENCE, async || {
        let in_database = server.count_of(Status::Scheduled).await as usize + back(&by_database);
        let in_broker = delay_queues::messages_in(&vhost, &delay_queue).await + back(&by_broker);
        in_database >= messages && in_broker >= messages
    })
    .await;

    doomed.kill();
    doomed.start().await;
    for (via, before) in [(Via::Database, by_database), (Via::Broker, by_broker)] {
        let worker = worker(&vhost, via).await;
        let done = || -> BTreeSet<String> { before.done().union(&worker.done()).cloned().collect() };
        wait_until("all to be done", PATIENCE, async || done().len() == messages).await;
        assert!(done().into_iter().eq(texts(0..messages)), "{via}");
    }
    server.await_count(Status::Scheduled, 0).await;
}
