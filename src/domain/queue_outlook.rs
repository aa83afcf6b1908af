//! What is known of one queue, put in a few words: what is the matter, what dlo does next, and what may help.

use std::{fmt, time::Duration};

use super::{
    number::{plural, span, thousands},
    queue_level::{QueueLevel, Trouble},
    queue_pause::QueuePause,
};

/// So many retries say something about the next ones.
const TELLING: u64 = 5;

/// What there is to judge by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueFacts {
    pub vhost: String,
    /// Retries into it are paused.
    pub pause: Option<QueuePause>,
    /// How it stands; `None` where its broker is not asked, or does not list it.
    pub level: Option<QueueLevel>,
    /// Its broker has just answered, and does not list it.
    pub is_missing: bool,
    pub open: u64,
    pub scheduled: u64,
    /// How long until the first of them is due; zero where that is over.
    pub next_due_in: Option<Duration>,
    /// Some policy retries what fails there.
    pub is_retried: bool,
    /// Some policy has it wait in RabbitMQ.
    pub waits_in_broker: bool,
    /// Messages that came to need attention lately, and how long that is.
    pub lately: (u64, Duration),
    /// Retries of which it is known what came of them, and those that succeeded.
    pub known: u64,
    pub succeeded: u64,
}

/// What one should see at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Badge {
    /// Nothing is retried into it, until somebody says so or, where that is true, until it has a consumer.
    Paused(bool),
    /// Its broker does not list it.
    Missing,
    NotRunning,
    NoConsumers,
    Full,
    /// So many messages a minute come to need attention.
    Growing(u64),
    /// So much of what was retried succeeded.
    Succeed(u64),
}

impl Badge {
    /// What a script tells them by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paused(_) => "paused",
            Self::Missing => "missing",
            Self::NotRunning => "not_running",
            Self::NoConsumers => "no_consumers",
            Self::Full => "full",
            Self::Growing(_) => "growing",
            Self::Succeed(_) => "failing",
        }
    }

    /// Nothing gets better by itself.
    pub const fn is_alarm(self) -> bool {
        !matches!(self, Self::Paused(_) | Self::Growing(_) | Self::Succeed(1..))
    }
}

impl fmt::Display for Badge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused(false) => f.write_str("paused"),
            Self::Paused(true) => f.write_str("paused until it has a consumer"),
            Self::Missing => f.write_str("not found"),
            Self::NotRunning => f.write_str("not running"),
            Self::NoConsumers => f.write_str("no consumers"),
            Self::Full => f.write_str("full"),
            Self::Growing(rate) => write!(f, "growing {}/min", thousands(*rate)),
            Self::Succeed(percent) => write!(f, "{percent} % succeed"),
        }
    }
}

/// What may help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// In sentences.
    pub why: String,
    /// A command, word by word; none where there is nothing to type.
    pub command: Vec<String>,
}

impl QueueFacts {
    pub fn badges(&self) -> Vec<Badge> {
        let mut badges = Vec::new();
        if self.is_missing {
            badges.push(Badge::Missing);
        }
        badges.extend(self.troubles().iter().map(|trouble| match trouble {
            Trouble::NotRunning(_) => Badge::NotRunning,
            Trouble::NoConsumers { .. } => Badge::NoConsumers,
            Trouble::Full { .. } => Badge::Full,
        }));
        if self.lacks_consumers() && !badges.contains(&Badge::NoConsumers) {
            badges.push(Badge::NoConsumers);
        }
        badges.extend(self.growth().map(Badge::Growing));
        badges.extend(self.pause.as_ref().map(|pause| Badge::Paused(pause.until_consumers)));
        badges.extend(self.percent().filter(|percent| *percent < 50).map(Badge::Succeed));
        badges
    }

    /// What dlo does next and why, in sentences; the first is the gist.
    pub fn next(&self) -> Vec<String> {
        let mut next = vec![self.gist()];
        if self.waits_in_broker {
            next.push("What waits in RabbitMQ is not among the scheduled retries, and cannot be stopped.".to_owned());
        }
        if self.is_missing {
            next.push("A retry that finds no such queue becomes an open dead letter again.".to_owned());
        } else if self.pause.is_none() && self.lacks_consumers() && (self.scheduled > 0 || self.is_retried) {
            next.push("What is retried now waits in the queue until it has a consumer.".to_owned());
        }
        if self.open > 0 {
            let need = if self.open == 1 { "needs" } else { "need" };
            let letters = plural(self.open, "dead letter");
            next.push(format!("{letters} {need} attention: dlo does nothing with them by itself."));
        }
        next
    }

    fn gist(&self) -> String {
        let retries = if self.scheduled == 1 {
            "1 scheduled retry".to_owned()
        } else {
            format!("{} scheduled retries", thousands(self.scheduled))
        };
        if let Some(pause) = &self.pause {
            let until = if pause.until_consumers { "it has a consumer" } else { "somebody resumes it" };
            let goes_out = "What is due then goes out at the usual pace, oldest first";
            return format!("Nothing is retried into this queue until {until}: {retries}. {goes_out}.");
        }
        match self.next_due_in {
            Some(Duration::ZERO) => format!("{retries}: what is due goes out as soon as RabbitMQ takes it."),
            Some(wait) => format!("{retries}: the first goes out in {}.", span(wait)),
            None if self.is_retried => {
                "Nothing is scheduled. What fails next is retried by the policy of its reason.".to_owned()
            }
            None => {
                "Nothing is scheduled. What fails next needs attention at once: it has no automatic retry.".to_owned()
            }
        }
    }

    /// The most pressing only.
    pub fn suggestion(&self) -> Option<Suggestion> {
        let vhost = format!("--vhost={}", self.vhost);
        let suggest = |why: &str, command: &[&str]| {
            let command = command.iter().map(|word| (*word).to_owned()).collect();
            Some(Suggestion { why: why.to_owned(), command })
        };
        let list = ["rabbitmqctl", &vhost, "list_queues", "name", "state", "messages", "consumers"];
        match self.badges().iter().find(|badge| !matches!(badge, Badge::Paused(_)))? {
            Badge::Paused(_) => None,
            Badge::Missing => suggest(
                "See whether it has another name now, and retry into that one. One that is exclusive or goes with its last \
                 consumer is not listed here.",
                &list,
            ),
            Badge::NotRunning => suggest("See which of its nodes are down, and start them.", &list),
            Badge::NoConsumers => suggest(
                "Start its consumers. This says which ones RabbitMQ has.",
                &["rabbitmqctl", &vhost, "list_consumers", "queue_name", "channel_pid", "consumer_tag"],
            ),
            Badge::Full => suggest(
                "Start more consumers, or raise its limit. This says where the limit comes from.",
                &["rabbitmqctl", &vhost, "list_queues", "name", "messages", "policy", "arguments"],
            ),
            Badge::Growing(_) | Badge::Succeed(_) => {
                suggest("See why they fail. Once the cause is gone, retry a few of them first.", &[])
            }
        }
    }

    fn troubles(&self) -> Vec<Trouble> {
        self.level.as_ref().map(QueueLevel::troubles).unwrap_or_default()
    }

    fn lacks_consumers(&self) -> bool {
        self.level.as_ref().is_some_and(|level| level.known_consumers() == Some(0))
    }

    /// Messages a minute; less than one is none.
    fn growth(&self) -> Option<u64> {
        let (messages, length) = self.lately;
        let minutes = (length.as_secs() / 60).max(1);
        Some(messages / minutes).filter(|rate| *rate > 0)
    }

    /// How much of what was retried succeeded.
    pub fn percent(&self) -> Option<u64> {
        (self.known >= TELLING).then(|| self.succeeded.min(self.known).saturating_mul(100) / self.known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::queue_level::QueueState;

    fn facts() -> QueueFacts {
        QueueFacts { vhost: "/".to_owned(), is_retried: true, ..QueueFacts::default() }
    }

    fn level(consumers: u64, ready: u64) -> Option<QueueLevel> {
        let level = QueueLevel { consumers: Some(consumers), messages_ready: Some(ready), ..QueueLevel::default() };
        Some(QueueLevel { max_length: Some(10), ..level })
    }

    fn badges(facts: &QueueFacts) -> String {
        facts.badges().iter().map(Badge::to_string).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_one_should_see_at_once() {
        let check = |facts: QueueFacts, expected| assert_eq!(badges(&facts), expected, "{facts:?}");
        let minutes = |n: u64| Duration::from_secs(60 * n);
        check(facts(), "");
        check(QueueFacts { level: level(1, 3), ..facts() }, "");
        check(QueueFacts { level: level(0, 0), ..facts() }, "no consumers");
        check(QueueFacts { level: level(0, 10), ..facts() }, "no consumers, full");
        check(QueueFacts { lately: (599, minutes(15)), ..facts() }, "growing 39/min");
        check(QueueFacts { lately: (14, minutes(15)), ..facts() }, "");
        check(QueueFacts { known: 5, ..facts() }, "0 % succeed");
        check(QueueFacts { known: 4, ..facts() }, "");
        check(QueueFacts { known: 10, succeeded: 5, ..facts() }, "");
        check(QueueFacts { is_missing: true, ..facts() }, "not found");
        let down = level(0, 10).map(|level| QueueLevel { state: Some(QueueState::Down), ..level });
        check(QueueFacts { level: down, ..facts() }, "not running");
    }

    #[test]
    fn what_happens_next_and_why() {
        let check = |facts: QueueFacts, expected: &[&str]| {
            let next = facts.next();
            assert_eq!(next.len(), expected.len(), "{next:?}");
            assert!(next.iter().zip(expected).all(|(said, part)| said.contains(part)), "{next:?}");
        };
        check(facts(), &["What fails next is retried by the policy"]);
        check(QueueFacts { is_retried: false, open: 1, ..facts() }, &["at once", "1 dead letter needs attention"]);
        let due = QueueFacts { scheduled: 1_412, next_due_in: Some(Duration::from_secs(90)), ..facts() };
        check(due.clone(), &["1,412 scheduled retries: the first goes out in 1 min"]);
        check(QueueFacts { level: level(0, 0), ..due.clone() }, &["1,412", "until it has a consumer"]);
        check(QueueFacts { is_missing: true, ..due.clone() }, &["1,412", "finds no such queue"]);
        check(QueueFacts { waits_in_broker: true, ..due }, &["1,412", "What waits in RabbitMQ"]);
    }

    #[test]
    fn the_most_pressing_is_what_it_suggests() {
        let suggestion = QueueFacts { level: level(0, 10), lately: (9_000, Duration::from_secs(60)), ..facts() };
        let suggestion = suggestion.suggestion().unwrap();
        assert_eq!(suggestion.command[..3], ["rabbitmqctl", "--vhost=/", "list_consumers"]);
        let failing = QueueFacts { known: 9, ..facts() }.suggestion().unwrap();
        assert!(failing.command.is_empty() && failing.why.contains("See why they fail"), "{failing:?}");
        assert_eq!(facts().suggestion(), None);
    }
}
