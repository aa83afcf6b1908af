//! One line of the queues: the outcome of what failed there, and which policy is in force.

use amqp_message::death::Reason;

use super::{
    number,
    policy::{in_full, meaning, reason_words},
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
    web::query::{LetterQuery, Listed, WaitingQuery, queue_path},
};

#[derive(Debug)]
pub struct QueueRow {
    pub name: String,
    pub is_known: bool,
    /// Its page; empty where it is not known.
    pub page: String,
    pub broker: String,
    pub open: String,
    pub waiting: String,
    pub letters: String,
    pub scheduled: String,
    /// None where nothing is retried: of no known queue, or of one of ours.
    pub policies: Option<Vec<PolicyLine>>,
    pub failed: String,
    pub succeeded: String,
    /// `7 pending`; empty where none are.
    pub pending: String,
    pub exhausted: String,
    pub chart: Option<SuccessChart>,
    /// How it stands, as far as its broker says.
    pub level: Option<LevelCells>,
    /// Retries into it are paused.
    pub is_paused: bool,
}

/// A policy in force, as it shows in a table.
#[derive(Debug)]
pub struct PolicyLine {
    /// `expired, queue full`; empty where it is for all.
    pub reasons: String,
    pub meaning: String,
    /// With jitter and the rest.
    pub full: String,
    /// Its glob, where it is not this very queue's own.
    pub from: String,
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
        let brokers = vec![broker.to_owned()];
        let letters = LetterQuery { brokers: brokers.clone(), ..LetterQuery::of_queue(queue) };
        let scheduled = WaitingQuery { brokers, ..WaitingQuery::of_queue(queue) };
        Self {
            name: queue.map_or_else(|| "queue unknown".to_owned(), text::one_line),
            is_known: queue.is_some(),
            page: queue_path::href_of(broker, queue),
            broker: text::one_line(broker),
            open: number::thousands(counts.of(Status::Open)),
            waiting: number::thousands(counts.of(Status::Scheduled)),
            letters: letters.href(),
            scheduled: scheduled.href(),
            policies: queue.filter(|_| !is_ours).map(|queue| PolicyLine::all(queue, book)),
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
            is_paused: false,
        }
    }

    pub fn paused(self, is_paused: bool) -> Self {
        Self { is_paused, ..self }
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

impl PolicyLine {
    /// One for each policy, the one for what consumers reject first.
    fn all(queue: &str, book: &PolicyBook) -> Vec<Self> {
        let mut lines: Vec<(Vec<Reason>, Self)> = Vec::new();
        for &reason in Reason::ALL {
            let line = Self::of(queue, reason, book);
            match lines.iter_mut().find(|(_, other)| (&other.full, &other.from) == (&line.full, &line.from)) {
                Some((reasons, _)) => reasons.push(reason),
                None => lines.push((vec![reason], line)),
            }
        }
        let differ = lines.len() > 1;
        let words = |reasons: &[Reason]| {
            let words: Vec<_> = reasons.iter().filter(|_| differ).map(|reason| reason_words(Some(*reason))).collect();
            words.join(", ")
        };
        lines.into_iter().map(|(reasons, line)| Self { reasons: words(&reasons), ..line }).collect()
    }

    /// The policy for what was dead-lettered there for this reason.
    pub fn of(queue: &str, reason: Reason, book: &PolicyBook) -> Self {
        let policy = book.find(queue, reason).map(|active| &active.policy);
        let says = |say: fn(&Policy) -> String| policy.map_or_else(|| "no automatic retry".to_owned(), say);
        let from = policy.filter(|policy| policy.queues != queue).map(|policy| text::one_line(&policy.queues));
        Self {
            reasons: String::new(),
            meaning: says(meaning),
            full: says(in_full),
            from: from.unwrap_or_default(),
            set: set_href(queue, policy.and_then(|policy| policy.reason)),
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
