//! Retries from the moment they are due until they are marked.

use std::collections::HashSet;

use amqp_message::death::Reason;
use dead_letter_office::{
    domain::{
        actor::Actor,
        command::Command,
        content_key::ContentKey,
        history::Event,
        letter::{LetterId, Status},
        lifecycle::recognition::SentBack,
        retry::{Claim, ClaimedRetry, RetryOutcome},
    },
    store::Order,
};
use failure_conventions::{
    FailureCount,
    identity::{Identity, LARGEST_BODY},
};

use super::{
    database::{DISCARD, LEASE, RETRY_LATER, RETRY_NOW, TestDatabase, order, record},
    make::{Make, NOON, an_arrival, id, later},
};

/// A letter whose retry is due at noon.
async fn a_due_letter(database: &TestDatabase) -> LetterId {
    let id = database.letter_in(Status::Open).await;
    database.does(&RETRY_NOW, &[id]).await;
    id
}

/// A letter whose retry has been claimed at noon.
async fn a_claimed_letter(database: &TestDatabase) -> (LetterId, Vec<ClaimedRetry>) {
    let id = a_due_letter(database).await;
    let claimed = database.claim(NOON).await;
    assert_eq!(claimed.len(), 1);
    (id, claimed)
}

fn claims(claimed: &[ClaimedRetry]) -> Vec<Claim> {
    claimed.iter().map(ClaimedRetry::claim).collect()
}

fn failed(why: &str) -> RetryOutcome {
    RetryOutcome::Failed(why.to_owned())
}

async fn a_claim_tells_what_is_to_be_published(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().queue("q").attempts(3).body("12345")).await;
    database.does(&RETRY_NOW, &[id]).await;
    let expected = ClaimedRetry {
        id,
        queue: "q".to_owned(),
        failed_queue: Some("q".to_owned()),
        reason: Reason::Rejected,
        routing_key: String::new(),
        by: Actor::local(),
        count: FailureCount { attempts: 3, rounds: 3 },
        due_at: NOON,
        size: 5,
        claims: 1,
        without_expiry: false,
        is_edited: false,
    };
    assert_eq!(database.claim(NOON).await, [expected]);
}

async fn nothing_is_claimed_before_it_is_due(database: &TestDatabase) {
    let id = database.letter_in(Status::Scheduled).await;
    assert_eq!(database.claims(later(3599)).await, []);
    assert_eq!(database.claims(later(3600)).await, [id]);
}

async fn the_oldest_are_claimed_first(database: &TestDatabase) {
    let [late, early] = [database.letter_in(Status::Scheduled).await, a_due_letter(database).await];
    let claim = async |limit| {
        let claimed = database.claim_due_retries("main", later(9000), LEASE, limit).await.unwrap();
        claimed.into_iter().map(|retry| retry.id).collect::<Vec<_>>()
    };
    assert_eq!(claim(1).await, [early]);
    let early = a_due_letter(database).await;
    assert_eq!(claim(5).await, [early, late]);
}

async fn each_broker_has_its_own(database: &TestDatabase) {
    let id = record(database, "other", &[an_arrival()]).await[0].letter();
    database.does(&RETRY_NOW, &[id]).await;
    assert_eq!(database.claims(NOON).await, []);
    let claimed = database.claim_due_retries("other", NOON, LEASE, 1).await.unwrap();
    assert_eq!(claimed[0].id, id);
}

async fn a_claim_holds_for_its_lease(database: &TestDatabase) {
    let (id, _) = a_claimed_letter(database).await;
    assert_eq!(database.claims(later(59)).await, []);
    let claimed = database.claim(later(60)).await;
    assert_eq!((claimed[0].id, claimed[0].claimed_before()), (id, true));
}

async fn a_renewed_claim_holds_longer(database: &TestDatabase) {
    let (id, claimed) = a_claimed_letter(database).await;
    database.renew_leases(&claims(&claimed), later(120)).await.unwrap();
    assert_eq!(database.claims(later(119)).await, []);
    assert_eq!(database.claims(later(120)).await, [id]);
}

async fn a_lease_that_was_ended_is_not_renewed(database: &TestDatabase) {
    let (id, claimed) = a_claimed_letter(database).await;
    database.end_leases(&claims(&claimed)).await.unwrap();
    database.renew_leases(&claims(&claimed), later(120)).await.unwrap();
    assert_eq!(database.claims(NOON).await, [id]);
}

async fn what_was_not_sent_is_as_if_never_claimed(database: &TestDatabase) {
    let (id, claimed) = a_claimed_letter(database).await;
    database.unclaim_retries(&claims(&claimed)).await.unwrap();
    let claimed = database.claim(NOON).await;
    assert_eq!((claimed[0].id, claimed[0].claimed_before()), (id, false));
}

/// Nor does it count among the retries of its policy, as what may have arrived does.
async fn what_was_not_sent_is_no_retry_of_its_policy(database: &TestDatabase) {
    let arrival = an_arrival();
    let (id, content) = (arrival.id, arrival.content);
    database.take_in_new(arrival).await;
    database.act(&Order { by: &Actor::system(), ..order(&RETRY_NOW, &[id]) }).await.unwrap();
    let automatic = async || database.sent_back("main", &[(content, "orders")], &[]).await.unwrap()[0].automatic;
    let over = database.claim(NOON).await;
    assert_eq!(automatic().await, 1);
    database.unclaim_retries(&claims(&over)).await.unwrap();
    assert_eq!(automatic().await, 0);
    let claimed = database.claim(NOON).await;
    assert_eq!((claimed.len(), automatic().await), (1, 1));
    database.end_leases(&claims(&claimed)).await.unwrap();
    let newer = database.claim(NOON).await;
    database.unclaim_retries(&claims(&over)).await.unwrap();
    assert_eq!((newer.len(), automatic().await), (1, 2), "a claim that is over says nothing of a newer one");
}

async fn what_may_have_arrived_says_so_when_claimed_again(database: &TestDatabase) {
    let (id, claimed) = a_claimed_letter(database).await;
    database.end_leases(&claims(&claimed)).await.unwrap();
    let claimed = database.claim(NOON).await;
    assert_eq!((claimed[0].id, claimed[0].claimed_before()), (id, true));
}

/// As when a batch waits in memory for longer than its lease.
async fn a_claim_that_is_over_changes_nothing_of_a_newer_one(database: &TestDatabase) {
    let (id, over) = a_claimed_letter(database).await;
    let newer = database.claim(later(60)).await;
    database.unclaim_retries(&claims(&over)).await.unwrap();
    database.end_leases(&claims(&over)).await.unwrap();
    database.renew_leases(&claims(&over), later(999)).await.unwrap();
    assert_eq!(database.claims(later(119)).await, []);
    let to_send = async |until| database.claims_to_send(&[id], later(until)).await.unwrap();
    assert_eq!(to_send(120).await, claims(&newer).into_iter().collect::<HashSet<_>>());
    assert!(to_send(121).await.is_empty(), "somebody else may have it by then");
    database.finish(&newer, RetryOutcome::Confirmed).await;
    assert_eq!((database.status(id).await, database.claims(later(999)).await), (Status::Retried, vec![]));
}

async fn a_retry_that_is_asked_for_anew_is_another(database: &TestDatabase) {
    let (id, over) = a_claimed_letter(database).await;
    database.act(&Order { at: later(60), ..order(&Command::Reopen, &[id]) }).await.unwrap();
    database.act(&Order { at: later(61), ..order(&RETRY_NOW, &[id]) }).await.unwrap();
    assert_eq!(database.claims(later(61)).await, [id]);
    database.unclaim_retries(&claims(&over)).await.unwrap();
    assert_eq!(database.claims(later(61)).await, []);
    assert!(!database.claims_to_send(&[id], later(61)).await.unwrap().contains(&over[0].claim()));
}

/// Whoever has claimed it since has not sent it yet, or does not.
async fn what_is_confirmed_is_not_sent_again(database: &TestDatabase) {
    for is_given_back in [false, true] {
        let (id, first) = a_claimed_letter(database).await;
        let second = database.claim(later(60)).await;
        assert_eq!(second.len(), 1);
        if is_given_back {
            database.unclaim_retries(&claims(&second)).await.unwrap();
        }
        database.finish(&first, RetryOutcome::Confirmed).await;
        assert_eq!(database.status(id).await, Status::Retried);
        assert!(database.claims_to_send(&[id], NOON).await.unwrap().is_empty());
        assert_eq!(database.claims(later(999)).await, []);
    }
}

async fn a_failure_says_nothing_of_a_newer_claim(database: &TestDatabase) {
    let (id, first) = a_claimed_letter(database).await;
    let second = database.claim(later(60)).await;
    database.finish(&first, failed("refused")).await;
    assert_eq!(database.status(id).await, Status::Scheduled);
    database.finish(&second, RetryOutcome::Confirmed).await;
    assert_eq!(database.status(id).await, Status::Retried);
}

async fn nothing_happens_to_no_retry(database: &TestDatabase) {
    for ids in [vec![], vec![LetterId::from_uuid(id()), database.letter_in(Status::Open).await]] {
        let claims: Vec<Claim> = ids.iter().map(|id| Claim { letter: *id, due_at: NOON, number: 1 }).collect();
        database.unclaim_retries(&claims).await.unwrap();
        database.end_leases(&claims).await.unwrap();
        database.renew_leases(&claims, NOON).await.unwrap();
        assert!(database.claims_to_send(&ids, NOON).await.unwrap().is_empty());
    }
    database.finish_retries(&[], NOON).await.unwrap();
}

/// On SQLite whoever starts is alone, on Postgres another process may be at work.
async fn abandoned_claims_end_where_nobody_else_can_hold_them(database: &TestDatabase) {
    let (id, _) = a_claimed_letter(database).await;
    database.second_server().await.release_abandoned_claims().await.unwrap();
    let claimed = database.claim(NOON).await;
    let expected = if database.is_sqlite() { vec![(id, true)] } else { vec![] };
    assert_eq!(claimed.iter().map(|retry| (retry.id, retry.claimed_before())).collect::<Vec<_>>(), expected);
}

async fn what_is_confirmed_is_retried(database: &TestDatabase) {
    let (id, claimed) = a_claimed_letter(database).await;
    database.finish(&claimed, RetryOutcome::Confirmed).await;
    let letter = database.shows(id).await;
    assert_eq!((letter.status, letter.retry_at, letter.problem), (Status::Retried, None, None));
    let last = database.events(id).await.pop().unwrap();
    assert_eq!(last, (Event::Retried, Actor::LOCAL.to_owned(), "to orders".to_owned()));
    assert_eq!(database.claims(later(9000)).await, []);
}

async fn what_failed_is_open_and_says_why(database: &TestDatabase) {
    let (id, claimed) = a_claimed_letter(database).await;
    database.finish(&claimed, failed("no such queue")).await;
    let letter = database.shows(id).await;
    assert_eq!((letter.status, letter.retry_at), (Status::Open, None));
    assert_eq!(letter.problem.as_deref(), Some("no such queue"));
    let last = database.events(id).await.pop().unwrap();
    assert_eq!(last, (Event::RetryFailed, Actor::LOCAL.to_owned(), "no such queue".to_owned()));
}

async fn each_ends_in_its_own_way(database: &TestDatabase) {
    let [one, other] = [a_due_letter(database).await, a_due_letter(database).await];
    let claimed = database.claim(NOON).await;
    let outcomes = [(&claimed[0], RetryOutcome::Confirmed), (&claimed[1], failed("refused"))];
    database.finish_retries(&outcomes, NOON).await.unwrap();
    assert_eq!((database.status(one).await, database.status(other).await), (Status::Retried, Status::Open));
}

async fn what_may_have_gone_twice_says_so(database: &TestDatabase) {
    let (id, _) = a_claimed_letter(database).await;
    let claimed = database.claim(later(60)).await;
    database.finish(&claimed, RetryOutcome::Confirmed).await;
    let (_, _, detail) = database.events(id).await.pop().unwrap();
    assert_eq!(detail, "to orders; an earlier attempt was interrupted, so it may have been sent twice");
}

async fn an_outcome_changes_only_what_still_waits_for_it(database: &TestDatabase) {
    let (id, claimed) = a_claimed_letter(database).await;
    database.finish(&claimed, failed("refused")).await;
    database.does(&DISCARD, &[id]).await;
    database.finish(&claimed, RetryOutcome::Confirmed).await;
    assert_eq!(database.status(id).await, Status::Discarded);
}

async fn thousands_are_claimed_and_marked(database: &TestDatabase) {
    let ids = database.take_in_many(2_100).await;
    database.does(&RETRY_NOW, &ids).await;
    let claimed = database.claim_due_retries("main", NOON, LEASE, 2_100).await.unwrap();
    assert_eq!(claimed.iter().map(|retry| retry.id).collect::<Vec<_>>(), ids);
    assert_eq!(database.messages(&ids).await.unwrap().len(), 2_100);
    database.renew_leases(&claims(&claimed), later(60)).await.unwrap();
    assert_eq!(database.claims_to_send(&ids, later(60)).await.unwrap().len(), 2_100);
    database.finish(&claimed, RetryOutcome::Confirmed).await;
    assert_eq!(database.status(ids[2_099]).await, Status::Retried);
}

async fn the_next_is_the_first_that_nobody_publishes(database: &TestDatabase) {
    let next = async || database.next_retry_due("main").await.unwrap();
    assert_eq!(next().await, None);
    let id = database.letter_in(Status::Open).await;
    database.does(&RETRY_LATER, &[id]).await;
    assert_eq!(next().await, Some(later(3600)));
    let (_, claimed) = a_claimed_letter(database).await;
    assert_eq!(next().await, Some(later(3600)));
    database.end_leases(&claims(&claimed)).await.unwrap();
    assert_eq!(next().await, Some(NOON));
    assert_eq!(database.next_retry_due("other").await.unwrap(), None);
}

/// As when several copies of a message that has our headers fail together.
async fn copies_that_go_back_together_are_remembered_as_one(database: &TestDatabase) {
    let id = LetterId::from_uuid(id());
    let first = SentBack { id, automatic: 2, ..SentBack::own_retries("main", "orders", NOON, 2) };
    let last = SentBack { automatic: 3, ..first.clone() };
    database.remember_sent_back("main", &[first.clone(), last]).await.unwrap();
    let sent = database.sent_back("main", &[(first.key, "orders")], &[]).await.unwrap();
    assert_eq!(sent.iter().map(|sent| (sent.id, sent.automatic)).collect::<Vec<_>>(), [(id, 3)]);
}

/// They are read some at a time, and of each only what it is compared by is kept.
async fn large_letters_that_were_sent_back_are_told_apart(database: &TestDatabase) {
    let content = ContentKey(1_090);
    // Nine of the largest bodies that are read are too much to be read together.
    let sizes = [vec![LARGEST_BODY; 9], vec![LARGEST_BODY + 1, 0]].concat();
    let mut expected = Vec::new();
    for (n, size) in sizes.into_iter().enumerate() {
        let large = an_arrival().body(vec![b'x'; size]).make(|arrival| {
            arrival.content = content;
            arrival.message.properties.kind = Some(n.to_string());
        });
        let identity = Identity::of(&large.message);
        expected.push((database.take_in_new(large).await, Some(identity)));
    }
    let ids: Vec<LetterId> = expected.iter().map(|(id, _)| *id).collect();
    database.does(&RETRY_NOW, &ids).await;
    assert_eq!(database.claim(NOON).await.len(), ids.len());
    let sent = database.sent_back("main", &[(content, "orders")], &[]).await.unwrap();
    let mut found: Vec<_> = sent.into_iter().map(|sent| (sent.id, sent.letter.unwrap().identity)).collect();
    found.sort_by_key(|(id, _)| *id);
    expected.sort_by_key(|(id, _)| *id);
    assert_eq!(found, expected);
}

/// Two brokers may have a queue of the same name.
async fn that_a_framework_retries_by_itself_is_known_of_each_broker(database: &TestDatabase) {
    for (broker, at) in [("main", NOON), ("other", later(60))] {
        let marker = SentBack::own_retries(broker, "orders", at, 1);
        database.remember_sent_back(broker, &[marker]).await.unwrap();
    }
    for (broker, at) in [("main", Some(NOON)), ("other", Some(later(60))), ("third", None)] {
        let found = database.own_retries(broker, &["orders"]).await.unwrap();
        assert_eq!(found.get("orders").copied(), at, "{broker}");
    }
}

on_both!(
    large_letters_that_were_sent_back_are_told_apart,
    copies_that_go_back_together_are_remembered_as_one,
    that_a_framework_retries_by_itself_is_known_of_each_broker,
    a_claim_tells_what_is_to_be_published,
    nothing_is_claimed_before_it_is_due,
    the_oldest_are_claimed_first,
    each_broker_has_its_own,
    a_claim_holds_for_its_lease,
    a_renewed_claim_holds_longer,
    a_lease_that_was_ended_is_not_renewed,
    what_was_not_sent_is_as_if_never_claimed,
    what_was_not_sent_is_no_retry_of_its_policy,
    what_may_have_arrived_says_so_when_claimed_again,
    a_claim_that_is_over_changes_nothing_of_a_newer_one,
    a_retry_that_is_asked_for_anew_is_another,
    what_is_confirmed_is_not_sent_again,
    a_failure_says_nothing_of_a_newer_claim,
    nothing_happens_to_no_retry,
    abandoned_claims_end_where_nobody_else_can_hold_them,
    what_is_confirmed_is_retried,
    what_failed_is_open_and_says_why,
    each_ends_in_its_own_way,
    what_may_have_gone_twice_says_so,
    an_outcome_changes_only_what_still_waits_for_it,
    thousands_are_claimed_and_marked,
    the_next_is_the_first_that_nobody_publishes,
);
