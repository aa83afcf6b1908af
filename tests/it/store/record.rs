//! Taking letters in: new ones, whatever they hold.

use amqp_message::{
    death::Reason,
    field::{FieldTable, FieldValue},
    message::{Message, Properties},
};
use dead_letter_office::{
    domain::letter::{Importance, Letter, LetterId, Status},
    store::{Arrival, Recorded},
};
use failure_conventions::Failure;

use super::{
    database::{TestDatabase, batch},
    make::{Make, NOON, an_arrival, later},
};

async fn a_new_letter_is_open_and_tells_how_it_failed(database: &TestDatabase) {
    let arrival = an_arrival().importance(Importance::High).received(later(5)).body("hello").make(|arrival| {
        arrival.failure = Failure {
            queue: Some("orders".to_owned()),
            reason: Reason::Expired,
            exchange: "shop".to_owned(),
            routing_key: "order.placed".to_owned(),
            attempts: 3,
            rounds: 1,
            first_failed_at: Some(NOON),
            ..Failure::default()
        };
    });
    let letter = database.shows(database.take_in_new(arrival).await).await;
    assert_eq!((&*letter.broker, letter.queue.as_deref(), letter.reason), ("main", Some("orders"), Reason::Expired));
    assert_eq!((&*letter.exchange, &*letter.routing_key, letter.attempts), ("shop", "order.placed", 3));
    assert_eq!((letter.first_failed_at, letter.last_failed_at, letter.received_at), (Some(NOON), later(5), later(5)));
    assert_eq!((letter.status, letter.importance, &*letter.importance_by), (Status::Open, Importance::High, "default"));
    assert_eq!((letter.size, letter.retry_at, letter.note, letter.problem), (5, None, None, None));
}

async fn a_letter_of_unknown_queue_says_so(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().of_unknown_queue()).await;
    assert_eq!(database.shows(id).await.queue, None);
}

async fn a_batch_is_answered_in_order(database: &TestDatabase) {
    let arrivals = ["a", "b", "a", "c"].map(|queue| an_arrival().queue(queue));
    let expected = [0, 1, 2, 3].map(|n| Recorded::New(arrivals[n].id));
    assert_eq!(database.take_in(arrivals).await, expected);
    assert_eq!(database.total().await, 4);
}

async fn an_empty_batch_is_no_trouble(database: &TestDatabase) {
    assert_eq!(database.take_in([]).await, []);
}

async fn a_batch_of_thousands_is_taken_in_whole(database: &TestDatabase) {
    let arrivals: Vec<Arrival> = (0..2_500).map(|_| an_arrival()).collect();
    database.record(&batch("main", &arrivals)).await.unwrap();
    assert_eq!(database.total().await, 2_500);
}

/// The commit may have succeeded although its answer got lost; then the intake tries the same batch again.
async fn a_batch_recorded_twice_is_there_once(database: &TestDatabase) {
    let known = database.letter_in(Status::Retried).await;
    let unacked = an_arrival();
    database.take_in([unacked.clone()]).await;
    let arrivals = [an_arrival(), an_arrival().returning(known), unacked.again()];
    let batch = batch("main", &arrivals);
    let first = database.record(&batch).await.unwrap();
    assert_eq!(first, [Recorded::New(arrivals[0].id), Recorded::FailedAgain(known), Recorded::Redelivered(unacked.id)]);
    assert_eq!(database.record(&batch).await.unwrap(), first);
    assert_eq!((database.total().await, database.shows(known).await.attempts), (3, 2));
}

/// The first try is still on its way to the disk when the second begins.
async fn a_batch_recorded_twice_at_the_same_moment_is_there_once(database: &TestDatabase) {
    let known = database.letter_in(Status::Retried).await;
    let other = database.second_server().await;
    let arrivals = [an_arrival(), an_arrival().returning(known)];
    let batch = batch("main", &arrivals);
    let (first, second) = tokio::join!(database.record(&batch), other.record(&batch));
    let expected = [Recorded::New(arrivals[0].id), Recorded::FailedAgain(known)];
    assert_eq!((first.unwrap(), second.unwrap()), (expected.to_vec(), expected.to_vec()));
    assert_eq!((database.total().await, database.shows(known).await.attempts), (2, 2));
}

async fn a_batch_that_could_not_be_recorded_is_recorded_by_the_next_try(database: &TestDatabase) {
    let known = database.letter_in(Status::Retried).await;
    let arrivals = [an_arrival(), an_arrival().returning(known)];
    let batch = batch("main", &arrivals);
    database.tamper("ALTER TABLE history RENAME TO elsewhere").await;
    database.record(&batch).await.unwrap_err();
    database.tamper("ALTER TABLE elsewhere RENAME TO history").await;
    let expected = [Recorded::New(arrivals[0].id), Recorded::FailedAgain(known)];
    assert_eq!(database.record(&batch).await.unwrap(), expected);
    assert_eq!((database.total().await, database.shows(known).await.attempts), (2, 2));
}

async fn check_message(database: &TestDatabase, message: Message) {
    let id = database.take_in_new(an_arrival().make(|arrival| arrival.message = message.clone())).await;
    let letter = database.letter(id).await.unwrap().unwrap();
    assert_eq!(letter.message, message);
    assert_eq!(database.messages(&[id]).await.unwrap()[&id], message);
    assert_eq!(letter.summary.size, message.body.len() as u64);
}

async fn check_body(database: &TestDatabase, body: Vec<u8>) {
    check_message(database, Message { body, ..Message::default() }).await;
}

async fn bodies_come_back_byte_for_byte(database: &TestDatabase) {
    check_body(database, Vec::new()).await;
    check_body(database, vec![0]).await;
    check_body(database, vec![0xff, 0xfe, 0x80, b'a', 0]).await;
    check_body(database, (0..5 * 1024 * 1024_u32).map(|n| n.to_le_bytes()[1]).collect()).await;
}

async fn every_property_comes_back(database: &TestDatabase) {
    let text = |text: &str| Some(text.to_owned());
    let properties = Properties {
        content_type: text("application/json"),
        content_encoding: text("gzip"),
        delivery_mode: Some(2),
        priority: Some(9),
        correlation_id: text("c\0orrelation"),
        reply_to: text("amq.rabbitmq.reply-to"),
        expiration: text("60000"),
        message_id: text(""),
        timestamp: Some(u64::MAX),
        kind: text("Ordered 📦"),
        user_id: text("guest"),
        app_id: text("shop"),
        cluster_id: text("c1"),
    };
    check_message(database, Message { properties, ..Message::default() }).await;
}

async fn every_type_of_header_comes_back(database: &TestDatabase) {
    let values = [
        FieldValue::Boolean(true),
        FieldValue::ShortShortInt(-1),
        FieldValue::ShortShortUInt(255),
        FieldValue::ShortInt(i16::MIN),
        FieldValue::ShortUInt(u16::MAX),
        FieldValue::LongInt(i32::MIN),
        FieldValue::LongUInt(u32::MAX),
        FieldValue::LongLongInt(i64::MIN),
        FieldValue::Float(f32::NAN.to_bits() | 1),
        FieldValue::Float((0.1_f32).to_bits()),
        FieldValue::Double(f64::NEG_INFINITY.to_bits()),
        FieldValue::Double((0.1_f64).to_bits()),
        FieldValue::Decimal { scale: 2, value: 1250 },
        FieldValue::LongString(b"not \xff UTF-8".to_vec()),
        FieldValue::string("with a NUL \0 in it"),
        FieldValue::Timestamp(u64::MAX),
        FieldValue::ByteArray(vec![0, 255]),
        FieldValue::Void,
    ];
    let mut fields: Vec<(String, FieldValue)> =
        values.iter().cloned().zip(0..).map(|(value, n)| (format!("h{n:02}"), value)).collect();
    let inner: FieldTable = fields.iter().cloned().collect();
    fields.push(("in an array".to_owned(), FieldValue::Array(values.to_vec())));
    fields.push(("in a table".to_owned(), FieldValue::Table(inner)));
    fields.push(("\0".to_owned(), FieldValue::string("\u{fffd}\u{10ffff}'\"\\")));
    check_message(database, Message { headers: fields.into_iter().collect(), ..Message::default() }).await;
}

async fn remarks_come_back(database: &TestDatabase) {
    let remarks = vec!["a property was not UTF-8".to_owned(), "it's \"odd\" \0".to_owned()];
    let id = database.take_in_new(an_arrival().make(|arrival| arrival.remarks = remarks.clone())).await;
    assert_eq!(database.letter(id).await.unwrap().unwrap().remarks, remarks);
}

async fn the_deaths_are_those_of_the_headers(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().died_in("orders")).await;
    assert_eq!(queues_of_deaths(&database.letter(id).await.unwrap().unwrap()), ["orders"]);
}

fn queues_of_deaths(letter: &Letter) -> Vec<&str> {
    letter.deaths.iter().map(|death| &*death.queue).collect()
}

async fn counts_too_large_for_the_database_are_the_largest_it_holds(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().attempts(u64::MAX)).await;
    assert_eq!(database.shows(id).await.attempts, i64::MAX.unsigned_abs());
}

async fn what_is_refused_leaves_nothing_behind(database: &TestDatabase) {
    let twice = an_arrival();
    let arrivals = [an_arrival().queue("new"), twice.clone(), twice];
    assert!(!database.record(&batch("main", &arrivals)).await.unwrap_err().is_outage());
    assert_eq!(database.total().await, 0);
    // The facet that was made for it went with it, also from memory.
    database.take_in_new(an_arrival().queue("new")).await;
}

async fn nothing_is_known_of_a_letter_that_is_not_there(database: &TestDatabase) {
    let nobody = LetterId::from_uuid(super::make::id());
    assert_eq!(database.summary(nobody).await.unwrap(), None);
    assert_eq!(database.letter(nobody).await.unwrap(), None);
    assert_eq!(database.history(nobody).await.unwrap(), []);
    assert!(database.messages(&[nobody]).await.unwrap().is_empty());
}

/// Whoever writes headers may write any number there: it must not use up the retries of a policy for ever.
async fn rounds_are_believed_only_as_far_as_a_policy_goes(database: &TestDatabase) {
    let says = |rounds| an_arrival().make(|arrival| arrival.failure.rounds = rounds);
    for (said, believed) in [(101, 101), (102, 101), (1_000_000, 101)] {
        let id = database.take_in_new(says(said)).await;
        let letter = database.letter(id).await.unwrap().unwrap();
        assert_eq!(letter.summary.rounds, believed, "{said}");
        let is_told = letter.remarks.iter().any(|remark| remark.contains("which is not believed"));
        assert_eq!(is_told, said > believed, "{:?}", letter.remarks);
    }
}

on_both!(
    rounds_are_believed_only_as_far_as_a_policy_goes,
    a_new_letter_is_open_and_tells_how_it_failed,
    a_letter_of_unknown_queue_says_so,
    a_batch_is_answered_in_order,
    an_empty_batch_is_no_trouble,
    a_batch_of_thousands_is_taken_in_whole,
    a_batch_recorded_twice_is_there_once,
    a_batch_recorded_twice_at_the_same_moment_is_there_once,
    a_batch_that_could_not_be_recorded_is_recorded_by_the_next_try,
    bodies_come_back_byte_for_byte,
    every_property_comes_back,
    every_type_of_header_comes_back,
    remarks_come_back,
    the_deaths_are_those_of_the_headers,
    counts_too_large_for_the_database_are_the_largest_it_holds,
    what_is_refused_leaves_nothing_behind,
    nothing_is_known_of_a_letter_that_is_not_there,
);
