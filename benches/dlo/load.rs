//! Everything at once for a while: intake at full rate, a bulk retry of all letters that were there, digests, and a
//! hundred browsers that hear of all of it.
//!
//! `DLO_TEST_LOAD_MINUTES` and `DLO_TEST_LOAD_LETTERS` say how long, and of how many letters there are at first; a multiple of ten
//! thousand. Figures are printed. What must hold is asserted: memory is bounded, all queues are drained at the end, and
//! no descriptor is left behind.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use dead_letter_office::{demo::stand_ins::SlackStandIn, domain::filter::LetterFilter};
use futures_util::{StreamExt, future::join_all};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{
    runtime::Builder,
    task::{JoinSet, spawn_blocking},
    time::interval,
};
use tokio_util::sync::CancellationToken;

use crate::{
    broker,
    database::TestDatabase,
    footprint::{Footprint, megabytes},
    full::{chosen, fill, queues},
    server::{Server, Timing, Visitor},
    setting,
    support::{
        postgres::Postgres,
        process::{wait_for, wait_until},
        rabbit::{Rabbit, Vhost},
        slack_rules::check_slack_message,
    },
};

/// Pages whose event stream is open.
const BROWSERS: usize = 100;
/// One in so many of them is looked at, and asks for its page again whenever there is something new.
const LOOKED_AT: usize = 10;
const PAGES: [&str; 3] = ["/", "/letters", "/groups"];
const QUEUE: &str = "dlo.obituaries";
/// With fewer dead letters in the queue more are published, so that the intake always has some.
const LOW: u32 = 20_000;
const AT_ONCE: u32 = 10_000;
const DIGESTS: Duration = Duration::from_secs(5);
/// What the server may take up at most, however long it goes on.
const MEGABYTES: f64 = 300.0;
/// Of a pool of connections, which it opens when they are needed.
const SPARE_DESCRIPTORS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(1_800);

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let (minutes, letters) = (setting("DLO_TEST_LOAD_MINUTES", 0.5), setting("DLO_TEST_LOAD_LETTERS", 50_000));
    println!(
        "\neverything at once for {minutes} min: intake, a retry of {letters} letters, digests, {BROWSERS} browsers"
    );
    let load = Load { rabbit, letters, term: Duration::from_secs_f64(60.0 * minutes) };
    let (on_sqlite, on_postgres) = chosen();
    if on_sqlite {
        load.run("SQLite", TestDatabase::sqlite().await).await;
    }
    if on_postgres && let Some(postgres) = Postgres::durable() {
        load.run("Postgres", TestDatabase::postgres(&postgres).await).await;
    }
}

struct Load<'a> {
    rabbit: &'a Rabbit,
    letters: u32,
    term: Duration,
}

impl Load<'_> {
    async fn run(&self, name: &str, database: TestDatabase) {
        let database = fill(database, self.letters).await;
        let vhost = self.rabbit.vhost();
        vhost.declare_queue(QUEUE, json!({ "x-queue-type": "quorum" })).await;
        let services = Services::begin(&vhost).await;
        let slack = SlackStandIn::open(check_slack_message).await.expect("a port for Slack");
        let settings =
            [("DLO_NOTIFY__SLACK__WEBHOOK_URL", &*slack.webhook_url()), ("DLO_NOTIFY__DIGEST__SCHEDULE", "* * * * *")];
        let server = Server::open(&database, &vhost, &settings);
        // All connections to the database are there from now on.
        join_all((0..40).map(|n| server.look(PAGES[n % PAGES.len()]))).await;
        let mut idle = Vec::new();
        for page in PAGES {
            idle.push(server.time(page).await);
        }
        let mut footprint = Footprint::of(&server, &database).await;
        println!("{name}:");
        let quiet = CancellationToken::new();
        let everything = async {
            let done = self.everything(&server, &database, &vhost, &services).await;
            quiet.cancel();
            done
        };
        let ((published, looks), ()) = tokio::join!(everything, footprint.watch(&server, &database, &quiet));
        told(&idle, looks);
        footprint.told(&server, &database, published).await;
        let rest = footprint.descriptors + SPARE_DESCRIPTORS;
        wait_until("descriptors are back", PATIENCE, async || server.descriptors() <= rest).await;
        assert!(
            footprint.highest <= MEGABYTES,
            "it took {} and more than {MEGABYTES} MB",
            megabytes(footprint.highest)
        );
    }

    /// Until all is done: how many dead letters came in, and what the browsers saw.
    async fn everything(
        &self,
        server: &Server,
        database: &TestDatabase,
        vhost: &Vhost,
        services: &Services,
    ) -> (u32, Vec<(usize, f64)>) {
        let job = self.retry_all(server).await;
        let (over, begun) = (CancellationToken::new(), Instant::now());
        let publishing = async {
            let published = self.publish(vhost).await;
            over.cancel();
            published
        };
        let browsers = spawn_blocking({
            let (visitor, over) = (server.new_visitor(), over.clone());
            move || browse_all(&visitor, &over)
        });
        let (published, looks, digests) = tokio::join!(publishing, browsers, send_digests(server, &over));
        drained(vhost, database, self.letters + published).await;
        let rate = f64::from(published) / begun.elapsed().as_secs_f64();
        println!("  {published} came in, {rate:.0}/s; {digests} digests");
        enriched(database).await;
        println!("  all are enriched after {:.0} s", begun.elapsed().as_secs_f64());
        let retried = ended(server, &job).await;
        assert_eq!(retried, self.letters, "all that were there are retried");
        services.have(retried).await;
        println!("  {retried} were retried after {:.0} s at most", begun.elapsed().as_secs_f64());
        (published, looks.expect("what the browsers saw"))
    }

    /// Begins to retry all letters there are, and names the job.
    async fn retry_all(&self, server: &Server) -> String {
        let answer = server.post("actions", &json!({ "action": "retry", "filter": { "q": "queue:service-*" } })).await;
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
        let started: Value = answer.json().await.expect("JSON");
        started["job"].as_str().expect("a job").to_owned()
    }

    /// Sees to it for the whole time that there are dead letters to take in. How many they were.
    async fn publish(&self, vhost: &Vhost) -> u32 {
        let (begun, mut published) = (Instant::now(), 0);
        while begun.elapsed() < self.term {
            broker::pour(vhost, QUEUE, "orders", AT_ONCE).await;
            published += AT_ONCE;
            wait_until("there is room", PATIENCE, async || vhost.depth(QUEUE).await < LOW).await;
        }
        published
    }
}

/// The services whose messages are retried: they take everything.
struct Services {
    taken: Arc<AtomicU32>,
    _connection: lapin::Connection,
    _consumers: JoinSet<()>,
}

impl Services {
    async fn begin(vhost: &Vhost) -> Self {
        let (connection, taken) = (vhost.connect().await, Arc::new(AtomicU32::new(0)));
        let mut consumers = JoinSet::new();
        for queue in queues() {
            vhost.declare_queue(&queue, json!({})).await;
            let mut deliveries = broker::consume_all(&connection, &queue).await;
            let taken = Arc::clone(&taken);
            consumers.spawn(async move {
                while let Some(Ok(_)) = deliveries.next().await {
                    taken.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        Self { taken, _connection: connection, _consumers: consumers }
    }

    /// Waits until they have so many.
    async fn have(&self, messages: u32) {
        let have = async || self.taken.load(Ordering::Relaxed) >= messages;
        wait_until("the services have all", PATIENCE, have).await;
    }
}

/// Has all pages open until all is done, on this thread: what they take is not to be how long the publishing takes.
fn browse_all(visitor: &Visitor, done: &CancellationToken) -> Vec<(usize, f64)> {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(join_all((0..BROWSERS).map(|n| browse(visitor, n, done)))).concat()
}

/// Has a page open until all is done. The milliseconds that looking at it again took, each with which page it was.
async fn browse(visitor: &Visitor, n: usize, done: &CancellationToken) -> Vec<(usize, f64)> {
    let page = n / LOOKED_AT % PAGES.len();
    let mut events = visitor.client.get(format!("{}/events", visitor.url)).send().await.expect("a stream");
    let mut looks = Vec::new();
    while let Some(event) = done.run_until_cancelled(events.chunk()).await {
        let event = event.expect("the stream is whole").expect("it goes on");
        if n.is_multiple_of(LOOKED_AT) && event.starts_with(b"event: changes") {
            looks.push((page, visitor.look(PAGES[page]).await.0));
        }
    }
    looks
}

async fn send_digests(server: &Server, done: &CancellationToken) -> u32 {
    let (mut slots, mut sent) = (interval(DIGESTS), 0);
    while done.run_until_cancelled(slots.tick()).await.is_some() {
        assert_eq!(server.post("digests/send", &json!({})).await.status(), StatusCode::ACCEPTED);
        sent += 1;
    }
    sent
}

/// Waits until all are taken in.
async fn drained(vhost: &Vhost, database: &TestDatabase, letters: u32) {
    let count = async || database.store.count(&LetterFilter::default()).await.expect("a count");
    wait_until("all dead letters are taken in", PATIENCE, async || count().await >= u64::from(letters)).await;
    assert_eq!((count().await, vhost.depth(QUEUE).await), (u64::from(letters), 0), "each once, and none is left");
}

async fn enriched(database: &TestDatabase) {
    let all_are = async || database.store.not_enriched(1).await.expect("letters").is_empty();
    wait_until("all are enriched", PATIENCE, all_are).await;
}

/// Waits until a job has ended; how many letters it was about, all of which it has done.
async fn ended(server: &Server, job: &str) -> u32 {
    let path = format!("jobs/{job}");
    let end = async || Some(server.get(&path).await).filter(|job| job["state"] != "running");
    let end = wait_for("the job to end", PATIENCE, end).await;
    assert_eq!((&end["failed"], &end["done"]), (&json!(0), &end["total"]), "{end}");
    end["total"].as_u64().and_then(|total| total.try_into().ok()).expect("a number")
}

/// Prints what pages took meanwhile, against before.
fn told(idle: &[Timing], looks: Vec<(usize, f64)>) {
    for (n, (page, idle)) in PAGES.iter().zip(idle).enumerate() {
        let times: Vec<f64> = looks.iter().filter(|(page, _)| *page == n).map(|(_, time)| *time).collect();
        let (asked, busy) = (times.len(), Timing::of(times));
        println!(
            "  {page:<10} p95 {:>6.1} ms (median {:.1}, slowest {:.0}) of {asked}, idle {:.1}: ratio {:.1}, aim 2.0",
            busy.p95,
            busy.median,
            busy.slowest,
            idle.p95,
            busy.p95 / idle.p95,
        );
    }
}
