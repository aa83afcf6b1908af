//! The rules of importance in force: those that people have written here, or those of a file.

mod book;
mod error;
mod file;
mod trial;
mod wording;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rule_language::Expression;
use tokio::sync::{Mutex, Semaphore, watch};
use uuid::Uuid;

use file::FileProblem;
use wording::{changed, check_name, described, tidy};

use super::{audited_store::AuditedStore, decoding::reader::off_the_runtime, ids};
use crate::{
    clock::Clock,
    config,
    domain::{
        actor::Actor,
        filter::LetterFilter,
        job::{APPLY_RULES, Job, JobState},
        letter::Status,
        rule::{ActiveRule, Rule, RuleFailures, RuleId},
        rule_order::{RuleOrder, RulePlace},
        version::Expected,
    },
    store::{RuleChange, RuleSet, StoreError, StoreReader},
};

pub use book::{BY_RULE, DEFAULT, RuleBook, Ruled, RuledOut, facts};
pub use error::RuleError;
pub use file::read_file;
pub use trial::{Draft, MOST_TRIED, Trial, TriedLetter};

/// More rules than this nobody understands any more.
pub const MAX_RULES: usize = 500;
/// Characters of a rule's name.
pub const MAX_NAME: usize = 100;

/// Reads, tries and changes rules; cheap to clone.
#[derive(Clone)]
pub struct Rules {
    file: Option<PathBuf>,
    store: StoreReader,
    changes: AuditedStore,
    clock: Clock,
    book: watch::Sender<Arc<RuleBook>>,
    file_problem: watch::Sender<Option<FileProblem>>,
    /// Held while rules are read and put in force: what was read first must not come last.
    reloading: Arc<Mutex<()>>,
    /// Held while a draft is tried. Each waits for the one before it, so that people who type do not keep dlo
    /// from its work.
    trying: Arc<Semaphore>,
}

impl Rules {
    /// Without rules until [`reload`](Self::reload). With a `file` those of the database are not looked at.
    pub fn new(file: Option<PathBuf>, changes: AuditedStore, clock: Clock) -> Self {
        Self {
            file,
            store: changes.reader(),
            changes,
            clock,
            book: watch::Sender::new(Arc::default()),
            file_problem: watch::Sender::new(None),
            reloading: Arc::default(),
            trying: Arc::new(Semaphore::new(1)),
        }
    }

    /// The file they stand in, where they do.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Why the file cannot be read as it is now; the rules in force are those that it had before.
    pub fn problem(&self) -> Option<String> {
        self.file_problem.borrow().as_ref().map(|problem| problem.why.clone())
    }

    pub fn in_force(&self) -> Arc<RuleBook> {
        Arc::clone(&self.book.borrow())
    }

    pub async fn failures(&self) -> Result<BTreeMap<String, RuleFailures>, StoreError> {
        self.store.rule_failures().await
    }

    /// Reads what is written in the database or the file. A file that cannot be read changes nothing.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let _alone = self.reloading.lock().await;
        let current = self.in_force();
        if let Some(file) = &self.file {
            return self.reload_file(file, &current).await;
        }
        let active = self.store.rules().await?;
        if active != current.active() {
            self.book.send_replace(Arc::new(compile(active, &current).await));
        }
        Ok(())
    }

    async fn reload_file(&self, file: &Path, current: &Arc<RuleBook>) -> Result<(), StoreError> {
        let active = match config::rules_of(file).await {
            Ok(active) => active,
            Err(why) => {
                self.refuse(FileProblem { why, active: None });
                return Ok(());
            }
        };
        if active == current.active() {
            self.file_problem.send_replace(None);
            return Ok(());
        }
        let is_refused = |problem: &FileProblem| problem.active.as_ref() == Some(&active);
        if self.file_problem.borrow().as_ref().is_some_and(is_refused) {
            return Ok(());
        }
        let book = compile(active.clone(), current).await;
        if let Err(why) = file::check(file, &book) {
            self.refuse(FileProblem { why, active: Some(active) });
            return Ok(());
        }
        let changed = file::changed(current.active(), book.active());
        self.book.send_replace(Arc::new(book));
        self.file_problem.send_replace(None);
        tracing::info!(rules = active.len(), "the file of rules was read");
        if changed.is_empty() { Ok(()) } else { self.changes.forget_rule_failures(&changed).await }
    }

    /// Says once why the file stays unread.
    fn refuse(&self, problem: FileProblem) {
        let is_new = |known: &mut Option<FileProblem>| {
            let is_new = known.as_ref() != Some(&problem);
            if is_new {
                tracing::error!(problem = problem.why, "the file of rules cannot be read; the rules before stay");
                *known = Some(problem);
            }
            is_new
        };
        self.file_problem.send_if_modified(is_new);
    }

    /// All that is wrong with a rule, whatever other rules there are.
    pub async fn mistakes(&self, rule: &Rule) -> Vec<RuleError> {
        let rule = tidy(rule);
        let expression = check_expression(&rule.expression).await;
        [check_name(&rule.name), expression].into_iter().filter_map(Result::err).collect()
    }

    /// Writes a rule, a new one without `id`. It is in force for what comes in from now on. Where no `place` is given
    /// it stays where it is, or comes last.
    pub async fn set(
        &self,
        id: Option<RuleId>,
        rule: &Rule,
        place: Option<&RulePlace>,
        expected: &Expected,
        by: &Actor,
    ) -> Result<RuleId, RuleError> {
        self.check_place()?;
        if let Some(mistake) = self.mistakes(rule).await.into_iter().next() {
            return Err(mistake);
        }
        let rule = tidy(rule);
        let before = self.store.rules().await?;
        let was = before.iter().position(|active| Some(active.id) == id);
        if id.is_some() && was.is_none() {
            return Err(RuleError::Gone);
        }
        if id.is_none() && before.len() >= MAX_RULES {
            return Err(RuleError::TooMany);
        }
        let detail = match was.and_then(|was| Some((was, before.get(was)?))) {
            Some((was, active)) => changed(&active.rule, was, &rule, place.map(|place| place.at)),
            None => described(&rule),
        };
        let id = id.unwrap_or_else(|| RuleId::from_uuid(ids::uuid(self.clock.now())));
        let change = RuleChange { by, at: self.clock.now(), detail: &detail, expected };
        match self.changes.set_rule(id, &rule, place, &change).await? {
            RuleSet::Yes => {}
            RuleSet::NameTaken => {
                return Err(RuleError::Name(format!("another rule is called {:?} already", rule.name)));
            }
            RuleSet::Reordered => return Err(RuleError::Reordered),
        }
        self.reload().await?;
        Ok(id)
    }

    /// Removes a rule; the answer is what it said.
    pub async fn remove(&self, id: RuleId, expected: &Expected, by: &Actor) -> Result<Rule, RuleError> {
        self.check_place()?;
        let removed = self.store.rules().await?.into_iter().find(|active| active.id == id);
        let ActiveRule { rule, .. } = removed.ok_or(RuleError::Gone)?;
        let change = RuleChange { by, at: self.clock.now(), detail: &described(&rule), expected };
        self.changes.remove_rule(id, &change).await?.ok_or(RuleError::Gone)?;
        self.reload().await?;
        Ok(rule)
    }

    /// Puts the rules into another order; those that are not named follow as they were.
    pub async fn order(&self, order: &[RuleId], expected: &Expected, by: &Actor) -> Result<(), RuleError> {
        self.check_place()?;
        let active = self.store.rules().await?;
        let name = |id: &RuleId| Some(&*active.iter().find(|active| active.id == *id)?.rule.name);
        let detail = order.iter().filter_map(name).collect::<Vec<_>>().join(", ");
        self.order_as(order, &format!("tried first: {detail}"), expected, by).await
    }

    /// Has a rule tried one place earlier or later in the order that is expected.
    pub async fn step(&self, id: RuleId, earlier: bool, expected: &Expected, by: &Actor) -> Result<(), RuleError> {
        self.check_place()?;
        let active = self.store.rules().await?;
        // One place further is somewhere else in another order.
        expected.check(Some(&RuleOrder::of(&active))).map_err(|_| RuleError::Reordered)?;
        let place = active.iter().position(|active| active.id == id).ok_or(RuleError::Gone)?;
        let other = if earlier { place.checked_sub(1) } else { Some(place + 1) };
        let Some((other, neighbour)) = other.and_then(|other| Some((other, active.get(other)?))) else {
            return Ok(());
        };
        let mut order: Vec<RuleId> = active.iter().map(|active| active.id).collect();
        order.swap(place, other);
        let name = active.get(place).map(|active| &*active.rule.name).unwrap_or_default();
        let side = if earlier { "before" } else { "after" };
        self.order_as(&order, &format!("{name:?} is tried {side} {:?}", neighbour.rule.name), expected, by).await
    }

    async fn order_as(&self, order: &[RuleId], detail: &str, expected: &Expected, by: &Actor) -> Result<(), RuleError> {
        let change = RuleChange { by, at: self.clock.now(), detail, expected };
        self.changes.order_rules(order, &change).await?;
        Ok(self.reload().await?)
    }

    /// Begins a job that tries the rules on all letters that need attention or a retry, in place of one that has not
    /// ended.
    pub async fn apply(&self, by: &Actor) -> Result<Uuid, StoreError> {
        let filter = LetterFilter { statuses: vec![Status::Open, Status::Scheduled], ..LetterFilter::default() };
        let total = self.store.count(&filter).await?;
        let id = ids::uuid(self.clock.now());
        let job = Job { total, state: JobState::Queued, ..Job::begun(id, APPLY_RULES) };
        self.changes.apply_rules(&job, by).await?;
        Ok(id)
    }

    fn check_place(&self) -> Result<(), RuleError> {
        self.file.as_ref().map_or(Ok(()), |file| Err(RuleError::InFile(file.clone())))
    }
}

/// Reading rules compiles their patterns, which can take milliseconds.
async fn compile(active: Vec<ActiveRule>, before: &Arc<RuleBook>) -> RuleBook {
    let before = Arc::clone(before);
    off_the_runtime(move || RuleBook::new(active, &before)).await
}

async fn check_expression(expression: &str) -> Result<(), RuleError> {
    let expression = expression.to_owned();
    off_the_runtime(move || Expression::compile(&expression)).await.map(drop).map_err(RuleError::Expression)
}
