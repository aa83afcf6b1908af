//! Work on all letters of a filter: kept, claimed once, and walked through.

use std::time::Duration;

use amqp_message::{death::Reason, time::Timestamp};
use dead_letter_office::{
    domain::{
        activity::{Area, AuditEntry},
        actor::Actor,
        command::Command,
        filter::{LetterFilter, Names},
        group::GroupId,
        job::{Bulk, Job, JobState, Left},
        letter::{Importance, LetterId, Status},
        pacing::Pacing,
    },
    store::{ClaimedBulk, Order, Sweep},
};

use super::{
    database::{LEASE, TestDatabase, order},
    make::{Make, NOON, an_arrival, id, later},
};

fn bulk(command: Command) -> Bulk {
    let filter = LetterFilter {
        statuses: vec![Status::Open],
        importances: vec![Importance::High, Importance::Low],
        brokers: vec!["main".to_owned()],
        queues: Names { exact: vec![String::new()], ..Names::globs(["orders.*"]) },
        reasons: vec![Reason::Expired],
        types: Names::exact(["acme.\"A\""]),
        groups: vec![GroupId::from_uuid(id())],
        since: Some(later(1)),
        until: None,
        search: None,
    };
    Bulk {
        filter,
        until: later(9),
        left: None,
        command,
        edit: None,
        pacing: Pacing::default(),
        by: Actor::named("Ann"),
    }
}

async fn what_is_left_behind_is_taken_up_once(database: &TestDatabase) {
    let bulk = bulk(Command::Retry { delay: Duration::from_millis(1_500), queue: Some("q".to_owned()) });
    let job = Job { total: 7, ..Job::begun(id(), "retry") };
    database.add_bulk(&job, &bulk, NOON, LEASE).await.unwrap();
    let claim = async |at| database.claim_bulk(at, LEASE).await.unwrap();
    assert_eq!(claim(later(59)).await, None, "its writer works at it");
    assert_eq!(claim(later(60)).await, Some(ClaimedBulk { job: job.clone(), bulk, begun: NOON }));
    assert_eq!(claim(later(61)).await, None);
    let done = Job { done: 7, state: JobState::Done, ..job };
    assert!(!database.job_has_come_to(&done, None, later(62)).await.unwrap());
    assert_eq!(claim(later(999)).await, None);
    assert_eq!(database.job(done.id).await.unwrap(), Some(done));
}

async fn every_command_is_kept_as_it_was(database: &TestDatabase) {
    let commands = [
        Command::Retry { delay: Duration::ZERO, queue: None },
        Command::Discard { note: Some("no \"use\"\n".to_owned()) },
        Command::Reopen,
        Command::SetImportance(Importance::Critical),
        Command::SetNote(String::new()),
        Command::SetType(None),
    ];
    for command in commands {
        let job = Job::begun(id(), command.name());
        let bulk = bulk(command);
        database.add_bulk(&job, &bulk, NOON, Duration::ZERO).await.unwrap();
        assert_eq!(database.claim_bulk(later(1), LEASE).await.unwrap().map(|claimed| claimed.bulk), Some(bulk));
    }
}

async fn a_job_of_another_kind_is_left_alone(database: &TestDatabase) {
    database.add_job(&Job::begun(id(), "name types"), &Actor::system(), NOON).await.unwrap();
    assert_eq!(database.claim_bulk(later(9_999), LEASE).await.unwrap(), None);
    let job = Job::begun(id(), "retry");
    database.add_bulk(&job, &bulk(Command::Reopen), NOON, Duration::ZERO).await.unwrap();
    assert!(
        database
            .cancel_job(job.id, &AuditEntry::new(NOON, &Actor::local(), Area::Letters, "cancel", ""))
            .await
            .unwrap()
    );
    assert_eq!(database.claim_bulk(later(9_999), LEASE).await.unwrap(), None, "it is cancelled");
}

async fn a_walk_keeps_within_its_times(database: &TestDatabase) {
    let arrivals = [0, 1, 2, 3].map(|seconds| an_arrival().received(later(seconds)));
    let ids = arrivals.each_ref().map(|arrival| arrival.id);
    database.take_in(arrivals).await;
    let walk = async |since: Option<Timestamp>, until: Option<Timestamp>, frozen| -> Vec<LetterId> {
        let filter = LetterFilter { since, until, ..LetterFilter::default() };
        let mut sweep = database.sweep(&filter, frozen).await.unwrap();
        database.next_of(&mut sweep, 9).await.unwrap()
    };
    assert_eq!(walk(None, None, later(2)).await, ids[..3], "the moment itself is in it");
    assert_eq!(walk(Some(later(1)), None, later(9)).await, ids[1..]);
    assert_eq!(walk(Some(later(1)), Some(later(3)), later(9)).await, ids[1..3], "the end of a filter is not");
    assert_eq!(walk(None, Some(later(3)), later(1)).await, ids[..2]);
}

/// The facet that was made last is walked first.
async fn a_walk_meets_each_once_however_it_is_moved(database: &TestDatabase) {
    let normal = database.take_in_many(3).await;
    let high = database.take_in_many(2).await;
    let set = async |importance, ids: &[LetterId]| database.does(&Command::SetImportance(importance), ids).await;
    set(Importance::High, &high).await;
    let mut sweep = database.sweep(&LetterFilter::default(), later(9)).await.unwrap();
    let mut met = database.next_of(&mut sweep, 2).await.unwrap();
    assert_eq!(met, high);
    set(Importance::Normal, &high).await;
    met.extend(database.next_of(&mut sweep, 1).await.unwrap());
    assert_eq!(met[2..], normal[..1]);
    // Into a facet that was walked through, and into one that is new.
    set(Importance::High, &normal[1..2]).await;
    set(Importance::Critical, &normal[2..]).await;
    loop {
        let next = database.next_of(&mut sweep, 9).await.unwrap();
        if next.is_empty() {
            break;
        }
        met.extend(next);
    }
    met.sort();
    assert_eq!(met, [normal, high].concat());
}

/// Between its pages it is seen whether it goes on, also while all is walked through once more.
async fn a_walk_gives_control_back_after_each_page(database: &TestDatabase) {
    let mut ids = database.take_in_many(5).await;
    let mut sweep = database.sweep(&LetterFilter::default(), later(9)).await.unwrap();
    let (mut met, mut empty) = (Vec::new(), 0);
    while let Some(page) = database.page_of(&mut sweep, 2).await.unwrap() {
        assert!(page.len() <= 2);
        empty += usize::from(page.is_empty());
        met.extend(page);
    }
    ids.sort();
    met.sort();
    assert_eq!(met, ids);
    assert!(empty >= 3, "three pages of letters that were met before: {empty}");
}

async fn a_job_is_undone_by_what_it_left(database: &TestDatabase) {
    let [mine, others, later_on] = [1, 2, 3].map(|_| an_arrival());
    let ids = [mine.id, others.id, later_on.id];
    database.take_in([mine, others, later_on]).await;
    let act = async |id: usize, command: Command, at| {
        let done = database.act(&Order { at, ..order(&command, &ids[id..=id]) }).await.unwrap().done;
        assert_eq!(done, ids[id..=id]);
    };
    act(0, Command::Discard { note: None }, later(1)).await;
    act(1, Command::Discard { note: None }, later(2)).await;
    act(2, Command::Retry { delay: Duration::from_secs(9), queue: None }, later(1)).await;
    let left = async |left| {
        let mut sweep = Sweep::of_left(left);
        let found = database.next_of(&mut sweep, 9).await.unwrap();
        assert_eq!(database.next_of(&mut sweep, 9).await.unwrap(), [], "each once");
        found
    };
    assert_eq!(left(Left::Discarded(later(1))).await, [ids[0]]);
    assert_eq!(left(Left::Discarded(later(3))).await, []);
    assert_eq!(left(Left::Due(later(10), None)).await, [ids[2]]);
    assert_eq!(left(Left::Due(later(10), Some(id()))).await, [], "no job has scheduled it");
    for scheduled_by in [None, Some(id())] {
        let kept = Bulk { left: Some(Left::Due(later(10), scheduled_by)), ..bulk(Command::Reopen) };
        let job = Job::begun(id(), "reopen");
        database.add_bulk(&job, &kept, NOON, LEASE).await.unwrap();
        assert_eq!(database.bulk(job.id).await.unwrap(), Some((kept, NOON)));
    }
}

on_both!(
    a_job_is_undone_by_what_it_left,
    what_is_left_behind_is_taken_up_once,
    every_command_is_kept_as_it_was,
    a_job_of_another_kind_is_left_alone,
    a_walk_keeps_within_its_times,
    a_walk_meets_each_once_however_it_is_moved,
    a_walk_gives_control_back_after_each_page,
);
