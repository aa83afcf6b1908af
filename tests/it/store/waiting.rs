//! What waits for its retry, in order, and the walk over all of it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    domain::{
        command::Command,
        filter::{LetterFilter, Names},
        letter::{LetterId, Status},
        policy::{ActivePolicy, Decision, Delays, Origin, Policy, Via},
        waiting::WaitingCursor,
    },
    store::Arrival,
};

use super::{
    database::{DISCARD, RETRY_NOW, TestDatabase, record},
    make::{Make, NOON, an_arrival, later},
};
use crate::support::soak;

fn retry(seconds: u64) -> Command {
    Command::Retry { delay: Duration::from_secs(seconds), queue: None }
}

async fn waits(database: &TestDatabase, queue: &str, seconds: u64) -> LetterId {
    let id = database.take_in_new(an_arrival().queue(queue)).await;
    database.does(&retry(seconds), &[id]).await;
    id
}

fn queues(patterns: &[&str]) -> LetterFilter {
    LetterFilter { queues: Names::globs(patterns.iter().copied()), ..LetterFilter::default() }
}

async fn ids(
    database: &TestDatabase,
    filter: &LetterFilter,
    after: Option<WaitingCursor>,
    limit: usize,
) -> Vec<LetterId> {
    let page = database.waiting(filter, after, limit).await.unwrap();
    page.items.iter().map(|waiting| waiting.letter.id).collect()
}

/// After ten seconds.
pub fn ruled(arrival: Arrival) -> Arrival {
    let policy = Policy {
        queues: "*".to_owned(),
        reason: None,
        delays: Delays::Listed(vec![Duration::from_secs(10)]),
        jitter: 0.0,
        via: Via::Database,
        keep_routing_key: false,
    };
    let standing = ActivePolicy { policy, origin: Origin::Configuration };
    arrival.make(|arrival| arrival.decision = Some(Decision::new(Some(Arc::new(standing)), 0.5)))
}

async fn the_soonest_comes_first(database: &TestDatabase) {
    let [late, soon, middle] =
        [waits(database, "a", 90).await, waits(database, "b", 30).await, waits(database, "a", 60).await];
    database.letter_in(Status::Open).await;
    database.letter_in(Status::Discarded).await;
    assert_eq!(ids(database, &LetterFilter::default(), None, 10).await, [soon, middle, late]);
    assert_eq!(ids(database, &queues(&["a"]), None, 10).await, [middle, late]);
    assert_eq!(ids(database, &queues(&["x*", "b"]), None, 10).await, [soon]);
    assert_eq!(ids(database, &queues(&["none"]), None, 10).await, []);
    let elsewhere = LetterFilter { brokers: vec!["other".to_owned()], ..LetterFilter::default() };
    assert_eq!(ids(database, &elsewhere, None, 10).await, []);
}

async fn it_says_until_when_where_to_and_who_asked(database: &TestDatabase) {
    let [by_policy] = database.take_in([ruled(an_arrival())]).await.map(|recorded| recorded.letter());
    let by_hand = database.take_in_new(an_arrival()).await;
    let elsewhere = Command::Retry { delay: Duration::from_secs(60), queue: Some("other".to_owned()) };
    database.does(&elsewhere, &[by_hand]).await;
    let page = database.waiting(&LetterFilter::default(), None, 10).await.unwrap();
    let said: Vec<_> = page
        .items
        .iter()
        .map(|waiting| (waiting.letter.id, &*waiting.retry.queue, waiting.retry.due_at, waiting.retry.is_by_policy()))
        .collect();
    assert_eq!(said, [(by_policy, "orders", later(10), true), (by_hand, "other", later(60), false)]);
    for waiting in &page.items {
        assert_eq!(database.waiting_retry(waiting.letter.id).await.unwrap().as_ref(), Some(&waiting.retry));
        assert_eq!(database.shows(waiting.letter.id).await, waiting.letter);
    }
    let open = database.letter_in(Status::Open).await;
    assert_eq!(database.waiting_retry(open).await.unwrap(), None);
}

async fn pages_follow_each_other_also_where_times_are_the_same(database: &TestDatabase) {
    let mut expected = Vec::new();
    for n in 0..9 {
        expected.push((n / 3, waits(database, "orders", 30 + n / 3).await));
    }
    expected.sort_unstable();
    let expected: Vec<LetterId> = expected.into_iter().map(|(_, id)| id).collect();
    for limit in [1, 2, 4, 9, 10] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = database.waiting(&LetterFilter::default(), after, limit).await.unwrap();
            assert!(page.items.len() <= limit);
            found.extend(page.items.iter().map(|waiting| waiting.letter.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "limit {limit}");
    }
}

/// So much is no longer sorted but walked along.
async fn thousands_are_found_in_order(database: &TestDatabase) {
    let many = database.take_in_many(soak(300, 20_100)).await;
    database.does(&retry(3_600), &many).await;
    if many.len() == 300 {
        // What is counted decides, and not what is there.
        database.tamper("UPDATE facets SET count = count + 20000 WHERE count = 300").await;
    }
    let soon = waits(database, "orders", 1).await;
    let other = waits(database, "texts", 2).await;
    let [elsewhere] = record(database, "other", &[an_arrival()]).await.try_into().unwrap();
    database.does(&retry(3), &[elsewhere.letter()]).await;
    let page = database.waiting(&LetterFilter::default(), None, 4).await.unwrap();
    let found: Vec<_> = page.items.iter().map(|waiting| waiting.letter.id).collect();
    assert_eq!(found[..3], [soon, other, elsewhere.letter()]);
    assert_eq!(ids(database, &queues(&["orders"]), None, 2).await, [soon, elsewhere.letter()]);
    let next = ids(database, &LetterFilter::default(), page.next, 3).await;
    let smallest: BTreeSet<LetterId> = many.into_iter().collect();
    assert!(next.iter().eq(smallest.iter().skip(1).take(3)), "by id where all are due at once");
}

async fn a_walk_finds_each_letter_once_however_it_is_moved(database: &TestDatabase) {
    for command in [RETRY_NOW, DISCARD, Command::Reopen] {
        let mut expected = BTreeSet::new();
        for n in 0..13 {
            expected.insert(waits(database, ["a.x", "a.y"][n % 2], 60).await);
        }
        waits(database, "b", 60).await;
        let mut sweep = database
            .sweep(&LetterFilter { statuses: vec![Status::Scheduled], ..queues(&["a.*"]) }, NOON)
            .await
            .unwrap();
        let mut found = Vec::new();
        loop {
            let ids = database.next_of(&mut sweep, 3).await.unwrap();
            assert!(ids.len() <= 3);
            if ids.is_empty() {
                break;
            }
            database.does(&command, &ids).await;
            found.extend(ids);
        }
        assert_eq!(found.len(), 13, "{command:?}");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
        let rest: Vec<_> = expected.into_iter().collect();
        if command == RETRY_NOW {
            database.does(&DISCARD, &rest).await;
        }
    }
}

async fn a_walk_leaves_alone_what_came_later(database: &TestDatabase) {
    let old = waits(database, "orders", 60).await;
    let new = database.take_in_new(an_arrival().received(later(1))).await;
    database.does(&retry(60), &[new]).await;
    let walk = async |until: Timestamp| {
        let mut sweep = database
            .sweep(&LetterFilter { statuses: vec![Status::Scheduled], ..LetterFilter::default() }, until)
            .await
            .unwrap();
        database.next_of(&mut sweep, 10).await.unwrap()
    };
    assert_eq!(walk(NOON).await, [old]);
    assert_eq!(walk(later(1)).await, [old, new]);
}

on_both!(
    the_soonest_comes_first,
    it_says_until_when_where_to_and_who_asked,
    pages_follow_each_other_also_where_times_are_the_same,
    thousands_are_found_in_order,
    a_walk_finds_each_letter_once_however_it_is_moved,
    a_walk_leaves_alone_what_came_later,
);
