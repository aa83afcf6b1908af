//! Deleting delay queues that nobody needs any more.

use std::{sync::Arc, time::Duration};

use amqp_message::{message::Message, time::Timestamp};
use dead_letter_office::{
    clock::Clock,
    domain::{delay_queue::EmptyQueues, retry::Destination},
    rabbitmq::{DelayQueueState, PublishOutcome, PublishingSession, names},
    services::{intake::IntakeSource, retention::delay_queues::DelayQueues, worker::Worker},
};
use failure_conventions::dlo_queues;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{HOUR, SHORT, Sender, eval, now, numbered, orders, outgoing};
use crate::{
    services::{
        desk::{AppState, MAIN, PATIENCE, TestDatabase, broker, open_database},
        service::{Service, text, texts},
    },
    support::{
        delay_queues,
        process::wait_until,
        rabbit::{Rabbit, Vhost},
        soak,
    },
};

/// For how long messages are put into the same delay queue.
const TERM: Duration = Duration::from_secs(7 * 24 * 3_600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_empty_and_out_of_use_is_deleted() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    let (soon, later) = (now().plus(TERM), now().plus(3 * TERM));
    let [empty, full] = [SHORT, HOUR].map(|delay| orders().after(delay, now()));
    let names = [&empty, &full].map(|destination| names::delay_queue(destination).unwrap());
    for destination in [&empty, &full] {
        sender.deliver(destination, "body").await;
    }
    service.work().await;
    for now in [now(), soon] {
        assert_eq!(sender.session.delete_delay_queue(&names[0], now).await, DelayQueueState::Needed);
    }
    assert_eq!(sender.session.delete_delay_queue(&names[0], later).await, DelayQueueState::Gone);
    assert_eq!(sender.session.delete_delay_queue(&names[1], later).await, DelayQueueState::Needed);
    assert!(!vhost.has_queue(&names[0]).await);
    assert_eq!(delay_queues::messages_in(&vhost, &names[1]).await, 1);

    // What is gone already is gone, and what is published nonetheless is not lost.
    assert_eq!(sender.session.delete_delay_queue(&names[0], later).await, DelayQueueState::Gone);
    sender.deliver(&empty, "body").await;
    service.work().await;
    assert_eq!(sender.session.delete_delay_queue("orders", later).await, DelayQueueState::Needed);
    assert!(vhost.has_queue("orders").await);
}

/// RabbitMQ counts nothing in a queue whose process is gone, and deletes it with what is in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_answers_nothing_is_not_deleted() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    let waiting = orders().after(HOUR, now());
    let name = names::delay_queue(&waiting).unwrap();
    sender.deliver(&waiting, "body").await;
    eval(&vhost, &name, "ra:stop_server(quorum_queues, {Name, node()})");
    let state = sender.session.delete_delay_queue(&name, now().plus(3 * TERM)).await;
    assert!(matches!(state, DelayQueueState::Unknown(_)), "{state:?}");
    assert!(vhost.has_queue(&name).await);
}

/// What is due and finds no queue is in no count, and is tried again by RabbitMQ every three minutes; here, every second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_due_and_not_shown_outlives_its_delay_queue() {
    const LOOK: Duration = Duration::from_secs(11 * 60);
    let Some(rabbit) = Rabbit::doomed().await else { return };
    for database in TestDatabase::both() {
        let vhost = rabbit.vhost();
        let service = Service::start(&vhost, "orders").await;
        let mut sender = Sender::at(&vhost).await;
        let waiting = orders().after(SHORT, now());
        let name = names::delay_queue(&waiting).unwrap();
        try_again_every(&vhost, 1_000);
        sender.deliver(&waiting, "before").await;
        service.work().await;
        try_again_every(&vhost, 180_000);
        sender.returns.close().await;
        vhost.delete_queue(dlo_queues::DUE).await;
        assert_eq!(
            sender.session.lanes().next().unwrap().publish(&[numbered(&waiting, 1)]).await,
            [PublishOutcome::Confirmed]
        );
        vhost.await_depth(&name, 0).await;

        let store = open_database(&database.url).await;
        store.remember_delay_queue(MAIN, &name).await.unwrap();
        let mut deleting = DelayQueues {
            broker: MAIN.to_owned(),
            config: broker(vhost.amqp_url()),
            store: Arc::clone(&store),
            clock: Clock::manual(now().plus(3 * TERM)),
            empty: EmptyQueues::default(),
        };
        let stop = CancellationToken::new();
        deleting.round(&stop).await.unwrap();
        vhost.await_depth(dlo_queues::DUE, 1).await;
        // Nobody takes what is due, so that something may be held up there.
        for _ in 0..4 {
            deleting.clock.advance(LOOK);
            deleting.round(&stop).await.unwrap();
            assert!(vhost.has_queue(&name).await);
        }
        let returns = AppState::begin(&sender.database.url, Clock::system(), []).await;
        returns.attend(vec![IntakeSource::Due], MAIN, broker(vhost.amqp_url()));
        assert_eq!(service.work().await.data, b"1");
        vhost.await_depth(dlo_queues::DUE, 0).await;
        for is_there in [true, true, false] {
            deleting.clock.advance(LOOK);
            deleting.round(&stop).await.unwrap();
            assert_eq!(vhost.has_queue(&name).await, is_there);
        }
        assert_eq!(store.delay_queues(MAIN).await.unwrap(), Vec::<String>::new());
    }
}

/// For delay queues that are declared from now on.
fn try_again_every(vhost: &Vhost, milliseconds: u32) {
    let key = "dead_letter_worker_publisher_confirm_timeout";
    vhost.eval(&format!("application:set_env(rabbit, {key}, {milliseconds})"));
}

/// RabbitMQ confirms what it routes to a queue that it is about to delete, and loses it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_beside_a_publisher_loses_nothing() {
    const IN_EACH: usize = 25;
    let terms = soak(2, 12);
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    let (time, sent) = (watch::Sender::new(now()), CancellationToken::new());
    let deleting = delete_at_once(&vhost, time.subscribe(), sent.clone());
    let mut arrived = Vec::new();
    let sending = async {
        for term in 0..terms {
            let now = now().plus(TERM * term);
            time.send_replace(now);
            // Both queues at once: each time that one is new, messages wait for it to settle.
            for numbers in [0..2, 2..IN_EACH] {
                let window = numbers.map(|n| {
                    let message = Message { body: text(term as usize * IN_EACH + n).into(), ..Message::default() };
                    outgoing(&waiting(n, now), &message)
                });
                let window: Vec<_> = window.collect();
                let confirmed = vec![PublishOutcome::Confirmed; window.len()];
                assert_eq!(sender.send_when_settled(window).await, confirmed);
            }
            arrived.extend(service.work_on(IN_EACH).await);
        }
        sent.cancel();
    };
    tokio::join!(deleting, sending);
    arrived.sort();
    assert_eq!(arrived, texts(0..terms as usize * IN_EACH));
    let oldest = names::delay_queue(&waiting(0, now())).unwrap();
    wait_until("the oldest to be deleted", PATIENCE, async || {
        let last = now().plus(TERM * terms);
        sender.session.delete_delay_queue(&oldest, last).await == DelayQueueState::Gone
    })
    .await;
}

/// In one of two delay queues.
fn waiting(n: usize, now: Timestamp) -> Destination {
    orders().after(if n.is_multiple_of(2) { SHORT / 10 } else { SHORT / 5 }, now)
}

/// Tries to delete every delay queue as soon as may be, again and again.
async fn delete_at_once(vhost: &Vhost, time: watch::Receiver<Timestamp>, done: CancellationToken) {
    while !done.is_cancelled() {
        let deleter = PublishingSession::open(MAIN, &broker(vhost.amqp_url())).await.unwrap();
        let latest = *time.borrow();
        let mut term = now();
        while term <= latest {
            for n in 0..2 {
                let name = names::delay_queue(&waiting(n, term)).unwrap();
                let deletion = deleter.delete_delay_queue(&name, latest).await;
                assert!(!matches!(deletion, DelayQueueState::Unknown(_)), "{deletion:?}");
            }
            term = term.plus(TERM);
        }
        deleter.close().await;
    }
}
