//! What the watch has found, in words.

use amqp_message::time::Timestamp;

use super::{
    number, text,
    time::{Moment, span},
};
use crate::{
    domain::{
        broker::BrokerHealth,
        queue_level::{QueueLevel, Trouble},
        watch::{Concern, DocsPage, Watched},
    },
    store::{WatchedBroker, WatchedQueue},
    web::query::queue_path,
};

/// Something that needs a hand.
#[derive(Debug)]
pub struct ConcernLine {
    pub broker: String,
    /// The queue it is about, where it is about one, and its page.
    pub queue: Option<(String, String)>,
    pub title: String,
    pub sentence: String,
    /// Where it is described: the title of a page of the docs, and its address.
    pub docs: Option<(&'static str, String)>,
}

impl ConcernLine {
    pub fn new(broker: &str, concern: &Concern, now: Timestamp) -> Self {
        Self {
            broker: text::one_line(broker),
            queue: concern.queue().map(|queue| queue_link(broker, queue)),
            title: text::one_line(&concern.title()),
            sentence: text::one_line(&concern.sentence(now)),
            docs: None,
        }
    }

    pub fn of_queue(broker: &str, queue: &str, sentence: &str) -> Self {
        Self {
            broker: text::one_line(broker),
            queue: Some(queue_link(broker, queue)),
            title: String::new(),
            sentence: text::one_line(sentence),
            docs: None,
        }
    }
}

impl ConcernLine {
    /// With where it is described.
    pub fn with_docs(self, page: Option<DocsPage>) -> Self {
        Self { docs: page.map(|page| (page.title, page.path())), ..self }
    }

    /// Of several queues at once.
    pub fn of_many(broker: &str, sentence: &str) -> Self {
        Self {
            broker: text::one_line(broker),
            queue: None,
            title: "No dead-letter exchange".to_owned(),
            sentence: text::one_line(sentence),
            docs: None,
        }
    }
}

/// A queue's name, and its page.
fn queue_link(broker: &str, queue: &str) -> (String, String) {
    (text::one_line(queue), queue_path::href(broker, queue))
}

/// How a queue stands.
#[derive(Debug, PartialEq, Eq)]
pub struct LevelCells {
    /// Messages in it; empty where that is not told.
    pub depth: String,
    /// `12 unacked`, `full`; empty where neither is so.
    pub remarks: String,
    pub consumers: ConsumersCell,
}

/// How many consumers it has.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ConsumersCell {
    /// `3`, `none for 22 min, had 3`; empty where it is not told.
    pub words: String,
    /// `alarm` where it is a concern, `warn` where it may become one.
    pub class: &'static str,
}

impl LevelCells {
    pub fn new(queue: &WatchedQueue, now: Timestamp) -> Self {
        let level = &queue.level;
        let unacknowledged = level.messages_unacknowledged.filter(|n| *n > 0);
        let unacknowledged = unacknowledged.map(|n| format!("{} unacked", number::thousands(n)));
        let is_full = level.troubles().iter().any(|trouble| matches!(trouble, Trouble::Full { .. }));
        let remarks: Vec<_> = unacknowledged.into_iter().chain(is_full.then(|| "full".to_owned())).collect();
        Self {
            depth: level.messages.map(number::thousands).unwrap_or_default(),
            remarks: remarks.join(", "),
            consumers: ConsumersCell::new(level, queue.watched.as_ref(), now),
        }
    }
}

impl ConsumersCell {
    fn new(level: &QueueLevel, watched: Option<&Watched>, now: Timestamp) -> Self {
        if let Some(state) = level.state.filter(|state| !state.is_up()) {
            return Self { words: format!("it is {state}"), class: "warn" };
        }
        let class = if watched.is_some_and(|watched| watched.told) { "alarm" } else { "warn" };
        match (level.consumers, watched) {
            (None, _) => Self::default(),
            (Some(0), Some(watched)) => Self { words: without(watched, now), class },
            (Some(n), Some(watched)) if watched.told || watched.interrupted => {
                Self { words: format!("{}, which come and go", number::thousands(n)), class }
            }
            (Some(0), None) if level.known_messages() > Some(0) => Self { words: "none".to_owned(), class },
            (Some(n), _) => Self { words: number::thousands(n), class: "" },
        }
    }
}

/// `none for 22 min, had 3`
fn without(watched: &Watched, now: Timestamp) -> String {
    let had = number::thousands(watched.had);
    let Some(since) = watched.without_since else { return format!("none, had {had}") };
    let long = span(now.since(since));
    if watched.interrupted {
        return format!("none for most of {long}, had {had} that come and go");
    }
    format!("none for {long}, had {had}")
}

/// How far the queues of a broker are known.
#[derive(Debug)]
pub struct WatchLine {
    pub broker: String,
    /// Its name in the configuration, as TOML writes it.
    pub key: String,
    pub is_set_up: bool,
    /// When it last answered.
    pub looked_at: Option<Moment>,
    /// Why it does not answer, or does not say everything.
    pub problem: String,
}

impl WatchLine {
    pub fn new(broker: &BrokerHealth, is_set_up: bool, watched: &[WatchedBroker], now: Timestamp) -> Self {
        let found = watched.iter().find(|one| one.name == broker.name).filter(|_| is_set_up);
        Self {
            broker: text::one_line(&broker.name),
            key: toml_key(&broker.name),
            is_set_up,
            looked_at: found.and_then(|found| found.looked_at).map(|at| Moment::new(at, now)),
            problem: found.and_then(|found| found.problem.as_deref()).map(text::one_line).unwrap_or_default(),
        }
    }
}

/// A key as it stands in a file: bare where that is possible (<https://toml.io/en/v1.0.0#keys>).
fn toml_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name = text::one_line(name);
    if !name.is_empty() && name.chars().all(is_bare) { name } else { format!("{name:?}") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::queue_level::QueueState;

    const NOON: Timestamp = Timestamp::from_micros(1_795_262_400_000_000);

    fn check(consumers: Option<u64>, watched: Option<Watched>, expected: (&str, &str)) {
        let level = QueueLevel { consumers, ..QueueLevel::default() };
        let cell = ConsumersCell::new(&level, watched.as_ref(), NOON);
        assert_eq!((&*cell.words, cell.class), expected);
    }

    fn without_for(minutes: u64) -> Watched {
        let since = NOON.minus(Duration::from_secs(60 * minutes));
        Watched { consumers: Some(0), had: 3, without_since: Some(since), ..Watched::default() }
    }

    #[test]
    fn consumers_in_words() {
        check(None, None, ("", ""));
        check(Some(0), None, ("0", ""));
        check(Some(1_234), None, ("1,234", ""));
        check(Some(2), Some(Watched { had: 2, ..Watched::default() }), ("2", ""));
        check(Some(0), Some(without_for(5)), ("none for 5 min, had 3", "warn"));
        check(Some(0), Some(Watched { told: true, ..without_for(22) }), ("none for 22 min, had 3", "alarm"));
        let flapping = Watched { interrupted: true, ..without_for(90) };
        check(Some(0), Some(flapping.clone()), ("none for most of 1 h, had 3 that come and go", "warn"));
        check(Some(1), Some(flapping), ("1, which come and go", "warn"));
    }

    #[test]
    fn what_a_queue_that_is_down_had_is_not_shown() {
        let level = QueueLevel { consumers: Some(3), state: Some(QueueState::Down), ..QueueLevel::default() };
        assert_eq!(ConsumersCell::new(&level, None, NOON).words, "it is down");
    }

    #[test]
    fn names_are_written_as_toml_takes_them() {
        let check = |name, expected: &str| assert_eq!(toml_key(name), expected);
        check("main-2", "main-2");
        check("a.b", "\"a.b\"");
        check("", "\"\"");
    }
}
