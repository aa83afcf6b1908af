//! What a policy means, in words.

use super::{
    number::{exact, thousands},
    policy::{Policy, Via},
};

/// `after 10 s, 1 min 40 s, 16 min 40 s; then needs attention`
pub fn meaning(policy: &Policy) -> String {
    /// Delays that are listed one by one; of more, these and the last.
    const TOLD: usize = 6;
    const FIRST: usize = 3;
    let delays: Vec<String> = (1..).map_while(|failures| policy.delays.after(failures)).map(exact).collect();
    let shortened = delays.len() > TOLD;
    match delays.last() {
        None => "no automatic retry".to_owned(),
        Some(last) if shortened => {
            let first = delays[..FIRST].join(", ");
            format!("after {first} … {last} ({}); then needs attention", retries(delays.len()))
        }
        Some(_) => format!("after {}; then needs attention", delays.join(", ")),
    }
}

fn retries(n: usize) -> String {
    let n = n as u64;
    if n == 1 { "1 retry".to_owned() } else { format!("{} retries", thousands(n)) }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::policy::Delays;

    fn policy(delays: Delays) -> Policy {
        Policy {
            queues: "*".to_owned(),
            reason: None,
            delays,
            jitter: 0.0,
            via: Via::Database,
            keep_routing_key: false,
        }
    }

    fn listed(seconds: &[u64]) -> Delays {
        Delays::Listed(seconds.iter().copied().map(Duration::from_secs).collect())
    }

    #[test]
    fn says_what_a_policy_means() {
        let check = |delays, expected: &str| assert_eq!(meaning(&policy(delays)), expected);
        check(listed(&[]), "no automatic retry");
        check(listed(&[10]), "after 10 s; then needs attention");
        check(listed(&[10, 100, 1_000]), "after 10 s, 1 min 40 s, 16 min 40 s; then needs attention");
        let growing = |attempts| Delays::Growing {
            initial: Duration::from_secs(1),
            factor: 2.0,
            max: Duration::from_secs(3_600),
            attempts,
        };
        check(growing(3), "after 1 s, 2 s, 4 s; then needs attention");
        check(growing(13), "after 1 s, 2 s, 4 s … 1 h (13 retries); then needs attention");
        check(listed(&[60; 7]), "after 1 min, 1 min, 1 min … 1 min (7 retries); then needs attention");
    }

    #[test]
    fn says_what_else_there_is() {
        let full = Policy { jitter: 0.1, via: Via::Broker, keep_routing_key: true, ..policy(listed(&[1])) };
        assert_eq!(
            in_full(&full),
            "after 1 s; then needs attention · ± 10 % · waits in RabbitMQ · keeps the routing key"
        );
        assert_eq!(remarks(&Policy { delays: listed(&[]), ..full }), [""; 0], "no scheduled retries");
        assert_eq!(percent(0.025), "2.5");
    }
}
