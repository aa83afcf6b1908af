//! Edited copies: what they take over, and that never two edits of one letter are sent.

use amqp_message::field::FieldValue;
use dead_letter_office::{
    domain::{
        command::{Command, Refusal},
        history::Event,
        letter::{Importance, LetterId, LetterSummary, Status},
        retry::RetryOutcome,
    },
    store::{EditOrder, Recorded},
};
use tokio::sync::Barrier;

use super::{
    database::{Change, DISCARD, RETRY_LATER, RETRY_NOW, TestDatabase, order},
    make::{Make, NOON, an_arrival, id, later},
};

const BODY: Change = |message| message.body = b"mended".to_vec();
const HEADER: Change = |message| message.headers.put("tenant", FieldValue::string("acme"));

/// A letter that was edited, and the copy.
async fn an_edited_letter(database: &TestDatabase) -> (LetterId, LetterId) {
    let original = database.letter_in(Status::Open).await;
    (original, database.edits(original, BODY).await)
}

async fn check_refused(database: &TestDatabase, command: Command, id: LetterId, by: LetterId) {
    let report = database.command(&command, &[id]).await;
    assert_eq!(report.refused, [(id, Refusal::Replaced { by })], "{command:?}");
}

async fn a_copy_is_its_letter_with_other_contents(database: &TestDatabase) {
    let arrival = an_arrival().attempts(3).importance(Importance::High).body("broken").died_in("orders");
    let original = database.take_in_new(arrival.message_id("m-1")).await;
    database.does(&Command::SetNote("ask Ann".to_owned()), &[original]).await;
    let before = database.letter(original).await.unwrap().unwrap();
    let copy = database.edit(original, BODY, 90).await.unwrap();
    let after = database.letter(copy).await.unwrap().unwrap();
    let expected = LetterSummary {
        id: copy,
        status: Status::Scheduled,
        retry_at: Some(later(90)),
        size: 6,
        edited_from: Some(original),
        ..before.summary.clone()
    };
    assert_eq!(after.summary, expected);
    assert_eq!((&after.deaths, &after.remarks), (&before.deaths, &before.remarks));
    let mut message = before.message.clone();
    BODY(&mut message);
    assert_eq!(after.message, message);
    let aside = database.letter(original).await.unwrap().unwrap();
    let expected = LetterSummary { status: Status::Discarded, replaced_by: Some(copy), ..before.summary };
    assert_eq!((aside.summary, aside.message), (expected, before.message));
}

async fn history_links_them(database: &TestDatabase) {
    let (original, copy) = an_edited_letter(database).await;
    let by = |event, detail: String| (event, "local user".to_owned(), detail);
    assert_eq!(database.events(original).await, [by(Event::Edited, format!("copy {copy}: body"))]);
    let expected = [
        by(Event::Edited, format!("edited copy of {original}: body")),
        by(Event::RetryScheduled, "to orders, in 1 h".to_owned()),
    ];
    assert_eq!(database.events(copy).await, expected);
}

async fn only_the_copy_is_sent(database: &TestDatabase) {
    let original = database.letter_in(Status::Scheduled).await;
    let copy = database.edit(original, BODY, 0).await.unwrap();
    let claimed = database.claim(later(9_000)).await;
    assert_eq!(claimed.iter().map(|retry| (retry.id, retry.size)).collect::<Vec<_>>(), [(copy, 6)]);
    database.finish(&claimed, RetryOutcome::Confirmed).await;
    assert_eq!((database.status(original).await, database.status(copy).await), (Status::Discarded, Status::Retried));
}

async fn a_copy_goes_where_a_retry_would_go(database: &TestDatabase) {
    let elsewhere = Command::Retry { delay: std::time::Duration::from_secs(60), queue: Some("other".to_owned()) };
    let original = database.letter_in(Status::Open).await;
    database.does(&elsewhere, &[original]).await;
    database.edit(original, BODY, 0).await.unwrap();
    assert_eq!(database.claim(NOON).await[0].queue, "other");
    let unknown = database.take_in_new(an_arrival().of_unknown_queue()).await;
    assert_eq!(database.edit(unknown, BODY, 0).await, Err(Refusal::QueueUnknown));
}

async fn only_what_is_open_or_waits_is_edited(database: &TestDatabase) {
    for status in [Status::Retried, Status::Discarded] {
        let id = database.letter_in(status).await;
        assert_eq!(database.edit(id, BODY, 0).await, Err(Refusal::WrongStatus { command: "edit", status }));
    }
    assert_eq!(database.edit(LetterId::from_uuid(id()), BODY, 0).await, Err(Refusal::NotFound));
}

async fn what_may_have_been_sent_is_not_edited(database: &TestDatabase) {
    let id = database.letter_in(Status::Open).await;
    database.does(&RETRY_NOW, &[id]).await;
    let claimed = database.claim(NOON).await;
    assert_eq!(database.edit(id, BODY, 0).await, Err(Refusal::InFlight));
    database.end_leases(&[claimed[0].claim()]).await.unwrap();
    assert_eq!(database.edit(id, BODY, 0).await, Err(Refusal::PerhapsSent));
    assert_eq!((database.total().await, database.status(id).await), (1, Status::Scheduled), "and nothing was done");
    database.does(&Command::Reopen, &[id]).await;
    let (_, _, detail) = database.events(id).await.pop().unwrap();
    assert!(detail.contains("may have arrived"), "{detail}");
    database.edits(id, BODY).await;
}

async fn an_edit_that_is_refused_leaves_no_trace(database: &TestDatabase) {
    let letter = database.letter_in(Status::Open).await;
    let before = database.shows(letter).await;
    let refusal = Refusal::Unfit("no".to_owned());
    let order = EditOrder {
        letter,
        copy: LetterId::from_uuid(id()),
        delay: std::time::Duration::ZERO,
        queue: None,
        edit: &|_| Err(Refusal::Unfit("no".to_owned())),
        summary: "",
        by: &dead_letter_office::domain::actor::Actor::local(),
        at: NOON,
    };
    assert_eq!(database.retry_edited(&order).await.unwrap(), Err(refusal));
    assert_eq!((database.shows(letter).await, database.total().await), (before, 1));
}

async fn the_original_stays_aside_while_its_copy_stands(database: &TestDatabase) {
    let (original, copy) = an_edited_letter(database).await;
    check_refused(database, Command::Reopen, original, copy).await;
    database.does(&Command::Reopen, &[copy]).await;
    check_refused(database, Command::Reopen, original, copy).await;
    database.bring(copy, Status::Retried).await;
    check_refused(database, Command::Reopen, original, copy).await;
    assert_eq!(database.in_place_of(original).await.unwrap(), Some(copy));
    assert_eq!(database.in_place_of(copy).await.unwrap(), None);
}

async fn an_edit_is_undone_by_a_discard_and_a_reopening(database: &TestDatabase) {
    let (original, copy) = an_edited_letter(database).await;
    database.does(&DISCARD, &[copy]).await;
    assert_eq!(database.in_place_of(original).await.unwrap(), None);
    database.does(&Command::Reopen, &[original]).await;
    check_refused(database, Command::Reopen, copy, original).await;
    // And the other way round.
    database.does(&DISCARD, &[original]).await;
    database.does(&Command::Reopen, &[copy]).await;
    check_refused(database, Command::Reopen, original, copy).await;
}

async fn one_order_reopens_one_of_them(database: &TestDatabase) {
    let (original, copy) = an_edited_letter(database).await;
    database.does(&DISCARD, &[copy]).await;
    let report = database.command(&Command::Reopen, &[copy, original]).await;
    assert_eq!((report.done, report.refused), (vec![copy], vec![(original, Refusal::Replaced { by: copy })]));
}

async fn an_order_that_refuses_one_does_not_hinder_the_other(database: &TestDatabase) {
    let (original, copy) = an_edited_letter(database).await;
    let report = database.command(&Command::Reopen, &[original, copy]).await;
    assert_eq!((report.done, report.refused), (vec![copy], vec![(original, Refusal::Replaced { by: copy })]));
}

async fn of_many_edits_one_stands(database: &TestDatabase) {
    let (first, second) = an_edited_letter(database).await;
    let third = database.edits(second, HEADER).await;
    check_refused(database, Command::Reopen, first, third).await;
    check_refused(database, Command::Reopen, second, third).await;
    database.does(&DISCARD, &[third]).await;
    database.does(&Command::Reopen, &[first]).await;
    let fourth = database.edits(first, HEADER).await;
    assert_eq!(database.shows(first).await.replaced_by, Some(fourth));
    for aside in [first, second, third] {
        check_refused(database, Command::Reopen, aside, fourth).await;
    }
}

async fn a_copy_that_fails_again_comes_back_to_itself(database: &TestDatabase) {
    let original = database.take_in_new(an_arrival().attempts(2).body("broken")).await;
    let copy = database.edits(original, BODY).await;
    database.does(&Command::Reopen, &[copy]).await;
    database.bring(copy, Status::Retried).await;
    let back = database.take_in([an_arrival().attempts(3).body("mended").returning(copy)]).await;
    assert_eq!(back, [Recorded::FailedAgain(copy)]);
    let letter = database.shows(copy).await;
    assert_eq!((letter.status, letter.attempts, letter.edited_from), (Status::Open, 3, Some(original)));
    assert_eq!(database.status(original).await, Status::Discarded);
    database.edits(copy, HEADER).await;
}

/// It had been sent before it was edited, and nobody knew whether it had arrived.
async fn an_original_that_comes_back_late_stays_aside(database: &TestDatabase) {
    let original = database.take_in_new(an_arrival()).await;
    let copy = database.edits(original, HEADER).await;
    database.take_in([an_arrival().returning(original)]).await;
    assert_eq!((database.status(original).await, database.status(copy).await), (Status::Discarded, Status::Scheduled));
    let (event, _, detail) = database.events(original).await.pop().unwrap();
    assert!(event == Event::FailedAgain && detail.contains("attempt 2; it stays set aside"), "{detail}");
    // As soon as it is alone it is a letter like any other.
    database.does(&DISCARD, &[copy]).await;
    database.take_in([an_arrival().returning(original)]).await;
    assert_eq!(database.status(original).await, Status::Open);
    check_refused(database, Command::Reopen, copy, original).await;
}

async fn of_edits_that_come_back_together_one_stands(database: &TestDatabase) {
    let original = database.take_in_new(an_arrival()).await;
    let copy = database.edits(original, HEADER).await;
    database.does(&DISCARD, &[copy]).await;
    let twice = an_arrival().returning(copy);
    database.take_in([twice.clone(), an_arrival().returning(original), twice.twin()]).await;
    assert_eq!((database.status(original).await, database.status(copy).await), (Status::Discarded, Status::Open));
}

async fn two_people_cannot_both_edit(database: &TestDatabase) {
    for _ in 0..10 {
        let id = database.letter_in(Status::Open).await;
        let results = tokio::join!(database.edit(id, BODY, 9_000), database.edit(id, HEADER, 9_000));
        assert_eq!([results.0.is_ok(), results.1.is_ok()].into_iter().filter(|ok| *ok).count(), 1, "{results:?}");
    }
}

async fn two_people_cannot_reopen_both(database: &TestDatabase) {
    let other = database.second_server().await;
    for _ in 0..10 {
        let (original, copy) = an_edited_letter(database).await;
        database.does(&DISCARD, &[copy]).await;
        let barrier = Barrier::new(2);
        let [one, two] = [[original], [copy]];
        let (one, two) = tokio::join!(
            async {
                barrier.wait().await;
                database.act(&order(&Command::Reopen, &one)).await.unwrap()
            },
            async {
                barrier.wait().await;
                other.act(&order(&Command::Reopen, &two)).await.unwrap()
            }
        );
        assert_eq!(one.done.len() + two.done.len(), 1, "{one:?} {two:?}");
    }
}

async fn a_letter_without_edits_has_nothing_in_its_place(database: &TestDatabase) {
    let id = database.letter_in(Status::Discarded).await;
    database.does(&RETRY_LATER, &[database.letter_in(Status::Open).await]).await;
    assert_eq!(database.in_place_of(id).await.unwrap(), None);
    database.does(&Command::Reopen, &[id]).await;
}

on_both!(
    a_copy_is_its_letter_with_other_contents,
    history_links_them,
    only_the_copy_is_sent,
    a_copy_goes_where_a_retry_would_go,
    only_what_is_open_or_waits_is_edited,
    what_may_have_been_sent_is_not_edited,
    an_edit_that_is_refused_leaves_no_trace,
    the_original_stays_aside_while_its_copy_stands,
    an_edit_is_undone_by_a_discard_and_a_reopening,
    one_order_reopens_one_of_them,
    an_order_that_refuses_one_does_not_hinder_the_other,
    of_many_edits_one_stands,
    a_copy_that_fails_again_comes_back_to_itself,
    an_original_that_comes_back_late_stays_aside,
    of_edits_that_come_back_together_one_stands,
    two_people_cannot_both_edit,
    two_people_cannot_reopen_both,
    a_letter_without_edits_has_nothing_in_its_place,
);
