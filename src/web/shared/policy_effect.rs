//! For which queues a policy is in force.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use amqp_message::{death::Reason, glob::Globs, time::Timestamp};

use crate::{
    domain::policy::{ActivePolicy, PolicyBook},
    web::{error::WebError, state::AppState, view::text},
};

/// The days for which pages and API show retry outcomes, today included.
pub const DAYS: u64 = 7;

/// The beginning of these days.
pub fn counted_since(now: Timestamp) -> Timestamp {
    now.minus(Duration::from_secs((DAYS - 1) * 24 * 60 * 60))
}

/// Some of the queues, by name, and how many there are besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Force {
    pub names: Vec<String>,
    pub others: usize,
}

impl Force {
    fn new(queues: &[&String]) -> Self {
        const NAMED: usize = 5;
        const NAME: usize = 60;
        let names = queues.iter().take(NAMED).map(|queue| text::name(queue, NAME));
        Self { names: names.collect(), others: queues.len().saturating_sub(NAMED) }
    }
}

/// The names of all queues of which anything is known, on whatever broker.
pub async fn known_queues(app: &AppState) -> Result<Vec<String>, WebError> {
    let since = counted_since(app.clock.now());
    let store = app.store();
    let (facets, counts) = tokio::try_join!(store.facets(), store.retry_counts(since))?;
    let queues =
        facets.into_iter().filter_map(|facet| facet.queue).chain(counts.into_iter().filter_map(|count| count.queue));
    Ok(queues.collect::<BTreeSet<_>>().into_iter().collect())
}

/// For each policy the known queues in which it rules for any reason.
pub fn all(book: &PolicyBook, known: &[String]) -> Vec<Force> {
    let mut queues: Vec<Vec<&String>> = vec![Vec::new(); book.all().len()];
    for queue in known {
        for (place, active) in book.all().iter().enumerate() {
            let rules = |reason: &Reason| book.find(queue, *reason).is_some_and(|found| Arc::ptr_eq(found, active));
            let may = |reason: &&Reason| active.policy.reason.is_none_or(|only| only == **reason);
            if Reason::ALL.iter().filter(may).any(rules) {
                queues[place].push(queue);
            }
        }
    }
    queues.iter().map(|queues| Force::new(queues)).collect()
}

/// The policy that comes next for what these queues, a name or a glob, stand for.
pub fn next<'a>(book: &'a PolicyBook, queues: &str, reason: Option<Reason>) -> Option<&'a ActivePolicy> {
    let fits = |active: &&Arc<ActivePolicy>| {
        let policy = &active.policy;
        (policy.reason.is_none() || policy.reason == reason)
            && Globs::new(std::slice::from_ref(&policy.queues)).matches(queues)
    };
    book.all().iter().find(fits).map(|active| &**active)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::policy::{Delays, Policy, Via};

    fn policy(queues: &str, reason: Option<Reason>) -> Policy {
        Policy {
            queues: queues.to_owned(),
            reason,
            delays: Delays::Listed(Vec::new()),
            jitter: 0.0,
            via: Via::Database,
            keep_routing_key: false,
        }
    }

    #[test]
    fn each_queue_is_told_where_a_policy_rules_for_it() {
        let expired = Some(Reason::Expired);
        let policies = [policy("*", None), policy("a.*", None), policy("a.1", expired), policy("none", None)];
        let book = PolicyBook::new(&policies, Vec::new());
        let known = ["a.1", "a.2", "b"].map(str::to_owned);
        let told: Vec<_> = book.all().iter().zip(all(&book, &known)).collect();
        let of =
            |queues: &str| told.iter().find(|(active, _)| active.policy.queues == queues).unwrap().1.names.join(" ");
        assert_eq!(["*", "a.*", "a.1", "none"].map(of), ["b", "a.1 a.2", "a.1", ""]);
        assert_eq!(next(&book, "a.1", None).unwrap().policy.queues, "a.*", "only for one reason");
        assert_eq!(next(&book, "b.*", None).unwrap().policy.queues, "*");
    }
}
