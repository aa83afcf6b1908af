//! One line of the queues: the outcome of what failed there, and which policy is in force.

use amqp_message::death::Reason;

use super::{
    number,
    policy::{in_full, meaning},
    retry_outcomes::QueueOutcomes,
    tally::{QueueCounts, QueueKey},
    text,
    watch::LevelCells,
};
use crate::{
    domain::{
        letter::Status,
        policy::{Policy, PolicyBook},
    },
    web::query::{LetterQuery, WaitingQuery},
};

#[derive(Debug)]
pub struct QueueRow {
    pub name: String,
    pub is_known: bool,
    pub broker: String,
    pub open: String,
    pub waiting: String,
    pub letters: String,
    pub scheduled: String,
    /// None where nothing is retried: of no known queue, or of one of ours.
    pub policy: Option<PolicyCell>,
    pub failed: String,
    pub succeeded: String,
    /// `7 pending`; empty where none are.
    pub pending: String,
    pub exhausted: String,
    pub chart: Option<SuccessChart>,
    /// How it stands, as far as its broker says.
    pub level: Option<LevelCells>,
}

/// The policy in force, as it shows in a table.
#[derive(Debug)]
pub struct PolicyCell {
    pub meaning: String,
    /// With jitter and the rest.
    pub full: String,
    /// Its glob, where it is not this very queue's own.
    pub from: String,
    /// Other reasons have other policies.
    pub differs: bool,
    /// Where one sets a policy for this queue.
    pub set: String,
}

/// After which retry messages succeed, as bars of ten units.
#[derive(Debug)]
pub struct SuccessChart {
    pub width: usize,
    pub bars: Vec<SuccessBar>,
    pub told: String,
}

#[derive(Debug)]
pub struct SuccessBar {
    pub x: usize,
    pub y: u64,
    pub height: u64,
}

impl QueueRow {
    pub fn new(
        (broker, queue): QueueKey<'_>,
        counts: &QueueCounts,
        outcomes: &QueueOutcomes,
        book: &PolicyBook,
        level: Option<LevelCells>,
        is_ours: bool,
    ) -> Self {
        let pattern = LetterQuery::queue_pattern(queue);
        let brokers = vec![broker.to_owned()];
        let letters = LetterQuery { brokers: brokers.clone(), queues: vec![pattern.clone()], ..LetterQuery::default() };
        let scheduled = WaitingQuery { brokers, queues: vec![pattern], ..WaitingQuery::default() };
        Self {
            name: queue.map_or_else(|| "queue unknown".to_owned(), text::one_line),
            is_known: queue.is_some(),
            broker: text::one_line(broker),
            open: number::thousands(counts.of(Status::Open)),
            waiting: number::thousands(counts.of(Status::Scheduled)),
            letters: letters.href(),
            scheduled: scheduled.href(),
            policy: queue.filter(|_| !is_ours).map(|queue| PolicyCell::new(queue, book)),
            failed: number::thousands(outcomes.failed),
            succeeded: number::thousands(outcomes.succeeded),
            pending: if outcomes.pending > 0 {
                format!("{} pending", number::thousands(outcomes.pending))
            } else {
                String::new()
            },
            exhausted: number::thousands(outcomes.exhausted),
            chart: SuccessChart::new(outcomes),
            level,
        }
    }
}

/// Where the page of policies has a form for these queues.
pub fn set_href(queues: &str, reason: Option<Reason>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("queues", queues);
    if let Some(reason) = reason {
        query.append_pair("reason", reason.as_str());
    }
    format!("/policies?{}", query.finish())
}

impl PolicyCell {
    fn new(queue: &str, book: &PolicyBook) -> Self {
        // What a consumer rejects is by far the most.
        let policy = |reason| book.find(queue, reason).map(|active| &active.policy);
        let rejected = policy(Reason::Rejected);
        let says = |policy: Option<&Policy>, say: fn(&Policy) -> String| {
            policy.map_or_else(|| "no automatic retry".to_owned(), say)
        };
        let is_same = |reason: &Reason| policy(*reason).map(in_full) == rejected.map(in_full);
        Self {
            meaning: says(rejected, meaning),
            full: says(rejected, in_full),
            from: rejected
                .filter(|policy| policy.queues != queue)
                .map(|policy| text::one_line(&policy.queues))
                .unwrap_or_default(),
            differs: !Reason::ALL.iter().all(is_same),
            set: set_href(queue, None),
        }
    }
}

impl SuccessChart {
    fn new(outcomes: &QueueOutcomes) -> Option<Self> {
        /// More bars than this are too thin to be told apart; the words name them all.
        const MOST: usize = 12;
        if outcomes.by_retry.is_empty() {
            return None;
        }
        let bar = |(n, height): (usize, u64)| SuccessBar { x: n * 10, y: 100 - height, height };
        let bars: Vec<SuccessBar> = outcomes.heights().into_iter().take(MOST).enumerate().map(bar).collect();
        Some(Self { width: bars.len() * 10, bars, told: outcomes.describe() })
    }
}
