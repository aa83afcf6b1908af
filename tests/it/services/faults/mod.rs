//! Random sequences of faults of the real program, of RabbitMQ, of Postgres and of the connections between them, while
//! messages come, a consumer fails some and people act on letters. At the end the books balance.
//!
//! A failure prints its seed and what is off. `DLO_TEST_SEED` has the same sequence happen again. In `make test` and
//! `make test-long` they are the same each time, chosen so that together they have every fault; in `make soak` others each time.
//!
//! Needs the feature `crash-points`, as in `make test`.

mod books;
mod clock;
mod plan;
mod servers;
mod site;
mod traffic;
mod world;

use std::ops::RangeInclusive;

use dead_letter_office::domain::policy::Via;

use crate::support::{
    postgres::Postgres,
    rabbit::{Doomed, Rabbit},
    soak,
};
use plan::{Fault, Plan, Setting};
use site::Site;
use world::{Verdict, World};

async fn run(plan: Plan, rabbit: &mut Doomed, postgres: Option<&mut Postgres>, verdict: &Verdict) {
    let vhost = rabbit.vhost();
    let Some(site) = Site::new(rabbit, postgres).await else { return };
    let mut world = World::begin(plan, &vhost, site, verdict).await;
    world.suffer().await;
    world.settle().await;
}

async fn check(setting: Setting, via: Option<Via>, servers: RangeInclusive<usize>, in_short: u64) {
    let verdict = Verdict::default();
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    let Some(mut postgres) = postgres(setting) else { return };
    for _ in 0..soak(1, 10) {
        let plan = Plan::new(setting, via, servers.clone(), in_short);
        run(plan, &mut rabbit, postgres.as_mut(), &verdict).await;
    }
}

/// These faults alone, one after the other.
async fn check_each(settings: &[Setting], faults: &[Fault]) {
    let verdict = Verdict::default();
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    for setting in settings {
        let Some(mut postgres) = postgres(*setting) else { return };
        run(Plan::of(*setting, Via::Database, faults), &mut rabbit, postgres.as_mut(), &verdict).await;
    }
}

/// In `make test-long` on SQLite: the sequence of several servers on one Postgres has both, a full disk and a clock that jumps.
fn on_either() -> &'static [Setting] {
    soak(&[Setting::Sqlite], &[Setting::Sqlite, Setting::Postgres])
}

/// The server it takes, if any; `None` where tests for it may be skipped.
fn postgres(setting: Setting) -> Option<Option<Postgres>> {
    Some(match setting {
        Setting::Sqlite => None,
        Setting::Postgres => Some(Postgres::on_small_disk()?),
        Setting::PostgresPair => Some(Postgres::durable()?),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_is_told_and_loses_and_doubles_nothing() {
    check_each(on_either(), soak(&[Fault::FullDisk], &[Fault::FullDisk, Fault::FullDisk])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_clock_that_jumps_is_noticed_and_loses_nothing() {
    check_each(on_either(), &[Fault::ClockAhead, Fault::ClockBehind]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_standby_takes_over_and_nothing_is_lost() {
    check_each(&[Setting::PostgresPair], soak(&[Fault::FailOver], &[Fault::FailOver, Fault::FailOver])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_books_balance_with_messages_waiting_in_sqlite() {
    check(Setting::Sqlite, Some(Via::Database), 1..=1, 2_197).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_books_balance_with_messages_waiting_in_the_broker() {
    check(Setting::Sqlite, Some(Via::Broker), 1..=1, 228).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_books_balance_with_several_servers_on_one_postgres() {
    check(Setting::Postgres, None, 2..=3, 12_368).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_books_balance_when_postgres_fails_over() {
    check(Setting::PostgresPair, None, 1..=2, 10_758).await;
}
