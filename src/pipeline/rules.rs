//! The rules of importance in force: those that people have written here, or those of a file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{ids, sorting::APPLY_RULES};
use crate::{
    classify::{self, Expression, Facts, LetterFacts, Mistake, Ruleset},
    clock::Clock,
    config,
    domain::{
        actor::Actor,
        filter::LetterFilter,
        job::{Job, JobState},
        letter::{Importance, Letter, Status},
        rule::{Rule, RuleFailures, RuleId, StandingRule},
    },
    store::{RuleChange, Store, StoreError},
};

/// How soon a rule that was written in another process, or in the file, is in force here.
const POLL: Duration = Duration::from_secs(1);
/// `importance_by` of a letter that no rule takes.
pub const DEFAULT: &str = "default";
/// More rules than this nobody understands any more.
pub const MAX_RULES: usize = 500;
/// Characters of a rule's name.
const MAX_NAME: usize = 100;

#[derive(Debug, Error)]
pub enum RuleError {
    /// The name cannot be given: why.
    #[error("{0}")]
    Name(String),
    /// The expression is wrong, in these places.
    #[error("{}", told(.0))]
    Expression(Vec<Mistake>),
    #[error("the rules stand in the file {}; change them there", .0.display())]
    InFile(PathBuf),
    #[error("there is no such rule any more")]
    Gone,
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn told(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("; ")
}

/// The rules as they stand, and ready to be tried.
#[derive(Debug, Default)]
pub struct RuleBook {
    standing: Vec<StandingRule>,
    ruleset: Ruleset,
    /// Why the file could not be read, when it could not; the rules are those that it had before.
    problem: Option<String>,
}

/// What the rules say of a letter.
pub struct Ruled {
    pub importance: Importance,
    /// `rule:<name>` or `default`.
    pub by: String,
    /// Rules that could not be tried, and why.
    pub failures: Vec<(String, String)>,
}

impl RuleBook {
    fn new(standing: Vec<StandingRule>) -> Self {
        // What was saved was right then; a later version may think otherwise, and says so on the page.
        let compiled = |standing: &StandingRule| {
            let StandingRule { rule: Rule { name, expression, importance }, .. } = standing;
            let expression = Expression::compile(expression).ok()?;
            Some(classify::Rule { name: name.clone(), importance: *importance, expression })
        };
        let ruleset = Ruleset::new(standing.iter().filter_map(compiled).collect());
        Self { standing, ruleset, problem: None }
    }

    pub fn standing(&self) -> &[StandingRule] {
        &self.standing
    }

    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether any rule looks into payloads.
    pub fn reads_payload(&self) -> bool {
        true
    }

    /// Tries the rules on a letter; `payload` is JSON.
    pub fn judge(&self, letter: &Letter, message_type: Option<&str>, payload: Option<&str>) -> Ruled {
        let outcome = self.ruleset.first(&Facts::new(facts(letter, message_type), payload));
        let rules = self.ruleset.rules();
        let failures = outcome.failures.iter();
        let failures =
            failures.filter_map(|(place, failure)| Some((rules.get(*place)?.name.clone(), failure.to_string())));
        let taken = outcome.rule.and_then(|place| rules.get(place));
        let (importance, by) = taken
            .map_or((Importance::Normal, DEFAULT.to_owned()), |rule| (rule.importance, format!("rule:{}", rule.name)));
        Ruled { importance, by, failures: failures.collect() }
    }
}

/// What rules see of a letter.
pub fn facts<'a>(letter: &'a Letter, message_type: Option<&'a str>) -> LetterFacts<'a> {
    let summary = &letter.summary;
    LetterFacts {
        broker: &summary.broker,
        queue: summary.queue.as_deref(),
        exchange: &summary.exchange,
        routing_key: &summary.routing_key,
        reason: summary.reason,
        attempts: summary.attempts,
        message_type,
        headers: &letter.message.headers,
        error_type: summary.error_type.as_deref(),
        error_message: summary.error_message.as_deref(),
        size: summary.size,
        first_failed_at: summary.first_failed_at,
        last_failed_at: summary.last_failed_at,
    }
}

/// Reads, tries and changes rules; cheap to clone.
#[derive(Clone)]
pub struct Rules {
    file: Option<PathBuf>,
    store: Arc<Store>,
    clock: Clock,
    book: watch::Sender<Arc<RuleBook>>,
}

impl Rules {
    /// Without rules until [`reload`](Self::reload). With a `file` those of the ledger are not looked at.
    pub fn new(file: Option<PathBuf>, store: Arc<Store>, clock: Clock) -> Self {
        Self { file, store, clock, book: watch::Sender::new(Arc::default()) }
    }

    /// The file they stand in, where they do.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub fn in_force(&self) -> Arc<RuleBook> {
        Arc::clone(&self.book.borrow())
    }

    pub async fn failures(&self) -> Result<BTreeMap<String, RuleFailures>, StoreError> {
        self.store.rule_failures().await
    }

    /// Reads what is written in the ledger or the file. A file that cannot be read changes nothing.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let read = match &self.file {
            Some(file) => config::rules_of(file).await.and_then(|standing| check(file, standing)),
            None => Ok(self.store.rules().await?),
        };
        let current = self.in_force();
        let book = match read {
            Ok(standing) if standing == current.standing && current.problem.is_none() => return Ok(()),
            Ok(standing) => RuleBook::new(standing),
            Err(problem) if current.problem.as_ref() == Some(&problem) => return Ok(()),
            Err(problem) => {
                tracing::error!(problem, "the file of rules cannot be read; the rules before stay in force");
                RuleBook { problem: Some(problem), ..RuleBook::new(current.standing.clone()) }
            }
        };
        self.book.send_replace(Arc::new(book));
        Ok(())
    }

    /// Writes a rule, a new one without `id`. It is in force for what comes in from now on.
    pub async fn set(&self, id: Option<RuleId>, rule: &Rule, by: &Actor) -> Result<RuleId, RuleError> {
        self.check_place()?;
        let name = rule.name.trim();
        let at = self.clock.now();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
            return Err(RuleError::Name(format!("a name takes 1 to {MAX_NAME} characters in one line")));
        }
        Expression::compile(&rule.expression).map_err(RuleError::Expression)?;
        let before = self.store.rules().await?;
        let was = before.iter().find(|standing| Some(standing.id) == id);
        if id.is_some() && was.is_none() {
            return Err(RuleError::Gone);
        }
        if id.is_none() && before.len() >= MAX_RULES {
            return Err(RuleError::Name(format!("there are {MAX_RULES} rules already; remove one first")));
        }
        let detail = was.map_or_else(|| described(rule), |was| changed(&was.rule, rule));
        let id = id.unwrap_or_else(|| RuleId::from_uuid(ids::uuid(at)));
        let rule = Rule { name: name.to_owned(), ..rule.clone() };
        if !self.store.set_rule(id, &rule, &RuleChange { by, at, detail: &detail }).await? {
            return Err(RuleError::Name(format!("another rule is called {name:?} already")));
        }
        tracing::info!(rule = name, by = %by, "a person wrote a rule of importance");
        self.reload().await?;
        Ok(id)
    }

    /// Removes a rule.
    pub async fn remove(&self, id: RuleId, by: &Actor) -> Result<(), RuleError> {
        self.check_place()?;
        let removed = self.store.rules().await?.into_iter().find(|standing| standing.id == id);
        let detail = removed.map(|standing| described(&standing.rule)).unwrap_or_default();
        let change = RuleChange { by, at: self.clock.now(), detail: &detail };
        let name = self.store.remove_rule(id, &change).await?.ok_or(RuleError::Gone)?;
        tracing::info!(rule = name, by = %by, "a person removed a rule of importance");
        Ok(self.reload().await?)
    }

    /// Puts the rules into another order; those that are not named follow as they were.
    pub async fn order(&self, order: &[RuleId], by: &Actor) -> Result<(), RuleError> {
        self.check_place()?;
        self.store.order_rules(order, &RuleChange { by, at: self.clock.now(), detail: "" }).await?;
        tracing::info!(by = %by, "a person put the rules of importance into another order");
        Ok(self.reload().await?)
    }

    /// Begins a job that tries the rules on all letters that await a person or a retry. One that has begun ends first.
    pub async fn apply(&self, by: &Actor) -> Result<Uuid, StoreError> {
        let at = self.clock.now();
        let filter = LetterFilter { statuses: vec![Status::Open, Status::Scheduled], ..LetterFilter::default() };
        let total = self.store.count(&filter).await?;
        let id = ids::uuid(at);
        let job = Job { total, state: JobState::Queued, ..Job::begun(id, APPLY_RULES) };
        self.store.add_job(&job, by, at).await?;
        tracing::info!(letters = total, by = %by, "the rules of importance are applied to letters that are here");
        Ok(id)
    }

    /// Keeps in step with the file and with what other processes do. While the ledger does not answer, what is known
    /// stays in force.
    pub async fn watch(self, stop: CancellationToken) {
        let mut tick = tokio::time::interval(POLL);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            if let Err(error) = self.reload().await {
                tracing::debug!(error = %error, "rules cannot be read at the moment");
            }
        }
    }

    fn check_place(&self) -> Result<(), RuleError> {
        self.file.as_ref().map_or(Ok(()), |file| Err(RuleError::InFile(file.clone())))
    }
}

/// Rules of a file, if all of them can be tried.
fn check(file: &Path, standing: Vec<StandingRule>) -> Result<Vec<StandingRule>, String> {
    for StandingRule { rule, .. } in &standing {
        Expression::compile(&rule.expression)
            .map_err(|mistakes| format!("{}: the rule {:?}: {}", file.display(), rule.name, told(&mistakes)))?;
    }
    Ok(standing)
}

fn described(rule: &Rule) -> String {
    format!("{}: {}", rule.importance, rule.expression)
}

/// What has become of a rule.
fn changed(was: &Rule, is: &Rule) -> String {
    let mut parts = Vec::new();
    if was.name != is.name {
        parts.push(format!("it was called {:?}", was.name));
    }
    if was.importance != is.importance {
        parts.push(format!("{} instead of {}", is.importance, was.importance));
    }
    if was.expression != is.expression {
        parts.push(format!("{} instead of {}", is.expression, was.expression));
    }
    parts.join("; ")
}
