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
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HintKind {
    /// Its consumer requeues what it cannot process, so many a second.
    Requeues { a_second: u64 },
    /// What is rejected there is dropped.
    NoDeadLetterExchange,
    /// It is one of the queues of dlo, and what waits there is dropped beyond so many messages or milliseconds.
    DropsOurs { policy: Option<String>, max_length: Option<u64>, message_ttl: Option<u64> },
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

/// Where dlo is: its queues and the exchange of its dead letters.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    pub exchange: &'a str,
    pub queue: &'a str,
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
        let mut hint = |kind| found.push(SettingHint { queue: level.name.clone(), kind });
        if let Some(a_second) = requeued(level) {
            now.insert(level.name.clone());
            // At one look it may be a service that is restarted.
            if requeuing.contains(&level.name) {
                hint(HintKind::Requeues { a_second });
            }
        }
        let DeadLetterRoute { exchange, routing_key, by_argument } = level.dead_letters.clone();
        match exchange {
            None => hint(HintKind::NoDeadLetterExchange),
            Some(exchange) if feeds.is_some_and(|feeds| !leads_here(settings, level, &by_name, feeds)) => {
                hint(HintKind::LeadsElsewhere { exchange, routing_key, by_argument });
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
    let kind = || HintKind::DropsOurs { policy: level.policy.clone(), max_length, message_ttl };
    (max_length.is_some() || message_ttl.is_some()).then(|| SettingHint { queue: level.name.clone(), kind: kind() })
}

fn requeued(level: &QueueLevel) -> Option<u64> {
    let again = level.redeliver_rate.filter(|rate| *rate >= BUSY)?;
    let done = level.acknowledge_rate.unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 1 at least, and a rate")]
    (again > OFTEN * done).then_some(again as u64)
}

impl SettingHint {
    /// The problem and what mends it, in sentences.
    pub fn sentence(&self, here: Here<'_>) -> String {
        let queue = &self.queue;
        match &self.kind {
            HintKind::Requeues { a_second } => format!(
                "Its messages are requeued again and again, {a_second} a second: what its consumer cannot process never \
                 comes to dlo. Have it reject without requeueing, or set a delivery-limit on a quorum queue."
            ),
            HintKind::NoDeadLetterExchange => {
                format!(
                    "It has no dead-letter exchange, so what its consumer rejects is lost. {}",
                    set_policy(queue, here)
                )
            }
            HintKind::DropsOurs { policy, max_length, message_ttl } => {
                let limits = [(max_length, "messages"), (message_ttl, "ms")]
                    .map(|(limit, unit)| limit.map(|n| format!("{n} {unit}")));
                let limits = limits.into_iter().flatten().collect::<Vec<_>>().join(" and ");
                let mend = match policy {
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
                    self.way_here(exchange, routing_key.as_deref(), *by_argument, here)
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

    fn way_here(&self, exchange: &str, key: Option<&str>, by_argument: bool, here: Here<'_>) -> String {
        match key {
            Some(key) if exchange.is_empty() => {
                format!("Set on that queue: {}", policy(key, r#","message-ttl":0"#, here))
            }
            _ if by_argument => {
                format!("An argument of the queue says so, which no policy changes: bind {} to it.", here.queue)
            }
            _ => format!("Bind {} to it, or change its policy. {}", here.queue, set_policy(&self.queue, here)),
        }
    }
}

fn set_policy(queue: &str, here: Here<'_>) -> String {
    format!("Set: {}", policy(queue, "", here))
}

fn policy(queue: &str, more: &str, here: Here<'_>) -> String {
    let pattern: String = queue.chars().flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c])).collect();
    let exchange = here.exchange;
    format!(
        "rabbitmqctl set_policy --apply-to queues 'dlo-{}' '^{}$' '{{\"dead-letter-exchange\":\"{exchange}\"{more}}}'",
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
pub fn without_exchange(hints: &[SettingHint], here: Here<'_>) -> Option<String> {
    let without = |hint: &&SettingHint| hint.kind == HintKind::NoDeadLetterExchange;
    let queues: Vec<&str> = hints.iter().filter(without).map(|hint| &*hint.queue).collect();
    let named = queues.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let others = match queues.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let first = queues.first()?;
    let (have, they) =
        if queues.len() == 1 { ("has", "its consumer rejects") } else { ("have", "their consumers reject") };
    Some(format!(
        "{} with consumers {have} no dead-letter exchange, so what {they} is lost: {named}{others}. {}",
        plural(queues.len() as u64, "queue"),
        set_policy(first, here)
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use amqp_message::glob::Globs;

    use super::*;

    const HERE: Here<'_> = Here { exchange: "dlx", queue: "dlo.dead-letters" };

    fn settings() -> Settings {
        Settings {
            interval: Duration::from_secs(60),
            no_consumers_for: Duration::from_secs(60),
            growing_for: Duration::from_secs(60),
            lags_for: Duration::from_secs(60),
            queues: Globs::new(&[]),
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
        hints.iter().map(|hint| format!("{}: {}", hint.queue, hint.sentence(HERE))).collect()
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
            let hint = |n| SettingHint { queue: format!("q{n}"), kind: HintKind::NoDeadLetterExchange };
            (0..n).map(hint).collect()
        };
        assert_eq!(without_exchange(&without(0), HERE), None);
        let said = without_exchange(&without(7), HERE).unwrap();
        assert!(said.starts_with("7 queues with consumers have no dead-letter exchange"), "{said}");
        assert!(said.contains("q0, q1, q2, q3, q4 and 2 more"), "{said}");
    }
}
