//! Automatic retries: from the reject back into the queue, how punctual, and what a claim costs.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    clock::Clock,
    domain::policy::{Delays, Policy, Via},
};
use futures_util::StreamExt;
use lapin::{options::BasicConsumeOptions, types::FieldTable};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    MESSAGES, broker,
    database::{self, BROKER, TestDatabase},
    letters::{ids_of_all, schedule, store_letters},
    line,
    support::{
        delay_queues,
        postgres::Postgres,
        rabbit::{Rabbit, Vhost},
    },
};

const DEAD_LETTERS: &str = "dlo.dead-letters";
const TARGET: &str = "orders";
const HOUR: Duration = Duration::from_secs(60 * 60);

/// How often the whole is measured: one run alone may be off by a third.
const ROUNDS: usize = 3;

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let postgres = Postgres::durable();
    println!("\nfrom the reject back into the queue, {MESSAGES} messages of 1 KiB, quorum queues, medians of {ROUNDS}");
    let [mut shovel, mut broker, mut sqlite, mut in_postgres] = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        shovel.push(shovelled(rabbit).await);
        broker.push(retried(rabbit, &TestDatabase::sqlite().await, Via::Broker).await);
        sqlite.push(retried(rabbit, &TestDatabase::sqlite().await, Via::Database).await);
        if let Some(postgres) = &postgres {
            in_postgres.push(retried(rabbit, &TestDatabase::postgres(postgres).await, Via::Database).await);
        }
    }
    let shovel = median(shovel);
    println!("{:<44} {shovel:>9.0}/s", "shovel on-confirm");
    line("waiting in RabbitMQ", median(broker), shovel, 0.8);
    line("waiting in SQLite", median(sqlite), shovel, 0.4);
    if postgres.is_some() {
        line("waiting in Postgres", median(in_postgres), shovel, 0.4);
    }

    println!("\nhow late retries are, with {MESSAGES} waiting");
    punctuality("from SQLite", rabbit, &TestDatabase::sqlite().await).await;
    if let Some(postgres) = &postgres {
        punctuality("from Postgres", rabbit, &TestDatabase::postgres(postgres).await).await;
    }

    println!("\na claim of {CLAIM} due retries, with so many more waiting");
    claims("SQLite", &TestDatabase::sqlite().await, &TestDatabase::sqlite().await).await;
    if let Some(postgres) = &postgres {
        claims("Postgres", &TestDatabase::postgres(postgres).await, &TestDatabase::postgres(postgres).await).await;
    }
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// A queue whose messages are all about to be rejected, and where they go then.
async fn vhost_before_the_rejects(rabbit: &Rabbit) -> Vhost {
    let vhost = rabbit.vhost();
    let dead_letters =
        json!({ "x-queue-type": "quorum", "x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD_LETTERS });
    vhost.declare_queue(DEAD_LETTERS, json!({ "x-queue-type": "quorum" })).await;
    vhost.declare_queue(TARGET, dead_letters).await;
    broker::pour_fresh(&vhost, TARGET).await;
    vhost.await_depth(TARGET, MESSAGES).await;
    vhost
}

/// Messages a second that are rejected and are back in the queue, while something brings them there.
async fn back(vhost: &Vhost) -> f64 {
    let begun = Instant::now();
    broker::reject(vhost, TARGET, MESSAGES).await;
    broker::filled(vhost, TARGET).await;
    f64::from(MESSAGES) / begun.elapsed().as_secs_f64()
}

/// Has some go round once. Delay queues have settled before: what would wait in new ones waits in the database.
async fn warm_up(vhost: &Vhost, policy: &Policy) {
    const FEW: u32 = 100;
    if policy.via == Via::Broker {
        let delays: HashSet<Duration> = (0..=4).filter_map(|step| policy.delay(1, f64::from(step) / 4.0)).collect();
        delay_queues::settle(vhost.amqp_url(), TARGET, delays, Clock::system().now()).await;
    }
    broker::reject(vhost, TARGET, FEW).await;
    vhost.await_depth(TARGET, MESSAGES).await;
}

async fn shovelled(rabbit: &Rabbit) -> f64 {
    let vhost = vhost_before_the_rejects(rabbit).await;
    broker::begin_shovel(&vhost, DEAD_LETTERS, TARGET).await;
    let rate = back(&vhost).await;
    broker::end_shovel(&vhost).await;
    rate
}

/// With a wait of 20 ms and the default jitter.
async fn retried(rabbit: &Rabbit, database: &TestDatabase, via: Via) -> f64 {
    let vhost = vhost_before_the_rejects(rabbit).await;
    let policy = Policy {
        queues: Policy::EVERY_QUEUE.to_owned(),
        reason: None,
        // The second is for those of the warm-up.
        delays: Delays::Listed(vec![Duration::from_millis(20); 2]),
        jitter: 0.1,
        via,
        keep_routing_key: false,
    };
    let stop = CancellationToken::new();
    let policies = database::policies(database, vec![policy.clone()]);
    let retrier = database::retrier(&vhost, database, policies).run(stop.clone());
    let scheduler = database::scheduler(&vhost, database).run(stop.clone());
    let measured = async {
        warm_up(&vhost, &policy).await;
        let rate = back(&vhost).await;
        stop.cancel();
        rate
    };
    tokio::join!(retrier, scheduler, measured).2
}

/// Retries that are due together, and how many such groups there are, one every [`BEAT`].
const GROUP: usize = 100;
const GROUPS: usize = 100;
const BEAT: Duration = Duration::from_millis(200);

/// Has the first groups be due one after the other while all others wait for an hour, and sees when they arrive.
async fn punctuality(what: &str, rabbit: &Rabbit, database: &TestDatabase) {
    let vhost = rabbit.vhost();
    vhost.declare_queue(TARGET, json!({ "x-queue-type": "quorum" })).await;
    store_letters(database, MESSAGES, |_| TARGET.to_owned(), |_| None).await;
    let clock = Clock::system();
    let parts = ids_of_all(database, GROUP).await;
    let first = clock.now().plus(Duration::from_secs(60));
    let due = |group: usize| first.plus(BEAT * u32::try_from(group).unwrap_or(u32::MAX));
    for (group, ids) in parts.iter().enumerate() {
        schedule(database, ids, if group < GROUPS { due(group) } else { first.plus(HOUR) }).await;
    }
    assert!(clock.now() < first, "the first are due before all are scheduled");
    let stop = CancellationToken::new();
    let worker = database::scheduler(&vhost, database).run(stop.clone());
    let measured = async {
        let mut late = arrivals(&vhost, &clock, due).await;
        stop.cancel();
        late.sort();
        let at = |share: f64| late[((late.len() - 1) as f64 * share) as usize].as_millis();
        let (median, p99) = (at(0.5), at(0.99));
        let verdict = if median <= 250 && p99 <= 1_000 { "kept" } else { "MISSED" };
        println!("{what:<44} median {median} ms, p99 {p99} ms  promised 250 and 1000  {verdict}");
    };
    tokio::join!(worker, measured);
}

/// How late each message of the first groups is. Their bodies tell their numbers, which are in the order of the groups.
async fn arrivals(vhost: &Vhost, clock: &Clock, due: impl Fn(usize) -> Timestamp) -> Vec<Duration> {
    let channel = vhost.channel().await;
    let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    let consumed = channel.basic_consume(TARGET.into(), "".into(), options, FieldTable::default());
    let mut deliveries = consumed.await.expect("consuming");
    let mut late = Vec::with_capacity(GROUP * GROUPS);
    while late.len() < GROUP * GROUPS {
        let delivery = deliveries.next().await.expect("a delivery").expect("a delivery");
        let body: serde_json::Value = serde_json::from_slice(&delivery.data).expect("a body of ours");
        let number = body["order"].as_u64().and_then(|number| usize::try_from(number).ok()).expect("a number");
        late.push(clock.now().since(due(number / GROUP)));
    }
    late
}

const CLAIM: usize = 100;
const CLAIMS: usize = 30;
const FEW: u32 = 10_000;
const MANY: u32 = 1_000_000;

async fn claims(database: &str, few: &TestDatabase, many: &TestDatabase) {
    let (at_few, at_many) = (claim(few, FEW).await, claim(many, MANY).await);
    let ratio = at_many / at_few;
    let verdict = if ratio <= 1.5 { "kept" } else { "MISSED" };
    println!(
        "{database:<44} {at_few:.2} ms with {FEW}, {at_many:.2} ms with {MANY}: ratio {ratio:.2}  promised 1.50  {verdict}"
    );
}

/// Milliseconds that a claim takes, the median of some.
async fn claim(database: &TestDatabase, waiting: u32) -> f64 {
    let now = Clock::system().now();
    store_letters(database, waiting, |_| TARGET.to_owned(), |_| None).await;
    let due_groups = CLAIMS * CLAIM / 1_000;
    for (group, ids) in ids_of_all(database, 1_000).await.iter().enumerate() {
        schedule(database, ids, if group < due_groups { now.minus(HOUR) } else { now.plus(HOUR) }).await;
    }
    let mut times = Vec::with_capacity(CLAIMS);
    for _ in 0..CLAIMS {
        let begun = Instant::now();
        let claimed = database.store.claim_due_retries(BROKER, now, HOUR, CLAIM).await.expect("a claim");
        times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        assert_eq!(claimed.len(), CLAIM, "as many as asked for");
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
