//! A clock that was ahead and is put back, as people and time servers do with theirs.

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    domain::{
        activity::{Area, AuditEntry},
        actor::Actor,
        command::Command,
        filter::LetterFilter,
        group::GroupId,
        group_state::{GroupCommand, Phase, Until},
        job::{Bulk, Job, JobState, Left},
        letter::LetterId,
        pacing::{Pace, Pacing},
        version::Expected,
    },
    services::{clock_watch::ClockWatch, wakeup::Wakeup, worker::Worker},
    store::{BulkAudit, Claim, Enriched, GroupOrder, Order, SetBack, Store, Sweep},
};
use tokio_util::sync::CancellationToken;

use super::{
    database::{LEASE, RETRY_NOW, TestDatabase, order},
    make::{InGroup, Make, NOON, an_arrival, enriched, id, later},
};

const SIX_HOURS: Duration = Duration::from_secs(6 * 3_600);
/// What the clock said while it was ahead.
const AHEAD: Timestamp = Timestamp::from_micros(NOON.as_micros() + 6 * 3_600_000_000);

/// A letter whose retry somebody asked for at that moment.
async fn retried_in(database: &TestDatabase, at: Timestamp, seconds: u64) -> LetterId {
    let id = database.take_in_many(1).await[0];
    let command = Command::Retry { delay: Duration::from_secs(seconds), queue: None };
    let report = database.act(&Order { at, ..order(&command, &[id]) }).await.unwrap();
    assert_eq!(report.refused, []);
    id
}

async fn what_was_scheduled_meanwhile_waits_no_longer_than_it_should(database: &TestDatabase) {
    let before = retried_in(database, NOON, 3_600).await;
    assert_eq!(database.observe_clock(AHEAD, LEASE).await.unwrap(), None);
    let meanwhile = retried_in(database, AHEAD, 10).await;
    assert_eq!(database.claims(later(600)).await, [], "that is what it is about");
    let set_back = SetBack { by: SIX_HOURS, retries: 1 };
    assert_eq!(database.observe_clock(NOON, LEASE).await.unwrap(), Some(set_back));
    assert_eq!(database.observe_clock(NOON, LEASE).await.unwrap(), None, "once");
    assert_eq!(database.claims(later(9)).await, []);
    assert_eq!(database.claims(later(10)).await, [meanwhile]);
    assert_eq!(database.claims(later(3_599)).await, [meanwhile], "its claim is over");
    assert_eq!(database.claims(later(3_600)).await, [before]);
}

async fn groups_that_were_changed_meanwhile_are_as_if_changed_now(database: &TestDatabase) {
    let group = async |error: &str, command: GroupCommand| {
        let letter = database.take_in_new(an_arrival()).await;
        let enriched = enriched(letter).in_group("main", "orders", error);
        let id = enriched.group;
        database.enrich(&[enriched], 1, NOON).await.unwrap();
        let order = GroupOrder { ids: &[id], command: &command, by: &Actor::local(), at: AHEAD };
        assert_eq!(database.act_on_groups(&order, &Expected::Anything).await.unwrap().done, [id]);
        id
    };
    let resolved = group("a", GroupCommand::Resolve).await;
    let snoozed = group("b", GroupCommand::Snooze(Until::Time(AHEAD.plus(Duration::from_secs(7_200))))).await;
    database.observe_clock(AHEAD, LEASE).await.unwrap();
    assert!(database.observe_clock(NOON, LEASE).await.unwrap().is_some());
    let phase = async |id: GroupId| database.groups_by_id(&[id]).await.unwrap()[0].state.phase();
    let letter = database.take_in_new(an_arrival().received(later(5))).await;
    let again = Enriched { received_at: later(5), ..enriched(letter).in_group("main", "orders", "a") };
    database.enrich(&[again], 1, later(5)).await.unwrap();
    assert_eq!(phase(resolved).await, Phase::Open, "it came after it was resolved");
    assert_eq!(database.wake_groups(later(7_199)).await.unwrap(), 0);
    assert_eq!(database.wake_groups(later(7_200)).await.unwrap(), 1);
    assert_eq!(phase(snoozed).await, Phase::Open);
}

/// A retry is scheduled between two looks at the clock, while it is ahead.
async fn check_moment(database: &TestDatabase, restarts: bool) {
    let store = Arc::new(Store::open(database.url()).await.unwrap());
    let (clock, stop) = (Clock::manual(NOON), CancellationToken::new());
    let mut watch = ClockWatch::new(Arc::clone(&store), clock.clone(), Wakeup::default());
    watch.round(&stop).await.unwrap();
    clock.set(AHEAD);
    let meanwhile = retried_in(database, clock.now(), 10).await;
    clock.set(NOON);
    if restarts {
        watch = ClockWatch::new(store, Clock::manual(NOON), Wakeup::default());
    }
    watch.round(&stop).await.unwrap();
    assert_eq!(database.claims(later(10)).await, [meanwhile]);
}

async fn a_clock_that_was_ahead_for_a_moment_is_noticed(database: &TestDatabase) {
    check_moment(database, false).await;
}

async fn so_it_is_after_a_restart(database: &TestDatabase) {
    check_moment(database, true).await;
}

async fn what_a_dead_process_has_claimed_meanwhile_is_free_after_a_lease(database: &TestDatabase) {
    database.observe_clock(AHEAD, LEASE).await.unwrap();
    let id = retried_in(database, AHEAD, 0).await;
    assert_eq!(database.claims(AHEAD).await, [id]);
    database.observe_clock(NOON, LEASE).await.unwrap();
    assert_eq!(database.claims(later(59)).await, []);
    assert_eq!(database.claims(later(60)).await, [id]);
}

/// A server that still remembers the clock as it was looks at it later than one that has gone on. Time passes meanwhile.
async fn what_is_claimed_while_it_is_noticed_stays_claimed(database: &TestDatabase) {
    database.observe_clock(AHEAD, LEASE).await.unwrap();
    let id = retried_in(database, NOON, 0).await;
    assert_eq!(database.claims(later(1)).await, [id]);
    assert!(database.observe_clock(NOON, LEASE).await.unwrap().is_some());
    assert_eq!(database.claims(later(2)).await, [], "another server would send it again");
    assert_eq!(database.claims(later(1).plus(LEASE)).await, [id]);
}

async fn clocks_of_two_servers_may_differ_a_little(database: &TestDatabase) {
    database.observe_clock(later(5), LEASE).await.unwrap();
    let id = retried_in(database, later(5), 10).await;
    assert_eq!(database.observe_clock(NOON, LEASE).await.unwrap(), None);
    assert_eq!(database.claims(later(14)).await, []);
    assert_eq!(database.claims(later(15)).await, [id]);
}

async fn a_job_and_a_watch_are_not_held_by_a_clock_that_was_ahead(database: &TestDatabase) {
    let job = Job { state: JobState::Queued, ..Job::begun(id(), "work") };
    database.add_job(&job, &dead_letter_office::domain::actor::Actor::local(), NOON).await.unwrap();
    assert!(database.claim_job("work", later(1), LEASE).await.unwrap().is_some());
    assert!(database.claim_job("work", NOON, LEASE).await.unwrap().is_none(), "the other's clock is a second ahead");
    assert!(database.claim_job("work", AHEAD, LEASE).await.unwrap().is_some(), "it has ended");
    assert!(database.claim_job("work", NOON, LEASE).await.unwrap().is_some());
    let (one, other) = (id(), id());
    assert_eq!(database.claim_watch("main", one, AHEAD, LEASE).await.unwrap(), Claim::Taken);
    assert_eq!(database.claim_watch("main", other, AHEAD, LEASE).await.unwrap(), Claim::Elsewhere);
    assert_eq!(database.claim_watch("main", other, NOON, LEASE).await.unwrap(), Claim::Taken);
}

async fn retries_that_are_held_back_go_on(database: &TestDatabase) {
    let delay = Duration::from_secs(600);
    let bulk = Bulk {
        filter: LetterFilter::default(),
        until: AHEAD,
        left: None,
        command: Command::Retry { delay, queue: None },
        edit: None,
        pacing: Pacing { pace: Pace::PerSecond(1), canary: None },
        by: Actor::local(),
    };
    let job = Job::begun(id(), bulk.command.name());
    database.add_bulk(&job, &bulk, AHEAD, LEASE).await.unwrap();
    database.frozen_all(job.id, bulk.pacing.first_stage(), AHEAD.plus(delay)).await.unwrap();
    database.observe_clock(AHEAD, LEASE).await.unwrap();
    assert!(database.jobs_due(AHEAD).await.unwrap().is_empty());
    assert!(database.observe_clock(NOON, LEASE).await.unwrap().is_some());
    assert_eq!(database.jobs_due(NOON).await.unwrap(), [job.id]);
    let held = database.held_back(job.id).await.unwrap().unwrap();
    assert_eq!((held.claimed.begun, held.progress.next_at), (NOON, Some(NOON)), "its delay begins now");
}

/// Both are due at one moment then.
async fn each_of_two_jobs_that_were_begun_meanwhile_is_undone_alone(database: &TestDatabase) {
    let command = Command::Retry { delay: Duration::from_secs(10), queue: None };
    let mut jobs = Vec::new();
    for seconds in [0, 5] {
        let (job, letters) = (id(), database.take_in_many(1).await);
        let at = AHEAD.plus(Duration::from_secs(seconds));
        let report = database.act_as_job(job, &Order { at, ..order(&command, &letters) }).await.unwrap();
        assert_eq!(report.done, letters);
        jobs.push((job, letters));
    }
    database.observe_clock(AHEAD, LEASE).await.unwrap();
    assert!(database.observe_clock(NOON, LEASE).await.unwrap().is_some());
    for (job, letters) in jobs {
        let mut sweep = Sweep::of_left(Left::Due(later(10), Some(job)));
        assert_eq!(database.next_of(&mut sweep, 9).await.unwrap(), letters);
    }
}

/// The first letters of a retry show how they do from then on.
async fn what_a_job_has_sent_meanwhile_was_sent_now(database: &TestDatabase) {
    let letters = database.take_in_many(1).await;
    let entry = AuditEntry::new(AHEAD, &Actor::local(), Area::Letters, "retry", "");
    database.portion(&Order { at: AHEAD, ..order(&RETRY_NOW, &letters) }, &mut BulkAudit::new(entry)).await;
    database.tamper(&format!("UPDATE jobs SET last_sent_at = {}", AHEAD.as_micros())).await;
    database.observe_clock(AHEAD, LEASE).await.unwrap();
    assert!(database.observe_clock(NOON, LEASE).await.unwrap().is_some());
    assert_eq!(database.number("SELECT last_sent_at FROM jobs").await, NOON.as_micros());
}

/// The page shows the job that goes on, not one that ended in what is the future now.
async fn the_latest_job_is_the_one_that_goes_on(database: &TestDatabase) {
    let by = dead_letter_office::domain::actor::Actor::local();
    let (mut ended, goes_on) = (Job::begun(id(), "work"), Job::begun(id(), "work"));
    ended.end();
    database.add_job(&ended, &by, AHEAD).await.unwrap();
    assert_eq!(database.latest_job("work").await.unwrap().unwrap().id, ended.id);
    database.add_job(&goes_on, &by, NOON).await.unwrap();
    assert_eq!(database.latest_job("work").await.unwrap().unwrap().id, goes_on.id);
}

on_both!(
    what_was_scheduled_meanwhile_waits_no_longer_than_it_should,
    groups_that_were_changed_meanwhile_are_as_if_changed_now,
    a_clock_that_was_ahead_for_a_moment_is_noticed,
    so_it_is_after_a_restart,
    what_a_dead_process_has_claimed_meanwhile_is_free_after_a_lease,
    what_is_claimed_while_it_is_noticed_stays_claimed,
    clocks_of_two_servers_may_differ_a_little,
    a_job_and_a_watch_are_not_held_by_a_clock_that_was_ahead,
    retries_that_are_held_back_go_on,
    each_of_two_jobs_that_were_begun_meanwhile_is_undone_alone,
    what_a_job_has_sent_meanwhile_was_sent_now,
    the_latest_job_is_the_one_that_goes_on,
);
