//! Letters that were sent back and failed again.

use std::time::Duration;

use amqp_message::{death::Reason, field::FieldValue, time::Timestamp};
use dead_letter_office::{
    domain::{
        command::Command,
        filter::LetterFilter,
        history::Event,
        letter::{Importance, LetterId, Status},
        retry::RetryOutcome,
    },
    store::{Arrival, Recorded},
};

use super::{
    database::{DISCARD, LEASE, RETRY_LATER, RETRY_NOW, TestDatabase, record},
    make::{Make, NOON, an_arrival, id, later},
};

/// It comes back as this letter, with nothing else changed.
async fn comes_back(database: &TestDatabase, id: LetterId) {
    let back = an_arrival().returning(id).received(later(60));
    assert_eq!(database.take_in([back]).await, [Recorded::FailedAgain(id)]);
}

async fn it_is_the_same_letter_and_open_again(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    let back = an_arrival().returning(id).received(later(60)).reason(Reason::Expired).attempts(2);
    assert_eq!(database.take_in([back]).await, [Recorded::FailedAgain(id)]);
    let letter = database.shows(id).await;
    assert_eq!((letter.status, letter.attempts, letter.reason), (Status::Open, 2, Reason::Expired));
    assert_eq!((letter.received_at, letter.last_failed_at), (later(60), later(60)));
    assert_eq!(database.total().await, 1);
}

async fn its_history_goes_on(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    comes_back(database, id).await;
    let history = database.history(id).await.unwrap();
    let events: Vec<_> = history.iter().map(|entry| (entry.event, entry.at)).collect();
    let expected = [
        (Event::Received, NOON),
        (Event::RetryScheduled, NOON),
        (Event::Retried, NOON),
        (Event::FailedAgain, later(60)),
    ];
    assert_eq!(events, expected);
    assert_eq!(history[3].detail, "attempt 2");
}

async fn attempts_are_carried_on_and_never_fall(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().attempts(4)).await;
    for (told, expected) in [(1, 5), (9, 9), (9, 10)] {
        database.bring(id, Status::Retried).await;
        database.take_in([an_arrival().returning(id).attempts(told)]).await;
        assert_eq!(database.shows(id).await.attempts, expected);
    }
}

async fn deaths_of_earlier_rounds_are_kept(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().died_in("first")).await;
    for queue in ["second", "third"] {
        database.bring(id, Status::Retried).await;
        database.take_in([an_arrival().returning(id).died_in(queue)]).await;
    }
    let letter = database.letter(id).await.unwrap().unwrap();
    let queues: Vec<_> = letter.deaths.iter().map(|death| &*death.queue).collect();
    assert_eq!(queues, ["third", "second", "first"]);
}

async fn it_shows_the_message_as_it_failed_last(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().header("round", FieldValue::LongInt(1)).body("b")).await;
    database.bring(id, Status::Retried).await;
    let back = an_arrival().returning(id).header("round", FieldValue::LongInt(2)).message_id("new").body("b");
    let back = back.make(|arrival| {
        arrival.message.routing_key = "orders".to_owned();
        arrival.remarks = vec!["odd".to_owned()];
    });
    database.take_in([back.clone()]).await;
    let letter = database.letter(id).await.unwrap().unwrap();
    assert_eq!((letter.message, letter.remarks), (back.message, back.remarks));
}

async fn what_was_lost_stays_and_what_was_remarked_once_does_not(database: &TestDatabase) {
    let with = |losses: &[&str], remark: &str| {
        let losses: Vec<String> = losses.iter().map(|lost| (*lost).to_owned()).collect();
        let remarks = vec![remark.to_owned()];
        an_arrival().make(|arrival| (arrival.losses, arrival.remarks) = (losses, remarks))
    };
    let id = database.take_in_new(with(&["a header was cut"], "held")).await;
    for losses in [&[][..], &["a header was cut", "a key was cut"]] {
        database.bring(id, Status::Retried).await;
        database.take_in([with(losses, "stopped").returning(id)]).await;
    }
    let remarks = database.letter(id).await.unwrap().unwrap().remarks;
    assert_eq!(remarks, ["a header was cut", "a key was cut", "stopped"]);
}

/// One message joins the letter of an equal one that is away, which then comes back as a letter of its own.
async fn equal_messages_are_counted_once_each(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival()).await;
    database.bring(id, Status::Retried).await;
    let joins = an_arrival().returning(id).make(|arrival| {
        arrival.is_recognised = true;
        arrival.failure.rounds = 2;
    });
    assert_eq!(database.take_in([joins]).await, [Recorded::FailedAgain(id)]);
    let own = an_arrival().returning(id).make(|arrival| arrival.failure.rounds = 2);
    assert!(matches!(database.take_in([own]).await, [Recorded::New(new)] if new != id), "its letter is here already");
    // What dlo has sent on as an obituary was counted then.
    database.take_in([an_arrival().make(|arrival| arrival.is_counted = true)]).await;
    let counts = database.retry_counts(Timestamp::default()).await.unwrap();
    let counts: Vec<_> = counts.iter().map(|count| (count.failures, count.failed, count.exhausted)).collect();
    assert_eq!(counts, [(1, 2, 2), (2, 1, 1)]);
}

async fn what_people_decided_stays(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    database.does(&Command::SetImportance(Importance::Critical), &[id]).await;
    database.does(&Command::SetNote("ask Ann".to_owned()), &[id]).await;
    comes_back(database, id).await;
    let letter = database.shows(id).await;
    assert_eq!((letter.importance, &*letter.importance_by), (Importance::Critical, "manual"));
    assert_eq!(letter.note.as_deref(), Some("ask Ann"));
}

async fn its_last_problem_is_over(database: &TestDatabase) {
    let id = database.letter_in(Status::Open).await;
    database.does(&RETRY_NOW, &[id]).await;
    let claimed = database.claim(NOON).await;
    database.finish(&claimed, RetryOutcome::Failed("no such queue".to_owned())).await;
    comes_back(database, id).await;
    assert_eq!(database.shows(id).await.problem, None);
}

async fn a_discarded_one_opens_too(database: &TestDatabase) {
    let id = database.letter_in(Status::Discarded).await;
    comes_back(database, id).await;
    assert_eq!(database.status(id).await, Status::Open);
}

async fn two_copies_in_one_batch_are_two_attempts(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    let back = [an_arrival().returning(id), an_arrival().returning(id).received(later(400))];
    assert_eq!(database.take_in(back).await, [Recorded::FailedAgain(id); 2]);
    assert_eq!((database.total().await, database.shows(id).await.attempts), (1, 3));
}

async fn of_several_copies_in_one_batch_the_last_is_shown_and_each_is_reported(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().died_in("first").attempts(8)).await;
    let other = database.take_in_new(an_arrival()).await;
    database.bring(id, Status::Retried).await;
    database.bring(other, Status::Retried).await;
    let copy = |queue: &str| an_arrival().returning(id).died_in(queue).queue(queue);
    let back = [copy("second"), copy("third"), an_arrival().returning(other), copy("last").received(later(600))];
    assert_eq!(database.take_in(back.clone()).await.map(Recorded::letter), [id, id, other, id]);

    let letter = database.letter(id).await.unwrap().unwrap();
    assert_eq!((letter.summary.queue.as_deref(), letter.summary.attempts), (Some("last"), 11));
    assert_eq!((letter.summary.received_at, &letter.message), (later(600), &back[3].message));
    let deaths: Vec<_> = letter.deaths.iter().map(|death| &*death.queue).collect();
    assert_eq!(deaths, ["last", "third", "second", "first"]);
    let told: Vec<String> = database.events(id).await.into_iter().skip(2).map(|(_, _, detail)| detail).collect();
    assert_eq!(told, [9, 10, 11].map(|attempt| format!("attempt {attempt}")));
    assert_eq!(database.shows(other).await.attempts, 2);
    assert_eq!(database.facets().await.unwrap().len(), 2);
}

async fn thousands_come_back_at_once(database: &TestDatabase) {
    let ids = database.take_in_many(2_500).await;
    database.does(&DISCARD, &ids).await;
    let back: Vec<Arrival> = ids.iter().map(|id| an_arrival().returning(*id).received(later(400))).collect();
    let recorded = record(database, "main", &back).await;
    assert!(recorded.iter().zip(&ids).all(|(recorded, id)| *recorded == Recorded::FailedAgain(*id)));
    let open = LetterFilter { statuses: vec![Status::Open], ..LetterFilter::default() };
    assert_eq!(database.count(&open).await.unwrap(), 2_500);
    assert_eq!(database.number("SELECT count(*) FROM history WHERE event = 'failed_again'").await, 2_500);
}

async fn some_come_back_and_some_wait_and_some_are_new(database: &TestDatabase) {
    let back = database.letter_in(Status::Retried).await;
    let waits = database.letter_in(Status::Scheduled).await;
    let new = an_arrival();
    let batch = [an_arrival().returning(waits), new.clone(), an_arrival().returning(back)];
    let expected = [Recorded::Waits(waits), Recorded::New(new.id), Recorded::FailedAgain(back)];
    assert_eq!(database.take_in(batch).await, expected);
    for (id, status) in [(waits, Status::Scheduled), (new.id, Status::Open), (back, Status::Open)] {
        assert_eq!(database.status(id).await, status);
    }
}

async fn with_another_body_it_is_a_letter_of_its_own(database: &TestDatabase) {
    let known = database.letter_in(Status::Retried).await;
    let new = database.take_in_new(an_arrival().returning(known).body("other")).await;
    assert_eq!((database.status(known).await, database.status(new).await), (Status::Retried, Status::Open));
}

async fn at_another_broker_it_is_a_letter_of_its_own(database: &TestDatabase) {
    let known = database.letter_in(Status::Retried).await;
    let back = [an_arrival().returning(known)];
    assert_eq!(record(database, "other", &back).await, [Recorded::New(back[0].id)]);
}

async fn one_that_names_no_letter_of_ours_is_new(database: &TestDatabase) {
    database.take_in_new(an_arrival().returning(LetterId::from_uuid(id()))).await;
}

async fn a_retry_that_waits_stays_when_another_copy_is_back(database: &TestDatabase) {
    let id = database.letter_in(Status::Scheduled).await;
    assert_eq!(database.take_in([an_arrival().returning(id)]).await, [Recorded::Waits(id)]);
    let letter = database.shows(id).await;
    assert_eq!((letter.status, letter.retry_at), (Status::Scheduled, Some(later(3600))));
}

async fn a_retry_that_is_being_published_has_arrived(database: &TestDatabase) {
    let id = database.letter_in(Status::Scheduled).await;
    assert_eq!(database.claims(later(3600)).await, [id]);
    comes_back(database, id).await;
    assert_eq!(database.status(id).await, Status::Open);
    assert_eq!(database.claims(later(9000)).await, []);
}

/// The connection broke before the confirm: the retry would go out again, had it not come back.
async fn a_retry_of_unknown_outcome_has_arrived(database: &TestDatabase) {
    let id = database.letter_in(Status::Scheduled).await;
    let claimed = database.claim(later(3600)).await;
    database.end_leases(&[claimed[0].claim()]).await.unwrap();
    comes_back(database, id).await;
    assert_eq!(database.status(id).await, Status::Open);
}

async fn marking_comes_too_late_then(database: &TestDatabase) {
    let id = database.letter_in(Status::Scheduled).await;
    let claimed = database.claim(later(3600)).await;
    comes_back(database, id).await;
    database.finish(&claimed, RetryOutcome::Confirmed).await;
    assert_eq!(database.status(id).await, Status::Open);
}

async fn marking_leaves_a_newer_retry_alone(database: &TestDatabase) {
    let id = database.letter_in(Status::Scheduled).await;
    let claimed = database.claim(later(3600)).await;
    comes_back(database, id).await;
    database.does(&RETRY_LATER, &[id]).await;
    database.finish(&claimed, RetryOutcome::Confirmed).await;
    assert_eq!(database.shows(id).await.retry_at, Some(later(3600)));
    database.unclaim_retries(&[claimed[0].claim()]).await.unwrap();
    database.renew_leases(&[claimed[0].claim()], NOON.plus(LEASE)).await.unwrap();
    let claimed = database.claim(later(3600)).await;
    assert_eq!(claimed.iter().map(|retry| (retry.id, retry.claimed_before())).collect::<Vec<_>>(), [(id, false)]);
}

async fn one_that_comes_back_moves_in_time(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    let late = later(7 * 24 * 3600);
    database.take_in([an_arrival().returning(id).received(late)]).await;
    let bars = database.histogram(&Default::default(), NOON, late.plus(Duration::from_secs(1)), LEASE).await.unwrap();
    assert_eq!(bars.first().unwrap().counts, [0; 4]);
    assert_eq!(bars.last().unwrap().counts, [0, 0, 1, 0]);
}

on_both!(
    it_is_the_same_letter_and_open_again,
    its_history_goes_on,
    attempts_are_carried_on_and_never_fall,
    deaths_of_earlier_rounds_are_kept,
    it_shows_the_message_as_it_failed_last,
    what_was_lost_stays_and_what_was_remarked_once_does_not,
    equal_messages_are_counted_once_each,
    what_people_decided_stays,
    its_last_problem_is_over,
    a_discarded_one_opens_too,
    two_copies_in_one_batch_are_two_attempts,
    of_several_copies_in_one_batch_the_last_is_shown_and_each_is_reported,
    thousands_come_back_at_once,
    some_come_back_and_some_wait_and_some_are_new,
    with_another_body_it_is_a_letter_of_its_own,
    at_another_broker_it_is_a_letter_of_its_own,
    one_that_names_no_letter_of_ours_is_new,
    a_retry_that_waits_stays_when_another_copy_is_back,
    a_retry_that_is_being_published_has_arrived,
    a_retry_of_unknown_outcome_has_arrived,
    marking_comes_too_late_then,
    marking_leaves_a_newer_retry_alone,
    one_that_comes_back_moves_in_time,
);
