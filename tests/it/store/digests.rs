//! Digests in the database: each slot once, what the next one is compared with, and the status of each.

use std::time::Duration;

use amqp_message::time::Timestamp;
use dead_letter_office::{
    domain::{
        actor::Actor,
        digest::{DigestGroup, DigestOptions, DigestPeriod, DigestReport},
        group::GroupId,
        letter::{Importance, LetterId, Status},
        notification::{Attempt, Channel, NewNotification, NotificationKind, NotificationState},
    },
    grouping,
    store::{DigestScope, Enriched, MergeOrder, NewDigest, SlotState},
};
use uuid::Uuid;

use super::{
    database::TestDatabase,
    make::{InGroup, Make, NOON, an_arrival, enriched, id, later},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn report() -> DigestReport {
    let period = DigestPeriod { from: Some(NOON), until: later(1), label: "noon".to_owned() };
    DigestReport::new("Dead letters".to_owned(), period, Vec::new(), DigestOptions::default())
}

/// A digest of this name made at that second after noon; sent or quiet.
struct Made {
    name: &'static str,
    slot: Option<u64>,
    at: u64,
    since: Option<u64>,
    is_sent: bool,
}

const MADE: Made = Made { name: "daily", slot: Some(0), at: 0, since: None, is_sent: true };

async fn add(database: &TestDatabase, made: Made) -> (Uuid, bool) {
    let id = id();
    let notification = NewNotification {
        id,
        channel: Channel::Slack,
        subject: made.name.to_owned(),
        kind: NotificationKind::Digest,
        body: "{}".to_owned(),
    };
    let new = NewDigest {
        id,
        name: made.name,
        slot: made.slot.map(later),
        made_at: later(made.at),
        by: &Actor::named("Ann"),
        since: made.since.map(later),
        notification: made.is_sent.then_some(&notification),
        report: &report().write(),
        snapshot: "{}",
    };
    (id, database.add_digest(&new).await.unwrap())
}

/// The next notification ends like this.
async fn ends(database: &TestDatabase, at: Timestamp, attempt: Attempt) {
    let claimed = database.claim_notification(at, DAY, (Channel::Slack, None)).await.unwrap().unwrap();
    database.end_attempt(claimed.notification.id, &attempt, at).await.unwrap();
}

async fn last(database: &TestDatabase, now: Timestamp) -> Option<Timestamp> {
    let scope = DigestScope { name: "daily", importances: &[Importance::Low], queues: &[], now, pending_since: NOON };
    database.digest_figures(scope).await.unwrap().last.map(|last| last.made_at)
}

async fn a_slot_is_taken_once_and_with_it_what_is_sent(database: &TestDatabase) {
    let (first, is_first) = add(database, MADE).await;
    let (_, is_second) = add(database, Made { at: 1, ..MADE }).await;
    assert!(is_first && !is_second);
    assert!(add(database, Made { name: "other", ..MADE }).await.1, "another digest has slots of its own");
    assert!(add(database, Made { slot: None, ..MADE }).await.1 && add(database, Made { slot: None, ..MADE }).await.1);
    assert_eq!(database.waiting_notifications().await.unwrap().0, 4);
    let (record, read) = database.digest(first).await.unwrap().unwrap();
    assert_eq!((record.slot, record.made_by.as_str(), record.is_quiet), (Some(NOON), "Ann", false));
    assert_eq!(read, report());
    assert_eq!(database.digest(id()).await.unwrap(), None);
    let named: Vec<_> =
        database.digests(Some("other"), None, 9).await.unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(named, ["other"]);
    assert_eq!(database.digests(None, None, 3).await.unwrap().len(), 3);
}

async fn a_schedule_begins_when_it_is_new_or_another(database: &TestDatabase) {
    let state = async |slot| database.digest_slot("daily", later(slot)).await.unwrap();
    assert_eq!(state(10).await, SlotState::Before, "nobody has said that there is one");
    database.keep_digest_schedule("daily", "0 9 * * *", later(10)).await.unwrap();
    assert_eq!((state(10).await, state(11).await), (SlotState::Before, SlotState::Due));
    database.keep_digest_schedule("daily", "0 9 * * *", later(20)).await.unwrap();
    assert_eq!(state(11).await, SlotState::Due, "it is the same");
    database.keep_digest_schedule("daily", "0 8 * * *", later(20)).await.unwrap();
    assert_eq!((state(20).await, state(21).await), (SlotState::Before, SlotState::Due));
    database.keep_digest_schedule("daily", "0 8 * * *", later(5)).await.unwrap();
    assert_eq!((state(5).await, state(6).await), (SlotState::Before, SlotState::Due), "the clock was put back");
    add(database, Made { slot: Some(6), ..MADE }).await;
    assert_eq!(state(6).await, SlotState::Taken);
}

async fn the_last_one_is_the_last_of_the_schedule_that_was_read(database: &TestDatabase) {
    assert_eq!(last(database, later(99)).await, None);
    add(database, MADE).await;
    add(database, Made { name: "other", at: 5, ..MADE }).await;
    add(database, Made { slot: None, at: 6, ..MADE }).await;
    assert_eq!(last(database, later(99)).await, Some(NOON));
    ends(database, later(1), Attempt::Delivered).await;
    add(database, Made { slot: Some(10), at: 10, since: Some(0), is_sent: false, ..MADE }).await;
    assert_eq!(last(database, later(99)).await, Some(later(10)), "to say nothing is to say that nothing happened");
    assert_eq!(last(database, later(9)).await, Some(NOON), "as the clock is put back");
    add(database, Made { slot: Some(20), at: 20, since: Some(10), ..MADE }).await;
    assert_eq!(last(database, later(99)).await, Some(later(20)), "it is on its way");
    for _ in 0..2 {
        ends(database, later(30), Attempt::Delivered).await;
    }
    ends(database, later(30), Attempt::Refused("no_service".to_owned())).await;
    assert_eq!(last(database, later(99)).await, Some(later(10)), "nobody has read it");
}

/// While Slack takes nothing each may be given up, also one behind another.
async fn one_that_waits_for_slack_to_be_well_is_not_the_last(database: &TestDatabase) {
    add(database, MADE).await;
    ends(database, later(1), Attempt::Delivered).await;
    add(database, Made { slot: Some(10), at: 10, since: Some(0), ..MADE }).await;
    assert_eq!(last(database, later(99)).await, Some(later(10)), "it was not tried yet");
    ends(database, later(11), Attempt::Later(later(30), "busy".to_owned())).await;
    assert_eq!(last(database, later(99)).await, Some(NOON));
    add(database, Made { slot: Some(20), at: 20, since: Some(0), ..MADE }).await;
    assert_eq!(last(database, later(99)).await, Some(NOON), "it waits for the other");
    ends(database, later(30), Attempt::Refused("given up".to_owned())).await;
    assert_eq!(last(database, later(99)).await, Some(later(20)));
    ends(database, later(31), Attempt::Delivered).await;
    assert_eq!(last(database, later(99)).await, Some(later(20)));
}

async fn what_becomes_of_it_is_known(database: &TestDatabase) {
    let (first, _) = add(database, MADE).await;
    let sending = async || database.digest(first).await.unwrap().unwrap().0;
    assert_eq!(sending().await.sending.unwrap().state, NotificationState::Waiting);
    assert_eq!(database.digests_sent().await.unwrap(), []);
    ends(database, later(1), Attempt::Later(later(2), "busy".to_owned())).await;
    let waiting = sending().await;
    assert_eq!((waiting.problem(), waiting.sending.as_ref().unwrap().attempts), (Some("busy"), 1));
    ends(database, later(2), Attempt::Delivered).await;
    let sent = sending().await;
    assert_eq!((sent.problem(), sent.sending.as_ref().unwrap().ended_at), (None, Some(later(2))));
    assert_eq!(database.digests_sent().await.unwrap(), [("daily".to_owned(), later(2))]);
    add(database, Made { slot: Some(3), at: 3, is_sent: false, ..MADE }).await;
    assert_eq!(database.digests_sent().await.unwrap(), [("daily".to_owned(), later(3))], "it had nothing to say");
    database.forget_told(later(9)).await.unwrap();
    let sent = sending().await;
    assert_eq!((sent.sending, sent.is_quiet), (None, false));
}

async fn old_ones_are_forgotten_but_for_the_last(database: &TestDatabase) {
    add(database, MADE).await;
    add(database, Made { slot: Some(1), at: 1, since: Some(0), ..MADE }).await;
    add(database, Made { slot: None, at: 2, ..MADE }).await;
    add(database, Made { slot: Some(3), at: 3, since: Some(1), ..MADE }).await;
    add(database, Made { name: "yearly", ..MADE }).await;
    assert_eq!(database.forget_digests(NOON, DAY).await.unwrap(), 0);
    assert_eq!(database.forget_digests(NOON.plus(2 * DAY), DAY).await.unwrap(), 3);
    assert_eq!(last(database, NOON.plus(DAY)).await, Some(later(3)));
    assert_eq!(database.digests(Some("yearly"), None, 9).await.unwrap().len(), 1);
}

async fn only_what_the_next_needs_is_kept_of_how_groups_stood(database: &TestDatabase) {
    for n in 0..5 {
        add(database, Made { slot: Some(n), at: n, since: n.checked_sub(1), ..MADE }).await;
    }
    assert_eq!(database.number("SELECT count(*) FROM digests WHERE snapshot <> ''").await, 2);
}

/// What a letter received at that second after noon was found to be, which failed with that error.
fn found(letter: LetterId, error: &str, received: u64) -> Enriched {
    Enriched { received_at: later(received), ..enriched(letter).in_group("main", "orders", error) }
}

fn group_of(error: &str) -> GroupId {
    grouping::id(&found(LetterId::from_uuid(Uuid::nil()), error, 0).key)
}

/// A letter received at that second after noon and put into its group at another.
async fn fail(database: &TestDatabase, error: &str, received: u64, at: u64) -> LetterId {
    let letter = database.take_in_new(an_arrival().received(later(received))).await;
    database.enrich(&[found(letter, error, received)], 1, later(at)).await.unwrap();
    letter
}

/// Makes the digest of that second after noon. Says of each group, by its error, whether it is new, and how many letters are
/// open, new, succeeded and failed again.
async fn make(database: &TestDatabase, at: u64) -> Vec<(String, bool, [u64; 4])> {
    let importances = [Importance::Normal];
    let scope = DigestScope {
        name: "daily",
        importances: &importances,
        queues: &[],
        now: later(at),
        pending_since: later(at).minus(Duration::from_secs(10)),
    };
    let (told, snapshot) = database.digest_figures(scope).await.unwrap().settle(&importances);
    let new = NewDigest {
        id: id(),
        name: "daily",
        slot: Some(later(at)),
        made_at: later(at),
        by: &Actor::named("Ann"),
        since: None,
        notification: None,
        report: &report().write(),
        snapshot: &snapshot.write(),
    };
    assert!(database.add_digest(&new).await.unwrap());
    let figures = |group: &DigestGroup| [group.open, group.new, group.succeeded, group.failed_again];
    let mut told: Vec<_> = told.iter().map(|group| (group.error.clone(), group.is_new, figures(group))).collect();
    told.sort();
    told
}

fn told(error: &str, is_new: bool, figures: [u64; 4]) -> (String, bool, [u64; 4]) {
    (error.to_owned(), is_new, figures)
}

async fn what_was_in_no_group_at_a_digest_is_new_in_the_next(database: &TestDatabase) {
    fail(database, "timeout", 0, 0).await;
    let waits = database.take_in_new(an_arrival().received(later(10))).await;
    fail(database, "timeout", 20, 20).await;
    assert_eq!(make(database, 100).await, [told("timeout", true, [2, 2, 0, 0])]);
    database.enrich(&[found(waits, "timeout", 10)], 1, later(110)).await.unwrap();
    assert_eq!(make(database, 200).await, [told("timeout", false, [3, 1, 0, 0])]);
    // It was written down late.
    fail(database, "timeout", 199, 201).await;
    assert_eq!(make(database, 300).await, [told("timeout", false, [4, 1, 0, 0])]);
    assert_eq!(make(database, 400).await, [told("timeout", false, [4, 0, 0, 0])]);
}

async fn merging_and_splitting_groups_is_no_outcome(database: &TestDatabase) {
    for second in 0..3 {
        fail(database, "a", second, second).await;
    }
    let retried = [fail(database, "b", 3, 3).await, fail(database, "b", 4, 4).await];
    for letter in retried {
        database.bring(letter, Status::Retried).await;
    }
    database.take_in([an_arrival().returning(retried[0]).received(later(5))]).await;
    database.enrich(&[found(retried[0], "b", 5)], 1, later(6)).await.unwrap();
    let first = [told("a", true, [3, 3, 0, 0]), told("b", true, [1, 1, 1, 1])];
    assert_eq!(make(database, 100).await, first);
    let ada = Actor::named("ada");
    let order = |at| MergeOrder { by: &ada, at: later(at) };
    database.merge_groups(&[group_of("a"), group_of("b")], order(150)).await.unwrap().unwrap();
    assert_eq!(make(database, 160).await, [told("a", false, [4, 0, 0, 0])], "its letters are on their way");
    while database.move_letters(2).await.unwrap() {}
    assert_eq!(make(database, 200).await, [told("a", false, [4, 0, 0, 0])]);
    database.split_again(group_of("b"), None, order(250)).await.unwrap().unwrap();
    while database.move_letters(2).await.unwrap() {}
    assert_eq!(make(database, 300).await, [told("a", false, [3, 0, 0, 0]), told("b", false, [1, 0, 0, 0])]);
}

on_both! {
    a_slot_is_taken_once_and_with_it_what_is_sent,
    a_schedule_begins_when_it_is_new_or_another,
    the_last_one_is_the_last_of_the_schedule_that_was_read,
    one_that_waits_for_slack_to_be_well_is_not_the_last,
    what_becomes_of_it_is_known,
    old_ones_are_forgotten_but_for_the_last,
    only_what_the_next_needs_is_kept_of_how_groups_stood,
    what_was_in_no_group_at_a_digest_is_new_in_the_next,
    merging_and_splitting_groups_is_no_outcome,
}
