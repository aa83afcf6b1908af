//! A service at work: a consumer that answers each delivery, and a record of what it was given.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use lapin::{
    message::Delivery,
    options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions, BasicRejectOptions},
    types::FieldTable,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::support::rabbit::Vhost;

/// What a consumer does with a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Reject,
    /// Back into the queue, where it came from.
    Requeue,
}

/// One delivery, and when it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub body: String,
    /// What dlo's header says; 0 without one.
    pub attempts: u64,
    pub answer: Answer,
    pub at: Duration,
}

/// It works until it is dropped or its channel is lost.
pub struct Worker {
    /// What the times of deliveries are counted from.
    pub began: Instant,
    seen: Arc<Mutex<Vec<Seen>>>,
    _open: DropGuard,
}

impl Worker {
    /// Consumes `queue`; `decide` is asked with the body and how often the message has failed before.
    pub async fn start(
        vhost: &Vhost,
        queue: &str,
        prefetch: u16,
        decide: impl Fn(&str, u64) -> Answer + Send + 'static,
    ) -> Self {
        let channel = vhost.channel().await;
        channel.basic_qos(prefetch, BasicQosOptions::default()).await.unwrap();
        let options = BasicConsumeOptions::default();
        let mut consumer =
            channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await.unwrap();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (record, begin) = (Arc::clone(&seen), Instant::now());
        let working = async move {
            // Held, for a channel that is dropped is closed.
            let _channel = channel;
            while let Some(Ok(delivery)) = consumer.next().await {
                let (body, attempts) = (String::from_utf8_lossy(&delivery.data).into_owned(), attempts(&delivery));
                let answer = decide(&body, attempts);
                lock(&record).push(Seen { body, attempts, answer, at: begin.elapsed() });
                // What a lost channel does not get is delivered again.
                if give(&delivery, answer).await.is_err() {
                    return;
                }
            }
        };
        let open = CancellationToken::new();
        TaskTracker::new().spawn(open.clone().run_until_cancelled_owned(working));
        Self { began: begin, seen, _open: open.drop_guard() }
    }

    /// Everything it was given, in order.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.seen).clone()
    }

    pub fn count(&self) -> usize {
        lock(&self.seen).len()
    }

    /// How many deliveries are of that kind.
    pub fn count_of(&self, is_of: impl Fn(&Seen) -> bool) -> usize {
        lock(&self.seen).iter().filter(|seen| is_of(seen)).count()
    }

    /// The bodies of what it has done.
    pub fn done(&self) -> BTreeSet<String> {
        let seen = lock(&self.seen);
        seen.iter().filter(|seen| seen.answer == Answer::Done).map(|seen| seen.body.clone()).collect()
    }

    /// How often each message was delivered.
    #[cfg_attr(not(feature = "crash-points"), expect(dead_code, reason = "only tests that end the process need it"))]
    pub fn by_body(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for seen in &*lock(&self.seen) {
            *counts.entry(seen.body.clone()).or_default() += 1;
        }
        counts
    }

    /// Deliveries by how often the message had failed before.
    #[cfg_attr(not(feature = "crash-points"), expect(dead_code, reason = "only tests that end the process need it"))]
    pub fn by_attempts(&self) -> BTreeMap<u64, usize> {
        let mut counts = BTreeMap::new();
        for seen in &*lock(&self.seen) {
            *counts.entry(seen.attempts).or_default() += 1;
        }
        counts
    }
}

fn lock(seen: &Mutex<Vec<Seen>>) -> MutexGuard<'_, Vec<Seen>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn give(delivery: &Delivery, answer: Answer) -> lapin::Result<()> {
    let acker = &delivery.acker;
    match answer {
        Answer::Done => acker.ack(BasicAckOptions::default()).await.map(drop),
        Answer::Reject => acker.reject(BasicRejectOptions { requeue: false }).await.map(drop),
        Answer::Requeue => acker.reject(BasicRejectOptions { requeue: true }).await.map(drop),
    }
}

/// A string, or it is not there at all.
fn attempts(delivery: &Delivery) -> u64 {
    let headers = delivery.properties.headers().as_ref();
    let Some(value) = headers.and_then(|headers| headers.inner().get("dlo-attempts")) else { return 0 };
    value.as_long_string().expect("a string").to_string().parse().expect("a number")
}
