//! What a policy means, in words.

use std::time::Duration;

use super::{number, text, time::Moment};
use crate::domain::{
    death::Reason,
    policy::{Delays, Origin, Policy, StandingPolicy, Via},
    time::Timestamp,
};

/// `after 10 s, 1 min 40 s, 16 min 40 s; then a person`
pub fn meaning(policy: &Policy) -> String {
    /// Delays that are told one by one; of more, these and the last.
    const TOLD: usize = 6;
    const FIRST: usize = 3;
    let delays: Vec<String> = (1..).map_while(|failures| policy.delays.after(failures)).map(exact).collect();
    let shortened = delays.len() > TOLD;
    match delays.last() {
        None => "at once a person".to_owned(),
        Some(last) if shortened => {
            let first = delays[..FIRST].join(", ");
            format!("after {first} … {last} ({}); then a person", retries(delays.len()))
        }
        Some(_) => format!("after {}; then a person", delays.join(", ")),
    }
}

fn retries(n: usize) -> String {
    let n = n as u64;
    if n == 1 { "1 retry".to_owned() } else { format!("{} retries", number::thousands(n)) }
}

/// What else there is to it; empty for what needs no word.
pub fn remarks(policy: &Policy) -> Vec<String> {
    let waits = policy.delays.retries() > 0;
    let jitter = (waits && policy.jitter > 0.0).then(|| format!("± {} %", percent(policy.jitter)));
    let via = (waits && policy.via == Via::Broker).then(|| "waits in RabbitMQ".to_owned());
    let key = (waits && policy.keep_routing_key).then(|| "keeps the routing key".to_owned());
    [jitter, via, key].into_iter().flatten().collect()
}

/// Both in one sentence.
pub fn in_full(policy: &Policy) -> String {
    let mut parts = vec![meaning(policy)];
    parts.extend(remarks(policy));
    parts.join(" · ")
}

/// A share as people type it: `10`, `2.5`.
pub fn percent(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    format!("{tenths}")
}

/// `1 min 40 s`, `1.5 s`, `250 ms`: a length of time to the last unit that matters.
pub fn exact(length: Duration) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)];
    let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    if millis < 1_000 {
        return if millis == 0 { "0 s".to_owned() } else { format!("{millis} ms") };
    }
    if millis < 10_000 && !millis.is_multiple_of(1_000) {
        return format!("{}.{} s", millis / 1_000, format!("{:03}", millis % 1_000).trim_end_matches('0'));
    }
    let mut rest = millis;
    let mut parts = Vec::new();
    for (unit, worth) in UNITS {
        let n = rest / worth;
        rest %= worth;
        if n > 0 {
            parts.push(format!("{n} {unit}"));
        }
    }
    parts.join(" ")
}

/// `any reason`, `expired`
pub const fn reason_words(reason: Option<Reason>) -> &'static str {
    match reason {
        None => "any reason",
        Some(Reason::Rejected) => "rejected",
        Some(Reason::Expired) => "expired",
        Some(Reason::MaxLen) => "queue full",
        Some(Reason::DeliveryLimit) => "delivery limit",
        Some(Reason::Unknown) => "unknown reason",
    }
}

/// Which failures it is for: `texts.*`, `texts.* when expired`
pub fn target(policy: &Policy) -> String {
    let queues = text::one_line(&policy.queues);
    match policy.reason {
        None => queues,
        Some(_) => format!("{queues}, {}", reason_words(policy.reason)),
    }
}

/// Who set it.
#[derive(Debug, PartialEq, Eq)]
pub enum OriginView {
    Configuration,
    Person { by: String, at: Moment },
}

impl OriginView {
    pub fn new(standing: &StandingPolicy, now: Timestamp) -> Self {
        match &standing.origin {
            Origin::Configuration => Self::Configuration,
            Origin::Person { by, at } => Self::Person { by: text::one_line(by.as_str()), at: Moment::new(*at, now) },
        }
    }
}

/// `retry 2 of 3`: which retry of its policy a message waits for that has failed so often.
pub fn which_retry(failures: u64, policy: Option<&StandingPolicy>) -> String {
    let retries = policy.map_or(0, |standing| standing.policy.delays.retries() as u64);
    // A policy may have become shorter since.
    if (1..=retries).contains(&failures) {
        format!("retry {failures} of {retries}")
    } else {
        format!("retry {failures}")
    }
}

/// The delays as they are typed into a form.
pub fn typed(delays: &Delays) -> String {
    match delays {
        Delays::Listed(delays) => delays.iter().map(|delay| typed_duration(*delay)).collect::<Vec<_>>().join(", "),
        Delays::Growing { .. } => String::new(),
    }
}

/// `1m 40s`
pub fn typed_duration(length: Duration) -> String {
    humantime::format_duration(length).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(delays: Delays) -> Policy {
        Policy { queues: "*".to_owned(), reason: None, delays, jitter: 0.0, via: Via::Ledger, keep_routing_key: false }
    }

    fn listed(seconds: &[u64]) -> Delays {
        Delays::Listed(seconds.iter().copied().map(Duration::from_secs).collect())
    }

    #[test]
    fn says_what_a_policy_means() {
        let check = |delays, expected: &str| assert_eq!(meaning(&policy(delays)), expected);
        check(listed(&[]), "at once a person");
        check(listed(&[10]), "after 10 s; then a person");
        check(listed(&[10, 100, 1_000]), "after 10 s, 1 min 40 s, 16 min 40 s; then a person");
        let growing = |attempts| Delays::Growing {
            initial: Duration::from_secs(1),
            factor: 2.0,
            max: Duration::from_secs(3_600),
            attempts,
        };
        check(growing(3), "after 1 s, 2 s, 4 s; then a person");
        check(growing(13), "after 1 s, 2 s, 4 s … 1 h (13 retries); then a person");
        check(listed(&[60; 7]), "after 1 min, 1 min, 1 min … 1 min (7 retries); then a person");
    }

    #[test]
    fn says_what_else_there_is() {
        let full = Policy { jitter: 0.1, via: Via::Broker, keep_routing_key: true, ..policy(listed(&[1])) };
        assert_eq!(in_full(&full), "after 1 s; then a person · ± 10 % · waits in RabbitMQ · keeps the routing key");
        assert_eq!(remarks(&Policy { delays: listed(&[]), ..full }), [""; 0], "nothing waits");
        assert_eq!(percent(0.025), "2.5");
    }

    #[test]
    fn lengths_are_exact() {
        let check = |millis, expected: &str| assert_eq!(exact(Duration::from_millis(millis)), expected);
        check(0, "0 s");
        check(250, "250 ms");
        check(1_500, "1.5 s");
        check(2_250, "2.25 s");
        check(12_345, "12 s");
        check(100_000, "1 min 40 s");
        check(93_784_000, "1 d 2 h 3 min 4 s");
        check(2_592_000_000, "30 d");
    }

    #[test]
    fn which_retry_it_is() {
        let standing = StandingPolicy { policy: policy(listed(&[1, 2, 3])), origin: Origin::Configuration };
        assert_eq!(which_retry(2, Some(&standing)), "retry 2 of 3");
        assert_eq!(which_retry(4, Some(&standing)), "retry 4");
        assert_eq!(which_retry(4, None), "retry 4");
    }
}
