//! Policies of automatic retries: how long a message waits before it goes back, how often, and for which queues.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use amqp_message::{death::Reason, glob::Globs, time::Timestamp, word_enum};

use super::{actor::Actor, derived_id::derived_id};

word_enum! {
    /// Where a message waits for its retry.
    #[derive(Default)]
    Via, "place to wait" {
        /// In the database, where it can be seen, hurried and stopped.
        #[default]
        Database = "database",
        /// In RabbitMQ, in a queue for each delay and target.
        Broker = "broker",
    }
}

/// The delays of the retries, one after the other. Their number is the limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Delays {
    /// As listed; none means that nothing is retried.
    Listed(Vec<Duration>),
    /// `initial`, then each `factor` times the one before and none longer than `max`, for `attempts` retries.
    Growing { initial: Duration, factor: f64, max: Duration, attempts: u32 },
}

impl Delays {
    /// More retries than this are no policy but a loop.
    pub const MAX_RETRIES: u32 = 100;
    /// A message that waits longer than this is forgotten by everybody who could judge it.
    pub const MAX_DELAY: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    /// What is said of one that is longer.
    pub const TOO_LONG: &str = "a delay is longer than 30 days";

    /// What is wrong with them, in words.
    pub fn check(&self) -> Result<(), String> {
        if self.retries() > Self::MAX_RETRIES as usize {
            return Err(format!("{} retries are too many; it takes up to {}", self.retries(), Self::MAX_RETRIES));
        }
        if let Self::Growing { factor, attempts, .. } = self {
            if !(1.0..=1_000.0).contains(factor) {
                return Err(format!("the factor {factor} is out of range; it takes 1 to 1000"));
            }
            if *attempts == 0 {
                return Err("0 attempts are no retries; for none, list no delays".to_owned());
            }
        }
        let longest = (1..).map_while(|failures| self.after(failures)).max().unwrap_or_default();
        if longest > Self::MAX_DELAY {
            return Err(Self::TOO_LONG.to_owned());
        }
        Ok(())
    }

    pub fn retries(&self) -> usize {
        match self {
            Self::Listed(delays) => delays.len(),
            Self::Growing { attempts, .. } => *attempts as usize,
        }
    }

    /// All of them together.
    pub fn span(&self) -> Duration {
        (1..).map_while(|failures| self.after(failures)).fold(Duration::ZERO, Duration::saturating_add)
    }

    /// How long to wait after the `failures`th failure, counted from 1; `None` when the retries are used up.
    pub fn after(&self, failures: u64) -> Option<Duration> {
        let retry = usize::try_from(failures).ok()?.checked_sub(1)?;
        match self {
            Self::Listed(delays) => delays.get(retry).copied(),
            Self::Growing { initial, factor, max, attempts } => {
                let retry = u32::try_from(retry).ok().filter(|retry| retry < attempts)?;
                let seconds = initial.as_secs_f64() * factor.powf(f64::from(retry));
                Some(Duration::try_from_secs_f64(seconds).unwrap_or(*max).min(*max))
            }
        }
    }
}

/// What to do with messages that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// A queue's name or a glob.
    pub queues: String,
    /// Only for messages dead-lettered for this reason.
    pub reason: Option<Reason>,
    pub delays: Delays,
    /// Share of a delay, 0 to 1, by which it is shortened or lengthened at random, so that what failed together does
    /// not come back together.
    pub jitter: f64,
    pub via: Via,
    /// The consumer sees the routing key of the first publish again, not the name of its queue.
    pub keep_routing_key: bool,
}

impl Policy {
    /// The glob of every queue.
    pub const EVERY_QUEUE: &str = "*";

    /// One that retries nothing, of no queue.
    pub const fn none() -> Self {
        let delays = Delays::Listed(Vec::new());
        Self { queues: String::new(), reason: None, delays, jitter: 0.0, via: Via::Database, keep_routing_key: false }
    }

    /// What is wrong with it, in words.
    pub fn check(&self) -> Result<(), String> {
        /// The longest name of a queue in AMQP, in bytes.
        const LONGEST: usize = 255;
        if self.queues.is_empty() || self.queues.len() > LONGEST || self.queues.contains('\0') {
            return Err("queues takes the name of a queue, or a glob like texts.*".to_owned());
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err(format!("jitter {} is out of range; it takes 0 to 1", self.jitter));
        }
        self.delays.check()
    }

    /// How long a message waits after its `failures`th failure; `None` when it needs attention. `random` is from 0
    /// to 1.
    pub fn delay(&self, failures: u64, random: f64) -> Option<Duration> {
        let delay = self.delays.after(failures)?;
        Some(delay.mul_f64((1.0 + self.jitter * (2.0 * random - 1.0)).max(0.0)))
    }

    /// All delays together, at their longest.
    pub fn span(&self) -> Duration {
        Duration::try_from_secs_f64(self.delays.span().as_secs_f64() * (1.0 + self.jitter)).unwrap_or(Duration::MAX)
    }

    /// What it is known by: follows from its queues and reason.
    pub fn id(&self) -> PolicyId {
        PolicyId::of(&("policy", &self.queues, self.reason))
    }

    /// The queue first: its very name before any glob, the longer glob before the shorter; then the reason.
    fn specificity(&self) -> (bool, usize, bool) {
        let literal = self.queues.chars().filter(|c| !matches!(c, '*' | '?')).count();
        (literal == self.queues.chars().count(), literal, self.reason.is_some())
    }
}

derived_id! {
    /// The id of a policy.
    PolicyId
}

/// Where a policy comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Configuration,
    /// Set in the pages or by the API.
    Person {
        by: Actor,
        at: Timestamp,
    },
}

impl Origin {
    pub const fn is_person(&self) -> bool {
        matches!(self, Self::Person { .. })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ActivePolicy {
    pub policy: Policy,
    pub origin: Origin,
}

/// All policies, the most specific first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyBook {
    policies: Vec<Arc<ActivePolicy>>,
    /// The globs of their queues.
    globs: Vec<Globs>,
}

impl PolicyBook {
    /// What a user has set replaces what the configuration says of the same queues and reason.
    pub fn new(configured: &[Policy], set: Vec<ActivePolicy>) -> Self {
        let configured = configured.iter().filter(|policy| {
            !set.iter().any(|other| other.policy.queues == policy.queues && other.policy.reason == policy.reason)
        });
        let configured =
            configured.map(|policy| ActivePolicy { policy: policy.clone(), origin: Origin::Configuration });
        let mut policies: Vec<ActivePolicy> = configured.chain(set.iter().cloned()).collect();
        policies.sort_by_cached_key(|active| (Reverse(active.policy.specificity()), active.policy.queues.clone()));
        let globs = policies.iter().map(|active| Globs::new(std::slice::from_ref(&active.policy.queues)));
        Self { globs: globs.collect(), policies: policies.into_iter().map(Arc::new).collect() }
    }

    pub fn all(&self) -> &[Arc<ActivePolicy>] {
        &self.policies
    }

    /// How long the retries of any message may take together, but for the time in the queue.
    pub fn longest_span(&self) -> Duration {
        self.policies.iter().map(|active| active.policy.span()).max().unwrap_or_default()
    }

    /// The policy in force for what was dead-lettered for `reason` in `queue`.
    pub fn find(&self, queue: &str, reason: Reason) -> Option<&Arc<ActivePolicy>> {
        let applies = |(active, glob): &(&Arc<ActivePolicy>, &Globs)| {
            active.policy.reason.is_none_or(|only| only == reason) && glob.matches(queue)
        };
        self.policies.iter().zip(&self.globs).find(applies).map(|(active, _)| active)
    }
}

/// What the policy in force rules for one message, however often it will turn out to have failed.
#[derive(Clone, Debug)]
pub struct Decision {
    /// `None`: nothing is retried, as nobody knows where it failed.
    policy: Option<Arc<ActivePolicy>>,
    /// From 0 to 1, for the jitter.
    random: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes back by itself.
    Retry { delay: Duration },
    /// It needs attention.
    Exhausted,
}

impl Decision {
    /// `random` is from 0 to 1. In RabbitMQ each delay is a queue of its own, so there it has five steps only.
    pub fn new(policy: Option<Arc<ActivePolicy>>, random: f64) -> Self {
        let decision = Self { policy, random };
        let random = if decision.via() == Via::Broker { (random * 4.0).round() / 4.0 } else { random };
        Self { random, ..decision }
    }

    /// How often its policy sends a message back.
    pub fn retries(&self) -> usize {
        self.policy.as_ref().map_or(0, |active| active.policy.delays.retries())
    }

    /// How long all its retries take together, but for the time in the queue.
    pub fn span(&self) -> Duration {
        self.policy.as_ref().map_or(Duration::ZERO, |active| active.policy.span())
    }

    /// Where messages of this policy wait.
    pub fn via(&self) -> Via {
        self.policy.as_ref().map_or(Via::Database, |active| active.policy.via)
    }

    pub fn keeps_routing_key(&self) -> bool {
        self.policy.as_ref().is_some_and(|active| active.policy.keep_routing_key)
    }

    /// After its `failures`th failure, counted from 1.
    pub fn verdict(&self, failures: u64) -> Verdict {
        let policy = self.policy.as_ref().map(|active| &active.policy);
        let delay = policy.and_then(|policy| policy.delay(failures, self.random));
        delay.map_or(Verdict::Exhausted, |delay| Verdict::Retry { delay })
    }
}

/// The outcome of the messages of one queue that had failed that often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryCounts {
    pub broker: String,
    /// `None` where nothing says which.
    pub queue: Option<String>,
    pub failures: u64,
    /// Messages that failed for the `failures`th time.
    pub failed: u64,
    /// Of them, those that went back to the queue by themselves,
    pub retried: u64,
    /// and those that needed attention: their retries were used up, or there were none.
    pub exhausted: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn policy(queues: &str, reason: Option<Reason>) -> Policy {
        Policy {
            queues: queues.to_owned(),
            reason,
            delays: Delays::Listed(vec![seconds(10)]),
            jitter: 0.0,
            via: Via::Database,
            keep_routing_key: false,
        }
    }

    fn growing(initial: u64, factor: f64, max: u64, attempts: u32) -> Delays {
        Delays::Growing { initial: seconds(initial), factor, max: seconds(max), attempts }
    }

    #[test]
    fn listed_delays_end_with_the_list() {
        let delays = Delays::Listed([10, 100].map(seconds).to_vec());
        assert_eq!(
            [0, 1, 2, 3, u64::MAX].map(|n| delays.after(n)),
            [None, Some(seconds(10)), Some(seconds(100)), None, None]
        );
        assert_eq!(Delays::Listed(Vec::new()).after(1), None);
    }

    #[test]
    fn growing_delays_grow_to_their_limit() {
        let delays = growing(1, 3.0, 20, 5);
        let found: Vec<_> = (1..=6).map(|n| delays.after(n).map(|delay| delay.as_secs())).collect();
        assert_eq!(found, [Some(1), Some(3), Some(9), Some(20), Some(20), None]);
        assert_eq!(growing(3600, 1_000.0, 7200, 100).after(100), Some(seconds(7200)));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        fn check(delays: Delays, part: &str) {
            assert!(delays.check().unwrap_err().contains(part), "{delays:?}");
        }
        check(growing(1, 0.5, 20, 5), "factor");
        check(growing(1, f64::NAN, 20, 5), "factor");
        check(growing(1, 2.0, 20, 0), "attempts");
        check(growing(1, 2.0, 20, 101), "too many");
        check(Delays::Listed(vec![seconds(1); 101]), "too many");
        check(Delays::Listed(vec![Duration::MAX]), "30 days");
        assert_eq!(Delays::Listed(Vec::new()).check(), Ok(()));
        assert!(Policy { jitter: 1.5, ..policy("*", None) }.check().unwrap_err().contains("jitter"));
        assert!(policy("", None).check().unwrap_err().contains("glob"));
    }

    #[test]
    fn jitter_goes_both_ways() {
        let policy = Policy { jitter: 0.5, ..policy("*", None) };
        assert_eq!([0.0, 0.5, 1.0].map(|random| policy.delay(1, random)), [5, 10, 15].map(|s| Some(seconds(s))));
        assert_eq!(policy.delay(2, 0.5), None);
    }

    #[test]
    fn the_most_specific_wins() {
        let expired = Some(Reason::Expired);
        let configured = [
            policy("*", None),
            policy("*", expired),
            policy("texts.*", None),
            policy("texts.eu.*", None),
            policy("texts.eu.a", None),
            policy("texts.eu.a", expired),
        ];
        let book = PolicyBook::new(&configured, Vec::new());
        let find = |queue, reason| book.find(queue, reason).map(|found| (&*found.policy.queues, found.policy.reason));
        assert_eq!(find("orders", Reason::Rejected), Some(("*", None)));
        assert_eq!(find("orders", Reason::Expired), Some(("*", expired)));
        assert_eq!(find("texts.us", Reason::Expired), Some(("texts.*", None)));
        assert_eq!(find("texts.eu.b", Reason::Rejected), Some(("texts.eu.*", None)));
        assert_eq!(find("texts.eu.a", Reason::Rejected), Some(("texts.eu.a", None)));
        assert_eq!(find("texts.eu.a", Reason::Expired), Some(("texts.eu.a", expired)));
    }

    #[test]
    fn a_person_goes_before_the_configuration() {
        let origin = Origin::Person { by: Actor::local(), at: Timestamp::default() };
        let set = ActivePolicy { policy: Policy { jitter: 1.0, ..policy("*", None) }, origin: origin.clone() };
        let book = PolicyBook::new(&[policy("*", None), policy("a", None)], vec![set]);
        assert_eq!(book.find("b", Reason::Rejected).map(|found| &found.origin), Some(&origin));
        assert_eq!(book.find("a", Reason::Rejected).map(|found| &found.origin), Some(&Origin::Configuration));
        assert_eq!(book.all().len(), 2);
    }
}
