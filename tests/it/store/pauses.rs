//! Retries into a queue that is paused: held when they are due, and sent once when it is resumed.

use std::time::Duration;

use amqp_message::time::Timestamp;
use dead_letter_office::{
    domain::{
        activity::{ActivityFilter, Area},
        actor::Actor,
        command::Command,
        letter::{LetterId, Status},
        queue_level::{QueueLevel, QueueState},
        queue_pause::QueuePause,
        retry::RetryOutcome,
    },
    store::{WatchKept, WatchUpdate},
};

use super::{
    database::{LEASE, RETRY_NOW, TestDatabase},
    make::{Make, NOON, an_arrival, id, later},
};

pub fn pause(queue: &str, until_consumers: bool) -> QueuePause {
    QueuePause {
        broker: "main".to_owned(),
        queue: queue.to_owned(),
        until_consumers,
        note: "deploy".to_owned(),
        by: Actor::local(),
        at: NOON,
    }
}

/// A letter of that queue whose retry is due at noon.
async fn due_in(database: &TestDatabase, queue: &str) -> LetterId {
    let id = database.take_in_new(an_arrival().queue(queue)).await;
    database.does(&RETRY_NOW, &[id]).await;
    id
}

async fn claim(database: &TestDatabase, now: Timestamp, limit: usize) -> Vec<LetterId> {
    let claimed = database.claim_due_retries("main", now, LEASE, limit).await.unwrap();
    let ids = claimed.iter().map(|retry| retry.id).collect();
    database.finish(&claimed, RetryOutcome::Confirmed).await;
    ids
}

async fn nothing_goes_into_a_paused_queue_and_others_are_not_held_up(database: &TestDatabase) {
    let held = [due_in(database, "a").await, due_in(database, "a").await];
    database.pause_queue(&pause("a", false)).await.unwrap();
    // After the others: which of those that are due at one time come first, the database decides.
    let other = database.take_in_new(an_arrival().queue("b")).await;
    database.does(&Command::Retry { delay: Duration::from_secs(1), queue: None }, &[other]).await;
    // Where only held ones are among the first, the next claim finds the rest.
    assert_eq!(claim(database, later(1), 2).await, []);
    assert_eq!(database.next_retry_due("main").await.unwrap(), Some(later(1)), "of the other queue");
    assert_eq!(claim(database, later(1), 2).await, [other]);
    assert_eq!(database.next_retry_due("main").await.unwrap(), None, "nobody waits for what is held");
    for id in held {
        assert_eq!(database.status(id).await, Status::Scheduled);
    }
    assert_eq!(database.queue_pauses().await.unwrap(), [pause("a", false)]);
}

async fn what_was_held_goes_out_once_and_oldest_first(database: &TestDatabase) {
    database.pause_queue(&pause("a", false)).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(due_in(database, "a").await);
    }
    assert_eq!(claim(database, NOON, 100).await, []);
    assert!(database.resume_queue("main", "a", &Actor::local(), later(9)).await.unwrap());
    assert!(!database.resume_queue("main", "a", &Actor::local(), later(9)).await.unwrap(), "it is not paused");
    assert_eq!(database.queue_pauses().await.unwrap(), []);
    let mut sent = Vec::new();
    for _ in 0..5 {
        sent.extend(claim(database, NOON, 2).await);
    }
    sent.sort();
    held.sort();
    assert_eq!(sent, held, "each once");
    assert_eq!(database.number("SELECT count(*) FROM queue_pauses").await, 0, "nothing is left of it");
}

async fn a_claim_that_was_cut_short_is_told_of_after_a_pause(database: &TestDatabase) {
    let id = due_in(database, "a").await;
    let claimed = database.claim(NOON).await;
    database.end_leases(&[claimed[0].claim()]).await.unwrap();
    database.pause_queue(&pause("a", false)).await.unwrap();
    assert_eq!(database.claims(NOON).await, []);
    database.resume_queue("main", "a", &Actor::local(), NOON).await.unwrap();
    let claimed = database.claim(NOON).await;
    assert_eq!((claimed[0].id, claimed[0].claimed_before()), (id, true), "it may have gone out");
}

async fn what_is_asked_for_again_is_held_again(database: &TestDatabase) {
    database.pause_queue(&pause("a", false)).await.unwrap();
    let id = due_in(database, "a").await;
    assert_eq!(database.claims(NOON).await, []);
    database.does(&RETRY_NOW, &[id]).await;
    assert_eq!(database.claims(NOON).await, []);
    // To pause it anew while it is being resumed holds the rest.
    database.resume_queue("main", "a", &Actor::local(), NOON).await.unwrap();
    database.pause_queue(&pause("a", true)).await.unwrap();
    assert_eq!(database.claims(NOON).await, []);
    assert_eq!(database.queue_pauses().await.unwrap(), [pause("a", true)]);
}

async fn one_that_waits_for_a_consumer_ends_by_itself(database: &TestDatabase) {
    for queue in ["a", "b"] {
        database.pause_queue(&pause(queue, queue == "a")).await.unwrap();
    }
    let id = due_in(database, "a").await;
    let watcher = self::id();
    database.claim_watch("main", watcher, NOON, LEASE).await.unwrap();
    let mut before = WatchKept::default();
    let mut ended = Vec::new();
    for (consumers, state) in [(0, QueueState::Running), (2, QueueState::Down), (2, QueueState::Running)] {
        assert_eq!(database.resume_queues_with_consumers("main", later(2)).await.unwrap(), [""; 0], "no look since");
        let mut after = before.clone();
        after.watch.looked_at = Some(later(1));
        for queue in ["a", "b"] {
            let level = QueueLevel { name: queue.to_owned(), consumers: Some(consumers), ..QueueLevel::default() };
            after.levels.insert(queue.to_owned(), QueueLevel { state: Some(state), ..level });
        }
        let claimed_until = later(60);
        let update =
            WatchUpdate { broker: "main", watcher, claimed_until, before: &before, after: &after, problem: "" };
        assert!(database.keep_watch(&update).await.unwrap());
        before = after;
        assert_eq!(claim(database, NOON, 9).await, []);
        ended.push(database.resume_queues_with_consumers("main", later(1)).await.unwrap());
    }
    assert_eq!(ended, [vec![], vec![], vec!["a".to_owned()]], "not while its count cannot be relied on");
    assert_eq!(claim(database, NOON, 9).await, [id]);
    assert_eq!(database.queue_pauses().await.unwrap(), [pause("b", false)], "that one waits for somebody");
    let filter = ActivityFilter { areas: vec![Area::Queues], ..ActivityFilter::default() };
    let entries = database.activity(&filter, None, 9).await.unwrap();
    let told = |n: usize| (&*entries[n].entry.action, &*entries[n].entry.detail, entries[n].entry.by.as_str());
    assert_eq!(told(0), ("resume", "it has a consumer", Actor::SYSTEM));
    assert_eq!((told(2).0, told(2).1), ("pause", "until it has a consumer: deploy"));
}

on_both!(
    nothing_goes_into_a_paused_queue_and_others_are_not_held_up,
    what_was_held_goes_out_once_and_oldest_first,
    a_claim_that_was_cut_short_is_told_of_after_a_pause,
    what_is_asked_for_again_is_held_again,
    one_that_waits_for_a_consumer_ends_by_itself,
);
