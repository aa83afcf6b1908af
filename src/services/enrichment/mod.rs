//! Enriching letters: of which type each is, how important, and what failed like it.
//!
//! Each letter is enriched after it was stored, and named again whenever schemas or mappings change. Intake waits for none
//! of this. What a user has said stays.
//!
//! # What it costs
//! Enrichment shares the machine and, on SQLite, the one writer with intake. While it keeps up with what comes in, a letter
//! is enriched within half a second. In a storm, when more comes in than one batch at a time takes, it makes pauses that
//! leave intake nearly all there is, and takes the newest letters first; the others follow when the storm is over.

pub mod analyzer;
mod splitting;

use std::{sync::Arc, time::Duration};

use amqp_message::time::Timestamp;
use tokio_util::sync::CancellationToken;

use analyzer::Analyzer;

use super::{
    change_feed::ChangeFeed,
    decoding::{confirmed::ConfirmedTypes, reader::Reader},
    group_splits::GroupSplits,
    grouping_rules::GroupingRules,
    halving::{Halved, halve},
    ids,
    one_by_one::{LIMIT, one_by_one},
    rules::Rules,
    schemas::Schemas,
    throttle::Batch,
    triage::batches::batches,
    worker::{Next, Worker},
};
use crate::{
    clock::Clock,
    domain::{
        actor::Actor,
        job::{APPLY_RULES, Job, NAME_TYPES},
        letter::{LetterId, LetterSummary},
        split::GroupSplit,
    },
    metrics::Metrics,
    store::{RuleFailure, Store, StoreError},
};

/// How soon a new letter is enriched, and how soon all are looked at again after a change.
const EVERY: Duration = Duration::from_millis(250);
/// Letters in one batch: the more there are, the less each costs, and the longer intake waits for the writer.
const AT_ONCE: u32 = 250;
/// Batches of new letters until it is seen whether there is other work.
const ROUNDS: u32 = 40;
/// A process that says nothing of its job for so long is given up for dead.
const LEASE: Duration = Duration::from_secs(30);

/// Enriches letters.
pub struct Enrichment {
    pub store: Arc<Store>,
    pub reader: Reader,
    pub schemas: Schemas,
    pub rules: Rules,
    pub grouping_rules: GroupingRules,
    pub group_splits: GroupSplits,
    pub clock: Clock,
    pub metrics: Metrics,
    pub feed: ChangeFeed,
    pub so_far: SoFar,
}

/// What needs not be done again.
#[derive(Default)]
pub struct SoFar {
    /// The edition that all letters are known to be named with.
    named_with: Option<i64>,
    /// A group that was split and whose letters were gone through, before every process knew of it.
    split: Option<GroupSplit>,
}

impl Worker for Enrichment {
    const NAME: &'static str = "enrichment";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, stop: &CancellationToken) -> Result<Next, StoreError> {
        self.work(stop).await?;
        Ok(Next::Later)
    }
}

impl Enrichment {
    /// Does what there is to do.
    pub async fn work(&mut self, stop: &CancellationToken) -> Result<(), StoreError> {
        let edition = self.edition();
        for _ in 0..ROUNDS {
            if stop.is_cancelled() || self.enrich_new(edition, stop).await? < AT_ONCE as usize {
                break;
            }
        }
        self.apply_rules(stop).await?;
        self.apply_splits(edition, stop).await?;
        let is_last = self.schemas.edition() == edition;
        if is_last && self.so_far.named_with.is_none() && self.name_anew(edition, stop).await? {
            self.so_far.named_with = Some(edition);
        }
        Ok(())
    }

    /// What letters are named with now. Where that is another one, not all will be named with the last: what is changed and taken
    /// back at once has the same edition again.
    fn edition(&mut self) -> i64 {
        let edition = self.schemas.edition();
        self.so_far.named_with = self.so_far.named_with.filter(|named_with| *named_with == edition);
        edition
    }

    async fn enrich_new(&self, edition: i64, stop: &CancellationToken) -> Result<usize, StoreError> {
        let ids = self.store.not_enriched(AT_ONCE).await?;
        self.enrich(&ids, edition, stop).await?;
        Ok(ids.len())
    }

    /// Goes on with the job of trying the rules on all letters that are not decided, if there is one. What a process that
    /// died has left of it is taken up where it stopped.
    async fn apply_rules(&mut self, stop: &CancellationToken) -> Result<(), StoreError> {
        let claim = self.store.claim_job(APPLY_RULES, self.clock.now(), LEASE).await?;
        let Some((mut job, mut position)) = claim else { return Ok(()) };
        // They were perhaps changed in another process just now.
        self.rules.reload().await?;
        while !stop.is_cancelled() {
            let edition = self.edition();
            // Newcomers first: somebody may be waiting for them.
            self.enrich_new(edition, stop).await?;
            let ids = self.store.undecided(position, AT_ONCE).await?;
            match ids.last() {
                Some(last) => position = Some(*last),
                None => job.end(),
            }
            self.enrich(&ids, edition, stop).await?;
            job.done += ids.len() as u64;
            job.total = job.total.max(job.done);
            if !self.store.job_has_come_to(&job, position, self.clock.now().plus(LEASE)).await? {
                return Ok(());
            }
        }
        // Whoever is here next goes on at once.
        self.store.job_has_come_to(&job, position, self.clock.now()).await.map(drop)
    }

    /// Goes through all letters that were named with another edition, as a job that can be watched. After a crash what is
    /// left is a job of its own. The answer is whether all are done.
    async fn name_anew(&self, edition: i64, stop: &CancellationToken) -> Result<bool, StoreError> {
        let total = self.store.count_named_otherwise(edition).await?;
        if total == 0 {
            return Ok(true);
        }
        let begun = self.clock.now();
        let mut job = Job { total, ..Job::begun(ids::uuid(begun), NAME_TYPES) };
        self.store.add_job(&job, &Actor::system(), begun).await?;
        tracing::info!(letters = total, "schemas or mappings have changed; types are detected again");
        let mut before = None;
        while !stop.is_cancelled() && self.schemas.edition() == edition {
            // Newcomers first: somebody may be waiting for them.
            self.enrich_new(edition, stop).await?;
            let ids = self.store.named_otherwise(edition, before, AT_ONCE).await?;
            let Some(last) = ids.last() else {
                job.end();
                break;
            };
            before = Some(*last);
            self.enrich(&ids, edition, stop).await?;
            job.done += ids.len() as u64;
            job.total = job.total.max(job.done);
            self.store.update_job(&job).await?;
        }
        job.cancel_unless_ended();
        self.store.update_job(&job).await?;
        Ok(job.failed == 0 && self.schemas.edition() == edition && !stop.is_cancelled())
    }

    /// Enriches these letters, and after a full batch in a storm lets intake go first for a while.
    async fn enrich(&self, ids: &[LetterId], edition: i64, stop: &CancellationToken) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let batch = Batch::begin(&self.clock, &self.feed);
        let mut parts = vec![ids.to_vec()];
        while let Some(part) = parts.pop() {
            match self.enrich_all(&part, edition).await {
                Ok(()) => {}
                // One of them is not taken. The others go on without it.
                Err(error) if error.is_refusal() => match halve(part) {
                    Some(Halved::Halves(first, second)) => parts.extend([second, first]),
                    Some(Halved::One(letter)) => self.enrich_plainly(letter, edition, &error.to_string()).await?,
                    None => {}
                },
                Err(error) => return Err(error),
            }
        }
        if ids.len() >= AT_ONCE as usize {
            batch.end(stop).await;
        }
        Ok(())
    }

    async fn enrich_all(&self, ids: &[LetterId], edition: i64) -> Result<(), StoreError> {
        for batch in batches(self.store.summaries(ids).await?) {
            self.enrich_batch(batch, edition).await?;
        }
        Ok(())
    }

    /// What cannot be enriched is of no type, as important as letters are by default, and in a group by its queue and
    /// reason; or it stays as it is, where not even that is taken.
    async fn enrich_plainly(&self, letter: LetterId, edition: i64, why: &str) -> Result<(), StoreError> {
        tracing::error!(%letter, error = why, "a dead letter cannot be enriched; it stays without type and rules");
        let (now, remark) = (self.clock.now(), format!("its type, importance and group are not known: {why}"));
        let plain = match self.store.summary(letter).await {
            Ok(Some(summary)) => self.store.enrich(&[analyzer::plain(&summary)], edition, now).await.map(drop),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        match plain {
            Err(error) if !error.is_refusal() => Err(error),
            _ => self.store.set_aside_unenriched(letter, edition, &remark, now).await,
        }
    }

    async fn enrich_batch(&self, summaries: Vec<LetterSummary>, edition: i64) -> Result<(), StoreError> {
        let (mut letters, mut confirmed) = (Vec::with_capacity(summaries.len()), ConfirmedTypes::new(&self.store));
        for letter in self.store.with_contents(summaries).await? {
            let confirmed = confirmed.of(&letter.summary).await?;
            letters.push((letter, confirmed));
        }
        let (reader, library, rules) = (self.reader.clone(), self.reader.library().await, self.rules.in_force());
        let analyzer = Analyzer {
            reader,
            library,
            rules,
            rewriter: self.grouping_rules.rewriter(),
            splits: self.group_splits.in_force(),
        };
        let ids: Vec<LetterId> = letters.iter().map(|(letter, _)| letter.summary.id).collect();
        let looked_at =
            one_by_one(letters, LIMIT, move |(letter, confirmed)| analyzer.look_at(letter, confirmed)).await;
        let (mut enriched, mut failures) = (Vec::with_capacity(ids.len()), Vec::new());
        for (letter, looked_at) in ids.into_iter().zip(looked_at) {
            match looked_at {
                Some((letter, failed)) => {
                    enriched.push(letter);
                    failures.extend(failed);
                }
                None => self.enrich_plainly(letter, edition, &unreadable()).await?,
            }
        }
        let now = self.clock.now();
        for exhausted in self.store.enrich(&enriched, edition, now).await? {
            self.metrics.exhausted(&exhausted.broker, exhausted.queue.as_deref(), exhausted.importance);
        }
        self.tell(failures, now).await?;
        self.feed.changed(enriched.len() as u64);
        Ok(())
    }

    async fn tell(&self, failures: Vec<RuleFailure>, now: Timestamp) -> Result<(), StoreError> {
        if failures.is_empty() {
            return Ok(());
        }
        for failure in &failures {
            self.metrics.rule_failed(&failure.rule);
        }
        match self.store.count_rule_failures(&failures, now).await {
            // The letters are enriched; what is missing is a number on the page of rules.
            Err(error) if error.is_refusal() => tracing::warn!(error = %error, "failures of rules cannot be counted"),
            other => other?,
        }
        Ok(())
    }
}

/// Why a letter is not read.
fn unreadable() -> String {
    format!("reading it failed, or was not done within {} s", LIMIT.as_secs())
}
