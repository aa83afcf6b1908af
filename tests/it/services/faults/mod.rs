//! Random sequences of faults of the real program, of RabbitMQ, of Postgres and of the connections between them, while
//! messages come, a consumer fails some and people act on letters. At the end the books balance.
//!
//! A failure prints its seed and what is off. `DLO_TEST_SEED` has the same sequence happen again.
//!
//! Needs the feature `crash-points`, as in `make test`.

mod books;
mod plan;
mod servers;
mod traffic;
mod world;

use std::ops::RangeInclusive;

use dead_letter_office::domain::policy::Via;

use super::desk::TestDatabase;
use crate::support::{postgres::Postgres, rabbit::Rabbit, soak};
use plan::Plan;
use world::World;

async fn check(mut postgres: Option<Postgres>, via: Option<Via>, servers: RangeInclusive<usize>) {
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    for _ in 0..soak(1, 10) {
        let database = postgres.as_ref().map_or_else(TestDatabase::sqlite, TestDatabase::on);
        let vhost = rabbit.vhost();
        let plan = Plan::new(postgres.is_some(), via, servers.clone());
        let mut world = World::begin(plan, &database, &vhost, &mut rabbit).await;
        world.suffer(&mut rabbit, &mut postgres).await;
        world.settle().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_books_balance_with_messages_waiting_in_sqlite() {
    check(None, Some(Via::Database), 1..=1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_books_balance_with_messages_waiting_in_the_broker() {
    check(None, Some(Via::Broker), 1..=1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_books_balance_with_several_servers_on_one_postgres() {
    let Some(postgres) = Postgres::durable() else { return };
    check(Some(postgres), None, 2..=3).await;
}
