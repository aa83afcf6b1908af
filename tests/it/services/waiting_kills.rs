//! Policies whose retries wait in RabbitMQ, while the program is killed and a consumer dies: a message goes no more often
//! than its policy grants and the copies explain that a death leaves, and the figures are right afterwards.
//!
//! Needs the feature `crash-points`, as in `make test`.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    config::QueueType,
    domain::{letter::Status, policy::Via},
};
use lapin::{BasicProperties, options::BasicRejectOptions};
use tokio::task::block_in_place;

use super::{
    desk::{AppState, PATIENCE, TestDatabase, with_queues},
    program::{Program, Retry},
    returns::{Careless, RETRIES},
    service::{DEAD_LETTERS, Service},
};
use crate::support::{
    delay_queues,
    process::wait_until,
    rabbit::{Rabbit, Vhost},
};

const BODY: &str = r#"{"order":1090,"total":12.5}"#;

/// A consumer that says nothing of what it was given, and a program beside it.
struct World<'a> {
    program: Program<'a>,
    careless: Careless<'a>,
    server: AppState,
    calls: usize,
}

impl<'a> World<'a> {
    /// Its consumer has failed one message.
    async fn begin(database: &'a TestDatabase, vhost: &'a Vhost) -> Self {
        let queue_type = QueueType::Classic;
        AppState::open(database, with_queues(queue_type, vhost)).await.close().await;
        let careless = Careless::start(vhost).await;
        delay_queues::declare(vhost.amqp_url(), "orders", [Duration::from_millis(50)], Clock::system().now()).await;
        careless.orders.receive(BasicProperties::default(), BODY.as_bytes()).await;
        let retry = Retry { via: Via::Broker, delays: "50ms,50ms" };
        let program = Program { retry, ..Program::new(database, vhost, queue_type) };
        let server = AppState::begin(&database.url, Clock::system(), []).await;
        let mut world = Self { program, careless, server, calls: 0 };
        world.fail().await;
        world
    }

    async fn fail(&mut self) {
        self.careless.fail(None).await;
        self.calls += 1;
    }

    /// Whether something is with its consumer by now; else all is over.
    async fn goes_back(&self) -> bool {
        let vhost = self.program.vhost;
        let is_over = async || self.server.count_of(Status::Open).await > 0 && block_in_place(|| vhost.is_drained());
        let is_back = async || vhost.depth("orders").await > 0;
        self.program.finish("it to go back or to need attention", async || is_back().await || is_over().await).await;
        is_back().await
    }

    /// Fails whatever comes, and has the program die at that place while it takes in the first `deaths` of them.
    async fn fail_all(&mut self, place: &str, deaths: usize) {
        for death in 0.. {
            if death < deaths {
                self.program.die_at(place, 1).await;
                self.program.database.let_leases_end().await;
                if place == "acknowledged" {
                    self.acknowledge_what_was().await;
                }
            }
            if !self.goes_back().await {
                return;
            }
            while self.careless.orders.is_waiting().await {
                self.fail().await;
            }
        }
    }

    /// An acknowledgement that was written is lost where the broker has not read it yet when the connection breaks.
    async fn acknowledge_what_was(&self) {
        let vhost = self.program.vhost;
        wait_until("its consumer to be gone", PATIENCE, async || vhost.consumers(DEAD_LETTERS).await == 0).await;
        let dead_letters = Service::at(vhost, DEAD_LETTERS).await;
        if dead_letters.is_waiting().await {
            dead_letters.work().await;
        }
    }

    /// Has the program die there, and what it had published fail meanwhile.
    async fn die_and_fail(&mut self, place: &str, fail: impl AsyncFnOnce(&mut Self)) {
        self.program.die_at(place, 1).await;
        self.program.database.let_leases_end().await;
        let dead_letters = Service::at(self.program.vhost, DEAD_LETTERS).await;
        let not_acknowledged = dead_letters.next().await;
        assert!(self.goes_back().await);
        fail(self).await;
        not_acknowledged.reject(BasicRejectOptions { requeue: true }).await.unwrap();
    }

    async fn reject(&mut self) {
        self.careless.orders.reject().await;
        self.calls += 1;
    }

    /// Rejects whatever comes; all copies of it share the retries of one.
    async fn reject_all(&mut self) {
        while self.goes_back().await {
            while self.careless.orders.is_waiting().await {
                self.reject().await;
            }
        }
        let figures = self.figures().await;
        assert!((RETRIES + 1..=RETRIES + 2).contains(&self.calls), "{} calls, {figures:?}", self.calls);
        assert_eq!(figures[&1], [1, 1, 0], "{figures:?}");
        assert!(figures.values().map(|[_, _, exhausted]| exhausted).sum::<u64>() <= 1, "{figures:?}");
    }

    /// Of two copies that never say which they are both have failed, and what was sent by policy has failed once each.
    async fn all_have_failed_again(&self, place: &str) {
        let figures = self.figures().await;
        assert!((RETRIES + 1..=RETRIES + 2).contains(&self.calls), "{place}: {} calls, {figures:?}", self.calls);
        assert_eq!(figures[&1][1], 1, "{place}: {figures:?}");
        let of = |n: u64, which: usize| figures.get(&n).map_or(0, |figures| figures[which]);
        for n in 1..=*figures.keys().last().unwrap() {
            assert_eq!(of(n, 1), of(n + 1, 0), "{place}: {figures:?}");
        }
    }

    /// Failed, retried and exhausted, by the number of failures.
    async fn figures(&self) -> BTreeMap<u64, [u64; 3]> {
        let counts = self.server.store.retry_counts(Timestamp::default()).await.unwrap();
        counts.iter().map(|count| (count.failures, [count.failed, count.retried, count.exhausted])).collect()
    }
}

/// What was not sent on before a death is delivered again and is a failure as good as any; what was acknowledged is counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_while_nothing_is_under_way_changes_nothing() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for (place, database) in TestDatabase::spread(["delivered", "acknowledged"]) {
        let vhost = rabbit.vhost();
        let mut world = World::begin(&database, &vhost).await;
        world.fail_all(place, RETRIES + 1).await;
        assert_eq!(world.calls, RETRIES + 1, "{place}");
        let expected = [(1, [1, 1, 0]), (2, [1, 1, 0]), (3, [1, 0, 1])];
        assert_eq!(world.figures().await, BTreeMap::from(expected), "{place}");
    }
}

/// Of what is published and not acknowledged there may be two copies, which share the retries of one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_after_publishing_costs_one_delivery() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for (place, database) in TestDatabase::spread(["published", "forwarded"]) {
        let vhost = rabbit.vhost();
        let mut world = World::begin(&database, &vhost).await;
        world.fail_all(place, 1).await;
        world.all_have_failed_again(place).await;
    }
}

/// The copy that was published is back, and has failed, before anything else is taken in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_before_the_restart_is_no_failure_of_the_second_copy() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for (place, database) in TestDatabase::spread(["forwarded", "published"]) {
        let vhost = rabbit.vhost();
        let mut world = World::begin(&database, &vhost).await;
        world.die_and_fail(place, World::fail).await;
        world.fail_all("", 0).await;
        world.all_have_failed_again(place).await;
    }
}

/// It dies between publishing its copy and the acknowledgement, and is given the message once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_dies_costs_one_delivery() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::postgres_or_sqlite().or_both() {
        let vhost = rabbit.vhost();
        let mut world = World::begin(&database, &vhost).await;
        assert!(world.goes_back().await);
        world.careless.die().await;
        world.calls += 1;
        wait_until("the copy to be there", PATIENCE, async || vhost.depth(DEAD_LETTERS).await == 1).await;
        wait_until("the message to be back", PATIENCE, async || world.careless.orders.is_waiting().await).await;
        world.fail().await;
        world.fail_all("", 0).await;
        assert!(world.calls <= RETRIES + 2, "{} calls", world.calls);
    }
}

/// With our headers each copy says how often it has failed; two of them share the retries as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_with_our_headers_share_the_retries_of_one() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::sqlite().or_both() {
        let vhost = rabbit.vhost();
        let mut world = World::begin(&database, &vhost).await;
        world.program.die_at("forwarded", 1).await;
        world.program.database.let_leases_end().await;
        world.reject_all().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_with_our_headers_share_them_when_one_fails_before_the_restart() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::postgres_or_sqlite().or_both() {
        let vhost = rabbit.vhost();
        let mut world = World::begin(&database, &vhost).await;
        world.die_and_fail("forwarded", World::reject).await;
        world.reject_all().await;
    }
}
