//! Messages that are hard to carry: typed headers, large bodies, text that is none.

use amqp_message::field::{FieldTable as Headers, FieldValue};
use dead_letter_office::domain::letter::Status;
use fastrand::Rng;
use lapin::{
    BasicProperties,
    types::{AMQPValue, ByteArray, DecimalValue, FieldArray, FieldTable, LongString},
};

use super::{
    desk::{AppState, TestDatabase, broker},
    line::{GARBLED, Line},
    service::{OBITUARIES, Service, confirming_channel, publish, publish_to},
};
use crate::support::rabbit::Rabbit;

fn every_type() -> FieldTable {
    let values = [
        AMQPValue::Boolean(true),
        AMQPValue::ShortShortInt(i8::MIN),
        AMQPValue::ShortShortUInt(u8::MAX),
        AMQPValue::ShortInt(i16::MIN),
        AMQPValue::ShortUInt(u16::MAX),
        AMQPValue::LongInt(i32::MIN),
        AMQPValue::LongUInt(u32::MAX),
        AMQPValue::LongLongInt(i64::MIN),
        AMQPValue::Float(-0.1),
        AMQPValue::Double(f64::MIN_POSITIVE),
        AMQPValue::DecimalValue(DecimalValue { scale: 2, value: 12_345 }),
        AMQPValue::LongString(LongString::from(&b"not \xff utf-8 \0"[..])),
        AMQPValue::Timestamp(4_000_000_000),
        AMQPValue::ByteArray(ByteArray::from(&[0_u8, 0xff][..])),
        AMQPValue::Void,
    ];
    let mut all = FieldTable::default();
    for (n, value) in values.iter().enumerate() {
        all.insert(format!("type {n}").into(), value.clone());
    }
    let inner = all.clone();
    all.insert("array".into(), AMQPValue::FieldArray(FieldArray::from(values.to_vec())));
    all.insert("table ☃".into(), AMQPValue::FieldTable(inner));
    all.insert("empty".into(), AMQPValue::FieldTable(FieldTable::default()));
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_type_of_header_goes_out_as_it_came_in() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let vhost = rabbit.vhost();
        let server = AppState::open(&database, broker(vhost.amqp_url())).await;
        let orders = Service::start(&vhost, "orders").await;
        let properties = BasicProperties::default()
            .with_headers(every_type())
            .with_content_type("application/x-ünusual".into())
            .with_content_encoding("".into())
            .with_delivery_mode(2)
            .with_priority(7)
            .with_correlation_id("c".into())
            .with_reply_to("amq.rabbitmq.reply-to.g1h2".into())
            .with_message_id("m".into())
            .with_timestamp(1)
            .with_type("t".into())
            .with_app_id("a".into());
        let body = [0, 0xff, 0xc3, 0x28];
        orders.receive(properties.clone(), &body).await;
        orders.reject().await;
        let letter = server.await_letter().await;
        server.retry(&[letter.summary.id]).await;

        let came = orders.work().await;
        let mut expected = every_type();
        for (name, value) in [
            ("dlo-id", &*letter.summary.id.to_string()),
            ("dlo-attempts", "1"),
            ("dlo-rounds", "1"),
            ("dlo-queue", "orders"),
        ] {
            expected.insert(name.into(), AMQPValue::LongString(value.into()));
        }
        assert_eq!(came.properties, properties.with_headers(expected));
        assert_eq!(came.data, body);
    }
}

/// Postgres keeps none in text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nul_in_names_and_texts_holds_nothing_up() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let vhost = rabbit.vhost();
        let server = AppState::open(&database, broker(vhost.amqp_url())).await;
        let mut headers = FieldTable::default();
        headers.insert("name\0".into(), AMQPValue::LongString("value\0".into()));
        headers.insert("x-first-death-queue".into(), AMQPValue::LongString("queue\0".into()));
        let properties = BasicProperties::default().with_headers(headers).with_message_id("id\0".into());
        publish_to(&confirming_channel(&vhost).await, "dlx", "key\0", properties, b"body\0").await;

        let letter = server.await_letter().await;
        let message = &letter.message;
        assert_eq!((&*message.routing_key, &*message.body), ("key\u{fffd}", &b"body\0"[..]));
        assert_eq!(message.properties.message_id.as_deref(), Some("id\0"));
        assert_eq!(message.headers.get("name\0"), Some(&FieldValue::string("value\0")));
    }
}

/// RabbitMQ delivers it though its header is larger than a frame may be, once `x-death` is in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_that_has_outgrown_its_frame_is_kept_whole_and_holds_nothing_up() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let vhost = rabbit.vhost();
        let server = AppState::open(&database, broker(vhost.amqp_url())).await;
        let orders = Service::start(&vhost, "orders").await;
        let mut headers = FieldTable::default();
        headers.insert("trace".into(), AMQPValue::LongString("x".repeat(130_850).into()));
        orders.receive(BasicProperties::default().with_headers(headers.clone()), b"large one").await;
        orders.reject().await;
        for _ in 0..3 {
            orders.fail("small").await;
        }
        let letters = server.await_letters(4).await;
        let large = letters.iter().find(|letter| letter.size > 5).unwrap().id;
        server.retry(&[large]).await;
        let came = orders.work().await;
        let kept = came.properties.headers().as_ref().unwrap().inner().get("trace").cloned();
        assert_eq!(kept, headers.inner().get("trace").cloned());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_body_is_kept_whole_and_goes_back_whole() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let orders = Service::start(&vhost, "orders").await;
    // None of its frames is like another one, and it is soon made.
    let mut block = vec![0; 1024 * 1024];
    Rng::with_seed(1).fill(&mut block);
    let body = block.repeat(64);
    orders.receive(BasicProperties::default(), &body).await;
    drop(orders.reject().await);
    let letter = server.await_letters(1).await.remove(0);
    assert_eq!(letter.size, 64 * 1024 * 1024);
    // Not `assert_eq!`, which would print both.
    assert!(
        server.store.letter(letter.id).await.unwrap().unwrap().message.body == body,
        "the bytes of the body have changed"
    );
    server.retry(&[letter.id]).await;
    assert!(orders.work().await.data == body, "the bytes of the body have changed on their way back");
    server.await_status(letter.id, Status::Retried).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_utf8_becomes_a_letter_with_a_remark_and_holds_nothing_up() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (vhost, database) = (rabbit.vhost(), TestDatabase::sqlite());
    let server = AppState::open(&database, broker(vhost.amqp_url())).await;
    let channel = confirming_channel(&vhost).await;
    publish(&channel, OBITUARIES, BasicProperties::default(), b"before").await;

    let line = Line::to(&vhost.amqp_url()).await;
    let garbling = lapin::Connection::connect(&line.url(), lapin::ConnectionProperties::default()).await.unwrap();
    let garbling = garbling.create_channel().await.unwrap();
    garbling.confirm_select(lapin::options::ConfirmSelectOptions::default()).await.unwrap();
    let mut headers = FieldTable::default();
    headers.insert(GARBLED.into(), AMQPValue::LongInt(7));
    let odd_key = BasicProperties::default().with_headers(headers);
    publish(&garbling, OBITUARIES, odd_key, b"a header's name").await;
    let odd_id = BasicProperties::default().with_message_id(format!("id {GARBLED}").into());
    publish(&garbling, OBITUARIES, odd_id, b"a property").await;
    publish(&channel, OBITUARIES, BasicProperties::default(), b"after").await;

    let letters = server.await_letters(4).await;
    let mut told = Vec::new();
    for letter in letters {
        let letter = server.letter(letter.id).await;
        told.push((String::from_utf8(letter.message.body).unwrap(), letter.remarks.len()));
        if let Some(remark) = letter.remarks.first() {
            assert!(remark.contains("UTF-8"), "{remark}");
        }
    }
    told.sort();
    let expected = [("a header's name", 1), ("a property", 1), ("after", 0), ("before", 0)];
    assert_eq!(told, expected.map(|(body, remarks)| (body.to_owned(), remarks)));
    let first = server.messages().await.into_iter().find(|message| message.body == b"a header's name").unwrap();
    let value =
        |headers: &Headers| headers.iter().find(|(name, _)| name.starts_with("??")).map(|(_, value)| value.clone());
    assert_eq!(value(&first.headers), Some(FieldValue::LongInt(7)));
}
