//! Whoever may write to the dead-letter exchange says which queue a message failed in. dlo, which may write anywhere, does
//! not send it where it is not allowed.

use std::{collections::BTreeSet, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    config::QueueType,
    domain::{
        command::Command,
        edit::Edit,
        letter::Status,
        policy::{Delays, Policy, Via},
        retry::Destination,
        retry_limits::{RetryLimits, Targets},
    },
    rabbitmq::names,
};
use lapin::{
    BasicProperties,
    options::BasicGetOptions,
    types::{AMQPValue, FieldTable, LongString},
};
use serde_json::json;

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, open_database, with_queues},
    service::{DEAD_LETTERS, OBITUARIES, Service, confirming_channel, publish},
};
use crate::support::{
    delay_queues,
    process::{wait_for, wait_until},
    rabbit::{Rabbit, Vhost},
};

fn limits(targets: &[&str]) -> RetryLimits {
    let targets = targets.iter().map(|target| (*target).to_owned()).collect();
    RetryLimits { targets: Targets::new(targets, BTreeSet::from(["graves".to_owned()])), ..RetryLimits::default() }
}

const HOUR: Duration = Duration::from_secs(3_600);

async fn server(
    database: &TestDatabase,
    vhost: &Vhost,
    clock: Clock,
    via: Via,
    delay: Duration,
    targets: &[&str],
) -> AppState {
    let policy = Policy {
        queues: Policy::EVERY_QUEUE.to_owned(),
        reason: None,
        delays: Delays::Listed(vec![delay]),
        jitter: 0.0,
        via,
        keep_routing_key: false,
    };
    let brokers = [(MAIN, with_queues(QueueType::Classic, vhost))];
    let store = open_database(&database.url).await;
    let server = AppState::with_limits(store, clock, brokers, vec![policy], limits(targets));
    server.await_work().await;
    server
}

/// A message that says by such a header that it failed in `queue`.
fn said(header: &str, queue: &str) -> BasicProperties {
    let mut headers = FieldTable::default();
    headers.insert(header.into(), AMQPValue::LongString(LongString::from(queue)));
    if header == "dlo-queue" {
        headers.insert("dlo-reason".into(), AMQPValue::LongString(LongString::from("rejected")));
    }
    BasicProperties::default().with_headers(headers)
}

fn to(queue: Option<&str>) -> Command {
    Command::Retry { delay: Duration::ZERO, queue: queue.map(str::to_owned) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_is_not_allowed_gets_nothing() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for (via, database) in TestDatabase::spread([Via::Broker, Via::Database]) {
        let vhost = rabbit.vhost();
        let server = server(&database, &vhost, Clock::system(), via, Duration::from_millis(1), &["orders*"]).await;
        let [orders, payments] = [Service::start(&vhost, "orders").await, Service::start(&vhost, "payments").await];
        vhost.declare_queue("graves", json!({})).await;
        let channel = confirming_channel(&vhost).await;
        for (n, (into, header, queue, part)) in [
            (DEAD_LETTERS, "x-first-death-queue", "payments", "retry.targets"),
            (OBITUARIES, "dlo-queue", "payments", "retry.targets"),
            (DEAD_LETTERS, "x-first-death-queue", "dlo.due", "dlo's own"),
            (DEAD_LETTERS, "x-first-death-queue", "amq.rabbitmq.reply-to.abc", "dlo's own"),
            (OBITUARIES, "dlo-queue", "graves", "dlo's own"),
        ]
        .into_iter()
        .enumerate()
        {
            publish(&channel, into, said(header, queue), format!("{n}").as_bytes()).await;
            let letters = server.await_letters(n as u64 + 1).await;
            let id = letters.iter().map(|letter| letter.id).max().unwrap();
            let summary = server.letter(id).await.summary;
            assert_eq!((summary.queue.as_deref(), summary.status), (Some(queue), Status::Open), "{via:?}: {header}");
            let remarks = server.letter(id).await.remarks;
            assert!(remarks.iter().any(|remark| remark.contains(part)), "{via:?}: {queue}: {remarks:?}");
            for target in [None, Some("payments"), Some("dlo.obituaries"), Some("graves")] {
                let report = server.act(id, to(target)).await;
                assert_eq!((report.done.len(), report.refused.len()), (0, 1), "{via:?}: {target:?}");
                let edited = server.edit(id, &Edit::of_body("other"), target).await;
                assert!(edited.is_err(), "{via:?}: {target:?}: {edited:?}");
            }
        }
        let id = server.letters().await.iter().map(|letter| letter.id).max().unwrap();
        server.retry_to("orders", &[id]).await;
        assert_eq!(orders.work().await.data, b"4");
        assert!(!payments.is_waiting().await, "{via:?}");
    }
}

/// What waits already when the configuration changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_queue_is_not_sent_there_once_it_is_not_allowed() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for via in [Via::Database, Via::Broker] {
        let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
        let payments = Service::start(&vhost, "payments").await;
        let clock = Clock::manual(Timestamp::from_seconds(1_900_000_000));
        let before = server(&database, &vhost, clock.clone(), via, HOUR, &["*"]).await;
        delay_queues::declare(vhost.amqp_url(), "payments", [HOUR], clock.now()).await;
        payments.fail("body").await;
        let waiting = names::delay_queue(&Destination::straight_to("payments").after(HOUR, clock.now())).unwrap();
        match via {
            Via::Database => before.await_count(Status::Scheduled, 1).await,
            Via::Broker => {
                let waits = async || delay_queues::messages_in(&vhost, &waiting).await == 1;
                wait_until("the message to wait", PATIENCE, waits).await;
            }
        }
        before.close().await;
        if via == Via::Broker {
            // So much for the hour.
            let channel = confirming_channel(&vhost).await;
            let options = BasicGetOptions { no_ack: true };
            // The first of them is empty: it was to prove that the queue takes messages.
            let get = async || {
                let message = channel.basic_get(waiting.as_str().into(), options).await.unwrap();
                message.filter(|message| !message.data.is_empty())
            };
            let message = wait_for("the message that waits", PATIENCE, get).await;
            publish(&channel, "dlo.due", message.properties.clone(), &message.data).await;
        }
        clock.advance(2 * HOUR);
        let after = server(&database, &vhost, clock, via, HOUR, &["orders"]).await;
        after.await_count(Status::Open, 1).await;
        let letter = after.letters().await.remove(0);
        let shown = format!("{:?} {:?}", letter.problem, letter.error_message);
        assert!(shown.contains("retry.targets"), "{via:?}: {shown}");
        assert!(!payments.is_waiting().await, "{via:?}");
    }
}
