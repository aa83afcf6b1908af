//! Automatic retries of the real program, killed at every step and at any moment: each message is processed or becomes a
//! letter, and none goes more often than the kills account for.
//!
//! Needs the feature `crash-points`, as in `make test`.

use std::{collections::HashSet, time::Duration};

use dead_letter_office::{
    clock::Clock,
    config::{QueueType, values::parse_duration},
    domain::{
        letter::{LetterId, Status},
        policy::Via,
    },
};

use failure_conventions::dlo_queues;
use futures_util::future::join_all;

use super::{
    database_outage::Lock,
    desk::{AppState, PATIENCE, TestDatabase, with_queues},
    program::{Program, Retry},
    service::{DEAD_LETTERS, Service, confirming_channel, flood, text, texts},
    worker::{Answer, Worker},
};
use crate::support::{
    delay_queues,
    process::{Leashed, wait_until},
    rabbit::{Rabbit, Vhost},
    soak,
};

/// How often the service fails a message before it processes it, and how often dlo sends it back.
const HEALS: u64 = 2;
/// What dlo takes in together. To wait in the broker a batch is published as a whole and then acknowledged, and
/// the next is not begun before; the same goes for what has waited there. So a kill makes second copies of that many on
/// either side at most, and each has a life of its own.
const BATCH: usize = 50;

fn decide(body: &str, attempts: u64) -> Answer {
    if attempts < HEALS || never_heals(body) { Answer::Reject } else { Answer::Done }
}

fn never_heals(body: &str) -> bool {
    body.ends_with('0')
}

/// A service and its dead letters, between which the program is to be killed.
struct World<'a> {
    program: Program<'a>,
    orders: Worker,
    /// Looks into the database.
    server: AppState,
    messages: usize,
    kills: usize,
}

impl<'a> World<'a> {
    /// The service has a message for each of `0..messages`, and begins. Delay queues have been used before.
    async fn begin(database: &'a TestDatabase, vhost: &'a Vhost, messages: usize, retry: Retry) -> Self {
        let queue_type = QueueType::Quorum;
        AppState::open(database, with_queues(queue_type, vhost)).await.close().await;
        Service::start(vhost, "orders").await;
        if retry.via == Via::Broker {
            let delays: HashSet<Duration> =
                retry.delays.split(',').map(|delay| parse_duration(delay).unwrap()).collect();
            delay_queues::declare(vhost.amqp_url(), "orders", delays, Clock::system().now()).await;
        }
        flood(&confirming_channel(vhost).await, "orders", 0..messages).await;
        Self {
            program: Program { retry, batch_size: BATCH, ..Program::new(database, vhost, queue_type) },
            orders: Worker::start(vhost, "orders", 100, decide).await,
            server: AppState::begin(&database.url, Clock::system(), []).await,
            messages,
            kills: 0,
        }
    }

    async fn die_at(&mut self, place: &str, nth: usize) {
        self.program.die_at(place, nth).await;
        self.killed().await;
    }

    /// Runs the program and kills it when that is the case.
    async fn kill_when(&mut self, is_time: impl AsyncFn(&Self) -> bool) {
        let mut running = self.program.run();
        wait_until("the time to kill", PATIENCE, async || is_time(self).await).await;
        running.kill();
        self.killed().await;
    }

    async fn killed(&mut self) {
        self.kills += 1;
        self.program.database.let_leases_end().await;
    }

    /// Runs the program until all is over, and checks that no more went twice than the kills account for.
    async fn finish(self) {
        self.program.finish("everything to be over", async || self.is_over().await).await;
        let lost = texts(0..self.messages).iter().filter(|body| never_heals(body)).count();
        let open = self.open().await.len();
        let extra = match self.program.retry.via {
            Via::Database => {
                assert_eq!(self.server.bodies().await, texts(0..self.messages), "each message is one letter");
                self.check_each_message().await
            }
            Via::Broker => self.kills * 2 * BATCH * HEALS as usize,
        };
        // Two copies that fail use up two retries, so that a message may be a letter before it could heal.
        assert!((lost..=lost + extra).contains(&open), "{open} open dead letters with {extra} in excess at most");
        self.check_deliveries(extra);
    }

    /// Each message is done, or an open letter.
    async fn is_over(&self) -> bool {
        let vhost = self.program.vhost;
        let underway = vhost.depth("orders").await + vhost.depth(DEAD_LETTERS).await;
        if underway > 0 || self.count(Status::Scheduled).await > 0 {
            return false;
        }
        let mut ended = self.orders.done();
        if ended.len() + (self.count(Status::Open).await as usize) < self.messages {
            return false;
        }
        ended.extend(self.open().await);
        ended.into_iter().eq(texts(0..self.messages))
    }

    async fn count(&self, status: Status) -> u64 {
        self.server.count_of(status).await
    }

    /// The bodies of all open letters.
    async fn open(&self) -> Vec<String> {
        let letters = self.server.letters().await.into_iter();
        let ids: Vec<LetterId> =
            letters.filter(|letter| letter.status == Status::Open).map(|letter| letter.id).collect();
        let messages = self.server.store.messages(&ids).await.unwrap().into_values();
        messages.map(|message| String::from_utf8(message.body).unwrap()).collect()
    }

    /// The service gets each message in each round, and no more than `extra` deliveries beyond that.
    fn check_deliveries(&self, extra: usize) {
        let deliveries = self.orders.by_attempts();
        assert_eq!(deliveries[&0], self.messages, "all that goes back says how often it failed");
        let least = self.messages * (1 + HEALS as usize);
        let all: usize = deliveries.values().sum();
        assert!((least..=least + extra).contains(&all), "{deliveries:?} with {extra} in excess at most");
    }

    /// No message goes more often than its letter says. What several kills cut short says once that it may have been sent
    /// twice; a second copy that fails uses up a retry of its letter and earns it none, so that it costs one delivery.
    ///
    /// The answer is how many deliveries may be in excess by that.
    async fn check_each_message(&self) -> usize {
        let expected = 1 + HEALS as usize;
        let (deliveries, mut extra) = (self.orders.by_body(), 0);
        for (body, said_twice) in self.said_twice().await {
            let (went, may_be_more) = (deliveries[&body], said_twice * self.kills);
            assert!(
                (expected..=expected + may_be_more).contains(&went),
                "{body} went {went} times, {expected} were due, and {said_twice} retries may have been sent twice"
            );
            extra += may_be_more;
        }
        extra
    }

    /// By message, how many of its retries may have been sent twice by what the database says.
    async fn said_twice(&self) -> Vec<(String, usize)> {
        let ids: Vec<LetterId> = self.server.letters().await.into_iter().map(|letter| letter.id).collect();
        let mut said = Vec::with_capacity(ids.len());
        for (id, message) in self.server.store.messages(&ids).await.unwrap() {
            let history = self.server.history(id).await;
            let is_said = |detail: &str| detail.contains("may have been sent twice");
            let n = history.iter().filter(|entry| is_said(&entry.detail)).count();
            said.push((String::from_utf8(message.body).unwrap(), n));
        }
        said
    }
}

async fn check_dying_at(via: Via, cases: impl IntoIterator<Item = (&str, TestDatabase)>) {
    const MESSAGES: usize = 100;
    let Some(rabbit) = Rabbit::shared() else { return };
    let retry = Retry { via, delays: "50ms,50ms" };
    for (place, database) in cases {
        let vhost = rabbit.vhost();
        let mut world = World::begin(&database, &vhost, MESSAGES, retry).await;
        world.die_at(place, 2).await;
        world.finish().await;
    }
}

fn on_sqlite<const N: usize>(places: [&str; N]) -> [(&str, TestDatabase); N] {
    places.map(|place| (place, TestDatabase::sqlite()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dying_with_messages_waiting_in_the_database_loses_none() {
    check_dying_at(Via::Database, on_sqlite(["delivered", "committed", "acknowledged"])).await;
}

/// Each database has its own way to tell whose claims are void; each of these places is on the other one where people
/// retry (`kills`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dying_while_messages_go_back_from_the_database_loses_none() {
    for places in [["claimed", "published"], ["confirmed", "marked"]] {
        check_dying_at(Via::Database, TestDatabase::spread(places)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dying_on_the_way_into_the_broker_loses_none() {
    check_dying_at(Via::Broker, on_sqlite(["delivered", "published", "forwarded", "acknowledged"])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dying_on_the_way_out_of_the_broker_loses_none() {
    check_dying_at(Via::Broker, on_sqlite(["due", "sent-back"])).await;
}

/// Messages that nobody knows the queue of are for the database. The batch is complete when it has all of either, and what
/// is for the broker is there by the time the database turns out to be away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dying_while_the_database_is_away_sends_nothing_a_second_time() {
    let Some(rabbit) = Rabbit::shared() else { return };
    // Side by side, as most of it is waiting.
    join_all(TestDatabase::both().map(|database| check_dying_without(rabbit.vhost(), database))).await;
}

async fn check_dying_without(vhost: Vhost, database: TestDatabase) {
    const EACH: usize = 20;
    let queue_type = QueueType::Quorum;
    AppState::open(&database, with_queues(queue_type, &vhost)).await.close().await;
    let delay = Duration::from_secs(1);
    delay_queues::declare(vhost.amqp_url(), "orders", [delay], Clock::system().now()).await;
    let orders = Service::start(&vhost, "orders").await;

    let retry = Retry { via: Via::Broker, delays: "1s" };
    let program = Program { retry, ..Program::new(&database, &vhost, queue_type) };
    let mut dying = Program { batch_size: 2 * EACH, batch_wait: "1h", ..program }.run_to("held", 1);
    // Dead letters, obituaries and twice what is due: whoever is about to consume a queue asks the database first.
    let begun = |program: &Leashed| program.lines().iter().filter(|line| line.contains("consuming dead")).count();
    wait_until("all queues to be consumed", PATIENCE, async || begun(&dying) == 4).await;
    let lock = Lock::on(&database).await;
    for n in 0..EACH {
        orders.fail(&text(n)).await;
    }
    flood(&confirming_channel(&vhost).await, DEAD_LETTERS, EACH..2 * EACH).await;
    assert!(!dying.exited(PATIENCE).await.success(), "it did not die");
    vhost.await_depth(DEAD_LETTERS, EACH as u32).await;
    lock.lift().await;

    let server = AppState::begin(&database.url, Clock::system(), []).await;
    let is_over = async || server.count().await >= EACH as u64 && vhost.depth("orders").await >= EACH as u32;
    program.finish("all to be back or stored", is_over).await;
    for queue in [DEAD_LETTERS, dlo_queues::DUE] {
        vhost.await_depth(queue, 0).await;
    }
    assert_eq!(vhost.depth("orders").await, EACH as u32);
    let mut back = orders.work_on(EACH).await;
    back.sort();
    assert_eq!((back, server.bodies().await), (texts(0..EACH), texts(EACH..2 * EACH)));
}

async fn check_random_kills(via: Via, database: TestDatabase) {
    let (messages, kills) = soak((150, 2), (2_000, 3));
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let retry = Retry { via, delays: "3s,500ms" };
    let mut world = World::begin(&database, &vhost, messages, retry).await;
    let all_failed = async || world.orders.count() == messages;
    wait_until("all messages to have failed", PATIENCE, all_failed).await;
    let taken_in = fastrand::u32(1..messages as u32);
    world.kill_when(async |world| world.program.vhost.depth(DEAD_LETTERS).await < taken_in).await;
    let mut moments: Vec<usize> = (1..kills).map(|_| fastrand::usize(messages..messages * 5 / 2)).collect();
    moments.sort_unstable();
    for moment in moments {
        world.kill_when(async |world| world.orders.count() > moment).await;
    }
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_kills_with_messages_waiting_in_sqlite_lose_none() {
    check_random_kills(Via::Database, TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_kills_with_messages_waiting_in_postgres_lose_none() {
    let Some(database) = TestDatabase::postgres() else { return };
    check_random_kills(Via::Database, database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_kills_with_messages_waiting_in_the_broker_lose_none() {
    check_random_kills(Via::Broker, TestDatabase::sqlite()).await;
}
