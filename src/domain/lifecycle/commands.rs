//! What a user's command makes of letters.

use std::collections::HashMap;

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::{Change, ColumnChanges, HistoryLine, LetterState, NewRetry, RetryChange, Transition};
use crate::domain::{
    actor::Actor,
    command::{Command, Refusal, in_time},
    history::Event,
    letter::{LetterId, Status},
    retry_limits::RetryLimits,
};

/// The result of a command for one letter that takes it.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once and never kept in numbers")]
#[derive(Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    Moves(Transition<'a>),
    /// The letter is already as the command would have it: nothing is done, and nothing is written down.
    AsItIs,
}

impl<'a> Decision<'a> {
    pub fn transition(self) -> Option<Transition<'a>> {
        match self {
            Self::Moves(transition) => Some(transition),
            Self::AsItIs => None,
        }
    }
}

/// A command that is given to several letters at once, one after the other.
pub struct Decider<'a> {
    command: &'a Command,
    by: &'a Actor,
    at: Timestamp,
    limits: &'a RetryLimits,
    job: Option<Uuid>,
    /// Families of which one has been sent or reopened already, with that one.
    revived: HashMap<LetterId, LetterId>,
}

impl<'a> Decider<'a> {
    pub fn new(command: &'a Command, by: &'a Actor, at: Timestamp, limits: &'a RetryLimits) -> Self {
        Self { command, by, at, limits, job: None, revived: HashMap::new() }
    }

    /// The job that gives it.
    #[must_use]
    pub fn of_job(self, job: Option<Uuid>) -> Self {
        Self { job, ..self }
    }

    /// Whether a job leaves this letter alone: it is to be sent by it already or, when it takes letters back, by another.
    pub fn is_no_matter_of_the_job(&self, state: &LetterState) -> bool {
        let is_its_own = state.job() == self.job;
        self.job.is_some()
            && match self.command {
                Command::Retry { .. } => is_its_own,
                Command::Reopen => !is_its_own,
                _ => false,
            }
    }

    /// What becomes of this letter. Each is to be asked about once.
    ///
    /// # Errors
    /// Why it does not take the command.
    pub fn decide(&mut self, state: &'a LetterState) -> Result<Decision<'a>, Refusal> {
        self.check(state)?;
        if self.is_as_it_is(state) {
            return Ok(Decision::AsItIs);
        }
        let handed_over_at = Some(self.at);
        let stay = Transition::stay(state.status, state.importance);
        let stay = Transition { columns: ColumnChanges { handed_over_at, ..stay.columns }, ..stay };
        let moved = self.change(state, stay)?;
        let (event, detail) = describe(self.command, state);
        Ok(Decision::Moves(moved.with(HistoryLine { at: self.at, event, by: self.by.as_str(), detail })))
    }

    fn check(&mut self, state: &LetterState) -> Result<(), Refusal> {
        if !self.command.allowed_in().contains(&state.status) {
            return Err(Refusal::WrongStatus { command: self.command.name(), status: state.status });
        }
        let moves = matches!(self.command, Command::Retry { .. } | Command::Discard { .. } | Command::Reopen);
        if moves && state.is_in_flight(self.at) {
            return Err(Refusal::InFlight);
        }
        if matches!(self.command, Command::Retry { .. } | Command::Reopen) {
            self.check_family(state)?;
        }
        if let Command::Retry { queue, .. } = self.command {
            if let Some(danger) = self.limits.danger(state.danger, state.queue.as_deref()) {
                return Err(Refusal::Dangerous(danger));
            }
            let target = state.target(queue.as_deref()).ok_or(Refusal::QueueUnknown)?;
            self.limits.targets.check(target).map_err(Refusal::Unfit)?;
        }
        Ok(())
    }

    /// Of a family only one may stand.
    fn check_family(&mut self, state: &LetterState) -> Result<(), Refusal> {
        let first = |family| *self.revived.entry(family).or_insert(state.id);
        match state.rival.or_else(|| state.family.map(first).filter(|one| *one != state.id)) {
            Some(by) => Err(Refusal::Replaced { by }),
            None => Ok(()),
        }
    }

    fn is_as_it_is(&self, state: &LetterState) -> bool {
        match self.command {
            Command::SetImportance(to) => state.importance_by == LetterState::BY_HAND && state.importance == *to,
            Command::ReleaseImportance => state.importance_by != LetterState::BY_HAND,
            Command::SetType(to) => state.type_by_hand == *to,
            Command::SetNote(to) => state.note.as_deref().unwrap_or_default() == to,
            Command::Retry { .. } | Command::Discard { .. } | Command::Reopen => false,
        }
    }

    fn change(&self, state: &'a LetterState, stay: Transition<'a>) -> Result<Transition<'a>, Refusal> {
        let columns = stay.columns;
        let with = |columns| Transition { columns, ..stay.clone() };
        Ok(match self.command {
            Command::Retry { delay, queue } => {
                let queue = state.target(queue.as_deref()).ok_or(Refusal::QueueUnknown)?;
                let retry = NewRetry { job: self.job, ..NewRetry::after(*delay, self.at, queue, self.by) };
                with(ColumnChanges { problem: Change::Clear, ..columns })
                    .to(state.status, Status::Scheduled, self.at)
                    .retry(RetryChange::Schedule(retry))
            }
            Command::Discard { note } => {
                let note = note.as_deref().map_or(Change::Keep, Change::Set);
                with(ColumnChanges { note, ..columns })
                    .to(state.status, Status::Discarded, self.at)
                    .retry(RetryChange::Cancel)
            }
            Command::Reopen => stay.to(state.status, Status::Open, self.at).retry(RetryChange::Cancel),
            Command::SetImportance(importance) => {
                let importance_by = Some(LetterState::BY_HAND);
                Transition { importance: *importance, ..with(ColumnChanges { importance_by, ..columns }) }
            }
            Command::ReleaseImportance => {
                let importance_by = Some(LetterState::BY_DEFAULT);
                // The rules leave alone what is over, but for what they have not seen yet.
                let rules_anew = state.closed_at.is_some();
                with(ColumnChanges { importance_by, rules_anew, ..columns })
            }
            Command::SetNote(note) if note.is_empty() => with(ColumnChanges { note: Change::Clear, ..columns }),
            Command::SetNote(note) => with(ColumnChanges { note: Change::Set(note), ..columns }),
            Command::SetType(name) => {
                let type_by_hand = name.as_deref().map_or(Change::Clear, Change::Set);
                with(ColumnChanges { type_by_hand, ..columns })
            }
        })
    }
}

/// What a command does to a letter that stands so: for its history and for the record of activity.
pub fn describe(command: &Command, state: &LetterState) -> (Event, String) {
    match command {
        Command::Retry { delay, queue } => {
            let queue = state.target(queue.as_deref()).unwrap_or_default();
            (Event::RetryScheduled, format!("to {queue}, {}", in_time(*delay)))
        }
        Command::Discard { note } => (Event::Discarded, note.clone().unwrap_or_default()),
        Command::Reopen => (Event::Reopened, reopened(state).to_owned()),
        Command::SetImportance(importance) => {
            (Event::ImportanceSet, format!("from {} to {importance}", state.importance))
        }
        Command::ReleaseImportance => (Event::ImportanceSet, "back to the rules".to_owned()),
        Command::SetNote(note) => (Event::NoteSet, note.clone()),
        Command::SetType(message_type) => (Event::TypeSet, message_type.clone().unwrap_or_default()),
    }
}

fn reopened(state: &LetterState) -> &'static str {
    match state.status {
        Status::Scheduled if state.waits() => "the scheduled retry was cancelled",
        Status::Scheduled => {
            "the scheduled retry was cancelled; an earlier attempt was interrupted, so it may have arrived"
        }
        _ => "the discard was undone",
    }
}
