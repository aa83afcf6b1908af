//! What goes on while there are faults: messages come, a consumer fails some, people act on letters.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use lapin::{
    Channel, Confirmation, Connection, ConnectionProperties,
    options::{BasicPublishOptions, ConfirmSelectOptions},
};
use serde_json::{Value, json};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        desk::PATIENCE,
        service::{persistent, text},
        worker::{Answer, Worker},
    },
    books::Published,
};
use crate::support::{
    http,
    process::{wait_for, wait_until},
    rabbit::Vhost,
};

pub const QUEUE: &str = "orders";
/// How often what heals has failed by then; dlo sends a message back as often.
pub const HEALS: u64 = 2;

/// One of ten never heals, three more do at the third try.
fn decide(body: &str, attempts: u64) -> Answer {
    match body.as_bytes().last() {
        Some(b'0') => Answer::Reject,
        Some(b'1'..=b'3') if attempts < HEALS => Answer::Reject,
        _ => Answer::Done,
    }
}

/// How often the consumer has to be given a message until it is processed or a letter.
fn rounds(body: &str) -> usize {
    let attempts = (0..HEALS).find(|attempts| decide(body, *attempts) == Answer::Done).unwrap_or(HEALS);
    1 + attempts as usize
}

pub struct Traffic<'a> {
    vhost: &'a Vhost,
    pub published: Mutex<Vec<Published>>,
    pub workers: Mutex<Vec<Worker>>,
    /// Letters that somebody has asked to discard, whether or not it came to pass.
    pub discarded: Mutex<BTreeSet<String>>,
    /// Where people find a server.
    pub servers: Mutex<Vec<String>>,
    /// What people have got done.
    pub acts: AtomicUsize,
    /// How many messages may be published by now.
    allowed: AtomicUsize,
    /// How often the broker has come back.
    comebacks: watch::Sender<usize>,
    over: CancellationToken,
}

impl<'a> Traffic<'a> {
    pub async fn begin(vhost: &'a Vhost) -> Self {
        let worker = Worker::start(vhost, QUEUE, 20, decide).await;
        Self {
            vhost,
            published: Mutex::default(),
            workers: Mutex::new(vec![worker]),
            discarded: Mutex::default(),
            servers: Mutex::default(),
            acts: AtomicUsize::default(),
            allowed: AtomicUsize::default(),
            comebacks: watch::Sender::new(0),
            over: CancellationToken::new(),
        }
    }

    pub fn allow(&self, more: usize) {
        self.allowed.fetch_add(more, Ordering::SeqCst);
    }

    /// Waits until all is published that may be, but for the last `rest`.
    pub async fn await_published(&self, rest: usize) {
        let enough = self.allowed.load(Ordering::SeqCst) - rest;
        wait_until("messages to be published", PATIENCE, async || lock(&self.published).len() >= enough).await;
    }

    /// Waits until the consumer has been given at least once whatever the broker has.
    pub async fn await_delivered(&self) {
        wait_until("messages to be delivered", PATIENCE, async || {
            let seen: BTreeSet<String> =
                lock(&self.workers).iter().flat_map(Worker::by_body).map(|(body, _)| body).collect();
            lock(&self.published).iter().filter(|message| message.confirmed).all(|message| seen.contains(&message.body))
        })
        .await;
    }

    /// The broker is back after it was killed.
    pub async fn reconnect(&self) {
        let worker = Worker::start(self.vhost, QUEUE, 20, decide).await;
        lock(&self.workers).push(worker);
        self.comebacks.send_modify(|times| *times += 1);
    }

    pub fn end(&self) {
        self.over.cancel();
    }

    /// Messages come, until it ends.
    pub async fn publish(&self) {
        let mut comebacks = self.comebacks.subscribe();
        loop {
            comebacks.mark_unchanged();
            let (_connection, channel) = self.connect().await;
            loop {
                let n = lock(&self.published).len();
                let may = async || n < self.allowed.load(Ordering::SeqCst) || self.over.is_cancelled();
                wait_until("more to be allowed", PATIENCE, may).await;
                if self.over.is_cancelled() {
                    return;
                }
                let at = Instant::now();
                let confirmed = tokio::select! {
                    confirmed = confirm(&channel, n) => confirmed,
                    _ = comebacks.changed() => false,
                };
                lock(&self.published).push(Published { rounds: rounds(&text(n)), body: text(n), at, confirmed });
                if !confirmed {
                    break;
                }
            }
        }
    }

    /// A connection of its own, since an alarm blocks those that publish. The client waits for ever for the answer of a
    /// node that is killed meanwhile.
    async fn connect(&self) -> (Connection, Channel) {
        const ATTEMPT: Duration = Duration::from_secs(10);
        let connecting = async || {
            let connection = Connection::connect(&self.vhost.amqp_url(), ConnectionProperties::default()).await.ok()?;
            let channel = connection.create_channel().await.ok()?;
            channel.confirm_select(ConfirmSelectOptions::default()).await.ok()?;
            Some((connection, channel))
        };
        wait_for("the broker to take a connection", PATIENCE, async || timeout(ATTEMPT, connecting()).await.ok()?).await
    }

    /// People act on what is open, until it ends.
    pub async fn act(&self, mut rng: fastrand::Rng) {
        let mut next = 0;
        let client = http().timeout(Duration::from_secs(5)).build().unwrap();
        while !self.over.is_cancelled() {
            let is_time = async || lock(&self.published).len() >= next || self.over.is_cancelled();
            wait_until("people to look again", PATIENCE, is_time).await;
            next = lock(&self.published).len() + rng.usize(3..15);
            let server = rng.choice(&*lock(&self.servers)).cloned();
            // A server that does not answer now is asked another time.
            if let Some(server) = server
                && self.act_once(&client, &server, &mut rng).await.is_ok()
            {
                self.acts.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    async fn act_once(&self, client: &reqwest::Client, server: &str, rng: &mut fastrand::Rng) -> reqwest::Result<()> {
        let api = format!("{server}/api/v1");
        let status = if rng.u8(..6) == 0 { "discarded" } else { "open" };
        let found: Value = client.get(format!("{api}/letters?status={status}&limit=5")).send().await?.json().await?;
        let ids: Vec<&str> =
            found["items"].as_array().into_iter().flatten().filter_map(|item| item["id"].as_str()).collect();
        let Some(id) = rng.choice(&ids) else { return Ok(()) };
        let (path, body) = match rng.u8(..4) {
            _ if status == "discarded" => (format!("letters/{id}/reopen"), json!({})),
            0 => (format!("letters/{id}/discard"), json!({})),
            1 => (format!("letters/{id}/retry"), json!({})),
            2 => ("actions".to_owned(), json!({"action": "discard", "ids": ids})),
            _ => ("actions".to_owned(), json!({"action": "retry", "filter": {"status": "open"}})),
        };
        if path.ends_with("discard") || body["action"] == "discard" {
            lock(&self.discarded).extend(ids.iter().map(|id| (*id).to_owned()));
        }
        client.post(format!("{api}/{path}")).json(&body).send().await?.error_for_status().map(drop)
    }
}

async fn confirm(channel: &Channel, n: usize) -> bool {
    let (body, options) = (text(n), BasicPublishOptions::default());
    let properties = persistent().with_message_id(body.as_str().into());
    match channel.basic_publish("".into(), QUEUE.into(), options, body.as_bytes(), properties).await {
        Ok(confirm) => confirm.await.is_ok_and(|answer| answer == Confirmation::Ack(None)),
        Err(_) => false,
    }
}

pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
