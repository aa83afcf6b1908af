//! What is known before many letters are retried, and what that suggests.

use super::{
    number::{plural, thousands},
    queue_level::{QueueLevel, Trouble},
};

/// So many retries say something about the next ones.
const TELLING: u64 = 5;
/// So many letters are tried on a few first.
const MANY: u64 = 500;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preflight {
    /// Letters that are meant.
    pub total: u64,
    /// Those that will be refused, and why: a clause.
    pub refused: Vec<(String, u64)>,
    /// Why nothing is sent to the queue that was named for all of them: a clause.
    pub wrong_queue: Option<String>,
    /// Where they go, the most first.
    pub queues: Vec<TargetQueue>,
    /// Of their groups: of so many retries the outcome is known, and so many of those failed again.
    pub ended: u64,
    pub failed_again: u64,
}

/// A queue that letters go to.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetQueue {
    pub broker: String,
    pub name: String,
    pub letters: u64,
    /// How it stands, where its broker is watched.
    pub level: Option<QueueLevel>,
    /// Its broker says which queues there are, and this is none.
    pub is_missing: bool,
    /// Retries into it are paused.
    pub is_paused: bool,
}

/// What is best done with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    AtOnce,
    Canary,
    /// Nothing yet.
    Wait,
    Discard,
}

impl Way {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AtOnce => "all",
            Self::Canary => "canary",
            Self::Wait => "wait",
            Self::Discard => "discard",
        }
    }
}

/// With its reason: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    pub way: Way,
    pub why: String,
}

impl TargetQueue {
    /// Why what is sent there now is not processed: a sentence.
    pub fn trouble(&self) -> Option<String> {
        if self.is_paused {
            return Some(format!("Retries into {} are paused: they wait until it is resumed.", self.name));
        }
        if self.is_missing {
            return Some(format!(
                "There is no queue {}: what is retried becomes an open dead letter again.",
                self.name
            ));
        }
        let level = self.level.as_ref()?;
        if level.known_consumers() == Some(0) {
            let limit = level.troubles().iter().find_map(|trouble| match trouble {
                Trouble::Full { limit } => Some(plural(*limit, "message")),
                _ => None,
            });
            return Some(match limit {
                Some(limit) => {
                    format!("{} has no consumers and is full, with {limit}: what is retried finds no room.", self.name)
                }
                None => format!("{} has no consumers: what is retried waits there.", self.name),
            });
        }
        let told = |trouble: &Trouble| format!("{}: {trouble}", self.name);
        let trouble = level.troubles().iter().find(|trouble| !matches!(trouble, Trouble::NoConsumers { .. })).map(told);
        trouble.or_else(|| {
            let by = plural(level.grows_by?, "message");
            Some(format!("{} grows by {by} a second: its consumers do not keep up with what comes already.", self.name))
        })
    }
}

impl Preflight {
    pub fn n_refused(&self) -> u64 {
        self.refused.iter().map(|(_, letters)| letters).sum::<u64>().min(self.total)
    }

    pub fn advice(&self) -> Advice {
        let advice = |way, why| Advice { way, why };
        if let Some(why) = &self.wrong_queue {
            return advice(Way::Wait, format!("Name another queue: {why}."));
        }
        if self.total > 0 && self.n_refused() == self.total {
            return advice(Way::Discard, "None of them can be retried.".to_owned());
        }
        if let Some(trouble) = self.queues.iter().find_map(TargetQueue::trouble) {
            return advice(Way::Wait, trouble);
        }
        let (ended, failed) = (self.ended, self.failed_again.min(self.ended));
        if ended >= TELLING && failed * 2 > ended {
            let (ended, failed) = (thousands(ended), thousands(failed));
            let why = format!(
                "Of {ended} earlier retries {failed} failed again. If the cause is still there, all of them fail again."
            );
            return advice(Way::Canary, why);
        }
        if self.total > MANY {
            return advice(Way::Canary, "They are many: a few first show whether the cause is gone.".to_owned());
        }
        advice(Way::AtOnce, String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(consumers: Option<u64>, ready: u64, max_length: Option<u64>) -> TargetQueue {
        let level = QueueLevel { consumers, messages_ready: Some(ready), max_length, ..QueueLevel::default() };
        TargetQueue {
            broker: "main".to_owned(),
            name: "orders".to_owned(),
            letters: 9,
            level: Some(level),
            is_missing: false,
            is_paused: false,
        }
    }

    #[test]
    fn it_suggests_the_safest_way_and_says_why() {
        let check = |preflight: Preflight, way, part: &str| {
            let advice = preflight.advice();
            assert_eq!(advice.way, way, "{advice:?}");
            assert!(advice.why.contains(part), "{advice:?}");
        };
        let few = Preflight { total: 9, queues: vec![queue(Some(2), 0, None)], ..Preflight::default() };
        check(few.clone(), Way::AtOnce, "");
        check(Preflight { total: 501, ..few.clone() }, Way::Canary, "many");
        let full = queue(Some(0), 1, Some(1));
        check(
            Preflight { queues: vec![full], ..few.clone() },
            Way::Wait,
            "is full, with 1 message: what is retried finds no room",
        );
        check(
            Preflight { ended: 10, failed_again: 6, ..few.clone() },
            Way::Canary,
            "Of 10 earlier retries 6 failed again",
        );
        check(Preflight { ended: 10, failed_again: 5, ..few.clone() }, Way::AtOnce, "");
        check(Preflight { ended: 4, failed_again: 4, ..few.clone() }, Way::AtOnce, "");
        check(Preflight { queues: vec![queue(Some(0), 0, None)], ..few.clone() }, Way::Wait, "orders has no consumers");
        check(Preflight { queues: vec![queue(Some(1), 10, Some(10))], ..few.clone() }, Way::Wait, "Full");
        let mut growing = queue(Some(1), 500, None);
        growing.level.as_mut().unwrap().grows_by = Some(3);
        check(Preflight { queues: vec![growing], ..few.clone() }, Way::Wait, "orders grows by 3 messages a second");
        let unknown = TargetQueue { level: None, ..queue(None, 0, None) };
        check(Preflight { queues: vec![unknown.clone()], ..few.clone() }, Way::AtOnce, "");
        let missing = TargetQueue { is_missing: true, ..unknown };
        check(Preflight { queues: vec![missing], ..few.clone() }, Way::Wait, "There is no queue orders");
        check(
            Preflight { queues: vec![TargetQueue { is_paused: true, ..queue(Some(1), 0, None) }], ..few.clone() },
            Way::Wait,
            "Retries into orders are paused",
        );
        let refused = vec![("it is no use".to_owned(), 9)];
        check(Preflight { refused, ..few }, Way::Discard, "None of them");
    }
}
