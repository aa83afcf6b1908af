//! Teams: people whose rights hold for some queues only.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use amqp_message::glob::Globs;
use serde::{Deserialize, Serialize};

use super::Role;

/// The queues of a team.
#[derive(Debug)]
pub struct TeamQueues {
    names: Patterns,
    brokers: Globs,
    queues: Globs,
    /// The answers for queues that were asked about: each page asks about thousands.
    known: Mutex<Known>,
}

/// So many queues are remembered; there are more only where names are made up all the time.
const MOST_KNOWN: usize = 100_000;
/// Bytes of a name that is remembered; AMQP has no longer ones.
const LONGEST_KNOWN: usize = 255;

/// Whether queues are included.
#[derive(Debug, Default)]
struct Known {
    by_broker: HashMap<String, HashMap<String, bool>>,
    n: usize,
}

impl Known {
    fn get(&self, broker: &str, queue: &str) -> Option<bool> {
        self.by_broker.get(broker)?.get(queue).copied()
    }

    /// Remembers what was not known.
    fn add(&mut self, broker: &str, queue: &str, includes: bool) {
        if broker.len().max(queue.len()) > LONGEST_KNOWN {
            return;
        }
        if self.n >= MOST_KNOWN {
            *self = Self::default();
        }
        self.by_broker.entry(broker.to_owned()).or_default().insert(queue.to_owned(), includes);
        self.n += 1;
    }
}

impl PartialEq for TeamQueues {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

/// As they are written: without brokers, or without queues, all of them are meant; without either nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Patterns {
    brokers: Vec<String>,
    queues: Vec<String>,
}

impl Patterns {
    const fn is_empty(&self) -> bool {
        self.brokers.is_empty() && self.queues.is_empty()
    }
}

impl TeamQueues {
    /// Those that one of these patterns matches, on brokers that one of those matches. Without
    /// patterns of the one all are meant, without any nothing.
    pub fn new(brokers: &[String], queues: &[String]) -> Self {
        let names = Patterns { brokers: brokers.to_vec(), queues: queues.to_vec() };
        Self { brokers: Globs::new(brokers), queues: Globs::new(queues), names, known: Mutex::default() }
    }

    /// Whether all of them are, by what is written, among the other's.
    fn is_within(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.names, &other.names);
        if theirs.is_empty() {
            return ours.is_empty();
        }
        let among = |ours: &[String], theirs: &[String]| {
            theirs.is_empty() || !ours.is_empty() && ours.iter().all(|pattern| theirs.contains(pattern))
        };
        among(&ours.brokers, &theirs.brokers) && among(&ours.queues, &theirs.queues)
    }

    pub fn includes(&self, broker: &str, queue: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(includes) = known.get(broker, queue) {
            return includes;
        }
        let includes = !self.names.is_empty() && self.brokers.matches(broker) && self.queues.matches(queue);
        known.add(broker, queue, includes);
        includes
    }
}

/// The queues that a right holds for. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueScope(Option<Arc<[Arc<TeamQueues>]>>);

impl QueueScope {
    pub const fn everything() -> Self {
        Self(None)
    }

    pub fn nothing() -> Self {
        Self::of(Vec::new())
    }

    /// The queues of these teams.
    pub fn of(teams: Vec<Arc<TeamQueues>>) -> Self {
        Self(Some(teams.into()))
    }

    pub const fn is_everything(&self) -> bool {
        self.0.is_none()
    }

    pub fn is_nothing(&self) -> bool {
        self.0.as_ref().is_some_and(|teams| teams.is_empty())
    }

    /// The empty name is that of a queue that is unknown.
    pub fn includes(&self, broker: &str, queue: &str) -> bool {
        self.0.as_ref().is_none_or(|teams| teams.iter().any(|team| team.includes(broker, queue)))
    }

    /// Whether all of it is, by what is written, in the other.
    pub fn is_within(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(ours), Some(theirs)) => ours.iter().all(|team| theirs.iter().any(|other| team.is_within(other))),
        }
    }

    /// Whether who sees the other sees what concerns all of this. What concerns no queue is for who sees all.
    pub fn is_seen_by(&self, other: &Self) -> bool {
        other.is_everything() || !self.is_nothing() && self.is_within(other)
    }

    /// As it is kept; empty: everything.
    pub fn written(&self) -> String {
        let Some(teams) = &self.0 else { return String::new() };
        let names: Vec<&Patterns> = teams.iter().map(|team| &team.names).collect();
        serde_json::to_string(&names).unwrap_or_else(|_| "[]".to_owned())
    }

    /// # Errors
    /// It was written by somebody else.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        if text.is_empty() {
            return Ok(Self::everything());
        }
        let names: Vec<Patterns> = serde_json::from_str(text)?;
        let teams = names.iter().map(|names| Arc::new(TeamQueues::new(&names.brokers, &names.queues)));
        Ok(Self::of(teams.collect()))
    }
}

/// Somebody's place in a team.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Membership {
    pub team: String,
    /// Viewer or operator, for who is an admin sees all; none: as they are elsewhere, also when that changes.
    pub role: Option<Role>,
}

impl fmt::Display for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.team)?;
        self.role.map_or(Ok(()), |role| write!(f, "={role}"))
    }
}

impl Membership {
    /// A text such as `payments=viewer`, or `payments` without a role.
    ///
    /// # Errors
    /// What it takes.
    pub fn read(text: &str) -> Result<Self, String> {
        let (team, role) = match text.split_once('=') {
            Some((team, role)) => (team, Some(role.trim().parse::<Role>()?)),
            None => (text, None),
        };
        if role == Some(Role::Admin) {
            return Err("in a team one is viewer or operator; an admin sees all".to_owned());
        }
        Ok(Self { team: check_team(team.trim())?.to_owned(), role })
    }

    /// What somebody of that role is in the team.
    pub fn role_of(&self, user: Role) -> Role {
        self.role.unwrap_or_else(|| user.min(Role::Operator))
    }
}

/// The memberships in a text such as `payments=operator, texts`, each read as [`Membership::read`] does.
///
/// # Errors
/// What one takes.
pub fn read_memberships(text: &str) -> Result<Vec<Membership>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let mut teams = parts.map(Membership::read).collect::<Result<Vec<_>, _>>()?;
    teams.sort();
    teams.dedup_by(|later, first| {
        let is_same = later.team == first.team;
        if is_same {
            first.role = first.role.max(later.role);
        }
        is_same
    });
    Ok(teams)
}

/// The text that [`read_memberships`] reads.
pub fn write_memberships(teams: &[Membership]) -> String {
    teams.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The name of a team, where it is one.
///
/// # Errors
/// What a name takes.
pub fn check_team(name: &str) -> Result<&str, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 100 || !name.chars().all(is_plain) {
        return Err(format!("{name:?} is no name of a team: it takes letters, digits, -, _ and dots"));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(brokers: &[&str], queues: &[&str]) -> Arc<TeamQueues> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        Arc::new(TeamQueues::new(&owned(brokers), &owned(queues)))
    }

    #[test]
    fn a_scope_has_the_queues_of_each_of_its_teams() {
        let scope = QueueScope::of(vec![team(&["eu"], &["pay.*"]), team(&[], &["texts"])]);
        assert!(scope.includes("eu", "pay.a") && scope.includes("us", "texts"));
        assert!(!scope.includes("us", "pay.a") && !scope.includes("eu", "") && !scope.includes("eu", "pay"));
        assert!(QueueScope::everything().includes("us", ""));
        assert!(!QueueScope::nothing().includes("us", "texts") && QueueScope::nothing().is_nothing());
    }

    #[test]
    fn only_so_many_queues_are_remembered() {
        let team = team(&[], &["pay.*"]);
        let known = || team.known.lock().expect("sound").by_broker.values().map(HashMap::len).sum::<usize>();
        let long = "x".repeat(LONGEST_KNOWN);
        assert!(team.includes("eu", &format!("pay.{long}")) && !team.includes(&format!("eu{long}"), "texts"));
        assert_eq!(known(), 0);
        for n in 0..=MOST_KNOWN {
            let broker = n.to_string();
            assert!(team.includes(&broker, "pay.a") && team.includes(&broker, "pay.a"));
            assert!(n > 0 || known() == 1);
        }
        assert_eq!(known(), 1, "of any broker");
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        for scope in
            [QueueScope::everything(), QueueScope::nothing(), QueueScope::of(vec![team(&["e\"u"], &["a*", "b"])])]
        {
            assert_eq!(QueueScope::read(&scope.written()).expect("readable"), scope);
        }
    }

    #[test]
    fn a_part_is_within_the_whole() {
        let (a, b) = (team(&[], &["a"]), team(&[], &["b"]));
        let (both, one) = (QueueScope::of(vec![a.clone(), b]), QueueScope::of(vec![a]));
        assert!(one.is_within(&both) && !both.is_within(&one) && both.is_within(&QueueScope::everything()));
        assert!(!QueueScope::everything().is_within(&both));
        let check = |ours: (&[&str], &[&str]), theirs: (&[&str], &[&str]), expected: bool| {
            let scope = |(brokers, queues)| QueueScope::of(vec![team(brokers, queues)]);
            assert_eq!(scope(ours).is_within(&scope(theirs)), expected, "{ours:?} in {theirs:?}");
        };
        check((&[], &["a"]), (&[], &["a", "b"]), true);
        check((&[], &["b", "a"]), (&[], &["a", "b"]), true);
        check((&[], &["a", "b"]), (&[], &["a"]), false);
        check((&["eu"], &["a"]), (&[], &["a"]), true);
        check((&[], &["a"]), (&["eu"], &["a"]), false);
        check((&["eu"], &["a"]), (&["eu", "us"], &[]), true);
        check((&["eu"], &[]), (&["eu"], &["a"]), false);
        check((&[], &["a"]), (&[], &[]), false);
    }

    #[test]
    fn what_concerns_no_queue_is_seen_by_who_sees_all() {
        let (nothing, a) = (QueueScope::nothing(), QueueScope::of(vec![team(&[], &["a"])]));
        assert!(nothing.is_seen_by(&QueueScope::everything()) && a.is_seen_by(&a));
        assert!(!nothing.is_seen_by(&a) && !nothing.is_seen_by(&nothing));
    }

    #[test]
    fn memberships_are_written_as_they_are_read() {
        let read = |text| read_memberships(text).map(|teams| write_memberships(&teams));
        let expected = "payments, texts=operator";
        assert_eq!(read("texts=viewer, payments,texts = operator").as_deref(), Ok(expected));
        assert_eq!(read(expected).as_deref(), Ok(expected));
        assert!(read("payments=admin").is_err() && read("a b").is_err());
        assert_eq!(read(""), Ok(String::new()));
    }

    #[test]
    fn in_a_team_without_a_role_one_is_what_one_is_elsewhere() {
        let role_of = |text, user| Membership::read(text).expect("a membership").role_of(user);
        for (user, expected) in
            [(Role::Viewer, Role::Viewer), (Role::Operator, Role::Operator), (Role::Admin, Role::Operator)]
        {
            assert_eq!((role_of("payments", user), role_of("payments=viewer", user)), (expected, Role::Viewer));
        }
    }
}
