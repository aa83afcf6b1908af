//! Several processes at one database, at the same moment.

use std::{collections::HashSet, pin::pin};

use dead_letter_office::{
    domain::{
        actor::Actor,
        command::{Command, Refusal},
        group::GroupId,
        letter::{Importance, LetterId, Status},
        queue_pause::QueuePause,
        retry::RetryOutcome,
    },
    store::{AckState, Arrival, Enriched, IntakeBatch, Recorded, Store},
};
use sqlx::PgPool;

use super::{
    database::{DISCARD, LEASE, RETRY_LATER, RETRY_NOW, TestDatabase, batch, order, record},
    make::{InGroup, Make, NOON, an_arrival, enriched, later},
};
use crate::support::{PATIENCE, process::wait_until, soak};

/// Returns once `n` connections of this database wait for a lock.
pub async fn waiting(server: &PgPool, n: i64) {
    const WAITING: &str =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let are_there = async || sqlx::query_scalar::<_, i64>(WAITING).fetch_one(server).await.unwrap() >= n;
    wait_until("connections to wait for a lock", PATIENCE, are_there).await;
}

/// Lets both work on the same letters at the same moment, `first` a little ahead: on Postgres both wait for the rows
/// before either has them. SQLite lets in one after the other, in no order that could be relied on.
async fn in_line<A, B>(
    database: &TestDatabase,
    first: impl Future<Output = A>,
    second: impl Future<Output = B>,
) -> (A, B) {
    let Some(server) = database.server() else { return (first.await, second.await) };
    let mut lock = server.begin().await.unwrap();
    sqlx::query("SELECT id FROM letters FOR UPDATE").execute(&mut *lock).await.unwrap();
    let second = async {
        waiting(server, 1).await;
        second.await
    };
    let release = async {
        waiting(server, 2).await;
        lock.rollback().await.unwrap();
    };
    let (first, second, ()) = tokio::join!(first, second, release);
    (first, second)
}

async fn of_two_people_who_discard_one_is_told_no(database: &TestDatabase) {
    let id = database.letter_in(Status::Open).await;
    let other = database.second_server().await;
    let ids = [id];
    let order = order(&DISCARD, &ids);
    let (first, second) = in_line(database, database.act(&order), other.act(&order)).await;
    let refusal = Refusal::WrongStatus { command: "discard", status: Status::Discarded };
    assert_eq!((first.unwrap().done, second.unwrap().refused), (vec![id], vec![(id, refusal)]));
}

/// The consumer may be quicker than the confirm: the letter is back while its retry is being marked.
async fn what_comes_back_while_it_is_marked_is_open(database: &TestDatabase) {
    let id = database.letter_in(Status::Open).await;
    database.does(&RETRY_NOW, &[id]).await;
    let claimed = database.claim(NOON).await;
    let back = [an_arrival().returning(id)];
    let intake = database.second_server().await;
    let mark = database.finish(&claimed, RetryOutcome::Confirmed);
    let ((), recorded) = in_line(database, mark, record(&intake, "main", &back)).await;
    assert_eq!(recorded, [Recorded::FailedAgain(id)]);
    assert_eq!((database.status(id).await, database.shows(id).await.attempts), (Status::Open, 2));
}

async fn a_retry_that_is_cancelled_is_not_claimed(database: &TestDatabase) {
    let ids = database.take_in_many(20).await;
    database.does(&RETRY_NOW, &ids).await;
    let scheduler = database.second_server().await;
    for id in ids {
        let ids = [id];
        let claim = scheduler.claim_due_retries("main", NOON, LEASE, 1_000);
        let (report, claimed) = tokio::join!(database.command(&Command::Reopen, &ids), claim);
        let was_claimed = claimed.unwrap().iter().any(|retry| retry.id == id);
        assert!(!(was_claimed && report.done == [id]), "cancelled and published");
    }
}

async fn no_retry_is_claimed_twice(database: &TestDatabase) {
    let ids = database.take_in_many(200).await;
    database.does(&RETRY_NOW, &ids).await;
    let servers = [database.second_server().await, database.second_server().await, database.second_server().await];
    let claim_all = async |server: &Store| {
        let mut all: Vec<LetterId> = Vec::new();
        loop {
            let claimed = server.claim_due_retries("main", NOON, LEASE, 7).await.unwrap();
            assert!(claimed.len() <= 7);
            if claimed.is_empty() {
                return all;
            }
            all.extend(claimed.iter().map(|retry| retry.id));
        }
    };
    let (a, b, c) = tokio::join!(claim_all(&servers[0]), claim_all(&servers[1]), claim_all(&servers[2]));
    let all = [a, b, c].concat();
    assert_eq!((all.len(), all.iter().collect::<HashSet<_>>().len()), (200, 200));
}

/// A server has claimed what is due, and found the queue paused, when somebody resumes it and another server claims.
async fn what_is_held_while_its_queue_is_resumed_is_let_go(database: &TestDatabase) {
    let held = database.take_in_new(an_arrival().queue("paused")).await;
    let other = database.take_in_new(an_arrival()).await;
    database.does(&RETRY_NOW, &[held, other]).await;
    let pause = QueuePause {
        broker: "main".to_owned(),
        queue: "paused".to_owned(),
        until_consumers: false,
        note: String::new(),
        by: Actor::local(),
        at: NOON,
    };
    database.pause_queue(&pause).await.unwrap();
    let second = database.second_server().await;
    let resume = async {
        assert!(second.resume_queue("main", "paused", &Actor::local(), NOON).await.unwrap());
        second.claim_due_retries("main", NOON, LEASE, 9).await.unwrap()
    };
    let mut claimed = match database.server() {
        None => [database.claim(NOON).await, resume.await].concat(),
        Some(server) => {
            // What is claimed is remembered there, after the rest was held.
            let mut lock = server.begin().await.unwrap();
            sqlx::query("LOCK TABLE sent_back IN EXCLUSIVE MODE").execute(&mut *lock).await.unwrap();
            let resume = async {
                waiting(server, 1).await;
                let mut resume = pin!(resume);
                let claimed = tokio::select! {
                    claimed = &mut resume => Some(claimed),
                    () = waiting(server, 2) => None,
                };
                lock.rollback().await.unwrap();
                match claimed {
                    Some(claimed) => claimed,
                    None => resume.await,
                }
            };
            let (first, resumed) = tokio::join!(database.claim(NOON), resume);
            [first, resumed].concat()
        }
    };
    // It goes back into the line with one claim, and the pause goes with another.
    for _ in 0..2 {
        claimed.extend(database.claim(NOON).await);
    }
    let mut claimed: Vec<LetterId> = claimed.iter().map(|retry| retry.id).collect();
    claimed.sort();
    assert_eq!(claimed, [held, other]);
}

/// Each writer changes counts that the others change too; they may wait for one another, but never in a circle.
async fn writers_never_wait_in_a_circle(database: &TestDatabase) {
    // Twelve queues are met in an order that is another each time.
    let times = soak(12, 40);
    let servers = [database.second_server().await, database.second_server().await, database.second_server().await];
    tokio::join!(
        async {
            for n in 0..times {
                publish_some(&servers[0], n).await
            }
        },
        async {
            for n in 0..times {
                decide_on_some(&servers[1], n).await
            }
        },
        async {
            for n in 0..times {
                take_some_in(&servers[2], n).await
            }
        },
    );
}

fn arrivals_of(n: usize) -> Vec<Arrival> {
    let mut arrivals: Vec<Arrival> = (0..12).map(|q| an_arrival().queue(&format!("q{}", (q * 5 + n) % 12))).collect();
    if n.is_multiple_of(2) {
        arrivals.reverse();
    }
    arrivals
}

async fn new_letters(server: &Store, broker: &str, n: usize) -> Vec<LetterId> {
    record(server, broker, &arrivals_of(n)).await.into_iter().map(Recorded::letter).collect()
}

async fn publish_some(server: &Store, n: usize) {
    let ids = new_letters(server, "main", n).await;
    server.act(&order(&RETRY_NOW, &ids)).await.unwrap();
    let claimed = server.claim_due_retries("main", later(1), LEASE, 100).await.unwrap();
    let outcome = |n: usize| match n.is_multiple_of(2) {
        true => RetryOutcome::Confirmed,
        false => RetryOutcome::Failed("refused".to_owned()),
    };
    let outcomes: Vec<_> = claimed.iter().enumerate().map(|(n, retry)| (retry, outcome(n))).collect();
    server.finish_retries(&outcomes, NOON).await.unwrap();
}

async fn decide_on_some(server: &Store, n: usize) {
    let mut ids = new_letters(server, "main", n + 1).await;
    for command in [RETRY_LATER, Command::Reopen, DISCARD, Command::SetImportance(Importance::Normal)] {
        ids.reverse();
        server.act(&order(&command, &ids)).await.unwrap();
    }
}

async fn take_some_in(server: &Store, n: usize) {
    let ids = new_letters(server, "main", n).await;
    let back: Vec<Arrival> = arrivals_of(n + 1).iter().zip(&ids).map(|(new, id)| new.twin().returning(*id)).collect();
    record(server, "main", &back).await;
}

/// Two processes of one queue, each redelivered something and each with batches to forget.
async fn intakes_never_wait_in_a_circle(database: &TestDatabase) {
    let other = database.second_server().await;
    let work = async |server: &Store| {
        let mut recorded = Vec::new();
        for _ in 0..25 {
            let arrivals = [an_arrival(), an_arrival().again()];
            let (over, confirmed) = recorded.split_at(recorded.len().saturating_sub(1));
            let batch = IntakeBatch { settled: AckState { confirmed, expired: over }, ..batch("main", &arrivals) };
            server.record(&batch).await.unwrap();
            recorded.push(batch.id);
        }
    };
    tokio::join!(work(database), work(&other));
}

/// Thousands of letters named in two orders.
async fn orders_for_the_same_thousands_do_not_meet_in_a_circle(database: &TestDatabase) {
    let ids = database.take_in_many(1_500).await;
    let reversed: Vec<LetterId> = ids.iter().rev().copied().collect();
    let other = database.second_server().await;
    let command = Command::SetImportance(Importance::Low);
    let (one, two) = (order(&command, &ids), order(&command, &reversed));
    let (one, two) = in_line(database, database.act(&one), other.act(&two)).await;
    assert_eq!((one.unwrap().done.len(), two.unwrap().done.len()), (1_500, 1_500));
}

/// What a letter of `orders` was found to be that failed with this error.
fn found(letter: LetterId, error: &str) -> Enriched {
    enriched(letter).in_group("main", "orders", error)
}

/// A group that no letter is in any more.
async fn empty_group(database: &TestDatabase, error: &str) -> GroupId {
    let letter = database.take_in_new(an_arrival()).await;
    let empty = found(letter, error);
    let group = empty.group;
    database.enrich(&[empty], 1, later(1)).await.unwrap();
    database.enrich(&[found(letter, "another")], 1, later(1)).await.unwrap();
    group
}

/// A letter is put into the group, and has nearly got there, when another server forgets groups that are empty.
async fn a_group_that_a_letter_is_coming_into_is_not_forgotten(database: &TestDatabase) {
    let group = empty_group(database, "x").await;
    let letter = database.take_in_new(an_arrival()).await;
    let (other, into) = (database.second_server().await, [found(letter, "x")]);
    let enrich = database.enrich(&into, 1, later(1));
    let forgotten = match database.server() {
        None => {
            enrich.await.unwrap();
            other.forget_groups(later(9)).await.unwrap()
        }
        Some(server) => {
            let mut counts = server.begin().await.unwrap();
            sqlx::query("SELECT id FROM facets FOR UPDATE").execute(&mut *counts).await.unwrap();
            let forget = async {
                waiting(server, 1).await;
                let forgotten = other.forget_groups(later(9)).await.unwrap();
                counts.rollback().await.unwrap();
                forgotten
            };
            let (enriched, forgotten) = tokio::join!(enrich, forget);
            enriched.unwrap();
            forgotten
        }
    };
    assert_eq!(forgotten, 0);
    assert_eq!(database.group(group, NOON).await.unwrap().unwrap().n_open(), 1);
}

/// The group is forgotten after it was seen, and before it was held.
async fn a_group_that_is_gone_meanwhile_is_made_anew(database: &TestDatabase) {
    let group = empty_group(database, "x").await;
    let letter = database.take_in_new(an_arrival()).await;
    let into = [found(letter, "x")];
    let enrich = database.enrich(&into, 1, later(1));
    match database.server() {
        None => {
            assert_eq!(database.forget_groups(later(9)).await.unwrap(), 1);
            enrich.await.unwrap();
        }
        Some(server) => {
            const ITS: &str = "SELECT id FROM groups WHERE id = $1 FOR UPDATE";
            let mut other = server.begin().await.unwrap();
            sqlx::query(ITS).bind(group.as_uuid()).execute(&mut *other).await.unwrap();
            let forget = async {
                waiting(server, 1).await;
                sqlx::query("DELETE FROM groups WHERE id = $1")
                    .bind(group.as_uuid())
                    .execute(&mut *other)
                    .await
                    .unwrap();
                sqlx::query("DELETE FROM group_hours WHERE group_id = $1")
                    .bind(group.as_uuid())
                    .execute(&mut *other)
                    .await
                    .unwrap();
                other.commit().await.unwrap();
            };
            let (enriched, ()) = tokio::join!(enrich, forget);
            enriched.unwrap();
        }
    }
    assert_eq!(database.group(group, NOON).await.unwrap().unwrap().n_open(), 1);
}

on_both!(
    of_two_people_who_discard_one_is_told_no,
    what_comes_back_while_it_is_marked_is_open,
    a_retry_that_is_cancelled_is_not_claimed,
    no_retry_is_claimed_twice,
    what_is_held_while_its_queue_is_resumed_is_let_go,
    writers_never_wait_in_a_circle,
    intakes_never_wait_in_a_circle,
    orders_for_the_same_thousands_do_not_meet_in_a_circle,
    a_group_that_a_letter_is_coming_into_is_not_forgotten,
    a_group_that_is_gone_meanwhile_is_made_anew,
);
