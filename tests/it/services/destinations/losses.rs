//! Queues that are not there, or not any more.

use std::time::Duration;

use amqp_message::{death::Reason, field::FieldValue, message::Message};
use dead_letter_office::{
    clock::Clock,
    domain::{
        letter::LetterId,
        retry::{Destination, OutgoingRetry},
    },
    rabbitmq::{ConsumingSession, PublishOutcome, names},
    services::intake::IntakeSource,
};
use failure_conventions::{dlo_headers, dlo_queues};
use reqwest::Method;
use serde_json::json;
use tokio::task::block_in_place;

use super::{HOUR, LONG, SHORT, Sender, Taken, error, eval, every_way_to, now, numbered, orders, outgoing, why};
use crate::{
    services::{
        desk::{AppState, MAIN, PATIENCE, broker},
        service::{OBITUARIES, Service},
    },
    support::{
        delay_queues,
        process::wait_until,
        rabbit::{Rabbit, Vhost},
    },
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_does_not_exist_fails_alone() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    let mut obituaries = Taken::from(&vhost, OBITUARIES).await;
    for (missing, there) in every_way_to("no-such-queue").iter().zip(every_way_to("orders")) {
        let message = Message::default();
        let window = [missing, &there, missing].map(|destination| outgoing(destination, &message));
        let mut outcomes = sender.send_together(window.into()).await;
        assert_eq!(outcomes.remove(1), PublishOutcome::Confirmed);
        for outcome in outcomes {
            let why = if missing.wait.is_none() { why(outcome) } else { error(&obituaries.next().await) };
            assert!(why.contains("there is no queue no-such-queue"), "{missing:?}: {why}");
        }
        service.work().await;
    }
    assert_eq!(vhost.depth(OBITUARIES).await, 0);
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
    let mut obituaries = Taken::from(&vhost, OBITUARIES).await;
    for destination in [orders(), orders().with_key("order.placed")] {
        // Nobody takes what is due until the queue is gone.
        let idle = AppState::begin(&sender.database.url, Clock::system(), []).await;
        std::mem::replace(&mut sender.returns, idle).close().await;
        vhost.declare_queue("orders", json!({})).await;
        let mut retry =
            outgoing(&destination.after(LONG, now()), &Message { body: b"body".into(), ..Message::default() });
        dlo_headers::write_address(&mut retry.message.headers, "events", "order.placed");
        assert_eq!(sender.send_together(vec![retry.clone()]).await, [PublishOutcome::Confirmed]);
        vhost.delete_queue("orders").await;
        sender.returns.attend(vec![IntakeSource::Due], MAIN, broker(vhost.amqp_url()));

        let obituary = obituaries.next().await;
        let why = error(&obituary);
        assert!(why.contains("there is no queue orders"), "{why}");
        assert_eq!(obituary.body, b"body");
        assert_eq!(LetterId::from_headers(&obituary.headers), Some(retry.id));
        let failure = failure_conventions::read(&obituary).failure;
        assert_eq!((failure.queue.as_deref(), failure.reason, failure.attempts), (Some("orders"), Reason::Rejected, 1));
        assert_eq!((&*failure.exchange, &*failure.routing_key), ("events", "order.placed"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_bundle_becomes_an_obituary() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    let service = Service::start(&vhost, "orders").await;
    let mut obituaries = Taken::from(&vhost, OBITUARIES).await;
    sender.deliver(&Destination::straight_to(dlo_queues::DUE), "something else").await;
    sender.deliver(&orders().after(SHORT, now()), "body").await;
    assert_eq!(service.work().await.data, b"body");
    assert_eq!(obituaries.next().await.body, b"something else");
    vhost.await_depth(dlo_queues::DUE, 0).await;
}

/// RabbitMQ takes and delivers what fills its frame so far that nothing can be added. There is one more than all who consume
/// them get at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_become_an_obituary_holds_up_nothing() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    let service = Service::start(&vhost, "orders").await;
    let mut message = Message { body: b"something else".into(), ..Message::default() };
    // With room for what a queue adds to each delivery, which is not sent on.
    message.headers.set("long", FieldValue::LongString(vec![b'x'; 130_970]));
    let here = Destination::straight_to(dlo_queues::DUE);
    let of_somebody = || OutgoingRetry { message: message.clone(), ..outgoing(&here, &Message::default()) };
    let window = (0..41).map(|_| of_somebody()).collect();
    assert_eq!(sender.send_together(window).await, vec![PublishOutcome::Confirmed; 41]);
    sender.deliver(&orders().after(SHORT, now()), "body").await;
    assert_eq!(service.work().await.data, b"body");
    sender.returns.await_letters(41).await;
    let kept = sender.returns.messages().await.remove(0);
    assert_eq!((kept.body, kept.headers.get("long")), (message.body.clone(), message.headers.get("long")));
    vhost.await_depth(dlo_queues::DUE, 0).await;
}

/// As where its queue was paused for long, or dlo was not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_its_consumer_would_drop_by_now_becomes_an_obituary() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    vhost.declare_queue("orders", json!({})).await;
    let mut obituaries = Taken::from(&vhost, OBITUARIES).await;
    let body = r#"{"actor_name":"a","queue_name":"orders","message_timestamp":1000,"options":{"max_age":1}}"#;
    sender.deliver(&orders().after(SHORT, now()), body).await;
    let obituary = obituaries.next().await;
    assert_eq!(obituary.body, body.as_bytes());
    let why = error(&obituary);
    assert!(why.contains("it has expired"), "{why}");
    assert_eq!(vhost.depth("orders").await, 0);
}

/// Waits until so many messages for `orders` wait for another minute, and nothing else is due.
async fn await_another_minute(vhost: &Vhost, messages: usize) {
    let later = names::delay_queue(&orders().after(Duration::from_secs(60), Clock::system().now())).unwrap();
    wait_until("them to wait again", PATIENCE, async || vhost.has_queue(&later).await).await;
    wait_until("all to wait again", PATIENCE, async || delay_queues::messages_in(vhost, &later).await == messages)
        .await;
    vhost.await_depth(dlo_queues::DUE, 0).await;
}

/// A header of the longest that fit a frame, and our own beside it: the broker closes the connection over it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_published_any_more_holds_up_nothing() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    let waiting = orders().after(SHORT, now());
    let mut poison = Message { body: b"poison".into(), ..Message::default() };
    poison.headers.set("long", FieldValue::LongString(vec![b'x'; 131_072]));
    let window = vec![numbered(&waiting, 0), outgoing(&waiting, &poison), numbered(&waiting, 1)];
    assert_eq!(sender.send_together(window).await, vec![PublishOutcome::Confirmed; 3]);
    // The first was on its way when the connection was closed, so it may come twice.
    while service.work().await.data != b"1" {}
    let letter = sender.returns.await_letter().await;
    assert_eq!((letter.summary.queue.as_deref(), &*letter.message.body), (Some("orders"), &b"poison"[..]));
    let why = letter.summary.error_message.unwrap();
    assert!(why.contains("could not be sent back"), "{why}");
    vhost.await_depth(dlo_queues::DUE, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_finds_its_target_full_waits_on() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let mut sender = Sender::at(&vhost).await;
    let full = json!({"x-max-length": 1, "x-overflow": "reject-publish"});
    vhost.declare_queue("orders", full).await;
    sender.deliver(&orders(), "the one it has room for").await;
    let waiting = [orders(), orders().with_key("order.placed")].map(|orders| orders.after(SHORT, now()));
    for destination in &waiting {
        sender.deliver(destination, "body").await;
    }
    await_another_minute(&vhost, 2).await;
    assert_eq!([vhost.depth("orders").await, vhost.depth(OBITUARIES).await], [1, 0]);
}

/// The broker in alarm takes what is sent back only when that is over: so long it is being published.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_being_sent_back_is_not_cut_short_when_another_queue_is_deleted() {
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    sender.returns.close().await;
    let lane = sender.session.lanes().next().unwrap();
    delay_queues::declare(vhost.amqp_url(), "orders", [SHORT], now()).await;
    assert_eq!(lane.publish(&[numbered(&orders().after(SHORT, now()), 1)]).await, [PublishOutcome::Confirmed]);
    // It, and the empty bundles by which the two queues were tried.
    vhost.await_depth(dlo_queues::DUE, 3).await;

    rabbit.memory_alarm(true);
    let server = AppState::begin(&sender.database.url, Clock::system(), [(MAIN, broker(vhost.amqp_url()))]).await;
    // All are taken, and the message cannot be through.
    let is_on_its_way =
        async || vhost.depth(dlo_queues::DUE).await == 0 && unacknowledged(&vhost, dlo_queues::DUE).await > 0;
    wait_until("it to be on its way back", PATIENCE, is_on_its_way).await;
    let is_consumed = async || vhost.consumers(OBITUARIES).await == 1;
    wait_until("obituaries to be consumed", PATIENCE, is_consumed).await;
    vhost.delete_queue(OBITUARIES).await;
    wait_until("obituaries to be consumed again", PATIENCE, is_consumed).await;
    rabbit.memory_alarm(false);
    assert_eq!(service.work().await.data, b"1");
    // What is on its way by then arrives, or is in its queue again.
    server.close().await;
    assert_eq!([vhost.depth("orders").await, vhost.depth(dlo_queues::DUE).await], [0, 0]);
}

/// Messages that somebody has been given from a queue. Only the management API tells.
async fn unacknowledged(vhost: &Vhost, queue: &str) -> u64 {
    let queue = vhost.manage(Method::GET, &["queues", vhost.name(), queue], None).await;
    queue["messages_unacknowledged"].as_u64().unwrap_or(0)
}

/// Whoever takes from `orders` and who sends there by a delay queue, after it has been done once.
async fn one_has_come(vhost: &Vhost) -> (Service<'_>, Sender, Destination) {
    let (service, mut sender) = (Service::start(vhost, "orders").await, Sender::at(vhost).await);
    let destination = orders().after(SHORT, now());
    sender.deliver(&destination, "before").await;
    service.work().await;
    (service, sender, destination)
}

/// Nothing else would ever take what waits already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_of_what_is_due_is_declared_again() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let (service, mut sender, destination) = one_has_come(&vhost).await;
    vhost.delete_queue(dlo_queues::DUE).await;
    wait_until("it to be there again", PATIENCE, async || vhost.has_queue(dlo_queues::DUE).await).await;
    sender.deliver(&destination, "after").await;
    // What RabbitMQ takes to a queue that it thinks is still gone it tries again after three minutes.
    wait_until("a message in orders", PATIENCE * 2, async || service.is_waiting().await).await;
    assert_eq!(service.work().await.data, b"after");
}

/// RabbitMQ 3 would consume the new queue for it, and deliver what nobody gets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_hears_late_that_a_queue_was_deleted_holds_nothing_of_the_next() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let (service, mut sender, destination) = one_has_come(&vhost).await;
    await_consumers(&vhost).await;
    let late = hold_still(&vhost, 1);
    vhost.delete_queue(dlo_queues::DUE).await;
    wait_until("it to be there again", PATIENCE, async || vhost.has_queue(dlo_queues::DUE).await).await;
    late();
    await_consumers(&vhost).await;
    for n in 0..4 {
        sender.deliver(&destination, &n.to_string()).await;
        assert_eq!(service.work().await.data, n.to_string().as_bytes());
    }
}

/// RabbitMQ 3 consumes the next queue for those who hear late, then knows nothing of them, and does not tell them of its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_told_that_a_queue_was_deleted_finds_out() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let (service, mut sender, destination) = one_has_come(&vhost).await;
    let another = ConsumingSession::open(MAIN, &broker(vhost.amqp_url())).await.unwrap();
    await_consumers(&vhost).await;
    let late = hold_still(&vhost, IntakeSource::Due.sessions());
    let anew = async || {
        vhost.delete_queue(dlo_queues::DUE).await;
        another.declare_due_queue().await.unwrap();
    };
    anew().await;
    late();
    await_consumers(&vhost).await;
    anew().await;
    sender.deliver(&destination, "after").await;
    assert_eq!(service.work().await.data, b"after");
}

async fn await_consumers(vhost: &Vhost) {
    let all = async || vhost.consumers(dlo_queues::DUE).await as usize == IntakeSource::Due.sessions();
    wait_until("all sessions to consume", PATIENCE, all).await;
}

/// Holds the channels of so many consumers of `dlo.due` still; what it returns has them go on.
fn hold_still(vhost: &Vhost, consumers: usize) -> impl Fn() {
    let (name, channels) = (vhost.name(), format!("lists:sublist(rabbit_amqqueue:consumers(Q), {consumers})"));
    let hold = format!(
        "Held = [element(1, Consumer) || Consumer <- {channels}],
        [sys:suspend(Channel) || Channel <- Held], persistent_term:put(<<\"{name}\">>, Held)"
    );
    block_in_place(|| eval(vhost, dlo_queues::DUE, &hold));
    move || {
        let release = format!("[sys:resume(Channel) || Channel <- persistent_term:get(<<\"{name}\">>)]");
        block_in_place(|| vhost.eval(&release));
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
        vhost.delete_queue(&names::delay_queue(&destination).unwrap()).await;
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
    vhost.declare_queue(&names::delay_queue(&waiting).unwrap(), json!({})).await;
    assert!(why(sender.send(&waiting, "body").await).contains("PRECONDITION_FAILED"));
    let too_long = orders().after(Duration::MAX, now());
    assert!(why(sender.send(&too_long, "body").await).contains("x-message-ttl"));
    sender.deliver(&orders(), "body").await;
    service.work().await;
}

/// The broker reads nothing of a connection that has published during an alarm, declarations included.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alarm_only_delays() {
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    let vhost = rabbit.vhost();
    let service = Service::start(&vhost, "orders").await;
    let mut sender = Sender::at(&vhost).await;
    rabbit.memory_alarm(true);
    let standing = sender.session.connection();
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
