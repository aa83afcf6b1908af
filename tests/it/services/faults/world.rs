//! One run: a plan is carried out while there is traffic, and the books are checked when all is over.

use std::{collections::BTreeMap, sync::atomic::Ordering, thread, time::Instant};

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
        desk::{AppState, PATIENCE, TestDatabase},
        line::{Line, Pace},
        worker::Answer,
    },
    books::{Books, Deliveries, Kept, Suffered},
    plan::{Fault, MESSAGES, Plan},
    servers::Server,
    traffic::{HEALS, QUEUE, Traffic, lock},
};
use crate::support::{
    postgres::Postgres,
    process::wait_until,
    rabbit::{Doomed, Vhost},
};

/// In the order in which it has to end.
pub struct World<'a> {
    servers: Vec<Server>,
    traffic: Traffic<'a>,
    suffered: Vec<Suffered>,
    plan: Plan,
    /// What was off when it was looked last, for whoever reads why a test failed.
    off: Vec<String>,
    database: &'a TestDatabase,
    vhost: &'a Vhost,
}

impl<'a> World<'a> {
    pub async fn begin(plan: Plan, database: &'a TestDatabase, vhost: &'a Vhost, rabbit: &mut Doomed) -> Self {
        let mut servers = Vec::with_capacity(plan.servers);
        for _ in 0..plan.servers {
            servers.push(Server::start(database, vhost, plan.via).await);
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
        if plan.faults.iter().any(|(fault, _)| *fault == Fault::KillBroker) {
            rabbit.stop().await;
            rabbit.start().await;
        }
        for server in &servers {
            server.await_ready().await;
        }
        let traffic = Traffic::begin(vhost).await;
        *lock(&traffic.servers) = servers.iter().map(Server::url).collect();
        Self { servers, traffic, suffered: Vec::new(), plan, off: Vec::new(), database, vhost }
    }

    /// Messages come and people act while one fault follows the other.
    pub async fn suffer(&mut self, rabbit: &mut Doomed, postgres: &mut Option<Postgres>) {
        let Self { servers, traffic, suffered, plan, .. } = self;
        let rng = plan.rng.fork();
        let faults = async {
            for (fault, after) in plan.faults.clone() {
                traffic.allow(MESSAGES);
                traffic.await_published(MESSAGES - after).await;
                let from = Instant::now();
                let victim = plan.rng.usize(..servers.len());
                let fault = inflict(fault, victim, servers, traffic, plan, rabbit, postgres).await;
                suffered.push(Suffered { fault, from, until: Instant::now() });
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
            let fault = server.stop().await;
            self.suffered.push(Suffered { fault, from, until: Instant::now() });
        }
        self.let_claims_end().await;
        self.servers.truncate(1);
        // Opened before, for it takes all claims in a file to be of processes that died.
        let looking = AppState::begin(&self.database.url, Clock::system(), []).await;
        self.servers[0].run().await;
        wait_until("the books to balance", PATIENCE, async || self.is_over(&looking).await).await;
        let books = self.books(&looking).await;
        self.off = books.missing();
        self.off.extend(books.unaccounted());
        let (acts, doubled) = (self.traffic.acts.load(Ordering::SeqCst), books.doubled());
        let (messages, letters) = (books.published.len(), books.letters.len());
        eprintln!("faults: {} | {messages} messages, {letters} letters, {acts} acts, {doubled:?}", self.plan);
        assert!(self.off.is_empty(), "the books do not balance");
        self.servers[0].stop().await;
    }

    /// As if the time had passed after which claims of processes that died are void. No process lives.
    async fn let_claims_end(&self) {
        const END: &str = "UPDATE jobs SET claimed_until = 0 WHERE claimed_until IS NOT NULL";
        self.database.let_leases_end().await;
        if self.servers[0].database.is_some() {
            sqlx::PgConnection::connect(&self.database.url).await.unwrap().execute(END).await.unwrap();
        }
    }

    /// Each message has come to its end, and none is under way.
    async fn is_over(&mut self, looking: &AppState) -> bool {
        if looking.count_of(Status::Scheduled).await > 0 {
            return false;
        }
        self.off = self.books(looking).await.missing();
        self.off.is_empty() && self.queues_are_empty()
    }

    fn queues_are_empty(&self) -> bool {
        let list = format!("rabbitmqctl list_queues --vhost '{}' --no-table-headers messages", self.vhost.name());
        let output = block_in_place(|| self.vhost.shell(&list));
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).split_whitespace().all(|messages| messages == "0")
    }

    async fn books(&self, looking: &AppState) -> Books {
        let mut letters = BTreeMap::<String, Vec<Kept>>::new();
        let summaries = looking.letters().await;
        let ids: Vec<_> = summaries.iter().map(|letter| letter.id).collect();
        let mut messages = looking.store.messages(&ids).await.unwrap();
        for summary in summaries {
            let body = messages.remove(&summary.id).map(|message| String::from_utf8(message.body).unwrap()).unwrap();
            letters.entry(body).or_default().push(self.kept(looking, &summary).await);
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

    async fn kept(&self, looking: &AppState, letter: &LetterSummary) -> Kept {
        let history = looking.history(letter.id).await;
        let is_by_hand = |entry: &&HistoryEntry| entry.event == Event::Retried && entry.by.as_str() != Actor::SYSTEM;
        Kept {
            status: letter.status,
            retried_by_hand: history.iter().filter(is_by_hand).count(),
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
            }
        }
        deliveries
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}\noff: {:#?}", self.plan, self.off);
        }
    }
}

/// Makes the fault and heals it, and says which it was in the end. Messages go on meanwhile, as far as it lets them.
async fn inflict(
    fault: Fault,
    victim: usize,
    servers: &mut [Server],
    traffic: &Traffic<'_>,
    plan: &mut Plan,
    rabbit: &mut Doomed,
    postgres: &mut Option<Postgres>,
) -> Fault {
    let server = &mut servers[victim];
    match fault {
        Fault::KillServer => {
            block_in_place(|| server.kill());
            traffic.await_published(MESSAGES / 3).await;
            server.run().await;
        }
        Fault::StopServer => {
            let ended_as = server.stop().await;
            traffic.await_published(MESSAGES / 3).await;
            server.run().await;
            return ended_as;
        }
        Fault::KillBroker => {
            block_in_place(|| rabbit.kill());
            rabbit.start().await;
            traffic.reconnect().await;
        }
        Fault::Alarm => {
            block_in_place(|| rabbit.memory_alarm(true));
            traffic.await_delivered().await;
            block_in_place(|| rabbit.memory_alarm(false));
        }
        Fault::CutBroker => server.broker.cut(),
        Fault::SlowBroker | Fault::SilentBroker => {
            let pace = if fault == Fault::SlowBroker { Pace::Late(plan.lateness()) } else { Pace::Never };
            server.broker.set_pace(pace);
            traffic.await_published(0).await;
            server.broker.set_pace(Pace::AtOnce);
        }
        Fault::KillDatabase => {
            let postgres = postgres.as_mut().expect("only Postgres is killed");
            block_in_place(|| postgres.kill());
            traffic.await_published(MESSAGES / 3).await;
            block_in_place(|| postgres.start_again());
        }
        Fault::CutDatabase => server.database.iter().for_each(Line::cut),
        Fault::SlowDatabase | Fault::SilentDatabase => {
            let pace = if fault == Fault::SlowDatabase { Pace::Late(plan.lateness()) } else { Pace::Never };
            server.set_database_pace(pace);
            traffic.await_published(0).await;
            server.set_database_pace(Pace::AtOnce);
        }
    }
    fault
}
