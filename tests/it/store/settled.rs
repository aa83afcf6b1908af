//! What people have sent back or discarded is forgotten in time.

use std::time::Duration;

use amqp_message::{message::Message, time::Timestamp};
use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    domain::{
        actor::Actor,
        command::Command,
        letter::{LetterId, Status},
        lifecycle::retention::Outdated,
        retry::RetryOutcome,
    },
    store::{Order, Recorded},
};

use super::{
    database::{DISCARD, RETRY_NOW, TestDatabase},
    make::{Make, NOON, an_arrival, later},
    waiting::ruled,
};

/// Retried letters stay for 100 s, discarded ones for 10 s.
fn outdated(now: Timestamp) -> Outdated {
    Outdated { retried: now.minus(Duration::from_secs(100)), discarded: now.minus(Duration::from_secs(10)) }
}

/// Forgets in batches of three, and returns how many.
async fn forget(database: &TestDatabase, seconds: u64) -> usize {
    let mut forgotten = 0;
    loop {
        match database.forget_settled(outdated(later(seconds)), 3).await.unwrap() {
            0 => return forgotten,
            batch => forgotten += batch,
        }
    }
}

async fn is_there(database: &TestDatabase, id: LetterId) -> bool {
    database.summary(id).await.unwrap().is_some()
}

fn mend(message: &mut Message) {
    message.body = b"mended".to_vec();
}

async fn each_goes_when_its_time_is_over(database: &TestDatabase) {
    let [retried, discarded] = [database.letter_in(Status::Retried).await, database.letter_in(Status::Discarded).await];
    let staying = [database.letter_in(Status::Open).await, database.letter_in(Status::Scheduled).await];
    assert_eq!(forget(database, 10).await, 0, "not to the moment");
    assert_eq!(forget(database, 11).await, 1);
    assert_eq!((is_there(database, retried).await, is_there(database, discarded).await), (true, false));
    assert_eq!(forget(database, 1_000_000).await, 1);
    assert!(!is_there(database, retried).await);
    for id in staying {
        assert!(is_there(database, id).await);
    }
}

async fn nothing_is_left_of_them(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().body("x")).await;
    database.bring(id, Status::Discarded).await;
    assert_eq!(forget(database, 11).await, 1);
    assert_eq!((database.letter(id).await.unwrap(), database.history(id).await.unwrap()), (None, vec![]));
    assert_eq!(database.number("SELECT count(*) FROM contents").await, 0);
    assert_eq!((database.total().await, database.facets().await.unwrap()), (0, vec![]));
}

async fn many_go_in_portions(database: &TestDatabase) {
    let ids = database.take_in_many(8).await;
    database.does(&DISCARD, &ids).await;
    for left in [3, 3, 2, 0] {
        assert_eq!(database.forget_settled(outdated(later(11)), 3).await.unwrap(), left);
    }
}

async fn the_time_begins_anew_when_a_letter_moves(database: &TestDatabase) {
    let id = database.letter_in(Status::Discarded).await;
    database.does(&Command::Reopen, &[id]).await;
    assert_eq!(forget(database, 1_000).await, 0);
    let at = later(50);
    let order =
        Order { ids: &[id], command: &DISCARD, by: &Actor::local(), at, limits: &RetryLimits::default(), edits: None };
    database.act(&order).await.unwrap();
    assert_eq!(forget(database, 60).await, 0);
    // A note is no new discard.
    let note = Command::SetNote("n".to_owned());
    database.act(&Order { command: &note, at: later(55), ..order }).await.unwrap();
    let importance = Command::SetImportance(dead_letter_office::domain::letter::Importance::Low);
    database.does(&importance, &[id]).await;
    assert_eq!(forget(database, 61).await, 1);
}

async fn what_failed_again_stays(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    assert_eq!(database.take_in([an_arrival().returning(id)]).await, [Recorded::FailedAgain(id)]);
    assert_eq!(forget(database, 1_000).await, 0);
}

/// Those are succeeded, and have a time of their own.
async fn what_only_a_policy_has_dealt_with_is_another_matter(database: &TestDatabase) {
    let [Recorded::Waits(id)] = database.take_in([ruled(an_arrival())]).await else { panic!("it waits") };
    database.finish(&database.claim(later(60)).await, RetryOutcome::Confirmed).await;
    assert_eq!((database.status(id).await, forget(database, 1_000).await), (Status::Retried, 0));
    assert_eq!(database.forget_succeeded(NOON, 10).await.unwrap(), 0);
    assert_eq!(database.forget_succeeded(later(1), 10).await.unwrap(), 1);
}

async fn edits_go_together_when_the_last_of_them_may(database: &TestDatabase) {
    let original = database.letter_in(Status::Open).await;
    let copy = database.edits(original, mend).await;
    assert_eq!(forget(database, 1_000).await, 0, "the copy waits");
    database.does(&RETRY_NOW, &[copy]).await;
    database.finish(&database.claim(NOON).await, RetryOutcome::Confirmed).await;
    assert_eq!(forget(database, 100).await, 0, "the copy has not been gone for so long");
    assert_eq!(
        database.forget_settled(outdated(later(101)), 1).await.unwrap(),
        2,
        "also where one is all that is asked"
    );
    assert_eq!(database.total().await, 0);
}

async fn a_copy_does_not_go_before_its_original(database: &TestDatabase) {
    let original = database.letter_in(Status::Open).await;
    let copy = database.edits(original, mend).await;
    database.does(&DISCARD, &[copy]).await;
    database.does(&Command::Reopen, &[original]).await;
    assert_eq!(forget(database, 1_000).await, 0);
    database.does(&DISCARD, &[original]).await;
    assert_eq!(forget(database, 1_000).await, 2);
    assert!(!is_there(database, copy).await);
}

async fn two_servers_forget_each_letter_once(database: &TestDatabase) {
    let ids = database.take_in_many(50).await;
    database.does(&DISCARD, &ids).await;
    let other = database.second_server().await;
    let all = outdated(later(11));
    let (one, two) = tokio::join!(database.forget_settled(all, 100), other.forget_settled(all, 100));
    assert_eq!(one.unwrap() + two.unwrap(), 50);
}

on_both!(
    each_goes_when_its_time_is_over,
    nothing_is_left_of_them,
    many_go_in_portions,
    the_time_begins_anew_when_a_letter_moves,
    what_failed_again_stays,
    what_only_a_policy_has_dealt_with_is_another_matter,
    edits_go_together_when_the_last_of_them_may,
    a_copy_does_not_go_before_its_original,
    two_servers_forget_each_letter_once,
);
