//! Waiting in the broker.

use std::{collections::HashSet, time::Instant};

use amqp_message::{
    death::Reason,
    message::{Message, Properties},
};
use dead_letter_office::{
    domain::{
        letter::LetterId,
        retry::{Destination, OutgoingRetry},
    },
    rabbitmq::{PublishOutcome, names},
};
use failure_conventions::dlo_queues;
use serde_json::json;
use tokio::task::block_in_place;

use super::{HOUR, LONG, SHORT, Sender, Taken, eval, now, numbered, orders, outgoing};
use crate::{
    services::{
        desk::PATIENCE,
        service::{DEAD_LETTERS, OBITUARIES, Service},
    },
    support::{
        delay_queues,
        process::{wait_to_see, wait_until},
        rabbit::{Rabbit, Vhost},
    },
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_message_waits_as_long_as_it_should() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    for (long, short) in [(orders(), orders()), (orders().with_key("long"), orders().with_key("short"))] {
        let hour = long.clone().after(HOUR, now());
        let sends = [(long.after(LONG, now()), "long"), (short.after(SHORT, now()), "short")];
        // A queue that is new takes its time.
        for (destination, body) in &sends {
            sender.deliver(destination, body).await;
            service.work().await;
        }
        // What waits for an hour holds up nothing.
        sender.deliver(&hour, "an hour").await;
        for ((destination, body), delay) in sends.iter().zip([LONG, SHORT]) {
            let begin = Instant::now();
            sender.deliver(destination, body).await;
            assert_eq!(service.work().await.data, body.as_bytes());
            let waited = begin.elapsed();
            assert!(waited >= delay, "{body}: {waited:?}");
        }
    }
}

/// The broker has had the window before the new queue has settled, or there would be nothing that settles.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_delay_queue_holds_up_nothing_else() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    sender.deliver(&orders().after(SHORT, now()), "before").await;
    service.work().await;
    let new = orders().after(LONG, now());
    let window = [numbered(&new, 0), numbered(&orders().after(SHORT, now()), 1), numbered(&orders(), 2)];
    let outcomes = sender.send_at_once(&window).await;
    assert!(matches!(outcomes[0], PublishOutcome::Settling(_)), "{:?}", outcomes[0]);
    assert_eq!(outcomes[1..], [PublishOutcome::Confirmed, PublishOutcome::Confirmed]);
    assert_eq!(service.work().await.data, b"2");
    assert_eq!(service.work().await.data, b"1");
    assert_eq!(vhost.depth(&names::delay_queue(&new).unwrap()).await, 0);
    assert_eq!(sender.send_when_settled(window[..1].to_vec()).await, [PublishOutcome::Confirmed]);
    assert_eq!(service.work().await.data, b"0");
}

/// A queue whose node was killed seconds after the queue was declared answers nothing for a minute, or refuses at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delay_queue_that_takes_nothing_holds_up_nothing() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let (silent, refusing) = (orders().after(HOUR, now()), orders().after(2 * HOUR, now()));
    let mut before = Sender::at(&vhost).await;
    let window = [&silent, &refusing].map(|destination| numbered(destination, 0));
    assert_eq!(before.send_together(window.into()).await, vec![PublishOutcome::Confirmed; 2]);
    eval(&vhost, &names::delay_queue(&silent).unwrap(), "sys:suspend(Name)");
    eval(&vhost, &names::delay_queue(&refusing).unwrap(), "ra:stop_server(quorum_queues, {Name, node()})");
    let mut sender = Sender::at(&vhost).await;
    let going_on = async {
        for _ in 0..2 {
            let outcomes =
                sender.send_at_once(&[numbered(&silent, 0), numbered(&refusing, 1), numbered(&orders(), 2)]).await;
            let all_settle = matches!(outcomes[..2], [PublishOutcome::Settling(_), PublishOutcome::Settling(_)]);
            assert!(all_settle, "{outcomes:?}");
            assert_eq!(outcomes[2], PublishOutcome::Confirmed);
            assert_eq!(service.work().await.data, b"2");
        }
    };
    // Who has used it before finds out by waiting, and cannot know whether it has arrived.
    let finding_out = async {
        assert_eq!(before.send(&silent, "meanwhile").await, PublishOutcome::Unknown);
    };
    tokio::join!(going_on, finding_out);
    eval(&vhost, &names::delay_queue(&silent).unwrap(), "sys:resume(Name)");
    // Its answer is taken, however late it is.
    let after = [numbered(&silent, 3)];
    let is_taken = async || sender.send_at_once(&after).await == [PublishOutcome::Confirmed];
    wait_until("the queue to be used again", PATIENCE, is_taken).await;
}

/// Waits until each of them has come to the queue. Some may come twice: they were on their way when the broker went.
async fn await_each(vhost: &Vhost, queue: &str, window: &[OutgoingRetry]) {
    let delay_queue = names::delay_queue(&window[0].destination).unwrap();
    let begun = Instant::now();
    let arrived = async || {
        if vhost.depth(queue).await as usize >= window.len() {
            return Ok(());
        }
        let mut seen = Vec::new();
        for queue in [queue, &*delay_queue, dlo_queues::DUE, OBITUARIES] {
            seen.push((queue.to_owned(), vhost.depth(queue).await.to_string()));
        }
        // It takes a second to ask, and tells what is lost from what RabbitMQ keeps.
        if begun.elapsed() > PATIENCE / 2 {
            for (queue, kept) in [(&*delay_queue, "messages, messages_dlx"), (dlo_queues::DUE, "messages, consumers")] {
                let keeps = block_in_place(|| eval(vhost, queue, &format!("rabbit_amqqueue:info(Q, [{kept}])")));
                seen.push((format!("{queue} keeps"), keeps));
            }
        }
        Err(seen)
    };
    wait_to_see("all to arrive", PATIENCE, arrived).await;
    let mut missing: HashSet<LetterId> = window.iter().map(|retry| retry.id).collect();
    let mut taken = Taken::from(vhost, queue).await;
    while !missing.is_empty() {
        missing.remove(&LetterId::from_headers(&taken.next().await.headers).unwrap());
    }
}

/// `Message::default()` says nothing of whether it should outlive a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_outlives_a_crash_of_the_broker() {
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    let vhost = rabbit.vhost();
    vhost.declare_queue("orders", json!({})).await;
    let mut sender = Sender::at(&vhost).await;
    let mut window = Vec::new();
    for destination in [orders(), orders().with_key("order.placed")] {
        for delivery_mode in [None, Some(1), Some(2)] {
            let properties = Properties { delivery_mode, ..Properties::default() };
            let message = Message { properties, ..Message::default() };
            window.push(outgoing(&destination.clone().after(3 * LONG, now()), &message));
        }
    }
    assert_eq!(sender.send_when_settled(window.clone()).await, vec![PublishOutcome::Confirmed; 6]);
    rabbit.kill();
    rabbit.start().await;
    await_each(&vhost, "orders", &window).await;
    assert_eq!(vhost.depth(OBITUARIES).await, 0);
}

/// When a node has started, its quorum queues have no leader for a moment. What comes due before it has stopped is in its queue by
/// then, where only what is persistent outlives that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_due_while_the_broker_is_down_arrives_when_it_is_up() {
    const EACH: usize = 50;
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    const QUEUES: [&str; 2] = ["classic", "quorum"];
    for queue_type in QUEUES {
        vhost.declare_queue(queue_type, json!({ "x-queue-type": queue_type })).await;
        delay_queues::settle(vhost.amqp_url(), queue_type, [3 * LONG], now()).await;
    }
    let properties = Properties { delivery_mode: Some(2), ..Properties::default() };
    let persistent = Message { properties, ..Message::default() };
    let mut windows = Vec::new();
    for queue in QUEUES {
        let destination = Destination::straight_to(queue).after(3 * LONG, now());
        let window: Vec<OutgoingRetry> = (0..EACH).map(|_| outgoing(&destination, &persistent)).collect();
        assert_eq!(sender.send_together(window.clone()).await, vec![PublishOutcome::Confirmed; EACH]);
        windows.push((queue, window));
    }
    let due = Instant::now() + 3 * LONG;
    rabbit.stop().await;
    wait_until("all to be due", PATIENCE, async || Instant::now() > due).await;
    rabbit.start().await;
    for (target, window) in windows {
        await_each(&vhost, target, &window).await;
    }
}

/// RabbitMQ up to 3.12 drops a message that it takes to go in a circle without ever being rejected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_expires_again_and_again_goes_round_again_and_again() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    let mut dead_letters = Taken::from(&vhost, DEAD_LETTERS).await;
    let service = Service::start_with(&vhost, "orders", json!({"x-message-ttl": 1})).await;
    for destination in [orders(), orders().with_key("order.placed")] {
        service.receive(lapin::BasicProperties::default(), b"body").await;
        for _ in 0..4 {
            let dead = dead_letters.next().await;
            let failure = failure_conventions::read(&dead).failure;
            assert_eq!((failure.queue.as_deref(), failure.reason), (Some("orders"), Reason::Expired));
            let retry = outgoing(&destination.clone().after(SHORT / 10, now()), &dead);
            assert_eq!(sender.send_together(vec![retry]).await, [PublishOutcome::Confirmed]);
        }
        assert_eq!(dead_letters.next().await.body, b"body");
    }
}
