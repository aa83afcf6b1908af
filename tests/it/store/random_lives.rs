//! Letters live random lives; all the while the database says of them what a plain model says.
//!
//! A life is decided by its seed, so that one that goes wrong can be lived again.

use std::time::Duration;

use amqp_message::{death::Reason, field::FieldValue, time::Timestamp};
use dead_letter_office::{
    domain::{
        command::Command,
        filter::{Cursor, LetterFilter, Names, PageRequest, Sort},
        group::GroupKey,
        letter::{Importance, LetterId, Status},
        lifecycle::retention::Outdated,
        retry::RetryOutcome,
    },
    store::{Arrival, Enriched, Recorded, SLICE},
};
use fastrand::Rng;

use super::{
    database::{Change, RETRY_NOW, TestDatabase, record},
    make::{InGroup, Make, NOON, an_arrival, enriched, id},
    model::Model,
};
use crate::support::soak;

const BROKERS: [&str; 2] = ["main", "other"];
const QUEUES: [&str; 6] = ["orders", "orders.eu", "texts.a", "texts.b", "ö", ""];
const GLOBS: [&str; 8] = ["orders", "orders*", "texts.?", "*", "?", "*.a", "none", "*e*s*"];
/// Moments around the edges of slices of all widths, few enough for many letters to share one.
const MOMENTS: [u64; 10] = [
    0,
    1,
    299_999_999,
    300_000_000,
    300_000_001,
    3_600_000_000,
    43_199_999_999,
    86_400_000_000,
    90_000_000_007,
    400_000_000_000,
];
/// Widths of bars, in slices: some minutes, hours, days.
const WIDTHS: [u32; 6] = [1, 2, 7, 12, 36, 288];

fn moment(rng: &mut Rng) -> Timestamp {
    NOON.plus(Duration::from_micros(*pick(rng, &MOMENTS)))
}

fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.usize(..from.len())]
}

fn some<T: Clone>(rng: &mut Rng, from: &[T]) -> Vec<T> {
    if from.is_empty() || rng.bool() {
        Vec::new()
    } else {
        rng.choose_multiple(from, rng.clone().usize(1..=from.len().min(3))).into_iter().cloned().collect()
    }
}

struct Life<'a> {
    database: &'a TestDatabase,
    model: Model,
    rng: Rng,
}

impl Life<'_> {
    async fn goes_on(&mut self) {
        match self.rng.u8(..13) {
            0..3 => self.take_in().await,
            3 => self.come_back().await,
            4..7 => self.act().await,
            7 => self.publish().await,
            8 => self.edit().await,
            9..11 => self.sort().await,
            _ => self.check().await,
        }
    }

    fn arrival(&mut self) -> Arrival {
        let (queue, reason) = (*pick(&mut self.rng, &QUEUES), *pick(&mut self.rng, Reason::ALL));
        let arrival = an_arrival().reason(reason).importance(*pick(&mut self.rng, Importance::ALL));
        let arrival = arrival.received(moment(&mut self.rng));
        if queue.is_empty() { arrival.of_unknown_queue() } else { arrival.queue(queue) }
    }

    async fn take_in(&mut self) {
        let broker = pick(&mut self.rng, &BROKERS);
        let arrivals: Vec<Arrival> = (0..self.rng.usize(1..12)).map(|_| self.arrival()).collect();
        record(self.database, broker, &arrivals).await;
        arrivals.iter().for_each(|arrival| self.model.take_in(broker, arrival));
    }

    async fn come_back(&mut self) {
        let broker = pick(&mut self.rng, &BROKERS);
        let arrivals: Vec<Arrival> = self.a_few_letters().into_iter().map(|id| self.arrival().returning(id)).collect();
        let recorded = record(self.database, broker, &arrivals).await;
        for (arrival, recorded) in arrivals.iter().zip(recorded) {
            match recorded {
                Recorded::FailedAgain(id) | Recorded::Waits(id) => self.model.comes_back(id, arrival),
                _ => self.model.take_in(broker, arrival),
            }
        }
    }

    fn a_few_letters(&mut self) -> Vec<LetterId> {
        let n = self.rng.usize(1..20);
        self.rng.choose_multiple(self.model.letters.keys().copied(), n)
    }

    async fn act(&mut self) {
        let commands = [
            RETRY_NOW,
            Command::Retry { delay: Duration::ZERO, queue: Some("other".to_owned()) },
            Command::Discard { note: Some("n".to_owned()) },
            Command::Reopen,
            Command::SetImportance(*pick(&mut self.rng, Importance::ALL)),
            Command::SetNote("n".to_owned()),
        ];
        let command = pick(&mut self.rng, &commands);
        let mut ids = self.a_few_letters();
        ids.push(LetterId::from_uuid(id()));
        let (expected, moved) = self.model.decide(command, &ids);
        let report = self.database.command(command, &ids).await;
        assert_eq!(report, expected, "{command:?}");
        self.model.act(command, &report.done);
        for (id, status, importance) in moved {
            let letter = &self.model.letters[&id];
            assert_eq!((letter.status, letter.importance), (status, importance), "{command:?}");
        }
    }

    async fn edit(&mut self) {
        // Where only a header is another, the copy is known when it comes back.
        let changes: [Change; 2] =
            [|message| message.body.push(b'!'), |message| message.headers.put("edited", FieldValue::Void)];
        for id in self.a_few_letters().into_iter().take(5) {
            let change = *pick(&mut self.rng, &changes);
            let refusal = self.model.decide_edit(id);
            let edited = self.database.edit(id, change, 0).await;
            assert_eq!(edited.as_ref().err(), refusal.as_ref());
            if let Ok(copy) = edited {
                self.model.edit(id, copy);
            }
        }
    }

    /// All that is settled is forgotten, but for what has an edit that is not.
    async fn forget(&mut self) {
        let all = Outdated { retried: Timestamp::MAX, discarded: Timestamp::MAX };
        while self.database.forget_settled(all, 3).await.unwrap() > 0 {}
        self.model.forget(|letter| matches!(letter.status, Status::Retried | Status::Discarded));
    }

    /// Sorts whatever letters, by a rule of chance, into groups of their queue.
    async fn sort(&mut self) {
        let mut found = Vec::new();
        for id in self.a_few_letters() {
            let letter = &self.model.letters[&id];
            let (importance, error) = (*pick(&mut self.rng, Importance::ALL), *pick(&mut self.rng, &["", "a", "b"]));
            let (queue, reason) = (letter.arrival.failure.queue.clone(), letter.arrival.failure.reason);
            let key = GroupKey { reason, ..enriched(id).key };
            let is = Enriched { importance, received_at: letter.received_at, key, ..enriched(id) };
            found.push(is.in_group(&letter.broker, queue.as_deref().unwrap_or_default(), error));
        }
        self.database.enrich(&found, 1, NOON).await.unwrap();
        found.iter().for_each(|enriched| self.model.enrich(enriched));
    }

    async fn publish(&mut self) {
        let limit = self.rng.usize(1..30);
        let claimed = self.database.claim_due_retries("main", NOON, SLICE, limit).await.unwrap();
        claimed.iter().for_each(|retry| self.model.claim(retry.id));
        if self.rng.bool() {
            // It comes back before it is marked.
            self.come_back().await;
        }
        let (outcome, status) = match self.rng.bool() {
            true => (RetryOutcome::Confirmed, Status::Retried),
            false => (RetryOutcome::Failed("refused".to_owned()), Status::Open),
        };
        self.database.finish(&claimed, outcome).await;
        claimed.iter().for_each(|retry| self.model.finish(retry.id, status));
    }

    fn filter(&mut self) -> LetterFilter {
        let groups = if self.rng.bool() { self.model.groups() } else { Vec::new() };
        let rng = &mut self.rng;
        LetterFilter {
            statuses: some(rng, Status::ALL),
            importances: some(rng, Importance::ALL),
            brokers: some(rng, &BROKERS.map(str::to_owned)),
            queues: Names::globs(some(rng, &GLOBS.map(str::to_owned))),
            reasons: some(rng, Reason::ALL),
            types: Names::default(),
            groups: some(rng, &groups),
            since: rng.bool().then(|| moment(rng)),
            until: rng.bool().then(|| moment(rng)),
            search: None,
        }
    }

    async fn check(&mut self) {
        let filter = self.filter();
        let sort = *pick(&mut self.rng, &[Sort::Newest, Sort::Oldest]);
        let limit = self.rng.usize(1..10);
        let expected = self.model.list(&filter, sort);
        assert_eq!(self.database.count(&filter).await.unwrap(), expected.len() as u64, "count of {filter:?}");
        assert_eq!(all_pages(self.database, &filter, sort, limit).await, expected, "{sort:?} {limit} of {filter:?}");
        self.check_summaries(&filter).await;
    }

    async fn check_summaries(&mut self, filter: &LetterFilter) {
        let (from, to) = (moment(&mut self.rng), moment(&mut self.rng));
        let width = SLICE * *pick(&mut self.rng, &WIDTHS);
        let bars = self.database.histogram(filter, from, to, width).await.unwrap();
        assert_eq!(bars, self.model.histogram(filter, from, to, width), "{filter:?} {from:?} {to:?} {width:?}");
        assert_eq!(self.database.oldest_open().await.unwrap(), self.model.oldest_open());
        let key = |facet: &dead_letter_office::domain::filter::FacetCount| format!("{facet:?}");
        let (mut facets, mut expected) = (self.database.facets().await.unwrap(), self.model.facets());
        facets.sort_by_key(key);
        expected.sort_by_key(key);
        assert_eq!(facets, expected);
    }
}

/// A list, page by page.
async fn all_pages(database: &TestDatabase, filter: &LetterFilter, sort: Sort, limit: usize) -> Vec<Cursor> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page = database.letters(filter, &PageRequest { sort, after, limit }).await.unwrap();
        assert!(page.items.len() == limit || page.next.is_none());
        all.extend(page.items.iter().map(|item| Cursor::at(item.received_at, item.id)));
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

pub(super) async fn live(database: &TestDatabase, seed: u64) {
    let mut life = Life { database, model: Model::default(), rng: Rng::with_seed(seed) };
    for _ in 0..soak(60, 150) {
        life.goes_on().await;
    }
    life.forget().await;
    life.check().await;
}

async fn one_life(database: &TestDatabase) {
    live(database, 1).await;
}

async fn another_life(database: &TestDatabase) {
    live(database, 2).await;
}

async fn a_third_life(database: &TestDatabase) {
    live(database, 3).await;
}

on_both!(one_life, another_life, a_third_life);
