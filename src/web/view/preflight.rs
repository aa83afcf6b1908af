//! What is known before many letters are retried, as the question shows it.

use super::number;
use crate::domain::preflight::{Preflight, Way};

/// Letters of a canary.
const CANARY: u64 = 25;

#[derive(Debug, Default)]
pub struct PreflightView {
    /// A number and what it counts.
    pub figures: Vec<(String, String)>,
    /// What will not go well: sentences.
    pub warnings: Vec<String>,
    /// What it suggests, as a word of the form; empty: nothing.
    pub way: &'static str,
    pub suggestion: &'static str,
    pub why: String,
    /// How many letters a canary has, unless somebody says otherwise: few, and never most of them.
    pub first: u64,
}

impl PreflightView {
    pub fn new(preflight: &Preflight) -> Self {
        let advice = preflight.advice();
        let known = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), number::thousands);
        let noun = |count: Option<u64>, noun: &str| if count == Some(1) { noun.to_owned() } else { format!("{noun}s") };
        let mut figures = Vec::new();
        if let [queue] = &*preflight.queues
            && let Some(level) = &queue.level
        {
            let (consumers, messages) = (level.known_consumers(), level.known_messages());
            figures.push((known(consumers), noun(consumers, "consumer")));
            figures.push((known(messages), format!("{} in the queue", noun(messages, "message"))));
        }
        if preflight.ended > 0 {
            let succeeded = preflight.ended.saturating_sub(preflight.failed_again);
            let figure = format!("{} of {}", number::thousands(succeeded), number::thousands(preflight.ended));
            let retries = if preflight.ended == 1 { "retry" } else { "retries" };
            figures.push((figure, format!("earlier {retries} succeeded")));
        }
        let refused = preflight
            .refused
            .iter()
            .map(|(why, letters)| format!("{} will be refused: {why}.", number::thousands(*letters)));
        let troubles = preflight.queues.iter().filter_map(crate::domain::preflight::TargetQueue::trouble);
        // What is the reason for the advice is said there.
        let warnings = troubles.filter(|trouble| *trouble != advice.why).chain(refused).collect();
        Self {
            figures,
            warnings,
            way: match advice.way {
                Way::AtOnce | Way::Canary => advice.way.as_str(),
                Way::Wait | Way::Discard => "",
            },
            suggestion: match advice.way {
                Way::AtOnce => "",
                Way::Canary => "Suggested: a canary.",
                Way::Wait if preflight.wrong_queue.is_some() => "None of them can be sent there.",
                Way::Wait => "Suggested: wait.",
                Way::Discard => "Suggested: discard them.",
            },
            why: advice.why,
            first: (preflight.total / 2).clamp(1, CANARY),
        }
    }
}
