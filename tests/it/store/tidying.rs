//! Counts of what is gone: removed, never while somebody is about to count, and not read by pages.

use std::time::Duration;

use dead_letter_office::{
    domain::{
        actor::Actor,
        filter::{LetterFilter, Names},
        job::Job,
        letter::{LetterId, Status},
        lifecycle::retention::Outdated,
    },
    store::Recorded,
};

use super::{
    concurrency::waiting,
    database::{DISCARD, TestDatabase, record},
    make::{Make, NOON, an_arrival, id, later},
};

const AT_ONCE: u32 = 7;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// So many letters, each of a queue of its own, that were discarded.
async fn discarded(database: &TestDatabase, queues: usize) -> Vec<LetterId> {
    let arrivals: Vec<_> = (0..queues).map(|n| an_arrival().queue(&format!("temporary-{n}"))).collect();
    let ids: Vec<_> = record(database, "main", &arrivals).await.into_iter().map(Recorded::letter).collect();
    database.does(&DISCARD, &ids).await;
    ids
}

async fn forget_letters(database: &TestDatabase) {
    let all = Outdated { retried: later(9), discarded: later(9) };
    while database.forget_settled(all, 1_000).await.unwrap() > 0 {}
}

async fn queues_in_the_past_leave_nothing_behind(database: &TestDatabase) {
    discarded(database, 20).await;
    database.take_in_new(an_arrival()).await;
    assert_eq!(database.number("SELECT count(*) FROM facets").await, 41);
    assert_eq!(database.forget_facets(AT_ONCE).await.unwrap(), 7, "some at a time");
    while database.forget_facets(AT_ONCE).await.unwrap() > 0 {}
    assert_eq!(database.number("SELECT count(*) FROM facets").await, 21, "those of the letters that are there");
    forget_letters(database).await;
    while database.forget_facets(AT_ONCE).await.unwrap() > 0 {}
    while database.forget_slices(AT_ONCE).await.unwrap() > 0 {}
    assert_eq!(database.number("SELECT count(*) FROM facets").await, 1);
    for table in ["slices", "days"] {
        let rows = database.number(&format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(rows, 2, "{table} of its facet and of all");
    }
    database.take_in([an_arrival().queue("temporary-3")]).await;
    assert_eq!(database.total().await, 2, "the queue is back");
}

/// The other server knows the facet by its number, which is gone.
async fn a_facet_that_another_server_has_removed_is_made_anew(database: &TestDatabase) {
    let Some(_) = database.server() else { return };
    let other = database.second_server().await;
    let ids: Vec<LetterId> = record(&other, "main", &[an_arrival()]).await.into_iter().map(Recorded::letter).collect();
    database.does(&DISCARD, &ids).await;
    forget_letters(database).await;
    while database.forget_facets(AT_ONCE).await.unwrap() > 0 {}
    record(&other, "main", &[an_arrival()]).await;
    assert_eq!(database.total().await, 1);
    assert_eq!(database.facets().await.unwrap().len(), 1);
}

/// What facets stand for is kept in memory: where the newest is removed, the next must not be taken for it.
async fn counts_are_of_the_queue_that_a_facet_stands_for(database: &TestDatabase) {
    let queues = async || {
        let counted = database.facets().await.unwrap().into_iter();
        let mut queues: Vec<_> = counted.map(|facet| (facet.queue.unwrap_or_default(), facet.count)).collect();
        queues.sort();
        queues
    };
    database.take_in([an_arrival().queue("stays"), an_arrival().queue("stays")]).await;
    discarded(database, 1).await;
    assert_eq!(queues().await, [("stays".to_owned(), 2), ("temporary-0".to_owned(), 1)]);
    forget_letters(database).await;
    while database.forget_facets(AT_ONCE).await.unwrap() > 0 {}
    assert_eq!(queues().await, [("stays".to_owned(), 2)]);
    database.take_in([an_arrival().queue("new")]).await;
    assert_eq!(queues().await, [("new".to_owned(), 1), ("stays".to_owned(), 2)]);
}

/// A letter has found its facet, and does not count in it yet.
async fn a_facet_that_is_about_to_count_is_not_removed(database: &TestDatabase) {
    let Some(server) = database.server() else { return };
    let ids = database.take_in_many(1).await;
    database.does(&DISCARD, &ids).await;
    let other = database.second_server().await;
    let mut letters = server.begin().await.unwrap();
    sqlx::query("LOCK TABLE letters IN SHARE MODE").execute(&mut *letters).await.unwrap();
    let arrivals = [an_arrival()];
    let forget = async {
        waiting(server, 1).await;
        let forgotten = other.forget_facets(AT_ONCE).await.unwrap();
        letters.rollback().await.unwrap();
        forgotten
    };
    let (_, forgotten) = tokio::join!(record(database, "main", &arrivals), forget);
    assert_eq!(forgotten, 0);
    assert_eq!(database.total().await, 2);
}

async fn jobs_that_have_ended_and_old_outcomes_are_removed(database: &TestDatabase) {
    let by = Actor::local();
    let (mut ended, goes_on) = (Job::begun(id(), "work"), Job::begun(id(), "work"));
    ended.end();
    database.add_job(&ended, &by, NOON).await.unwrap();
    database.add_job(&goes_on, &by, NOON).await.unwrap();
    assert_eq!(database.forget_jobs(NOON, AT_ONCE).await.unwrap(), 0, "not yet");
    assert_eq!(database.forget_jobs(later(1), AT_ONCE).await.unwrap(), 1);
    assert_eq!(
        (database.job(ended.id).await.unwrap(), database.job(goes_on.id).await.unwrap().is_some()),
        (None, true)
    );
    let outcomes = async || {
        let day = NOON.floor_to(DAY).as_micros();
        for n in 0..20 {
            let row = format!("('main', 'temporary-{n}', {day}, 1, 1, 1, 0)");
            let columns = "broker, queue, start, failures, failed, retried, exhausted";
            database.tamper(&format!("INSERT INTO retry_counts ({columns}) VALUES {row}")).await;
        }
    };
    outcomes().await;
    assert_eq!(database.forget_retry_counts(NOON, 100).await.unwrap(), 20, "of the day that began before");
    outcomes().await;
    let yesterday = NOON.minus(DAY);
    assert_eq!(database.forget_retry_counts(yesterday, 100).await.unwrap(), 0);
    assert_eq!(database.forget_retry_counts(NOON, AT_ONCE).await.unwrap(), 7, "some at a time");
}

async fn pages_read_sums_of_queues_in_the_past(database: &TestDatabase) {
    discarded(database, 30).await;
    database.take_in([an_arrival().queue("a"), an_arrival().queue("b")]).await;
    let overall = database.counts_overall().await.unwrap();
    assert_eq!(overall.facets.len(), 2, "those that wait for somebody");
    assert_eq!(
        overall.sums.iter().map(|(status, _, count)| (*status, *count)).collect::<Vec<_>>(),
        [(Status::Discarded, 30)]
    );
    let of_queue = LetterFilter { queues: Names::exact(["temporary-1"]), ..LetterFilter::default() };
    let counts = database.letter_counts(&of_queue).await.unwrap();
    assert_eq!((counts.facets.len(), counts.sums.len()), (32, 0), "who asks for queues is told of each");
    assert_eq!(database.sums().await.unwrap().iter().map(|(.., count)| count).sum::<u64>(), 32);
}

on_both!(
    queues_in_the_past_leave_nothing_behind,
    a_facet_that_another_server_has_removed_is_made_anew,
    counts_are_of_the_queue_that_a_facet_stands_for,
    a_facet_that_is_about_to_count_is_not_removed,
    jobs_that_have_ended_and_old_outcomes_are_removed,
    pages_read_sums_of_queues_in_the_past,
);
