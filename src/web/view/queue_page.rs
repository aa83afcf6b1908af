//! The page of one queue: its policies as timelines.

use std::time::Duration;

use amqp_message::death::Reason;

use super::{policy::reason_words, queue::set_href, text};
use crate::{
    domain::{
        number::{exact, span},
        policy::{Policy, PolicyBook},
        policy_meaning::remarks,
        queue_outlook::{Badge, Suggestion},
    },
    rabbitmq::topology::shell,
};

#[derive(Debug)]
pub struct BadgeView {
    pub text: String,
    pub class: &'static str,
}

impl From<Badge> for BadgeView {
    fn from(badge: Badge) -> Self {
        Self { text: badge.to_string(), class: if badge.is_alarm() { "alarm" } else { "warn" } }
    }
}

#[derive(Debug)]
pub struct SuggestionView {
    pub why: String,
    /// As it is typed into a shell; empty where there is nothing to type.
    pub command: String,
}

impl From<Suggestion> for SuggestionView {
    fn from(suggestion: Suggestion) -> Self {
        let command = if suggestion.command.is_empty() { String::new() } else { shell::line(&suggestion.command) };
        Self { why: suggestion.why, command: text::one_line(&command) }
    }
}

/// What happens to what was dead-lettered for some reasons, step by step.
#[derive(Debug)]
pub struct PolicyTimeline {
    /// `rejected, delivery limit`; `any reason` where it is one for all.
    pub reasons: String,
    /// `4 tries`
    pub tries: String,
    pub steps: Vec<PolicyPoint>,
    /// `± 10 % · waits in RabbitMQ`
    pub remarks: String,
    /// Its glob, where it is not this very queue's own.
    pub from: String,
    /// Where one sets it.
    pub set: String,
}

#[derive(Debug, PartialEq, Eq)]
pub struct PolicyPoint {
    pub class: &'static str,
    pub what: String,
    pub detail: String,
}

impl PolicyTimeline {
    /// One for each policy, the one for what consumers reject first.
    pub fn all(queue: &str, book: &PolicyBook) -> Vec<Self> {
        let mut found: Vec<(Vec<Reason>, Option<&Policy>)> = Vec::new();
        for &reason in Reason::ALL {
            let policy = book.find(queue, reason).map(|active| &active.policy);
            match found.iter_mut().find(|(_, other)| *other == policy) {
                Some((reasons, _)) => reasons.push(reason),
                None => found.push((vec![reason], policy)),
            }
        }
        found.into_iter().map(|(reasons, policy)| Self::new(queue, &reasons, policy)).collect()
    }

    fn new(queue: &str, reasons: &[Reason], policy: Option<&Policy>) -> Self {
        let is_any = reasons.len() == Reason::ALL.len();
        let words: Vec<_> = reasons.iter().map(|reason| reason_words(Some(*reason))).collect();
        let delays = delays(policy);
        Self {
            reasons: if is_any { reason_words(None).to_owned() } else { words.join(", ") },
            tries: if delays.is_empty() { "1 try".to_owned() } else { format!("{} tries", delays.len() + 1) },
            steps: steps(&delays),
            remarks: policy.map(remarks).unwrap_or_default().join(" · "),
            from: policy
                .filter(|policy| policy.queues != queue)
                .map_or_else(String::new, |policy| text::one_line(&policy.queues)),
            set: set_href(queue, policy.and_then(|policy| policy.reason)),
        }
    }
}

fn delays(policy: Option<&Policy>) -> Vec<Duration> {
    policy.map(|policy| (1..).map_while(|failures| policy.delays.after(failures)).collect()).unwrap_or_default()
}

/// From the first failure to where attention is needed; of many retries the first ones and the last.
fn steps(delays: &[Duration]) -> Vec<PolicyPoint> {
    const FIRST: usize = 3;
    const SHOWN: usize = 5;
    let point = |class, what: String, detail: String| PolicyPoint { class, what, detail };
    let retry = |(n, delay): (usize, &Duration)| point("warn", exact(*delay), format!("try {}", n + 2));
    let mut steps = vec![point("alarm", "fails".to_owned(), "try 1".to_owned())];
    if delays.len() > SHOWN {
        steps.extend(delays.iter().enumerate().take(FIRST).map(retry));
        let left_out = delays.len() - FIRST - 1;
        steps.push(point("", "…".to_owned(), format!("{left_out} more tries")));
        steps.extend(delays.iter().enumerate().next_back().map(retry));
    } else {
        steps.extend(delays.iter().enumerate().map(retry));
    }
    let total = delays.iter().fold(Duration::ZERO, |sum, delay| sum.saturating_add(*delay));
    let after = if delays.is_empty() { "no automatic retry".to_owned() } else { format!("after {}", span(total)) };
    steps.push(point("", "needs attention".to_owned(), after));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(delays: &[u64], expected: &str) {
        let delays: Vec<_> = delays.iter().copied().map(Duration::from_secs).collect();
        let steps = steps(&delays);
        let said: Vec<_> = steps.iter().map(|step| format!("{} ({})", step.what, step.detail)).collect();
        assert_eq!(said.join(", "), expected);
    }

    #[test]
    fn a_policy_reads_from_the_first_failure_to_the_last() {
        check(&[], "fails (try 1), needs attention (no automatic retry)");
        check(&[10, 100], "fails (try 1), 10 s (try 2), 1 min 40 s (try 3), needs attention (after 1 min)");
        check(
            &[1, 2, 4, 8, 16, 32],
            "fails (try 1), 1 s (try 2), 2 s (try 3), 4 s (try 4), … (2 more tries), 32 s (try 7), needs attention (after 1 min)",
        );
    }
}
