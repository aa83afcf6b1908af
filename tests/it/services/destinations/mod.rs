//! Every way of a message to its one queue: at once or after a delay, under the queue's name or a routing key of its
//! own.

mod delays;
mod deletion;
mod keys;
mod losses;
mod rights;
mod windows;

use std::time::Duration;

use amqp_message::{death::Reason, message::Message, time::Timestamp};
use dead_letter_office::{
    clock::Clock,
    config::BrokerConfig,
    domain::{
        letter::LetterId,
        retry::{Destination, OutgoingRetry},
    },
    rabbitmq::{ConsumingSession, PublishOutcome, PublishingSession, QueueConsumer, Received, outgoing},
    services::intake::IntakeSource,
};
use failure_conventions::FailureCount;
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, broker},
    service::OBITUARIES,
};
use crate::support::rabbit::Vhost;

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_millis(1_500);
const HOUR: Duration = Duration::from_secs(3_600);

/// Any moment will do.
fn now() -> Timestamp {
    Timestamp::from_seconds(1_900_000_000)
}

fn orders() -> Destination {
    Destination::straight_to("orders")
}

/// Each way there is to the queue.
fn every_way_to(queue: &str) -> [Destination; 4] {
    let at_once = [Destination::straight_to(queue), Destination::straight_to(queue).with_key("order.placed")];
    let [straight, keyed] = at_once.clone().map(|destination| destination.after(SHORT, now()));
    let [at_once, at_once_keyed] = at_once;
    [at_once, at_once_keyed, straight, keyed]
}

/// Has the node evaluate a line of Erlang, in which `Q` is a quorum queue and `Name` its process.
fn eval(vhost: &Vhost, queue: &str, lines: &str) -> String {
    let name = vhost.name();
    let found = format!("{{ok, Q}} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"{name}\">>, queue, <<\"{queue}\">>))");
    vhost.eval(&format!("{found}, {{Name, _}} = amqqueue:get_pid(Q), {lines}"))
}

/// Somebody who sends messages back as dlo does, and whoever sends on what has waited.
struct Sender {
    config: BrokerConfig,
    session: PublishingSession,
    returns: AppState,
    database: TestDatabase,
}

impl Sender {
    async fn at(vhost: &Vhost) -> Self {
        vhost.declare_queue(OBITUARIES, json!({})).await;
        Self::known_as(broker(vhost.amqp_url())).await
    }

    /// At the virtual host and as the user of that configuration.
    async fn known_as(config: BrokerConfig) -> Self {
        let session = ConsumingSession::open(MAIN, &config).await.unwrap();
        session.declare_due_queue().await.unwrap();
        session.close().await;
        let database = TestDatabase::sqlite();
        let returns = AppState::begin(&database.url, Clock::system(), []).await;
        returns.attend(vec![IntakeSource::Due], MAIN, config.clone());
        Self { session: PublishingSession::open(MAIN, &config).await.unwrap(), config, returns, database }
    }

    async fn send(&mut self, destination: &Destination, body: &str) -> PublishOutcome {
        self.send_message(destination, &Message { body: body.into(), ..Message::default() }).await
    }

    async fn send_message(&mut self, destination: &Destination, message: &Message) -> PublishOutcome {
        self.send_together(vec![outgoing(destination, message)]).await.remove(0)
    }

    /// What needs a new delay queue is sent by another session, which takes that for an old one and waits for nothing. That it
    /// has settled only matters where the node is killed.
    async fn send_together(&mut self, window: Vec<OutgoingRetry>) -> Vec<PublishOutcome> {
        self.send_all(window, false).await
    }

    /// The same, when the queue has settled.
    async fn send_when_settled(&mut self, window: Vec<OutgoingRetry>) -> Vec<PublishOutcome> {
        self.send_all(window, true).await
    }

    async fn send_all(&mut self, window: Vec<OutgoingRetry>, mut when_settled: bool) -> Vec<PublishOutcome> {
        let mut outcomes = self.send_at_once(&window).await;
        while let Some(settled) = outcomes.iter().filter_map(settling).max() {
            if when_settled {
                sleep_until(settled).await;
            } else {
                let another = PublishingSession::open(MAIN, &self.config).await.unwrap();
                std::mem::replace(&mut self.session, another).close().await;
                when_settled = true;
            }
            let waiting: Vec<usize> = (0..window.len()).filter(|n| settling(&outcomes[*n]).is_some()).collect();
            let again: Vec<OutgoingRetry> = waiting.iter().map(|n| window[*n].clone()).collect();
            for (n, outcome) in waiting.into_iter().zip(self.send_at_once(&again).await) {
                outcomes[n] = outcome;
            }
        }
        outcomes
    }

    async fn send_at_once(&mut self, window: &[OutgoingRetry]) -> Vec<PublishOutcome> {
        self.session.lanes().next().unwrap().publish(window).await
    }

    /// The same, for what the broker has to take.
    async fn deliver(&mut self, destination: &Destination, body: &str) {
        assert_eq!(self.send(destination, body).await, PublishOutcome::Confirmed, "{destination:?}");
    }
}

fn settling(outcome: &PublishOutcome) -> Option<Instant> {
    if let PublishOutcome::Settling(settled) = outcome { Some(*settled) } else { None }
}

fn outgoing(destination: &Destination, message: &Message) -> OutgoingRetry {
    let (id, queue) = (LetterId::from_uuid(uuid::Uuid::now_v7()), &*destination.queue);
    OutgoingRetry {
        id,
        destination: destination.clone(),
        reason: Reason::Rejected,
        message: outgoing::outgoing(id, message.clone(), Some(queue), queue, FailureCount { attempts: 1, rounds: 1 }),
    }
}

fn numbered(destination: &Destination, n: usize) -> OutgoingRetry {
    outgoing(destination, &Message { body: n.to_string().into(), ..Message::default() })
}

fn why(outcome: PublishOutcome) -> String {
    match outcome {
        PublishOutcome::Failed(why) => why,
        other => panic!("it should have failed and is {other:?}"),
    }
}

/// What an obituary says went wrong.
fn error(obituary: &Message) -> String {
    failure_conventions::read(obituary).failure.error.unwrap().message.unwrap()
}

/// What comes to one of dlo's queues, as dlo gets it.
struct Taken {
    _session: ConsumingSession,
    consumer: QueueConsumer,
}

impl Taken {
    async fn from(vhost: &Vhost, queue: &str) -> Self {
        let session = ConsumingSession::open(MAIN, &broker(vhost.amqp_url())).await.unwrap();
        let consumer = session.consume(queue).await.unwrap();
        Self { _session: session, consumer }
    }

    async fn next(&mut self) -> Message {
        let received = tokio::time::timeout(PATIENCE, self.consumer.next()).await.expect("a message");
        let Ok(Received::Delivery(delivery)) = received else { panic!("no delivery: {received:?}") };
        self.consumer.acknowledger().ack_through(delivery.tag).await.unwrap();
        delivery.message
    }
}
