//! What went wrong, which type a message has, and what must not be retried.

use amqp_message::{error_report::ErrorReport, message::Message};
use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    domain::{
        actor::Actor,
        command::Refusal,
        letter::{LetterId, Status, TypeSource},
    },
    store::{Arrival, Order, Recorded},
};
use failure_conventions::{
    danger::Danger,
    inner_body::{InnerBodies, InnerBody},
};

use super::{
    database::{DISCARD, RETRY_NOW, TestDatabase},
    make::{Make, NOON, an_arrival, later},
};
use crate::support::conventions;

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn with_error(kind: Option<&str>, message: Option<&str>, trace: Option<&str>) -> Arrival {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let error = ErrorReport::new(owned(kind), owned(message), owned(trace));
    an_arrival().make(|arrival| arrival.failure.error = error)
}

async fn an_error_stands_with_its_letter(database: &TestDatabase) {
    let long = "é".repeat(1_500);
    for (arrival, kind, message) in [
        (an_arrival(), None, None),
        (with_error(Some("A"), Some("b"), Some("c")), text("A"), text("b")),
        (with_error(None, None, Some("c\nd")), None, text("c")),
        (with_error(Some("A"), None, Some("c")), text("A"), None),
        (with_error(None, Some(&long), None), None, Some("é".repeat(1_000))),
    ] {
        let shown = database.shows(database.take_in_new(arrival).await).await;
        assert_eq!((shown.error_type, shown.error_message), (kind, message));
    }
}

async fn a_type_that_the_message_names_says_where_from(database: &TestDatabase) {
    let typed = |name: &str| an_arrival().make(|arrival| arrival.failure.message_type = text(name));
    let shown = database.shows(database.take_in_new(typed("OrderPlaced")).await).await;
    assert_eq!(
        (shown.message_type, shown.type_source, shown.type_confidence),
        (text("OrderPlaced"), Some(TypeSource::Header), None)
    );
    let shown = database.shows(database.take_in_new(an_arrival()).await).await;
    assert_eq!((shown.message_type, shown.type_source), (None, None));
}

async fn the_latest_failure_is_the_one_shown(database: &TestDatabase) {
    let first = with_error(Some("A"), Some("b"), None).make(|arrival| arrival.failure.message_type = text("T"));
    let id = database.take_in_new(first).await;
    let rounds = [(with_error(Some("C"), Some("d"), None), text("C")), (an_arrival(), None)];
    for (back, kind) in rounds {
        database.bring(id, Status::Retried).await;
        assert_eq!(database.take_in([back.returning(id)]).await, [Recorded::FailedAgain(id)]);
        let shown = database.shows(id).await;
        assert_eq!(
            (shown.error_type, shown.message_type, shown.type_source),
            (kind, text("T"), Some(TypeSource::Header))
        );
    }
}

async fn it_failed_when_it_says_unless_that_is_to_come(database: &TestDatabase) {
    for (told, expected) in [(None, later(9)), (Some(NOON), NOON), (Some(later(60)), later(9))] {
        let arrival = an_arrival().received(later(9)).make(|arrival| arrival.failure.last_failed_at = told);
        let shown = database.shows(database.take_in_new(arrival).await).await;
        assert_eq!((shown.last_failed_at, shown.received_at), (expected, later(9)));
    }
}

fn dangerous(danger: Danger) -> Arrival {
    an_arrival().make(|arrival| arrival.failure.danger = Some(danger))
}

async fn what_a_retry_would_harm_is_not_retried(database: &TestDatabase) {
    for danger in Danger::ALL {
        let id = database.take_in_new(dangerous(*danger)).await;
        assert_eq!(database.shows(id).await.danger, Some(*danger));
        let harmless = database.take_in_new(an_arrival()).await;
        let report = database.command(&RETRY_NOW, &[id, harmless]).await;
        assert_eq!((report.done, report.refused), (vec![harmless], vec![(id, Refusal::Dangerous(*danger))]));
        assert_eq!(database.status(id).await, Status::Open);
        assert_eq!(database.command(&DISCARD, &[id]).await.done, [id]);
    }
}

async fn the_configuration_settles_one_of_the_dangers(database: &TestDatabase) {
    let bodies = InnerBodies::new([("orders".to_owned(), InnerBody::Text)]);
    let bodies = RetryLimits { bodies, ..RetryLimits::default() };
    let retry = async |id: LetterId| {
        let order =
            Order { ids: &[id], command: &RETRY_NOW, by: &Actor::local(), at: NOON, limits: &bodies, edits: None };
        database.act(&order).await.unwrap().done.len()
    };
    assert_eq!(retry(database.take_in_new(dangerous(Danger::EasynetqBody)).await).await, 1);
    let elsewhere = dangerous(Danger::EasynetqBody).queue("others");
    assert_eq!(retry(database.take_in_new(elsewhere).await).await, 0);
    assert_eq!(retry(database.take_in_new(dangerous(Danger::SymfonySerialized)).await).await, 0);
}

fn wrapped(change: impl Fn(String) -> String) -> Message {
    let message = conventions::message("easynetq-7");
    Message { body: change(String::from_utf8(message.body).unwrap()).into_bytes(), ..message }
}

async fn what_is_wrapped_anew_is_the_same_letter(database: &TestDatabase) {
    let first = wrapped(|body| body);
    let id = database.take_in_new(an_arrival().make(|arrival| arrival.message = first)).await;
    database.bring(id, Status::Retried).await;
    let again = wrapped(|body| body.replace("Card declined", "Card stolen, it seems"));
    let back = an_arrival().returning(id).make(|arrival| arrival.message = again.clone());
    assert_eq!(database.take_in([back]).await, [Recorded::FailedAgain(id)]);
    let letter = database.letter(id).await.unwrap().unwrap();
    assert_eq!(letter.summary.size, again.body.len() as u64);
    assert_eq!(letter.message, again);

    database.bring(id, Status::Retried).await;
    let other = wrapped(|body| body.replace("1090", "1091"));
    let other = an_arrival().returning(id).make(|arrival| arrival.message = other);
    assert!(matches!(database.take_in([other]).await[..], [Recorded::New(_)]));
}

async fn copies_in_one_batch_leave_the_last(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().make(|arrival| arrival.message = wrapped(|body| body))).await;
    database.bring(id, Status::Retried).await;
    let copy = |at: &str| {
        let message = wrapped(|body| body.replace("09:26:53", at));
        an_arrival().returning(id).make(|arrival| arrival.message = message.clone())
    };
    let copies = [copy("10:00:00"), copy("09:26:53")];
    let last = copies[1].message.clone();
    assert_eq!(database.take_in(copies).await, [Recorded::FailedAgain(id); 2]);
    assert_eq!(database.letter(id).await.unwrap().unwrap().message, last);
}

on_both!(
    an_error_stands_with_its_letter,
    a_type_that_the_message_names_says_where_from,
    the_latest_failure_is_the_one_shown,
    it_failed_when_it_says_unless_that_is_to_come,
    what_a_retry_would_harm_is_not_retried,
    the_configuration_settles_one_of_the_dangers,
    what_is_wrapped_anew_is_the_same_letter,
    copies_in_one_batch_leave_the_last,
);
