//! What a rule would do that nobody has saved yet. Nothing is written.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rule_language::Decode;
use uuid::Uuid;

use super::{RuleBook, RuleError, Ruled, Rules, compile, facts, wording::tidy};
use crate::{
    crash_point,
    domain::{
        filter::{LetterFilter, PageRequest, Sort},
        letter::{Importance, Letter, LetterSummary, Status},
        rule::{ActiveRule, Rule, RuleId},
    },
    services::{
        decoding::{
            confirmed::Confirmed,
            confirmed::ConfirmedTypes,
            reader::{Reader, off_the_runtime},
            reading::Library,
        },
        triage::batches::batches,
    },
    store::StoreError,
};

/// Letters that a draft is tried on: the newest that are open or wait, and where these are fewer the newest others.
pub const MOST_TRIED: usize = 500;
/// Letters that are listed one by one, at most, of those that would change and of the others that it takes.
const MOST_LISTED: usize = 20;
/// After this no more letters are looked at: somebody waits who types.
const PATIENCE: Duration = crash_point::patience(Duration::from_secs(2));
/// `importance_by` of what a user has chosen.
const BY_HAND: &str = "manual";

/// A rule that somebody writes.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The rule it is to replace; `None`: it is a new one.
    pub id: Option<RuleId>,
    pub rule: Rule,
    /// Where it would stand in the order, from 0; `None`: where it stands, or last.
    pub place: Option<usize>,
}

/// The result of trying a draft among the rules in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    pub looked_at: u64,
    /// Whether it took so long that it was given up before all were looked at.
    pub is_cut: bool,
    /// Letters that it takes.
    pub takes: u64,
    /// Letters that it would take if a rule before it did not.
    pub comes_too_late: u64,
    /// Letters on which it could not be tried, and why not on the first of them.
    pub failures: u64,
    pub first_failure: Option<String>,
    /// Letters that would change if all rules were applied with it among them: from which importance to which.
    pub changes: BTreeMap<(Importance, Importance), u64>,
    /// The first few that would change, and the first few others that it takes, the newest first.
    pub letters: Vec<TriedLetter>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TriedLetter {
    pub letter: LetterSummary,
    /// Whether the draft takes it.
    pub is_taken: bool,
    pub would_be: Importance,
}

impl Trial {
    pub fn n_changes(&self) -> u64 {
        self.changes.values().sum()
    }

    fn add(&mut self, letter: &LetterSummary, found: Found) {
        self.looked_at += 1;
        self.takes += u64::from(found.is_taken);
        self.comes_too_late += u64::from(found.comes_too_late);
        self.failures += u64::from(found.failure.is_some());
        self.first_failure = self.first_failure.take().or(found.failure);
        let changes = found.would_be != letter.importance;
        if changes {
            *self.changes.entry((letter.importance, found.would_be)).or_default() += 1;
        }
        let is_alike = |other: &&TriedLetter| (other.would_be != other.letter.importance) == changes;
        if (changes || found.is_taken) && self.letters.iter().filter(is_alike).count() < MOST_LISTED {
            let Found { is_taken, would_be, .. } = found;
            self.letters.push(TriedLetter { letter: letter.clone(), is_taken, would_be });
        }
    }
}

/// The result for one letter.
struct Found {
    is_taken: bool,
    comes_too_late: bool,
    failure: Option<String>,
    would_be: Importance,
}

/// The rules with the draft among them.
struct WithDraft {
    book: RuleBook,
    draft: RuleId,
}

impl Rules {
    /// Tries a draft in its place among the rules in force, on letters that came in lately.
    ///
    /// # Errors
    /// [`RuleError::Expression`] where it cannot be tried, [`RuleError::Gone`] where the rule is gone that it is to
    /// replace.
    pub async fn try_draft(&self, reader: &Reader, draft: &Draft) -> Result<Trial, RuleError> {
        // Before it has to wait for others: whoever types wants to know at once what is wrong.
        let rules = Arc::new(self.with(draft).await?);
        let _turn = self.trying.acquire().await;
        let until = self.clock.now().plus(PATIENCE);
        let mut trial = Trial::default();
        let (library, mut confirmed) = (reader.library().await, ConfirmedTypes::new(&self.store));
        for batch in batches(self.recent().await?) {
            let mut letters = Vec::with_capacity(batch.len());
            for letter in self.store.with_contents(batch).await? {
                let confirmed = confirmed.of(&letter.summary).await?;
                letters.push((letter, confirmed));
            }
            let sample = Sample { letters, rules: Arc::clone(&rules), library: Arc::clone(&library) };
            let (reader, clock) = (reader.clone(), self.clock.clone());
            trial = off_the_runtime(move || sample.try_all(trial, &reader, || clock.now() < until)).await;
            if trial.is_cut {
                break;
            }
        }
        // Those that would change before those that stay as they are; both the newest first.
        trial.letters.sort_by_key(|tried| tried.would_be == tried.letter.importance);
        trial.letters.truncate(MOST_LISTED);
        Ok(trial)
    }

    async fn with(&self, draft: &Draft) -> Result<WithDraft, RuleError> {
        let current = self.in_force();
        let mut active = current.active().to_vec();
        let was = active.iter().position(|active| Some(active.id) == draft.id);
        if draft.id.is_some() && was.is_none() {
            return Err(RuleError::Gone);
        }
        if let Some(was) = was {
            active.remove(was);
        }
        // No rule in force has this id.
        let id = draft.id.unwrap_or(RuleId::from_uuid(Uuid::max()));
        let place = draft.place.or(was).unwrap_or(active.len()).min(active.len());
        active.insert(place, ActiveRule { id, rule: tidy(&draft.rule), set: None });
        let book = compile(active, &current).await;
        match book.mistakes(id) {
            [] => Ok(WithDraft { book, draft: id }),
            mistakes => Err(RuleError::Expression(mistakes.to_vec())),
        }
    }

    async fn recent(&self) -> Result<Vec<LetterSummary>, StoreError> {
        let mut recent = Vec::new();
        for statuses in [[Status::Open, Status::Scheduled], [Status::Retried, Status::Discarded]] {
            let limit = MOST_TRIED - recent.len();
            if limit > 0 {
                let filter = LetterFilter { statuses: statuses.to_vec(), ..LetterFilter::default() };
                let page = PageRequest { sort: Sort::Newest, after: None, limit };
                recent.extend(self.store.letters(&filter, &page).await?.items);
            }
        }
        Ok(recent)
    }
}

/// Letters to try the rules on.
struct Sample {
    letters: Vec<(Letter, Arc<Confirmed>)>,
    rules: Arc<WithDraft>,
    library: Arc<Library>,
}

impl Sample {
    fn try_all(self, mut trial: Trial, reader: &Reader, goes_on: impl Fn() -> bool) -> Trial {
        for (letter, confirmed) in &self.letters {
            if !goes_on() {
                return Trial { is_cut: true, ..trial };
            }
            let letter = &*reader.scrubbed(&self.library, letter, confirmed);
            let found = reader.analyze(&self.library, letter, confirmed, |named, _, payload| {
                self.rules.find(letter, named.as_ref().map(|named| &*named.name), payload)
            });
            trial.add(&letter.summary, found);
        }
        trial
    }
}

impl WithDraft {
    fn find(&self, letter: &Letter, message_type: Option<&str>, payload: &Decode<'_>) -> Found {
        let facts = facts(letter, message_type, payload);
        let Ruled { rule, importance, failures, .. } = self.book.evaluate(&facts);
        let is_taken = rule == Some(self.draft);
        let failure =
            failures.into_iter().find(|ruled_out| ruled_out.rule == self.draft).map(|ruled_out| ruled_out.why);
        let matches = || self.book.expression(self.draft).is_some_and(|draft| draft.matches(&facts) == Ok(true));
        let summary = &letter.summary;
        // As applying does it: what is over stays as it was, and so does what a user has chosen.
        let awaits = matches!(summary.status, Status::Open | Status::Scheduled);
        let stays = !awaits || summary.importance_by == BY_HAND;
        Found {
            is_taken,
            comes_too_late: !is_taken && failure.is_none() && matches(),
            failure,
            would_be: if stays { summary.importance } else { importance },
        }
    }
}
