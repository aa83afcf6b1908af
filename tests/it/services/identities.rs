//! Copies that a service publishes with the id of the message, and with another body each time.

use std::{collections::BTreeSet, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    domain::{letter::Status, policy::Via},
};
use lapin::{
    BasicProperties, Channel,
    options::{BasicAckOptions, BasicRejectOptions},
    types::{AMQPValue, FieldTable, LongString},
};

use super::{
    desk::{AppState, PATIENCE, TestDatabase},
    returns::{RETRIES, everywhere, server, server_with},
    service::{Service, confirming_channel, publish, publish_to},
};
use crate::support::{
    process::wait_until,
    rabbit::{Rabbit, Vhost},
};

const UUID: &str = "6f1c2f1e-4a0b-4a63-9d6b-0f4f6a1c7e55";
/// One id on every message of a kind.
const CONSTANT: &str = "order-created";
/// Longer than any test.
const DELAY: Duration = Duration::from_secs(3_600);

/// How a service fails.
#[derive(Clone, Copy, Debug)]
enum Fails {
    /// It publishes a copy to the dead letters, with its error.
    HandsOver,
    /// It publishes a copy to its own queue, and rejects that one.
    RejectsACopy,
}

struct Copying<'a> {
    orders: Service<'a>,
    channel: Channel,
}

impl Copying<'_> {
    async fn start(vhost: &Vhost) -> Self {
        Self { orders: Service::start(vhost, "orders").await, channel: confirming_channel(vhost).await }
    }

    /// Takes the next message and fails; of its headers none is left.
    async fn fail(&self, how: Fails, id: &str, body: Option<&str>) {
        let message = self.orders.next().await;
        let body = body.map_or(&*message.data, str::as_bytes);
        match how {
            Fails::HandsOver => self.hand_over(id, body).await,
            Fails::RejectsACopy => publish(&self.channel, "orders", with_id(id), body).await,
        }
        message.ack(BasicAckOptions::default()).await.unwrap();
        if let Fails::RejectsACopy = how {
            self.orders.reject().await;
        }
    }

    /// Dies before it can acknowledge.
    async fn die(&self, id: &str, body: &str) {
        let message = self.orders.next().await;
        self.hand_over(id, body.as_bytes()).await;
        message.reject(BasicRejectOptions { requeue: true }).await.unwrap();
    }

    async fn hand_over(&self, id: &str, body: &[u8]) {
        publish_to(&self.channel, "dlx", "orders", with_error(id), body).await;
    }
}

fn with_id(id: &str) -> BasicProperties {
    BasicProperties::default().with_message_id(id.into())
}

fn with_error(id: &str) -> BasicProperties {
    let mut headers = FieldTable::default();
    for (name, value) in [
        ("x-exception-message", "no rate"),
        ("x-exception-stacktrace", "NoRate: no rate"),
        ("x-original-exchange", ""),
        ("x-original-routingKey", "orders"),
    ] {
        headers.insert(name.into(), AMQPValue::LongString(LongString::from(value)));
    }
    with_id(id).with_headers(headers)
}

fn body(order: usize, tries: usize) -> String {
    format!(r#"{{"order":{order},"total":12.5,"tries":{tries}}}"#)
}

/// Whether all that went back by itself has failed again, as the page says.
pub(super) async fn none_has_succeeded(server: &AppState) -> bool {
    let counts = server.store.retry_counts(Timestamp::default()).await.unwrap();
    let failed = |n| counts.iter().filter(|count| count.failures == n).map(|count| count.failed).sum::<u64>();
    !counts.is_empty() && counts.iter().all(|count| count.retried <= failed(count.failures + 1))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_with_its_id_and_another_body_is_the_letter_it_was() {
    everywhere(async |vhost, database, via| {
        let (server, copying) = (server(&database, &vhost, via).await, Copying::start(&vhost).await);
        for (n, (how, id)) in [(Fails::HandsOver, UUID), (Fails::RejectsACopy, "m-17")].into_iter().enumerate() {
            copying.orders.receive(with_id(id), body(n, 0).as_bytes()).await;
            let mut calls = 0;
            while server.count_of(Status::Open).await <= n as u64 {
                if copying.orders.is_waiting().await {
                    calls += 1;
                    assert!(calls <= RETRIES + 1, "{via}, {how:?}: retried too often");
                    copying.fail(how, id, Some(&body(n, calls))).await;
                }
            }
            assert_eq!((calls, server.count().await), (RETRIES + 1, n as u64 + 1), "{via}, {how:?}");
        }
        let attempts: Vec<u64> = server.letters().await.iter().map(|letter| letter.attempts).collect();
        assert_eq!(attempts, [RETRIES as u64 + 1; 2], "{via}");
        assert_eq!(server.bodies().await, [body(0, RETRIES + 1), body(1, RETRIES + 1)], "{via}: as it failed last");
        wait_until("all retries to have failed", PATIENCE, async || none_has_succeeded(&server).await).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_id_on_every_message_tells_nothing() {
    const MESSAGES: usize = 4;
    everywhere(async |vhost, database, via| {
        let (server, copying) = (server(&database, &vhost, via).await, Copying::start(&vhost).await);
        for order in 0..MESSAGES {
            copying.orders.receive(with_id(CONSTANT), body(order, 0).as_bytes()).await;
        }
        let mut calls = 0;
        while server.count_of(Status::Open).await < MESSAGES as u64 {
            if copying.orders.is_waiting().await {
                calls += 1;
                copying.fail(Fails::HandsOver, CONSTANT, None).await;
            }
            assert!(calls <= MESSAGES * (RETRIES + 1), "{via}: retried too often");
        }
        let letters = server.letters().await;
        let attempts: Vec<u64> = letters.iter().map(|letter| letter.attempts).collect();
        assert_eq!(attempts, [RETRIES as u64 + 1; MESSAGES], "{via}");
        let bodies: BTreeSet<String> = server.bodies().await.into_iter().collect();
        assert_eq!(bodies, (0..MESSAGES).map(|order| body(order, 0)).collect(), "{via}");
        assert!(!server.metrics.encode().contains("dlo_retry_stops_total{"), "{via}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_that_several_messages_had_at_once_tells_nothing() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for (database, id) in TestDatabase::both().zip([UUID, "m-17"]) {
        let (vhost, clock) = (rabbit.vhost(), Clock::manual(Clock::system().now()));
        let server = server_with(&database, &vhost, Via::Database, clock, DELAY).await;
        let orders = Service::start(&vhost, "orders").await;
        let fail = async |order: usize| {
            orders.receive(with_id(id), body(order, 0).as_bytes()).await;
            orders.reject().await;
        };
        // None of these can be a copy of another: none has been sent back yet.
        for order in 0..4 {
            fail(order).await;
        }
        server.await_count(Status::Scheduled, 4).await;
        // They came in one after the other, and so are due.
        server.advance(2 * DELAY);
        for _ in 0..4 {
            orders.work().await;
        }
        server.await_count(Status::Retried, 4).await;
        fail(4).await;
        server.await_count(Status::Scheduled, 1).await;
        let letters = server.letters().await;
        let attempts: Vec<u64> = letters.iter().map(|letter| letter.attempts).collect();
        assert_eq!(attempts, [1; 5], "{id}: {letters:?}");
    }
}

/// A consumer that dies between publishing its copy and the acknowledgement leaves two, of which nobody can tell that they
/// are one message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_had_an_id_at_once_are_not_retried_for_ever() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for (database, (id, copies)) in TestDatabase::both().zip([("m-17", 2), (UUID, 3)]) {
        let (vhost, clock) = (rabbit.vhost(), Clock::manual(Clock::system().now()));
        let server = server_with(&database, &vhost, Via::Database, clock, DELAY).await;
        let copying = Copying::start(&vhost).await;
        copying.orders.receive(with_id(id), body(0, 0).as_bytes()).await;
        let mut n = 0;
        while n < copies - 1 {
            n += 1;
            copying.die(id, &body(0, n)).await;
        }
        copying.fail(Fails::HandsOver, id, Some(&body(0, n + 1))).await;
        server.await_count(Status::Scheduled, copies as u64).await;
        let mut retries = 0;
        while server.count_of(Status::Scheduled).await > 0 {
            let letters = server.letters().await;
            let sent = || letters.iter().filter(|letter| letter.status == Status::Scheduled).map(|letter| letter.id);
            let (due, there) = (sent().count(), server.count().await);
            server.advance(DELAY + Duration::from_secs(1));
            for failed in 1..=due {
                retries += 1;
                assert!(retries <= copies * RETRIES, "{id}: retried too often");
                copying.fail(Fails::HandsOver, id, Some(&body(0, n + 1 + retries))).await;
                server.await_letters(there + failed as u64).await;
            }
            // What has failed again may be here before it is marked as sent.
            for id in sent() {
                let is_marked = async || server.letter(id).await.summary.status != Status::Scheduled;
                wait_until("its retry to be marked", PATIENCE, is_marked).await;
            }
        }
        assert_eq!(server.count_of(Status::Open).await, copies as u64, "{id}");
        assert!(server.metrics.encode().contains("dlo_retry_stops_total{"), "{id}");
        wait_until("all retries to have failed", PATIENCE, async || none_has_succeeded(&server).await).await;
    }
}

/// Letters that were never sent back say so as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_under_the_same_id_is_another_message() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let (vhost, clock) = (rabbit.vhost(), Clock::manual(Clock::system().now()));
        let server = server_with(&database, &vhost, Via::Database, clock, DELAY).await;
        let orders = Service::start(&vhost, "orders").await;
        let fail = async |order: usize| {
            orders.receive(with_id("customer-17"), body(order, 0).as_bytes()).await;
            orders.reject().await;
        };
        fail(0).await;
        server.await_count(Status::Scheduled, 1).await;
        fail(1).await;
        server.await_count(Status::Scheduled, 2).await;
        let first = server.letters().await.remove(0);
        server.retry(&[first.id]).await;
        orders.work().await;
        server.await_status(first.id, Status::Retried).await;
        fail(2).await;
        server.await_letters(3).await;
        assert_eq!(server.letter(first.id).await.summary.status, Status::Retried);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_count_under_an_id_that_is_not_known_is_remarked() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let vhost = rabbit.vhost();
        let server = server(&database, &vhost, Via::Database).await;
        let orders = Service::start(&vhost, "orders").await;
        let mut headers = FieldTable::default();
        for (name, value) in [("dlo-id", UUID), ("dlo-queue", "orders"), ("dlo-attempts", "40"), ("dlo-rounds", "40")] {
            headers.insert(name.into(), AMQPValue::LongString(LongString::from(value)));
        }
        orders.receive(BasicProperties::default().with_headers(headers), body(0, 0).as_bytes()).await;
        orders.reject().await;
        let letter = server.await_letter().await;
        assert_eq!((letter.summary.status, letter.summary.attempts), (Status::Open, 41));
        let is_said = |remark: &String| remark.contains("sent back 40 times") && remark.contains(UUID);
        assert!(letter.remarks.iter().any(is_said), "{:?}", letter.remarks);
    }
}
