//! What poison messages cost: requeued in place they are a storm that nothing else gets through, rejected to dlo
//! they cost as many deliveries as the policy grants.
//!
//! `cargo test --test it storm -- --nocapture` prints the figures of `docs/guide/rabbitmq.md`.

use std::{fmt, time::Duration};

use dead_letter_office::{
    clock::Clock,
    config::QueueType,
    domain::{
        letter::Status,
        policy::{Delays, Policy, Via},
    },
};
use serde_json::{Value, json};

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, open_database, with_queues},
    service::{confirming_channel, persistent, publish_all},
    worker::{Answer, Seen, Worker},
};
use crate::support::{
    process::wait_until,
    rabbit::{Rabbit, Vhost},
};

const POISON: usize = 10;
const GOOD: usize = 200;
const PREFETCH: u16 = 10;
const RETRIES: usize = 3;
const DELAY: Duration = Duration::from_millis(200);
/// A storm that has gone on for so many deliveries would go on for ever.
const ENOUGH: usize = 3_000;
/// Where messages go that a quorum queue of RabbitMQ 4 has been given back too often.
const DROPPED: &str = "dropped";

/// What the poison cost.
struct Cost {
    /// Deliveries of messages that cannot be processed,
    poison: usize,
    /// and the time of the last of them.
    poison_until: Duration,
    /// How many good ones got through,
    good: usize,
    /// and when the last of them did.
    good_until: Duration,
}

impl Cost {
    fn of(worker: &Worker) -> Self {
        let (poison, good): (Vec<Seen>, Vec<Seen>) = worker.seen().into_iter().partition(|seen| is_poison(&seen.body));
        let time = |seen: &[Seen]| seen.last().map_or(Duration::ZERO, |last| last.at);
        Self { poison: poison.len(), poison_until: time(&poison), good: good.len(), good_until: time(&good) }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { poison, poison_until, good, good_until } = self;
        write!(f, "{poison} deliveries of poison in {poison_until:?}, {good} good ones through in {good_until:?}")
    }
}

fn is_poison(body: &str) -> bool {
    body.starts_with("poison")
}

/// A queue that somebody has already put everything into.
async fn filled_queue(vhost: &Vhost, queue_type: QueueType, mut arguments: Value) {
    arguments["x-queue-type"] = json!(queue_type.as_str());
    vhost.declare_queue("orders", arguments).await;
    let channel = confirming_channel(vhost).await;
    let bodies = (0..POISON).map(|n| format!("poison {n}")).chain((0..GOOD).map(|n| format!("good {n}")));
    publish_all(&channel, "orders", bodies.map(|body| (persistent(), body.into_bytes()))).await;
}

/// A service that gives back what it cannot process, in a world without a server.
async fn requeuing(rabbit: &Rabbit, queue_type: QueueType) -> Cost {
    let vhost = rabbit.vhost();
    // Not a queue of any server.
    vhost.declare_queue(DROPPED, json!({})).await;
    filled_queue(&vhost, queue_type, json!({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": DROPPED})).await;
    let decide = |body: &str, _| if is_poison(body) { Answer::Requeue } else { Answer::Done };
    let worker = Worker::start(&vhost, "orders", PREFETCH, decide).await;
    let is_over = async || {
        let poison = worker.count_of(|seen| is_poison(&seen.body));
        poison >= ENOUGH || vhost.depth(DROPPED).await == POISON as u32
    };
    wait_until("the storm to have been long enough", PATIENCE, is_over).await;
    Cost::of(&worker)
}

/// A service that rejects what it cannot process, and a server with a policy.
async fn rejecting(rabbit: &Rabbit, queue_type: QueueType) -> Cost {
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let policy = Policy {
        queues: Policy::EVERY_QUEUE.to_owned(),
        reason: None,
        delays: Delays::Listed(vec![DELAY; RETRIES]),
        jitter: 0.0,
        via: Via::Database,
        keep_routing_key: false,
    };
    let brokers = [(MAIN, with_queues(queue_type, &vhost))];
    let store = open_database(&database.url).await;
    let server = AppState::with_policies(store, Clock::system(), brokers, vec![policy]);
    server.await_work().await;
    filled_queue(&vhost, queue_type, json!({"x-dead-letter-exchange": "dlx"})).await;
    let decide = |body: &str, _| if is_poison(body) { Answer::Reject } else { Answer::Done };
    let worker = Worker::start(&vhost, "orders", PREFETCH, decide).await;
    server.await_count(Status::Open, POISON as u64).await;
    let all = GOOD + POISON * (1 + RETRIES);
    wait_until("the good ones to be through", PATIENCE, async || worker.count() >= all).await;
    assert_eq!(worker.count(), all);
    for letter in server.letters().await {
        assert_eq!((letter.status, letter.attempts), (Status::Open, 1 + RETRIES as u64));
    }
    assert_eq!((server.count().await, vhost.depth("orders").await), (POISON as u64, 0));
    Cost::of(&worker)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poison_costs_what_the_policy_grants() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for queue_type in [QueueType::Quorum, QueueType::Classic] {
        let (before, after) = (requeuing(rabbit, queue_type).await, rejecting(rabbit, queue_type).await);
        eprintln!("{queue_type:?}, requeued: {before}\n{queue_type:?}, rejected: {after}");
        assert_eq!((after.poison, after.good), (POISON * (1 + RETRIES), GOOD));
        assert!(before.poison > after.poison, "{before}");
        // Back at the head of the queue they are delivered again before anything else. A quorum queue may put them last.
        assert!(queue_type == QueueType::Quorum || before.good == 0, "{before}");
    }
}
