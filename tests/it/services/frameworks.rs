//! Messages that a framework has given up go back clean: as its consumer had them, and never where that does harm.

use std::time::Duration;

use amqp_message::{field::FieldValue, message::Message};
use dead_letter_office::{
    clock::Clock,
    domain::{
        command::{Command, Refusal},
        letter::Status,
        policy::{Delays, Policy, Via},
    },
};
use failure_conventions::danger::Danger;
use lapin::{
    BasicProperties,
    message::BasicGetMessage,
    types::{AMQPValue, FieldTable},
};

use super::{
    desk::{AppState, MAIN, TestDatabase, broker, open_database},
    service::{DEAD_LETTERS, Service, confirming_channel, publish},
};
use crate::support::{
    conventions,
    rabbit::{Rabbit, Vhost},
};

/// Publishes to the dead letters a message with strings for headers, as these frameworks write them.
async fn die(vhost: &Vhost, message: &Message) {
    let mut headers = FieldTable::default();
    for (name, value) in message.headers.iter() {
        headers.insert(name.into(), AMQPValue::LongString(value.as_str().unwrap().into()));
    }
    let mut properties = BasicProperties::default().with_headers(headers).with_delivery_mode(2);
    if let Some(kind) = &message.properties.kind {
        properties = properties.with_type(kind.as_str().into());
    }
    publish(&confirming_channel(vhost).await, DEAD_LETTERS, properties, &message.body).await;
}

/// Headers with their texts, but for those that say which letter it is.
fn headers(message: &BasicGetMessage) -> Vec<(String, String)> {
    let headers = message.properties.headers().clone().unwrap_or_default();
    let texts = headers
        .inner()
        .iter()
        .map(|(name, value)| (name.to_string(), value.as_long_string().map(ToString::to_string).unwrap_or_default()));
    texts.filter(|(name, _)| !name.starts_with("dlo-")).collect()
}

fn dlo_headers(message: &BasicGetMessage) -> serde_json::Map<String, serde_json::Value> {
    let headers = message.properties.headers().clone().unwrap();
    let own = headers.inner().iter().filter(|(name, _)| name.as_str().starts_with("dlo-"));
    own.map(|(name, value)| (name.to_string(), value.as_long_string().unwrap().to_string().into())).collect()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn easynetq_gets_the_message_inside_and_comes_back_to_its_letter() {
    const QUEUE: &str = "Acme.OrderPlaced, Acme.Contracts_billing";
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let vhost = rabbit.vhost();
        let server = AppState::open(&database, broker(vhost.amqp_url())).await;
        let billing = Service::start(&vhost, QUEUE).await;
        let error = conventions::message("easynetq-7");
        die(&vhost, &error).await;
        let letter = server.await_letter().await;
        let id = letter.summary.id;
        assert_eq!(letter.message.body, error.body);
        server.retry(&[id]).await;
        let came = billing.work().await;
        assert_eq!(came.data, br#"{"OrderId":1090,"Total":12.5}"#);
        assert_eq!(headers(&came), [pair("tenant", "acme")]);
        let kind = came.properties.kind().as_ref().map(|kind| kind.as_str());
        assert_eq!(kind, Some("Acme.OrderPlaced, Acme.Contracts"));

        // EasyNetQ wraps it anew, our headers and all, around another exception.
        let mut again: serde_json::Value = serde_json::from_slice(&error.body).unwrap();
        again["Exception"] = "System.TimeoutException: no answer".into();
        for (name, value) in dlo_headers(&came) {
            again["BasicProperties"]["Headers"][name] = value;
        }
        server.await_status(id, Status::Retried).await;
        die(&vhost, &Message { body: again.to_string().into_bytes(), ..error }).await;
        let back = server.await_status(id, Status::Open).await;
        assert_eq!((back.attempts, back.error_type.as_deref()), (2, Some("System.TimeoutException")));
        assert_eq!(server.count().await, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maxretry_gets_its_properties_and_headers_back() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let billing = Service::start(&vhost, "billing").await;
    die(&vhost, &conventions::message("sneakers-maxretry")).await;
    let letter = server.await_letter().await.summary;
    assert_eq!((letter.error_type.as_deref(), letter.attempts), (Some("Stripe::CardError"), 6));
    server.retry(&[letter.id]).await;
    let came = billing.work().await;
    assert_eq!(came.data, br#"{"orderId":1150}"#);
    assert_eq!(headers(&came), [pair("tenant", "acme")]);
    let texts = [came.properties.content_type(), came.properties.kind(), came.properties.message_id()];
    assert_eq!(
        texts.map(|text| text.as_ref().map(|text| text.as_str())),
        ["application/json", "order.placed", "m-1"].map(Some)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spring_gets_rid_of_what_its_recoverer_added() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let orders = Service::start(&vhost, "orders").await;
    die(&vhost, &conventions::message("spring-republish-recoverer")).await;
    let letter = server.await_letter().await;
    assert!(letter.message.headers.get("x-exception-stacktrace").is_some());
    server.retry_to("orders", &[letter.summary.id]).await;
    let came = orders.work().await;
    assert_eq!(headers(&came), [pair("__TypeId__", "com.acme.OrderPlaced")]);
    assert_eq!(came.data, letter.message.body);
}

fn policy(via: Via) -> Policy {
    Policy {
        queues: Policy::EVERY_QUEUE.to_owned(),
        reason: None,
        delays: Delays::Listed(vec![Duration::from_millis(100)]),
        jitter: 0.0,
        via,
        keep_routing_key: false,
    }
}

async fn server_that_retries(database: &TestDatabase, vhost: &Vhost, via: Via) -> AppState {
    let brokers = [(MAIN, broker(vhost.amqp_url()))];
    let server =
        AppState::with_policies(open_database(&database.url).await, Clock::system(), brokers, vec![policy(via)]);
    server.await_work().await;
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn automatic_retries_are_clean_too_wherever_they_wait() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for via in [Via::Database, Via::Broker] {
        let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
        let server = server_that_retries(&database, &vhost, via).await;
        let orders = Service::start(&vhost, "orders").await;
        die(&vhost, &conventions::message("watermill-poison")).await;
        let came = orders.reject().await;
        let expected = [pair("_watermill_message_uuid", "3d2f"), pair("correlation_id", "abc")];
        // What waited in RabbitMQ also says where it was first published, and how it died in its delay queue.
        let added = ["x-death", "x-first-death-", "x-last-death-"];
        let mut kept = headers(&came);
        kept.retain(|(name, _)| !added.iter().any(|added| name.starts_with(added)));
        assert_eq!(kept, expected, "{via}");
        // What it failed of the first time is no account of the second.
        server.await_count(Status::Open, 1).await;
        assert_eq!(server.letters().await[0].error_type, None, "{via}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_used_up_its_retries_in_rabbitmq_still_says_why() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = server_that_retries(&database, &vhost, Via::Broker).await;
    let _orders = Service::start(&vhost, "orders").await;
    let mut exhausted = conventions::message("rebus-error");
    exhausted.headers.set("dlo-queue", FieldValue::string("orders"));
    exhausted.headers.set("dlo-attempts", FieldValue::string("5"));
    die(&vhost, &exhausted).await;
    let letter = server.await_letter().await.summary;
    // Two tries in this round as well.
    assert_eq!((letter.attempts, letter.rounds, letter.queue.as_deref()), (7, 6, Some("orders")));
    assert_eq!(letter.error_type.as_deref(), Some("System.InvalidOperationException"));
    assert_eq!(letter.message_type.as_deref(), Some("Acme.Orders.PlaceOrder"));
}

/// An envelope in Symfony's failure transport as PHP serializes it, cut to what matters.
const SERIALIZED: &str = r#"O:36:\"Symfony\\Component\\Messenger\\Envelope\":2:{s:44:\"\0Symfony\\Component\\Messenger\\Envelope\0stamps\";a:1:{s:61:\"Symfony\\Component\\Messenger\\Stamp\\SentToFailureTransportStamp\";a:0:{}}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_symfony_would_drop_is_refused_by_hand_and_by_policy() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for via in [Via::Database, Via::Broker] {
        let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
        let server = server_that_retries(&database, &vhost, via).await;
        let messages = Service::start(&vhost, "messages").await;
        messages.fail(SERIALIZED).await;
        let letter = server.await_letter().await.summary;
        assert_eq!((letter.status, letter.danger), (Status::Open, Some(Danger::SymfonySerialized)));
        let retry = Command::Retry { delay: Duration::ZERO, queue: Some("messages".to_owned()) };
        let report = server.act(letter.id, retry).await;
        assert_eq!(report.refused, [(letter.id, Refusal::Dangerous(Danger::SymfonySerialized))]);
        assert_eq!(vhost.depth("messages").await, 0);
    }
}
