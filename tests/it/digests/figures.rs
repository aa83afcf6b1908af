//! Each figure of a digest is what the pages say at the same moment: the filters of the letters and the groups' own counts.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    clock::Clock,
    config::NotifyConfig,
    domain::{
        actor::Actor,
        command::Command,
        digest::{DigestGroup, DigestReport, SectionKind},
        filter::{LetterFilter, Names, PageRequest, Sort},
        group::{Group, GroupFilter, GroupId},
        letter::{Importance, LetterId, Status},
        retry::RetryOutcome,
    },
    store::{Enriched, Order, Recorded},
};
use fastrand::Rng;

use super::newsroom::{HOUR, MINUTE, Newsroom, SUCCEEDED_AFTER, at, config, slack};
use crate::{
    store::{
        database::{TestDatabase, record},
        make::{InGroup, Make, an_arrival, enriched},
    },
    support::soak,
};

const QUEUES: [&str; 4] = ["orders", "orders.eu", "mail", ""];
const ERRORS: [&str; 3] = ["timeout", "refused", ""];

/// Letters come, go back, heal, come again; and every so often a digest is made.
struct Life<'a> {
    database: &'a TestDatabase,
    newsroom: Newsroom,
    rng: Rng,
    letters: Vec<LetterId>,
    /// Succeeded and came back of each group at the last digest.
    stood: BTreeMap<GroupId, [u64; 2]>,
    since: Option<Timestamp>,
    /// So many sections of each kind were checked.
    seen: BTreeMap<SectionKind, usize>,
}

impl<'a> Life<'a> {
    async fn begins(database: &'a TestDatabase, config: &NotifyConfig, seed: u64) -> Self {
        let clock = Clock::manual(at("2026-06-01T08:17:00Z"));
        let mut newsroom = Newsroom::open(database, &clock, config).await;
        newsroom.makes().await;
        let (rng, letters) = (Rng::with_seed(seed), Vec::new());
        Self { database, newsroom, rng, letters, stood: BTreeMap::new(), since: None, seen: BTreeMap::new() }
    }

    fn now(&self) -> Timestamp {
        self.newsroom.clock.now()
    }

    async fn happens(&mut self) {
        let minutes = self.rng.u32(0..25);
        self.newsroom.clock.advance(MINUTE * minutes + Duration::from_micros(self.rng.u64(1..1_000_000)));
        match self.rng.u8(..12) {
            0..5 => self.take_in().await,
            5..7 => self.come_back().await,
            7 => self.act(&Command::Discard { note: None }).await,
            8 => self.act(&Command::Reopen).await,
            9 => {
                let importance = self.rng.choice(Importance::ALL).copied().unwrap();
                self.act(&Command::SetImportance(importance)).await;
            }
            _ => self.retry().await,
        }
    }

    async fn take_in(&mut self) {
        let (queue, n) = (self.rng.choice(QUEUES).unwrap(), self.rng.usize(1..8));
        let arrivals: Vec<_> = (0..n).map(|_| an_arrival().queue(queue).received(self.now())).collect();
        let arrivals: Vec<_> =
            arrivals.into_iter().map(|one| if queue.is_empty() { one.of_unknown_queue() } else { one }).collect();
        let ids: Vec<LetterId> =
            record(self.database, "main", &arrivals).await.into_iter().map(Recorded::letter).collect();
        self.letters.extend(&ids);
        self.sort(&ids).await;
    }

    async fn sort(&mut self, ids: &[LetterId]) {
        let mut found = Vec::new();
        for id in ids {
            let letter = self.database.shows(*id).await;
            let queue = letter.queue.unwrap_or_default();
            let importance = self.rng.choice(Importance::ALL).copied().unwrap();
            let is = Enriched { importance, received_at: letter.received_at, ..enriched(*id) };
            found.push(is.in_group("main", &queue, self.rng.choice(ERRORS).unwrap()));
        }
        self.database.enrich(&found, 1, self.now()).await.unwrap();
    }

    fn some(&mut self) -> Vec<LetterId> {
        let n = self.rng.usize(1..9);
        self.rng.choose_multiple(self.letters.iter().copied(), n)
    }

    async fn act(&mut self, command: &Command) {
        let (ids, now) = (self.some(), self.now());
        let (by, bodies) = (Actor::local(), RetryLimits::default());
        let order = Order { ids: &ids, command, by: &by, at: now, limits: &bodies, edits: None };
        self.database.act(&order).await.unwrap();
    }

    /// Sends letters back, all that is due.
    async fn retry(&mut self) {
        self.act(&Command::Retry { delay: Duration::ZERO, queue: None }).await;
        let now = self.now();
        let claimed = self.database.claim_due_retries("main", now, HOUR, 1_000).await.unwrap();
        let sent: Vec<_> = claimed.iter().map(|retry| (retry, RetryOutcome::Confirmed)).collect();
        self.database.finish_retries(&sent, now).await.unwrap();
    }

    async fn come_back(&mut self) {
        let mut arrivals = Vec::new();
        for id in self.some() {
            let letter = self.database.shows(id).await;
            if letter.status == Status::Retried {
                let queue = letter.queue.unwrap_or_default();
                let arrival = an_arrival().queue(&queue).received(self.now()).returning(id);
                arrivals.push(if queue.is_empty() { arrival.of_unknown_queue() } else { arrival });
            }
        }
        let ids: Vec<LetterId> =
            record(self.database, "main", &arrivals).await.into_iter().map(Recorded::letter).collect();
        self.sort(&ids).await;
    }

    /// What would be sent now is true; and what is sent, where it is time.
    async fn check(&mut self) {
        let plan = self.newsroom.digests.plans()[0].clone();
        let now_open = self.newsroom.digests.preview(&plan, &self.newsroom.store).await.unwrap().report;
        assert_eq!(now_open.period.from, self.since);
        self.check_report(&now_open, &plan.importances, &plan.queues).await;
        let before = self.newsroom.made().await.len();
        self.newsroom.makes().await;
        let made = self.newsroom.made().await;
        if made.len() > before {
            let (_, kept) = self.newsroom.store.digest(made[before].id).await.unwrap().unwrap();
            assert_eq!(kept, DigestReport { unchanged: Vec::new(), ..now_open });
            self.since = Some(self.now());
            self.stood =
                self.groups(&GroupFilter::default()).await.iter().map(|group| (group.id, outcome(group))).collect();
        }
    }

    async fn groups(&self, filter: &GroupFilter) -> Vec<Group> {
        let pending_since = self.now().minus(SUCCEEDED_AFTER);
        let page = self.database.groups(filter, Default::default(), None, 10_000, pending_since).await.unwrap();
        page.items
    }

    async fn check_report(&mut self, report: &DigestReport, importances: &[Importance], queues: &[String]) {
        let open = LetterFilter {
            statuses: vec![Status::Open],
            importances: importances.to_vec(),
            queues: Names::globs(queues.to_vec()),
            ..LetterFilter::default()
        };
        let new = LetterFilter { since: self.since, ..open.clone() };
        assert_eq!(report.open, self.database.count(&open).await.unwrap());
        assert_eq!(report.new_letters, self.database.count(&new).await.unwrap());
        let filter = GroupFilter {
            only_open: true,
            importances: importances.to_vec(),
            queues: Names::globs(queues.to_vec()),
            ..GroupFilter::default()
        };
        assert_eq!(report.open_groups, self.groups(&filter).await.len() as u64);
        let mut told: Vec<&DigestGroup> = report.unchanged.iter().collect();
        for section in &report.sections {
            *self.seen.entry(section.kind).or_default() += 1;
            told.extend(&section.groups);
        }
        assert_eq!(report.succeeded, told.iter().map(|group| group.succeeded).sum::<u64>());
        assert_eq!(report.failed_again, told.iter().map(|group| group.failed_again).sum::<u64>());
        for group in told {
            self.check_group(group, &open, &new).await;
        }
    }

    async fn check_group(&self, told: &DigestGroup, open: &LetterFilter, new: &LetterFilter) {
        let of_group = |filter: &LetterFilter| LetterFilter { groups: vec![told.id], ..filter.clone() };
        let (open, new) = (of_group(open), of_group(new));
        let group = self.database.group(told.id, self.now().minus(SUCCEEDED_AFTER)).await.unwrap().unwrap();
        let oldest = PageRequest { sort: Sort::Oldest, after: None, limit: 1 };
        let oldest =
            self.database.letters(&open, &oldest).await.unwrap().items.first().map(|letter| letter.received_at);
        let [succeeded, failed_again] = outcome(&group);
        let [succeeded_then, failed_again_then] = self.stood.get(&told.id).copied().unwrap_or_default();
        assert_eq!(told.open, self.database.count(&open).await.unwrap());
        assert_eq!(told.new, self.database.count(&new).await.unwrap());
        assert_eq!(told.oldest_open, oldest);
        assert_eq!(told.succeeded, succeeded.saturating_sub(succeeded_then));
        assert_eq!(told.failed_again, failed_again - failed_again_then);
        assert_eq!((told.first_seen, told.last_seen), (group.first_seen, group.last_seen));
        assert_eq!(told.is_new, !self.stood.contains_key(&told.id));
    }
}

fn outcome(group: &Group) -> [u64; 2] {
    [group.outcome.succeeded(), group.outcome.failed_again]
}

/// Lives of so many steps with digests every six hours, about some of the letters. Most of the time goes into what is
/// checked, after some of the steps or each.
async fn live(database: &TestDatabase, seed: u64, steps: usize) -> BTreeMap<SectionKind, usize> {
    let slack = slack().await;
    let mut config = config(&slack, "0 */6 * * *", "UTC");
    config.digest.importance = vec![Importance::Low, Importance::Normal];
    config.digest.queues = vec!["orders*".to_owned(), "mai?".to_owned()];
    config.digest.stuck_after = 12 * HOUR;
    if seed.is_multiple_of(2) {
        config.digest.queues.clear();
    }
    let mut life = Life::begins(database, &config, seed).await;
    for step in 1..=steps {
        life.happens().await;
        if step == steps || step.is_multiple_of(soak(3, 1)) {
            life.check().await;
        }
    }
    life.seen
}

#[tokio::test]
async fn in_random_lives_on_sqlite() {
    let mut seen = BTreeMap::new();
    for seed in 0..soak(2, 4) {
        let database = TestDatabase::sqlite().await;
        seen.extend(live(&database, seed, 150).await);
        database.audit().await;
    }
    assert_eq!(seen.into_keys().collect::<Vec<_>>(), SectionKind::ALL, "every kind of section came up");
}

#[tokio::test]
async fn in_random_lives_on_postgres() {
    for seed in 10..soak(11, 12) {
        let Some(database) = TestDatabase::postgres().await else { return };
        live(&database, seed, 100).await;
        database.audit().await;
    }
}
