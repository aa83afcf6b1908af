//! Queues that are not there, or not any more.

use std::time::Duration;

use dead_letter_office::{
    broker::{ConsumingSession, PublishOutcome, Received},
    domain::{death::Reason, message::Message},
    failure, own_names,
};
use serde_json::json;

use super::{HOUR, LONG, SHORT, Sender, every_way_to, now, numbered, orders, outgoing, why};
use crate::{
    office::{
        desk::{MAIN, PATIENCE, broker},
        service::{OBITUARIES, Service},
    },
    support::{
        process::wait_until,
        rabbit::{Options, Rabbit},
    },
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_does_not_exist_fails_alone() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    for (missing, there) in every_way_to("no-such-queue").iter().zip(every_way_to("orders")) {
        let message = Message::default();
        let window = [missing, &there, missing].map(|destination| outgoing(destination, &message));
        let mut outcomes = sender.send_together(window.into()).await.into_iter();
        assert!(why(outcomes.next().unwrap()).starts_with("there is no queue no-such-queue"), "{missing:?}");
        assert_eq!(outcomes.next(), Some(PublishOutcome::Confirmed));
        assert!(why(outcomes.next().unwrap()).starts_with("there is no queue no-such-queue"), "{missing:?}");
        service.work().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_without_a_name_is_none() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    vhost.declare_queue("orders", json!({})).await;
    let mut sender = Sender::at(&vhost).await;
    sender.deliver(&orders().after(HOUR, now()), "body").await;
    for nowhere in every_way_to("") {
        assert!(why(sender.send(&nowhere, "body").await).starts_with("there is no queue"), "{nowhere:?}");
    }
    assert_eq!([vhost.depth("orders").await, vhost.depth(OBITUARIES).await], [0, 0]);
}

/// Another queue of the same name has no binding of the one before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_declared_again_is_found_again() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    for destination in every_way_to("orders") {
        for body in ["one", "another"] {
            let service = Service::start(&vhost, "orders").await;
            sender.deliver(&destination, body).await;
            assert_eq!(service.work().await.data, body.as_bytes());
            vhost.delete_queue("orders").await;
            if destination.wait.is_none() {
                assert!(why(sender.send(&destination, "lost").await).starts_with("there is no queue orders"));
            }
        }
    }
    assert_eq!(vhost.depth(OBITUARIES).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_finds_its_target_gone_becomes_an_obituary() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    for destination in [orders(), orders().with_key("order.placed")] {
        vhost.declare_queue("orders", json!({})).await;
        sender.deliver(&destination.after(LONG, now()), "body").await;
        vhost.delete_queue("orders").await;
        vhost.await_depth(OBITUARIES, 1).await;

        let session = ConsumingSession::open(MAIN, &broker(vhost.amqp_url())).await.unwrap();
        let mut obituaries = session.consume(OBITUARIES).await.unwrap();
        let received = tokio::time::timeout(PATIENCE, obituaries.next()).await.unwrap().unwrap();
        let Received::Delivery(delivery) = received else { panic!("no delivery") };
        let failure = failure::read(&delivery.message).failure;
        assert_eq!((failure.queue.as_deref(), failure.reason), (Some("orders"), Reason::Unknown));
        assert_eq!(failure.attempts, 1);
        obituaries.acknowledger().ack_through(delivery.tag).await.unwrap();
        session.close().await;
        vhost.await_depth(OBITUARIES, 0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delay_queue_deleted_by_somebody_is_declared_again() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    for destination in [orders(), orders().with_key("order.placed")] {
        let destination = destination.after(SHORT, now());
        sender.deliver(&destination, "before").await;
        service.work().await;
        vhost.delete_queue(&own_names::delay_queue(&destination).unwrap()).await;
        let window = (0..50).map(|n| numbered(&destination, n)).collect();
        assert_eq!(sender.send_together(window).await, vec![PublishOutcome::Confirmed; 50]);
        for n in 0..50 {
            assert_eq!(service.work().await.data, n.to_string().as_bytes());
        }
    }
}

/// What cannot be declared as it should be is told, and takes nothing else with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_of_somebody_else_with_our_name_fails_alone() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    let waiting = orders().after(HOUR, now());
    vhost.declare_queue(&own_names::delay_queue(&waiting).unwrap(), json!({})).await;
    assert!(why(sender.send(&waiting, "body").await).contains("PRECONDITION_FAILED"));
    let too_long = orders().after(Duration::MAX, now());
    assert!(why(sender.send(&too_long, "body").await).contains("x-message-ttl"));
    sender.deliver(&orders(), "body").await;
    service.work().await;
}

/// The broker reads nothing of a connection that has published during an alarm, declarations included.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alarm_only_delays() {
    let Some(mut rabbit) = Rabbit::private(Options::default()) else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    rabbit.memory_alarm(true);
    let standing = sender.session.standing();
    let sending = async {
        sender.deliver(&orders(), "at once").await;
        sender.deliver(&orders().after(SHORT, now()), "later").await;
    };
    let ending_the_alarm = async {
        wait_until("the alarm to be noticed", PATIENCE, async || standing.is_blocked()).await;
        rabbit.memory_alarm(false);
    };
    tokio::join!(sending, ending_the_alarm);
    assert_eq!(service.work().await.data, b"at once");
    assert_eq!(service.work().await.data, b"later");
}
