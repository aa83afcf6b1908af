//! Which setting of a service is likely missing, as far as a look at its queue says: why what fails there does not come
//! to dlo.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Settings, paths::leads_here};
use crate::domain::{
    number::plural,
    queue_level::{DeadLetterRoute, QueueLevel},
};

/// Messages a second from which on a queue is looked at closer.
const BUSY: f64 = 1.0;
/// Times more are delivered again than are acknowledged.
const OFTEN: f64 = 3.0;
/// Queues that are named one by one.
const NAMED: usize = 5;
/// Hints that are kept.
const MOST: usize = 200;

/// A setting that is likely missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingHint {
    pub queue: String,
    pub kind: HintKind,
    /// The policy of RabbitMQ that rules the queue which is to be changed. A queue obeys one at a time, so that another
    /// would take its place.
    #[serde(default)]
    pub policy: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HintKind {
    /// Its consumer requeues what it cannot process, so many a second.
    Requeues { a_second: u64 },
    /// What is rejected there is dropped.
    NoDeadLetterExchange,
    /// It is one of the queues of dlo, and what waits there is dropped beyond so many messages or milliseconds.
    DropsOurs { max_length: Option<u64>, message_ttl: Option<u64> },
    /// What is rejected there goes elsewhere.
    LeadsElsewhere { exchange: String, routing_key: Option<String>, by_argument: bool },
}

/// A page of the documentation, which the program carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocsPage {
    pub title: &'static str,
    /// In the folder `docs`.
    pub file: &'static str,
}

impl DocsPage {
    pub const FRAMEWORKS: Self = Self { title: "The setting of each framework", file: "frameworks/README.md" };
    pub const DRAMATIQ: Self = Self { title: "Dramatiq", file: "frameworks/dramatiq.md" };
    pub const HAND_OVER: Self = Self { title: "Handing over a failed message", file: "frameworks/hand-over.md" };
    pub const SYMFONY: Self = Self { title: "Symfony Messenger", file: "frameworks/symfony-messenger.md" };
    /// All that something leads to.
    pub const ALL: &[Self] = &[Self::FRAMEWORKS, Self::DRAMATIQ, Self::HAND_OVER, Self::SYMFONY];

    /// Its path on the server.
    pub fn path(self) -> String {
        format!("/docs/{}", self.file)
    }
}

/// What a look at `queues` says. `feeds` are the exchanges that lead to dlo, where that is known; `requeuing` those queues
/// of which the look before said so, which it then says of those of this one.
pub fn hints(
    settings: &Settings,
    queues: &[QueueLevel],
    feeds: Option<&BTreeSet<String>>,
    requeuing: &mut BTreeSet<String>,
) -> Vec<SettingHint> {
    let by_name: BTreeMap<&str, &QueueLevel> = queues.iter().map(|level| (&*level.name, level)).collect();
    let mut now = BTreeSet::new();
    let ours = queues.iter().filter(|level| settings.is_taken_in(&level.name));
    let mut found: Vec<SettingHint> = ours.filter_map(drops_ours).collect();
    for level in queues.iter().filter(|level| settings.watches(level) && level.known_consumers() > Some(0)) {
        let mut hint = |kind, changed: Option<&QueueLevel>| {
            let policy = changed.and_then(|level| level.policy.clone());
            found.push(SettingHint { queue: level.name.clone(), kind, policy });
        };
        if let Some(a_second) = requeued(level) {
            now.insert(level.name.clone());
            // At one look it may be a service that is restarted.
            if requeuing.contains(&level.name) {
                hint(HintKind::Requeues { a_second }, Some(level));
            }
        }
        let DeadLetterRoute { exchange, routing_key, by_argument } = level.dead_letters.clone();
        match exchange {
            None => hint(HintKind::NoDeadLetterExchange, Some(level)),
            Some(exchange) if feeds.is_some_and(|feeds| !leads_here(settings, level, &by_name, feeds)) => {
                let changed = match routing_key.as_deref().filter(|_| exchange.is_empty()) {
                    Some(passes_on) => by_name.get(passes_on).copied(),
                    None => Some(level),
                };
                hint(HintKind::LeadsElsewhere { exchange, routing_key, by_argument }, changed);
            }
            Some(_) => {}
        }
    }
    *requeuing = now;
    // What loses dead letters comes first, and then what keeps a consumer busy for nothing.
    found.sort_by_key(|hint| match hint.kind {
        HintKind::DropsOurs { .. } => 0,
        HintKind::Requeues { .. } => 1,
        _ => 2,
    });
    found.truncate(MOST);
    found
}

fn drops_ours(level: &QueueLevel) -> Option<SettingHint> {
    let QueueLevel { max_length, message_ttl, .. } = *level;
    let kind = HintKind::DropsOurs { max_length, message_ttl };
    let hint = || SettingHint { queue: level.name.clone(), kind, policy: level.policy.clone() };
    (max_length.is_some() || message_ttl.is_some()).then(hint)
}

fn requeued(level: &QueueLevel) -> Option<u64> {
    let again = level.redeliver_rate.filter(|rate| *rate >= BUSY)?;
    let done = level.acknowledge_rate.unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 1 at least, and a rate")]
    (again > OFTEN * done).then_some(again as u64)
}

impl SettingHint {
    /// The problem and what mends it, in sentences.
    pub fn sentence(&self, settings: &Settings) -> String {
        match &self.kind {
            HintKind::Requeues { a_second } => format!(
                "Its messages are requeued again and again, {a_second} a second: what its consumer cannot process never \
                 comes to dlo. Have it reject without requeueing, or set a delivery-limit on a quorum queue."
            ),
            HintKind::NoDeadLetterExchange => {
                format!("It has no dead-letter exchange, so what its consumer rejects is lost. {}", self.mend(settings))
            }
            HintKind::DropsOurs { max_length, message_ttl } => {
                let limits = [(max_length, "messages"), (message_ttl, "ms")]
                    .map(|(limit, unit)| limit.map(|n| format!("{n} {unit}")));
                let limits = limits.into_iter().flatten().collect::<Vec<_>>().join(" and ");
                let mend = match &self.policy {
                    Some(policy) => format!(
                        "Where the policy {policy} says so, give it a pattern that leaves the queues of dlo out, such as ^(?!dlo\\.)."
                    ),
                    None => "An argument of the queue or an operator policy says so.".to_owned(),
                };
                format!(
                    "dlo takes its messages in, and RabbitMQ drops what waits there beyond {limits}: while dlo is away dead letters \
                     are lost. {mend}"
                )
            }
            HintKind::LeadsElsewhere { exchange, routing_key, by_argument } => {
                let elsewhere = match (exchange.as_str(), routing_key) {
                    ("", Some(key)) => format!("the queue {key}"),
                    ("", None) => "the default exchange".to_owned(),
                    (exchange, _) => format!("the exchange {exchange}"),
                };
                format!(
                    "What its consumer rejects goes to {elsewhere}, which does not lead to dlo. {}",
                    self.way_here(exchange, routing_key.as_deref(), *by_argument, settings)
                )
            }
        }
    }

    /// Where it is described.
    pub fn docs(&self) -> Option<DocsPage> {
        match &self.kind {
            HintKind::Requeues { .. } => Some(DocsPage::FRAMEWORKS),
            HintKind::LeadsElsewhere { exchange, routing_key: Some(key), .. }
                if exchange.is_empty() && key.ends_with(".XQ") =>
            {
                Some(DocsPage::DRAMATIQ)
            }
            _ => None,
        }
    }

    fn way_here(&self, exchange: &str, key: Option<&str>, by_argument: bool, settings: &Settings) -> String {
        let ours = &settings.dead_letter_queue;
        match key {
            Some(key) if exchange.is_empty() => self.pass_on(key, settings),
            _ if by_argument => {
                format!("An argument of the queue says so, which no policy changes: bind {ours} to it.")
            }
            _ => format!("Bind {ours} to it, or change its policy. {}", self.mend(settings)),
        }
    }

    fn mend(&self, settings: &Settings) -> String {
        let (queue, keys) = (&self.queue, keys("", settings));
        match &self.policy {
            Some(policy) => {
                format!("Set {keys} in {policy}, the RabbitMQ policy of {queue}: a queue obeys one policy only.")
            }
            None => format!("Set: {}", set_policy(queue, &keys, settings)),
        }
    }

    /// Has the queue to which a dead letter goes pass it on.
    fn pass_on(&self, queue: &str, settings: &Settings) -> String {
        let keys = keys(r#","message-ttl":0"#, settings);
        match &self.policy {
            // Other queues may share it, and would be emptied at once.
            Some(policy) => format!(
                "That queue obeys the RabbitMQ policy {policy}, and one only: give it another of a higher priority that sets what \
                 {policy} sets, and {keys}."
            ),
            None => format!("Set on that queue: {}", set_policy(queue, &keys, settings)),
        }
    }
}

fn keys(more: &str, settings: &Settings) -> String {
    format!(r#""dead-letter-exchange":"{}"{more}"#, settings.dead_letter_exchange)
}

fn set_policy(queue: &str, keys: &str, settings: &Settings) -> String {
    let pattern: String = queue.chars().flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c])).collect();
    format!(
        "rabbitmqctl set_policy --vhost='{}' --apply-to queues 'dlo-{}' '^{}$' '{{{keys}}}'",
        quoted(&settings.vhost),
        quoted(queue),
        quoted(&pattern)
    )
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '/' | '@' | ' ' | '\'')
}

/// What stands within single quotes of a shell.
fn quoted(text: &str) -> String {
    text.replace('\'', r"'\''")
}

/// Of many queues without a dead-letter exchange most are likely meant so: they share one sentence.
pub fn without_exchange(hints: &[SettingHint], settings: &Settings) -> Option<String> {
    let queues: Vec<&SettingHint> = hints.iter().filter(|hint| hint.kind == HintKind::NoDeadLetterExchange).collect();
    let named = queues.iter().take(NAMED).map(|hint| &*hint.queue).collect::<Vec<_>>().join(", ");
    let others = match queues.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let free = queues.iter().find(|hint| hint.policy.is_none());
    let example = free.or(queues.first())?;
    let ruled = match free.is_some() && queues.iter().any(|hint| hint.policy.is_some()) {
        true => " Where a queue has a RabbitMQ policy, set the key in that one: a queue obeys one policy only.",
        false => "",
    };
    let (have, they) =
        if queues.len() == 1 { ("has", "its consumer rejects") } else { ("have", "their consumers reject") };
    Some(format!(
        "{} with consumers {have} no dead-letter exchange, so what {they} is lost: {named}{others}. {}{ruled}",
        plural(queues.len() as u64, "queue"),
        example.mend(settings)
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use amqp_message::glob::Globs;

    use super::*;

    fn settings() -> Settings {
        Settings {
            interval: Duration::from_secs(60),
            no_consumers_for: Duration::from_secs(60),
            growing_for: Duration::from_secs(60),
            lags_for: Duration::from_secs(60),
            queues: Globs::new(&[]),
            vhost: "it's".to_owned(),
            dead_letter_exchange: "dlx".to_owned(),
            dead_letter_queue: "dlo.dead-letters".to_owned(),
            obituary_queue: "dlo.obituaries".to_owned(),
        }
    }

    fn queue(name: &str, exchange: Option<&str>, routing_key: Option<&str>) -> QueueLevel {
        let own = |text: &str| text.to_owned();
        QueueLevel {
            name: name.to_owned(),
            consumers: Some(1),
            dead_letters: DeadLetterRoute {
                exchange: exchange.map(own),
                routing_key: routing_key.map(own),
                by_argument: false,
            },
            ..QueueLevel::default()
        }
    }

    fn found(queues: &[QueueLevel]) -> Vec<String> {
        let feeds = BTreeSet::from(["dlx".to_owned(), "failed".to_owned()]);
        let hints = hints(&settings(), queues, Some(&feeds), &mut BTreeSet::new());
        hints.iter().map(|hint| format!("{}: {}", hint.queue, hint.sentence(&settings()))).collect()
    }

    fn check(queues: &[QueueLevel], expected: &[&str]) {
        let found = found(queues);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, part) in found.iter().zip(expected) {
            assert!(found.contains(part), "{found} lacks {part}");
        }
    }

    #[test]
    fn what_leads_to_dlo_is_fine() {
        check(&[queue("a", Some("dlx"), None), queue("b", Some("failed"), Some("x"))], &[]);
        check(&[queue("a", Some(""), Some("dlo.dead-letters"))], &[]);
        check(&[queue("a", Some(""), Some("a.XQ")), queue("a.XQ", Some("dlx"), None)], &[]);
        check(&[QueueLevel { consumers: Some(0), ..queue("a", None, None) }], &[]);
        check(&[queue("dlo.dead-letters", None, None)], &[]);
    }

    #[test]
    fn what_is_dropped_from_our_queues_is_told_first() {
        let limited = QueueLevel {
            policy: Some("safety".to_owned()),
            max_length: Some(20),
            message_ttl: Some(2_500),
            consumers: Some(0),
            ..queue("dlo.dead-letters", Some("dlx"), None)
        };
        let other = QueueLevel { max_length: Some(20), ..queue("a", None, None) };
        let unnamed = QueueLevel { policy: None, message_ttl: None, ..limited.clone() };
        let beyond =
            "beyond 20 messages and 2500 ms: while dlo is away dead letters are lost. Where the policy safety says so";
        check(&[other, limited], &[beyond, "a: It has no dead-letter exchange"]);
        check(
            &[unnamed],
            &["beyond 20 messages: while dlo is away dead letters are lost. An argument of the queue or"],
        );
    }

    #[test]
    fn what_does_not_says_what_mends_it() {
        check(&[queue("a.b", None, None)], &[r#"'dlo-a.b' '^a\.b$' '{"dead-letter-exchange":"dlx"}'"#]);
        check(&[queue("a", Some("other"), None)], &["a: What its consumer rejects goes to the exchange other"]);
        let xq = queue("a", Some(""), Some("a.XQ"));
        check(std::slice::from_ref(&xq), &[r#"'^a\.XQ$' '{"dead-letter-exchange":"dlx","message-ttl":0}'"#]);
        let hint =
            hints(&settings(), std::slice::from_ref(&xq), Some(&BTreeSet::new()), &mut BTreeSet::new()).remove(0);
        assert_eq!(hint.docs(), Some(DocsPage::DRAMATIQ));
        let mut fixed = queue("a", Some("other"), None);
        fixed.dead_letters.by_argument = true;
        check(&[fixed], &["bind dlo.dead-letters to it"]);
        check(&[queue("a", Some(""), Some("a"))], &["the queue a"]);
        assert!(hints(&settings(), &[xq], None, &mut BTreeSet::new()).is_empty(), "nobody knows what leads here");
    }

    #[test]
    fn a_policy_is_set_in_the_virtual_host_of_the_broker() {
        check(&[queue("a", None, None)], &[r"set_policy --vhost='it'\''s' --apply-to queues 'dlo-a' '^a$'"]);
        let xq = queue("a", Some(""), Some("a.XQ"));
        check(&[xq], &[r"Set on that queue: rabbitmqctl set_policy --vhost='it'\''s' --apply-to queues 'dlo-a.XQ'"]);
    }

    #[test]
    fn a_policy_that_rules_a_queue_is_not_displaced() {
        fn ruled(level: QueueLevel) -> QueueLevel {
            QueueLevel { policy: Some("limits".to_owned()), ..level }
        }
        let set = r#"Set "dead-letter-exchange":"dlx" in limits, the RabbitMQ policy of a:"#;
        check(&[ruled(queue("a", None, None))], &[set]);
        check(&[ruled(queue("a", Some("other"), None))], &[set]);
        let passes_on = queue("a", Some(""), Some("a.XQ"));
        let xq = QueueLevel { consumers: Some(0), ..queue("a.XQ", None, None) };
        let command = "Set on that queue: rabbitmqctl set_policy";
        check(&[ruled(passes_on.clone()), xq.clone()], &[command]);
        let merged = r#"sets what limits sets, and "dead-letter-exchange":"dlx","message-ttl":0."#;
        check(&[passes_on, ruled(xq)], &[merged]);
    }

    #[test]
    fn a_hint_that_was_kept_without_a_policy_is_read() {
        let kept = r#"[{"queue":"a","kind":"NoDeadLetterExchange"},
            {"queue":"b","kind":{"DropsOurs":{"policy":"safety","max_length":20,"message_ttl":null}}}]"#;
        let read: Vec<SettingHint> = serde_json::from_str(kept).unwrap();
        assert!(read.iter().all(|hint| hint.policy.is_none()), "{read:?}");
    }

    #[test]
    fn requeueing_counts_from_the_second_look_on() {
        let busy = |redeliver: f64, acknowledge: f64| QueueLevel {
            redeliver_rate: Some(redeliver),
            acknowledge_rate: Some(acknowledge),
            ..queue("a", Some("dlx"), None)
        };
        let mut before = BTreeSet::new();
        let mut look = |level: QueueLevel| hints(&settings(), &[level], None, &mut before).len();
        assert_eq!(
            [look(busy(90.0, 1.0)), look(busy(90.0, 1.0)), look(busy(90.0, 80.0)), look(busy(90.0, 1.0))],
            [0, 1, 0, 0]
        );
        assert_eq!([look(busy(0.5, 0.0)), look(busy(0.5, 0.0))], [0, 0]);
    }

    #[test]
    fn many_without_an_exchange_share_a_sentence() {
        let without = |n: usize| -> Vec<SettingHint> {
            let hint = |n| SettingHint { queue: format!("q{n}"), kind: HintKind::NoDeadLetterExchange, policy: None };
            (0..n).map(hint).collect()
        };
        assert_eq!(without_exchange(&without(0), &settings()), None);
        let said = without_exchange(&without(7), &settings()).unwrap();
        assert!(said.starts_with("7 queues with consumers have no dead-letter exchange"), "{said}");
        assert!(said.contains("q0, q1, q2, q3, q4 and 2 more"), "{said}");
        let mut ruled = without(2);
        ruled[0].policy = Some("limits".to_owned());
        let said = without_exchange(&ruled, &settings()).unwrap();
        assert!(
            said.contains("'^q1$'") && said.ends_with("set the key in that one: a queue obeys one policy only."),
            "{said}"
        );
        let said = without_exchange(&ruled[..1], &settings()).unwrap();
        assert!(said.ends_with("in limits, the RabbitMQ policy of q0: a queue obeys one policy only."), "{said}");
    }
}
