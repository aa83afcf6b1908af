//! What pages that are open cost the server: at rest, and while a dead letter comes in every second.
//!
//! A page is what `static/js/live.js` and `refresh.js` make of it: it hears that something has changed, and asks for
//! itself again, less and less often as long as that goes on. In milliseconds of a core a second, so that 50 are 5 %.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::time::{interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    broker,
    database::TestDatabase,
    full::fill,
    server::Server,
    support::rabbit::{Rabbit, Vhost},
};

const OPEN: usize = 100;
const PAGES: [&str; 4] = ["/", "/letters", "/groups", "/queues"];
const LETTERS: u32 = 10_000;
const QUEUE: &str = "dlo.obituaries";
/// How often a page asks for itself, as in `live.js`.
const QUICKEST: Duration = Duration::from_secs(1);
const SLOWEST: Duration = Duration::from_secs(10);
/// Until pages have come to rest, or to how often they ask.
const SETTLING: Duration = Duration::from_secs(30);
const TERM: Duration = Duration::from_secs(30);
/// Milliseconds of a core a second that they cost beside what comes in.
const PROMISED: f64 = 50.0;

pub async fn run() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let database = fill(TestDatabase::sqlite().await, LETTERS).await;
    let vhost = rabbit.vhost();
    let server = Server::start(&database, &vhost).await;
    println!("\n{OPEN} open pages on {LETTERS} dead letters, in milliseconds of a core a second");
    let rest = cost(&server, &vhost, 0, false).await;
    let news = cost(&server, &vhost, 0, true).await;
    told("nothing comes in", rest, cost(&server, &vhost, OPEN, false).await);
    told("a dead letter a second", news, cost(&server, &vhost, OPEN, true).await);
}

fn told(what: &str, without: f64, with: f64) {
    let cost = with - without;
    let verdict = if cost <= PROMISED { "kept" } else { "MISSED" };
    println!("{what:<44} {cost:>6.1}  promised {PROMISED:.0}  {verdict}  ({with:.1} with, {without:.1} without them)");
}

/// What the server takes while so many pages are open.
async fn cost(server: &Server, vhost: &Vhost, open: usize, has_news: bool) -> f64 {
    let done = CancellationToken::new();
    let pages = join_all((0..open).map(|n| look(server, PAGES[n % PAGES.len()], &done)));
    let news = bring_news(vhost, has_news, &done);
    let measure = async {
        sleep(SETTLING).await;
        let (before, begun) = (server.processor_time(), Instant::now());
        sleep(TERM).await;
        let taken = (server.processor_time() - before).as_secs_f64() / begun.elapsed().as_secs_f64();
        done.cancel();
        taken * 1_000.0
    };
    tokio::join!(measure, pages, news).0
}

async fn bring_news(vhost: &Vhost, has_news: bool, done: &CancellationToken) {
    let mut seconds = interval(Duration::from_secs(1));
    while has_news && done.run_until_cancelled(seconds.tick()).await.is_some() {
        broker::pour(vhost, QUEUE, "orders", 1).await;
    }
}

/// Has a page open until all is done.
async fn look(server: &Server, page: &str, done: &CancellationToken) {
    let mut events = server.client.get(format!("{}/events", server.url)).send().await.expect("a stream");
    let (mut gap, mut shown) = (QUICKEST, Instant::now());
    while let Some(event) = done.run_until_cancelled(events.chunk()).await {
        let event = event.expect("the stream is whole").expect("it goes on");
        if !event.starts_with(b"event: changes") {
            continue;
        }
        let quiet = shown.elapsed();
        gap = if quiet > gap * 3 { QUICKEST } else { gap.mul_f64(1.5).min(SLOWEST) };
        if done.run_until_cancelled(sleep(gap.saturating_sub(quiet))).await.is_none() {
            return;
        }
        server.look(page).await;
        shown = Instant::now();
    }
}
