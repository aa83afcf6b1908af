//! Delay queues as they are when they have been used for a while.

use std::time::Duration;

use amqp_message::{death::Reason, message::Message, time::Timestamp};
use dead_letter_office::{
    config::{BrokerConfig, values::Secret},
    domain::{
        letter::LetterId,
        retry::{Destination, OutgoingRetry},
    },
    rabbitmq::{PublishOutcome, PublishingSession},
};
use lapin::{options::BasicGetOptions, types::AMQPValue};
use tokio::time::{Instant, sleep_until};

use super::rabbit::Vhost;

/// Declares the delay queues that messages for `queue` wait in at that time. Whoever comes afterwards takes them for old ones
/// and waits for nothing. Where their node is killed soon, they have to [`settle`].
pub async fn declare(url: String, queue: &str, delays: impl IntoIterator<Item = Duration>, now: Timestamp) {
    new_until(url, queue, delays, now).await;
}

/// The same, and returns once they are kept when the node is killed. Nothing is put into them.
pub async fn settle(url: String, queue: &str, delays: impl IntoIterator<Item = Duration>, now: Timestamp) {
    if let Some(settled) = new_until(url, queue, delays, now).await {
        sleep_until(settled).await;
    }
}

async fn new_until(
    url: String,
    queue: &str,
    delays: impl IntoIterator<Item = Duration>,
    now: Timestamp,
) -> Option<Instant> {
    let config = BrokerConfig { url: Secret::new(url), ..BrokerConfig::default() };
    let mut session = PublishingSession::open("main", &config).await.expect("a session");
    let message = |delay| OutgoingRetry {
        id: LetterId::from_uuid(uuid::Uuid::now_v7()),
        destination: Destination::straight_to(queue).after(delay, now),
        reason: Reason::Rejected,
        message: Message::default(),
    };
    let window: Vec<OutgoingRetry> = delays.into_iter().map(message).collect();
    let lane = session.lanes().next().expect("a lane");
    let is_new_until = |outcome: PublishOutcome| {
        let PublishOutcome::Settling(settled) = outcome else { panic!("a delay queue is not new: {outcome:?}") };
        settled
    };
    let settled = lane.publish(&window).await.into_iter().map(is_new_until).max();
    session.close().await;
    settled
}

/// What waits in a queue, by what its bundles say. They stay there, the empty ones by which queues are tried included.
/// Nothing waits in one that is not there: the name of a delay queue is another when a week has begun.
pub async fn messages_in(vhost: &Vhost, queue: &str) -> usize {
    if !vhost.has_queue(queue).await {
        return 0;
    }
    let channel = vhost.looking_channel().await;
    let mut messages = 0;
    loop {
        let bundle = match channel.basic_get(queue.into(), BasicGetOptions::default()).await {
            Ok(Some(bundle)) => bundle,
            Ok(None) => break,
            // RabbitMQ closes the connection over a queue that is just being declared.
            Err(error) if error.to_string().contains("noproc") => return 0,
            Err(error) => panic!("{queue}: {error}"),
        };
        let headers = bundle.properties.headers().clone().expect("a bundle has headers");
        let Some(AMQPValue::LongString(count)) = headers.inner().get("dlo-messages") else { panic!("{headers:?}") };
        messages += count.to_string().parse::<usize>().expect("a number");
    }
    channel.close(200, "seen".into()).await.expect("the channel was open");
    messages
}
