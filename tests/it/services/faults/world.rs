//! One run: a plan is carried out while there is traffic, and the books are checked when all is over.

use std::{
    collections::BTreeMap,
    sync::{Mutex, atomic::Ordering},
    thread,
    time::Instant,
};

use dead_letter_office::{
    clock::Clock,
    domain::{
        actor::Actor,
        history::{Event, HistoryEntry},
        letter::{LetterSummary, Status},
        policy::Via,
    },
};
use serde_json::json;
use sqlx::{Connection, Executor};
use tokio::task::block_in_place;

use super::{
    super::{
        desk::{AppState, PATIENCE},
        worker::Answer,
    },
    books::{Books, Deliveries, Kept, Suffered},
    plan::{Fault, MESSAGES, Plan},
    servers::Server,
    site::Site,
    traffic::{HEALS, QUEUE, Traffic, lock},
};
use crate::support::{process::wait_to_see, rabbit::Vhost};

/// What a failed run was, and what was off when it was looked last. It is said at the very end: what processes have said is
/// long, and where it is cut only the end is left.
#[derive(Default)]
pub struct Verdict(Mutex<String>);

impl Verdict {
    fn is(&self, plan: &Plan, off: &[String]) {
        *lock(&self.0) = format!("{plan}\noff: {off:#?}");
    }
}

impl Drop for Verdict {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", lock(&self.0));
        }
    }
}

/// In the order in which it has to end.
pub struct World<'a> {
    servers: Vec<Server>,
    traffic: Traffic<'a>,
    suffered: Vec<Suffered>,
    plan: Plan,
    verdict: &'a Verdict,
    vhost: &'a Vhost,
    site: Site<'a>,
}

impl<'a> World<'a> {
    pub async fn begin(plan: Plan, vhost: &'a Vhost, site: Site<'a>, verdict: &'a Verdict) -> Self {
        verdict.is(&plan, &[]);
        let mut servers = Vec::with_capacity(plan.servers);
        for _ in 0..plan.servers {
            let mut server = Server::new(&site.database_url(), vhost, plan.via, site.clock.clone()).await;
            server.run(site.disk()).await;
            servers.push(server);
        }
        for server in &servers {
            server.await_ready().await;
        }
        // Otherwise RabbitMQ itself loses messages on their way to dlo when it is killed.
        let arguments = json!({
            "x-queue-type": "quorum", "x-dead-letter-exchange": "dlx",
            "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
        });
        vhost.declare_queue(QUEUE, arguments).await;
        // A node that is killed soon after a quorum queue was declared has that queue empty afterwards.
        if plan.has(Fault::KillBroker) {
            site.rabbit.stop().await;
            site.rabbit.start().await;
        }
        for server in &servers {
            server.await_ready().await;
        }
        let traffic = Traffic::begin(vhost).await;
        *lock(&traffic.servers) = servers.iter().map(Server::url).collect();
        Self { servers, traffic, suffered: Vec::new(), plan, verdict, vhost, site }
    }

    /// Messages come and people act while one fault follows the other.
    pub async fn suffer(&mut self) {
        let Self { servers, traffic, suffered, plan, site, .. } = self;
        let rng = plan.rng.fork();
        let faults = async {
            for (faults, after) in plan.faults.clone() {
                traffic.allow(MESSAGES);
                traffic.await_published(MESSAGES - after).await;
                let from = Instant::now();
                let victim = plan.rng.usize(..servers.len());
                let faults = site.inflict(&faults, victim, servers, traffic, plan).await;
                suffered.push(Suffered { faults, from, until: Instant::now() });
                *lock(&traffic.servers) = servers.iter().map(Server::url).collect();
            }
            traffic.allow(MESSAGES);
            traffic.await_published(0).await;
            traffic.end();
        };
        tokio::join!(faults, traffic.publish(), traffic.act(rng));
    }

    /// All servers end in order and one finishes what is left. Then the books have to balance.
    pub async fn settle(mut self) {
        for server in &mut self.servers {
            let from = Instant::now();
            let faults = vec![server.stop().await];
            self.suffered.push(Suffered { faults, from, until: Instant::now() });
        }
        self.site.leave_disk();
        self.let_claims_end().await;
        self.servers.truncate(1);
        // Opened before, for it takes all claims in a file to be of processes that died.
        let looking = AppState::begin(&self.site.database_url(), Clock::system(), []).await;
        self.servers[0].run(None).await;
        wait_to_see("the books to balance", PATIENCE, async || self.is_over(&looking).await).await;
        let books = self.books(&looking, true).await;
        let off = [books.missing(), books.unaccounted()].concat();
        self.verdict.is(&self.plan, &off);
        let (acts, doubled) = (self.traffic.acts.load(Ordering::SeqCst), books.doubled());
        let (messages, letters) = (books.published.len(), books.letters.len());
        eprintln!("faults: {} | {messages} messages, {letters} letters, {acts} acts, {doubled:?}", self.plan);
        assert!(off.is_empty(), "the books do not balance");
        self.servers[0].stop().await;
    }

    /// As if the time had passed after which claims of processes that died are void. No process lives.
    async fn let_claims_end(&self) {
        const END: &str = "UPDATE retries SET claimed_until = 0 WHERE claimed_until IS NOT NULL;
            UPDATE jobs SET claimed_until = 0 WHERE claimed_until IS NOT NULL";
        if self.servers[0].database.is_some() {
            sqlx::PgConnection::connect(&self.site.database_url()).await.unwrap().execute(END).await.unwrap();
        }
    }

    /// Each message has come to its end, and none is under way; else what is.
    async fn is_over(&mut self, looking: &AppState) -> Result<(), String> {
        let scheduled = looking.count_of(Status::Scheduled).await;
        if scheduled > 0 {
            return Err(format!("{scheduled} scheduled"));
        }
        let missing = self.books(looking, false).await.missing();
        self.verdict.is(&self.plan, &missing);
        if !missing.is_empty() {
            return Err(format!("missing: {missing:?}"));
        }
        match block_in_place(|| self.vhost.what_is_left()) {
            left if left == "[]" => Ok(()),
            left => Err(format!("in RabbitMQ: {left}")),
        }
    }

    /// Without histories they say only what is missing.
    async fn books(&self, looking: &AppState, with_histories: bool) -> Books {
        let mut letters = BTreeMap::<String, Vec<Kept>>::new();
        let summaries = looking.letters().await;
        let ids: Vec<_> = summaries.iter().map(|letter| letter.id).collect();
        let mut messages = looking.store.messages(&ids).await.unwrap();
        for summary in summaries {
            let body = messages.remove(&summary.id).map(|message| String::from_utf8(message.body).unwrap()).unwrap();
            letters.entry(body).or_default().push(self.kept(looking, &summary, with_histories).await);
        }
        Books {
            published: lock(&self.traffic.published).clone(),
            letters,
            deliveries: self.deliveries(),
            suffered: self.suffered.clone(),
            copies_live: self.plan.via == Via::Broker,
            life: 1 + HEALS as usize,
        }
    }

    async fn kept(&self, looking: &AppState, letter: &LetterSummary, with_history: bool) -> Kept {
        let history = if with_history { looking.history(letter.id).await } else { Vec::new() };
        let is_by_hand = |entry: &&HistoryEntry| entry.event == Event::Retried && entry.by.as_str() != Actor::SYSTEM;
        Kept {
            status: letter.status,
            retried_by_hand: history.iter().filter(is_by_hand).count(),
            history: history
                .iter()
                .map(|entry| format!("{:?} {} {}; ", entry.at, entry.event.as_str(), entry.detail))
                .collect(),
            asked: lock(&self.traffic.discarded).contains(&letter.id.to_string()),
        }
    }

    fn deliveries(&self) -> BTreeMap<String, Deliveries> {
        let mut deliveries = BTreeMap::<String, Deliveries>::new();
        for worker in &*lock(&self.traffic.workers) {
            for seen in worker.seen() {
                let of_message = deliveries.entry(seen.body).or_default();
                of_message.count += 1;
                of_message.is_done |= seen.answer == Answer::Done;
                of_message.last = of_message.last.max(Some(worker.began + seen.at));
                of_message.each.push((worker.began + seen.at, seen.attempts));
            }
        }
        deliveries
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.servers.iter().for_each(Server::tell);
        }
    }
}
