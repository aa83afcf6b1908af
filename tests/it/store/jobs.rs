//! Jobs on all letters of a filter: what is done, counted and taken back in one transaction.

use amqp_message::time::Timestamp;
use dead_letter_office::{
    domain::{
        activity::{Area, AuditEntry},
        actor::Actor,
        command::{Command, CommandReport},
        filter::LetterFilter,
        job::{Bulk, Job, JobState},
        letter::{LetterId, Status},
        pacing::{Pace, Pacing, Stage},
    },
    store::{Advance, BulkAudit, BulkWork, HeldBack},
};
use uuid::Uuid;

use super::{
    concurrency::waiting,
    database::{LEASE, RETRY_LATER, RETRY_NOW, TestDatabase, order},
    make::{NOON, id, later},
    pauses::pause,
};

fn bulk(command: Command, status: Status) -> Bulk {
    Bulk {
        filter: LetterFilter { statuses: vec![status], ..LetterFilter::default() },
        until: NOON,
        left: None,
        command,
        edit: None,
        pacing: Pacing::default(),
        by: Actor::local(),
    }
}

fn entry(action: &str) -> AuditEntry {
    AuditEntry::new(NOON, &Actor::local(), Area::Letters, action, "")
}

/// A job that is worked at.
async fn begin<'a>(database: &TestDatabase, bulk: &'a Bulk) -> BulkWork<'a> {
    let job = Job::begun(id(), bulk.command.name());
    database.add_bulk(&job, bulk, NOON, LEASE).await.unwrap();
    BulkWork { job, bulk, held_until: NOON.plus(LEASE) }
}

async fn act(database: &TestDatabase, work: &mut BulkWork<'_>, ids: &[LetterId]) -> Option<CommandReport> {
    let bulk = work.bulk;
    let mut whole = BulkAudit::new(entry(bulk.command.name())).of_job(work.job.id, None);
    database.act_on_portion(&order(&bulk.command, ids), &mut whole, work).await.unwrap()
}

async fn take_back(database: &TestDatabase, job: Uuid, ids: &[LetterId]) -> u64 {
    database.take_back(job, &order(&Command::Reopen, ids)).await.unwrap()
}

async fn job(database: &TestDatabase, job: Uuid) -> Job {
    database.job(job).await.unwrap().unwrap()
}

/// Nothing else has to be written for that: whoever works at it may die.
async fn letters_are_counted_with_what_is_done(database: &TestDatabase) {
    let ids = [database.letter_in(Status::Open).await, LetterId::from_uuid(id())];
    let bulk = bulk(RETRY_LATER, Status::Open);
    let mut work = begin(database, &bulk).await;
    assert_eq!(act(database, &mut work, &ids).await.unwrap().done, ids[..1]);
    let kept = job(database, work.job.id).await;
    assert_eq!((kept.done, kept.failed, kept.skipped, kept.total), (1, 0, 1, 2));
    assert_eq!(work.job, kept);
}

async fn nothing_is_done_for_a_job_that_was_stopped(database: &TestDatabase) {
    let letter = database.letter_in(Status::Open).await;
    let bulk = bulk(RETRY_NOW, Status::Open);
    for is_paused in [true, false] {
        let mut work = begin(database, &bulk).await;
        let stopped = match is_paused {
            true => database.pause_job(work.job.id, &entry("pause")).await,
            false => database.cancel_job(work.job.id, &entry("cancel")).await,
        };
        assert!(stopped.unwrap());
        assert_eq!(act(database, &mut work, &[letter]).await, None);
        assert!(!database.count_refused(&CommandReport::default(), &mut work).await.unwrap());
        assert_eq!((database.status(letter).await, job(database, work.job.id).await.over()), (Status::Open, 0));
    }
}

/// A retry of all that is scheduled: what is taken back is open, and no such letter any more.
async fn what_was_taken_back_is_meant_still(database: &TestDatabase) {
    let letter = async || database.letter_in(Status::Scheduled).await;
    let ids = [letter().await, letter().await, letter().await];
    let bulk = bulk(RETRY_NOW, Status::Scheduled);
    let mut work = begin(database, &bulk).await;
    let job = work.job.id;
    act(database, &mut work, &ids).await.unwrap();
    assert!(database.pause_job(job, &entry("pause")).await.unwrap());
    assert_eq!(take_back(database, job, &ids).await, 3);
    database.bring(ids[2], Status::Discarded).await;
    assert!(database.resume_job(job, &entry("resume")).await.unwrap());
    let frozen = database.frozen(job, &bulk, None, 9).await.unwrap();
    assert_eq!((&*frozen.meant, &*frozen.gone, frozen.passed), (&ids[..2], &ids[2..], None));
}

async fn a_job_that_was_resumed_keeps_what_is_not_taken_back_yet(database: &TestDatabase) {
    let ids = [database.letter_in(Status::Open).await, database.letter_in(Status::Open).await];
    let bulk = bulk(RETRY_NOW, Status::Open);
    let mut work = begin(database, &bulk).await;
    let id = work.job.id;
    act(database, &mut work, &ids).await.unwrap();
    assert!(database.pause_job(id, &entry("pause")).await.unwrap());
    assert_eq!(take_back(database, id, &ids[..1]).await, 1);
    assert!(database.resume_job(id, &entry("resume")).await.unwrap());
    assert_eq!(take_back(database, id, &ids[1..]).await, 0);
    assert_eq!((database.status(ids[0]).await, database.status(ids[1]).await), (Status::Open, Status::Scheduled));
    let job = job(database, id).await;
    assert_eq!((job.state, job.done), (JobState::Running, 1));
    assert_eq!(database.claims(NOON).await, ids[1..]);
}

/// One is claimed already, by a server that sends it later or dies.
async fn what_a_stopped_job_has_scheduled_is_not_sent(database: &TestDatabase) {
    let ids = [database.letter_in(Status::Open).await, database.letter_in(Status::Open).await];
    let bulk = bulk(RETRY_NOW, Status::Open);
    let mut work = begin(database, &bulk).await;
    let job = work.job.id;
    act(database, &mut work, &ids).await.unwrap();
    let claimed = database.claim_due_retries("main", NOON, LEASE, 1).await.unwrap()[0].id;
    let other = if claimed == ids[0] { ids[1] } else { ids[0] };
    let to_send = async || database.claims_to_send(&ids, NOON).await.unwrap().len();
    assert_eq!((to_send().await, database.next_retry_due("main").await.unwrap()), (1, Some(NOON)));
    assert!(database.pause_job(job, &entry("pause")).await.unwrap());
    assert_eq!((to_send().await, database.next_retry_due("main").await.unwrap()), (0, None));
    assert_eq!(database.claims(NOON).await, []);
    assert_eq!(database.released_waiting(job, later(59), 9).await.unwrap(), [other]);
    let mut waiting = database.released_waiting(job, later(60), 9).await.unwrap();
    waiting.sort();
    assert_eq!(waiting, ids);
    assert!(database.resume_job(job, &entry("resume")).await.unwrap());
    assert_eq!((to_send().await, database.claims(NOON).await), (1, vec![other]));
}

/// It is released while this server reads how the job stands; on SQLite there is no other server.
async fn what_another_server_releases_is_not_taken_for_lost(database: &TestDatabase) {
    let Some(server) = database.server() else { return };
    let letter = database.letter_in(Status::Scheduled).await;
    let bulk = bulk(RETRY_NOW, Status::Open);
    let job = begin(database, &bulk).await.job.id;
    let mut other = server.begin().await.unwrap();
    sqlx::query("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE").execute(&mut *other).await.unwrap();
    let release = async {
        waiting(server, 1).await;
        let release = "UPDATE retries SET job_id = $1 WHERE letter_id = $2";
        sqlx::query(release).bind(job).bind(letter.as_uuid()).execute(&mut *other).await.unwrap();
        sqlx::query("UPDATE jobs SET done = 1 WHERE id = $1").bind(job).execute(&mut *other).await.unwrap();
        other.commit().await.unwrap();
    };
    let (held, ()) = tokio::join!(database.held_back(job), release);
    let progress = held.unwrap().unwrap().progress(Stage::Canary, NOON);
    assert_eq!((progress.done, progress.waiting, progress.lost()), (1, 1, 0));
}

/// A retry, one letter a second, whose only letter is passed over; it is looked at again at that time.
async fn passing_over(database: &TestDatabase, next_at: Timestamp, passed: Option<LetterId>) -> HeldBack {
    let letter = database.letter_in(Status::Open).await;
    let pacing = Pacing { pace: Pace::PerSecond(1), canary: None };
    let bulk = Bulk { pacing, ..bulk(RETRY_NOW, Status::Open) };
    let job = begin(database, &bulk).await.job.id;
    database.freeze(job, &[letter], NOON, NOON.plus(LEASE)).await.unwrap();
    database.frozen_all(job, Stage::Rest, NOON).await.unwrap();
    let held = database.held_back(job).await.unwrap().unwrap();
    assert!(database.move_on(&held, &held.claimed.job, waits(&held, next_at, passed)).await.unwrap());
    database.held_back(job).await.unwrap().unwrap()
}

/// Their queue may have been resumed while the job was paused.
async fn a_job_that_goes_on_begins_with_what_it_passed_over(database: &TestDatabase) {
    let held = passing_over(database, later(300), Some(LetterId::LAST)).await;
    let job = held.claimed.job.id;
    assert!(database.pause_job(job, &entry("pause")).await.unwrap());
    assert!(database.resume_job(job, &entry("resume")).await.unwrap());
    let held = database.held_back(job).await.unwrap().unwrap();
    assert_eq!((held.passed, held.progress.next_at), (None, Some(NOON)));
}

fn waits(held: &HeldBack, next_at: Timestamp, passed: Option<LetterId>) -> Advance {
    let mut waits = held.stays();
    (waits.next_at, waits.passed) = (Some(next_at), passed);
    waits
}

/// It saw the queue paused. Whoever resumed it may have looked at the clock before, and waited for the transaction.
async fn a_step_during_which_a_queue_was_resumed_comes_to_nothing(database: &TestDatabase) {
    for (next_at, at) in [(NOON, later(5)), (later(5), later(5)), (later(5), NOON)] {
        for passed in [None, Some(LetterId::LAST)] {
            let held = passing_over(database, next_at, passed).await;
            database.pause_queue(&pause("a", false)).await.unwrap();
            assert!(database.resume_queue("main", "a", &Actor::local(), at).await.unwrap());
            let waits = waits(&held, later(300), Some(LetterId::LAST));
            let is_written = database.move_on(&held, &held.claimed.job, waits).await.unwrap();
            assert!(!is_written, "{next_at:?} {at:?} {passed:?}");
            assert_eq!(database.held_back(held.claimed.job.id).await.unwrap().unwrap().passed, None);
        }
    }
}

on_both!(
    letters_are_counted_with_what_is_done,
    nothing_is_done_for_a_job_that_was_stopped,
    what_was_taken_back_is_meant_still,
    a_job_that_was_resumed_keeps_what_is_not_taken_back_yet,
    what_a_stopped_job_has_scheduled_is_not_sent,
    what_another_server_releases_is_not_taken_for_lost,
    a_job_that_goes_on_begins_with_what_it_passed_over,
    a_step_during_which_a_queue_was_resumed_comes_to_nothing,
);
