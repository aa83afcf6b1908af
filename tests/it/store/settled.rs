//! What people have sent back or discarded is forgotten in time.

use std::time::Duration;

use amqp_message::{message::Message, time::Timestamp};
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
use failure_conventions::inner_body::InnerBodies;

use super::{
    ledger::{DISCARD, Ledger, RETRY_NOW},
    make::{Make, NOON, an_arrival, later},
    waiting::ruled,
};

/// Retried letters stay for 100 s, discarded ones for 10 s.
fn outdated(now: Timestamp) -> Outdated {
    Outdated { retried: now.minus(Duration::from_secs(100)), discarded: now.minus(Duration::from_secs(10)) }
}

/// Forgets in batches of three, and returns how many.
async fn forget(ledger: &Ledger, seconds: u64) -> usize {
    let mut forgotten = 0;
    loop {
        match ledger.forget_settled(outdated(later(seconds)), 3).await.unwrap() {
            0 => return forgotten,
            batch => forgotten += batch,
        }
    }
}

async fn is_there(ledger: &Ledger, id: LetterId) -> bool {
    ledger.summary(id).await.unwrap().is_some()
}

fn mend(message: &mut Message) {
    message.body = b"mended".to_vec();
}

async fn each_goes_when_its_time_is_over(ledger: &Ledger) {
    let [retried, discarded] = [ledger.letter_in(Status::Retried).await, ledger.letter_in(Status::Discarded).await];
    let staying = [ledger.letter_in(Status::Open).await, ledger.letter_in(Status::Scheduled).await];
    assert_eq!(forget(ledger, 10).await, 0, "not to the moment");
    assert_eq!(forget(ledger, 11).await, 1);
    assert_eq!((is_there(ledger, retried).await, is_there(ledger, discarded).await), (true, false));
    assert_eq!(forget(ledger, 1_000_000).await, 1);
    assert!(!is_there(ledger, retried).await);
    for id in staying {
        assert!(is_there(ledger, id).await);
    }
}

async fn nothing_is_left_of_them(ledger: &Ledger) {
    let id = ledger.take_in_new(an_arrival().body("x")).await;
    ledger.bring(id, Status::Discarded).await;
    assert_eq!(forget(ledger, 11).await, 1);
    assert_eq!((ledger.letter(id).await.unwrap(), ledger.history(id).await.unwrap()), (None, vec![]));
    assert_eq!(ledger.number("SELECT count(*) FROM contents").await, 0);
    assert_eq!((ledger.total().await, ledger.facets().await.unwrap()), (0, vec![]));
}

async fn many_go_in_portions(ledger: &Ledger) {
    let ids = ledger.take_in_many(8).await;
    ledger.does(&DISCARD, &ids).await;
    for left in [3, 3, 2, 0] {
        assert_eq!(ledger.forget_settled(outdated(later(11)), 3).await.unwrap(), left);
    }
}

async fn the_time_begins_anew_when_a_letter_moves(ledger: &Ledger) {
    let id = ledger.letter_in(Status::Discarded).await;
    ledger.does(&Command::Reopen, &[id]).await;
    assert_eq!(forget(ledger, 1_000).await, 0);
    let at = later(50);
    let order = Order { ids: &[id], command: &DISCARD, by: &Actor::local(), at, bodies: &InnerBodies::default() };
    ledger.act(&order).await.unwrap();
    assert_eq!(forget(ledger, 60).await, 0);
    // A note is no new discard.
    let note = Command::SetNote("n".to_owned());
    ledger.act(&Order { command: &note, at: later(55), ..order }).await.unwrap();
    let importance = Command::SetImportance(dead_letter_office::domain::letter::Importance::Low);
    ledger.does(&importance, &[id]).await;
    assert_eq!(forget(ledger, 61).await, 1);
}

async fn what_failed_again_stays(ledger: &Ledger) {
    let id = ledger.letter_in(Status::Retried).await;
    assert_eq!(ledger.take_in([an_arrival().returning(id)]).await, [Recorded::CameBack(id)]);
    assert_eq!(forget(ledger, 1_000).await, 0);
}

/// Those are succeeded, and have a time of their own.
async fn what_only_a_policy_has_dealt_with_is_another_matter(ledger: &Ledger) {
    let [Recorded::Waits(id)] = ledger.take_in([ruled(an_arrival())]).await else { panic!("it waits") };
    ledger.finish(&ledger.claim(later(60)).await, RetryOutcome::Confirmed).await;
    assert_eq!((ledger.status(id).await, forget(ledger, 1_000).await), (Status::Retried, 0));
    assert_eq!(ledger.forget_healed(NOON, 10).await.unwrap(), 0);
    assert_eq!(ledger.forget_healed(later(1), 10).await.unwrap(), 1);
}

async fn edits_go_together_when_the_last_of_them_may(ledger: &Ledger) {
    let original = ledger.letter_in(Status::Open).await;
    let copy = ledger.edits(original, mend).await;
    assert_eq!(forget(ledger, 1_000).await, 0, "the copy waits");
    ledger.does(&RETRY_NOW, &[copy]).await;
    ledger.finish(&ledger.claim(NOON).await, RetryOutcome::Confirmed).await;
    assert_eq!(forget(ledger, 100).await, 0, "the copy has not been gone for so long");
    assert_eq!(ledger.forget_settled(outdated(later(101)), 1).await.unwrap(), 2, "also where one is all that is asked");
    assert_eq!(ledger.total().await, 0);
}

async fn a_copy_does_not_go_before_its_original(ledger: &Ledger) {
    let original = ledger.letter_in(Status::Open).await;
    let copy = ledger.edits(original, mend).await;
    ledger.does(&DISCARD, &[copy]).await;
    ledger.does(&Command::Reopen, &[original]).await;
    assert_eq!(forget(ledger, 1_000).await, 0);
    ledger.does(&DISCARD, &[original]).await;
    assert_eq!(forget(ledger, 1_000).await, 2);
    assert!(!is_there(ledger, copy).await);
}

async fn two_offices_forget_each_letter_once(ledger: &Ledger) {
    let ids = ledger.take_in_many(50).await;
    ledger.does(&DISCARD, &ids).await;
    let other = ledger.second_office().await;
    let all = outdated(later(11));
    let (one, two) = tokio::join!(ledger.forget_settled(all, 100), other.forget_settled(all, 100));
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
    two_offices_forget_each_letter_once,
);
