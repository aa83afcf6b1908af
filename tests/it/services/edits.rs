//! Edited copies on a real RabbitMQ, and the worker that forgets.

use std::{sync::Arc, time::Duration};

use amqp_message::{field::FieldValue, time::Timestamp};
use dead_letter_office::{
    clock::Clock,
    config::{GroupsConfig, RetentionConfig},
    domain::{
        access::SessionLimits,
        activity::ActivityFilter,
        actor::Actor,
        command::{Command, Refusal},
        edit::{Edit, HeaderEdit, Property, PropertyEdit},
        letter::{LetterId, Status},
    },
    services::retention::Retention,
};
use tokio_util::sync::CancellationToken;

use super::{
    desk::{AppState, MAIN, TestDatabase, broker},
    service::{Service, publish},
};
use crate::support::{conventions, rabbit::Rabbit};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

fn body(body: impl Into<Vec<u8>>) -> Edit {
    Edit::of_body(body)
}

async fn edit(server: &AppState, id: LetterId, edit: &Edit, delay: Duration) -> Result<LetterId, Refusal> {
    server.triage().retry_edited(id, edit, delay, None, &Actor::local()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_edited_copy_arrives_and_the_original_never_does() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let (vhost, clock) = (rabbit.vhost(), Clock::manual(Timestamp::from_seconds(1_900_000_000)));
        let begin = || AppState::begin(&database.url, clock.clone(), [(MAIN, broker(vhost.amqp_url()))]);
        let server = begin().await;
        server.await_work().await;
        let orders = Service::start(&vhost, "orders").await;
        orders.fail("broken").await;
        let id = server.await_letter().await.summary.id;
        // Its own retry was to leave at the same time.
        server.retry_later(&[id], HOUR).await;
        let mut edited = body("mended");
        edited.headers.push(HeaderEdit::Set { name: "tenant".to_owned(), value: FieldValue::string("acme") });
        let property = |property, value: &str| PropertyEdit::new(property, Some(value.to_owned())).unwrap();
        edited.properties = vec![property(Property::Priority, "7"), property(Property::Expiration, "3600000")];
        let copy = edit(&server, id, &edited, HOUR).await.unwrap();
        server.close().await;

        clock.advance(HOUR);
        let server = begin().await;
        let came = orders.reject().await;
        assert_eq!(came.data, b"mended");
        let headers = came.properties.headers().clone().unwrap();
        let text = |name: &str| headers.inner()[name].as_long_string().unwrap().to_string();
        assert_eq!(
            (text("tenant"), text("dlo-id"), text("dlo-attempts")),
            ("acme".into(), copy.to_string(), "1".into())
        );
        assert_eq!(*came.properties.priority(), Some(7));
        assert_eq!(came.properties.expiration().as_ref().map(|it| it.as_str()), Some("3600000"));
        let back = server.await_status(copy, Status::Open).await;
        assert_eq!((back.attempts, back.edited_from), (2, Some(id)));
        assert_eq!(vhost.depth("orders").await, 0);
        assert_eq!(server.await_status(id, Status::Discarded).await.replaced_by, Some(copy));
        let refused = server.act(id, Command::Reopen).await.refused;
        assert_eq!(refused, [(id, Refusal::Replaced { by: copy })]);
        assert_eq!(server.count().await, 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_easynetq_wrapped_is_edited_inside_its_encoding() {
    const QUEUE: &str = "Acme.OrderPlaced, Acme.Contracts_billing";
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let billing = Service::start(&vhost, QUEUE).await;
    let error = conventions::message("easynetq-7");
    let mut properties = lapin::BasicProperties::default();
    if let Some(kind) = &error.properties.kind {
        properties = properties.with_type(kind.as_str().into());
    }
    let channel = super::service::confirming_channel(&vhost).await;
    publish(&channel, super::service::DEAD_LETTERS, properties, &error.body).await;
    let id = server.await_letter().await.summary.id;

    let bare = edit(&server, id, &body(r#"{"OrderId":1}"#), Duration::ZERO).await;
    assert!(
        matches!(&bare, Err(Refusal::Unfit(why)) if why.contains("with this edit it is an error message of EasyNetQ that cannot be read")),
        "{bare:?}"
    );
    let outside = HeaderEdit::Set { name: "tenant".to_owned(), value: FieldValue::string("other") };
    let outside = edit(&server, id, &Edit::of_headers(vec![outside]), Duration::ZERO).await;
    assert!(matches!(&outside, Err(Refusal::UnfitPart { why, .. }) if why.contains("would not arrive")), "{outside:?}");

    let mut wrapped: serde_json::Value = serde_json::from_slice(&error.body).unwrap();
    wrapped["Message"] = r#"{"OrderId":1}"#.into();
    edit(&server, id, &body(wrapped.to_string()), Duration::ZERO).await.unwrap();
    assert_eq!(billing.work().await.data, br#"{"OrderId":1}"#);
}

#[tokio::test]
async fn the_server_forgets_what_is_settled_when_its_time_is_over() {
    let database = TestDatabase::sqlite();
    let clock = Clock::manual(Timestamp::from_seconds(1_900_000_000));
    let server = AppState::begin(&database.url, clock.clone(), []).await;
    let arrivals = [crate::store::make::an_arrival(), crate::store::make::an_arrival()];
    let ids: Vec<LetterId> = crate::store::database::record(&server.store, MAIN, &arrivals)
        .await
        .into_iter()
        .map(dead_letter_office::store::Recorded::letter)
        .collect();
    server.act(ids[0], Command::Discard { note: None }).await;
    let keep = RetentionConfig { discarded: DAY, ..RetentionConfig::default() };
    let retention = Retention {
        policies: server.policies.clone(),
        store: Arc::clone(&server.store),
        clock: clock.clone(),
        keep,
        groups: GroupsConfig::default(),
        sessions: SessionLimits { idle: DAY, length: DAY },
        tidied_at: None,
    };
    let stop = CancellationToken::new();
    for (wait, left) in [(DAY, 2), (Duration::from_micros(1), 1)] {
        clock.advance(wait);
        retention.forget(&stop).await.unwrap();
        assert_eq!(server.count().await, left);
    }
    assert_eq!(server.letters().await[0].id, ids[1]);
}

#[tokio::test]
async fn the_server_forgets_who_did_what_when_its_time_is_over() {
    let database = TestDatabase::sqlite();
    let clock = Clock::manual(Timestamp::from_seconds(1_900_000_000));
    let server = AppState::begin(&database.url, clock.clone(), []).await;
    let arrivals = [crate::store::make::an_arrival()];
    let id = crate::store::database::record(&server.store, MAIN, &arrivals).await[0].letter();
    let note = |text: &str| Command::SetNote(text.to_owned());
    server.act(id, note("first")).await;
    clock.advance(DAY);
    server.act(id, note("second")).await;
    let keep = RetentionConfig { activity: 2 * DAY, ..RetentionConfig::default() };
    let retention = Retention {
        policies: server.policies.clone(),
        store: Arc::clone(&server.store),
        clock: clock.clone(),
        keep,
        groups: GroupsConfig::default(),
        sessions: SessionLimits { idle: DAY, length: DAY },
        tidied_at: None,
    };
    for (wait, left) in [(DAY, 2), (Duration::from_micros(1), 1), (DAY, 0)] {
        clock.advance(wait);
        retention.forget(&CancellationToken::new()).await.unwrap();
        assert_eq!(server.store.activity(&ActivityFilter::default(), None, 9).await.unwrap().len(), left);
    }
    assert_eq!(server.count().await, 1, "the letter is still here");
}
