//! Letters in memory, of which everything is made by the machine alone.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use amqp_message::{death::Reason, time::Timestamp};
use arbtest::arbitrary::{Result, Unstructured};
use uuid::Uuid;

use super::super::{
    Change, LetterState, NewRetry, PendingRetry, RetryChange, Transition,
    failures::{self, FailedMessage},
};
use crate::domain::{
    actor::Actor,
    command::Command,
    letter::{Importance, LetterId, Status},
    policy::{ActivePolicy, Decision, Delays, Origin, Policy, Via},
};

pub const QUEUES: [&str; 3] = ["orders", "texts", ""];

#[derive(Default)]
pub struct World {
    pub letters: BTreeMap<LetterId, LetterState>,
    pub now: Timestamp,
    next_id: u128,
}

impl World {
    pub fn new_id(&mut self) -> LetterId {
        self.next_id += 1;
        LetterId::from_uuid(Uuid::from_u128(self.next_id))
    }

    /// How a letter stands, with what depends on others.
    pub fn state(&self, id: LetterId) -> LetterState {
        let state = &self.letters[&id];
        let stands =
            |other: &&LetterState| other.id != id && other.family == state.family && other.status != Status::Discarded;
        let rival = state.family.and_then(|_| self.letters.values().find(stands));
        LetterState { rival: rival.map(|rival| rival.id), ..state.clone() }
    }

    pub fn receive(&mut self, message: FailedMessage<'_>, importance: Importance) -> LetterId {
        let id = self.new_id();
        let transition = failures::received(message, importance);
        let new = LetterState {
            id,
            broker: "main".to_owned(),
            queue: Some(message.queue.to_owned()).filter(|queue| !queue.is_empty()),
            reason: Reason::Rejected,
            status: transition.status,
            importance,
            importance_by: "default".to_owned(),
            type_by_hand: None,
            note: None,
            group: None,
            received_at: message.received_at,
            enriched_at: None,
            attempts: message.attempts,
            rounds: message.rounds,
            danger: None,
            closed_at: None,
            family: None,
            was_recognised: false,
            rival: None,
            retry: None,
        };
        let new = after(&new, &transition);
        self.letters.insert(id, new);
        id
    }

    pub fn apply(&mut self, id: LetterId, transition: &Transition<'_>) {
        let new = after(&self.letters[&id], transition);
        self.letters.insert(id, new);
    }

    /// Letters by status and importance, counted one by one.
    pub fn facets(&self) -> BTreeMap<(Status, Importance), i64> {
        let mut facets = BTreeMap::new();
        for letter in self.letters.values() {
            *facets.entry((letter.status, letter.importance)).or_default() += 1;
        }
        facets
    }

    /// What holds of all letters at any time.
    pub fn check(&self) {
        let mut standing: BTreeMap<LetterId, LetterId> = BTreeMap::new();
        for letter in self.letters.values() {
            assert_eq!(letter.retry.is_some(), letter.status == Status::Scheduled, "{letter:?}");
            let is_settled = matches!(letter.status, Status::Retried | Status::Discarded);
            assert_eq!(letter.closed_at.is_some(), is_settled, "{letter:?}");
            if let Some(family) = letter.family.filter(|_| letter.status != Status::Discarded) {
                assert_eq!(standing.insert(family, letter.id), None, "two edits of {family} stand");
            }
        }
    }
}

/// A letter to which that has happened.
pub fn after(state: &LetterState, transition: &Transition<'_>) -> LetterState {
    let columns = &transition.columns;
    let importance_by = columns.importance_by.unwrap_or(&state.importance_by).to_owned();
    LetterState {
        status: transition.status,
        importance: transition.importance,
        importance_by,
        closed_at: changed(state.closed_at, columns.closed_at),
        note: changed(state.note.clone(), columns.note.map(str::to_owned)),
        type_by_hand: changed(state.type_by_hand.clone(), columns.type_by_hand.map(str::to_owned)),
        retry: retry_after(state.retry.as_ref(), &transition.retry),
        enriched_at: state.enriched_at.filter(|_| !columns.rules_anew),
        ..state.clone()
    }
}

fn changed<T>(value: Option<T>, change: Change<T>) -> Option<T> {
    match change {
        Change::Keep => value,
        Change::Set(value) => Some(value),
        Change::Clear => None,
    }
}

fn retry_after(retry: Option<&PendingRetry>, change: &RetryChange<'_>) -> Option<PendingRetry> {
    let scheduled = |new: &NewRetry<'_>, claims| PendingRetry {
        due_at: new.due_at,
        queue: new.queue.to_owned(),
        by: new.by.to_owned(),
        claimed_until: None,
        claims,
        job: new.job,
    };
    match change {
        RetryChange::Keep => retry.cloned(),
        RetryChange::Cancel => None,
        RetryChange::Schedule(new) => Some(scheduled(new, retry.map_or(0, |retry| retry.claims))),
        RetryChange::Replace(new) => Some(scheduled(new, 0)),
    }
}

pub fn actor() -> Actor {
    Actor::named("ann")
}

/// A policy of so many retries, each after a minute.
pub fn policy(retries: usize) -> Decision {
    let policy = Policy {
        queues: "*".to_owned(),
        reason: None,
        delays: Delays::Listed(vec![Duration::from_secs(60); retries]),
        jitter: 0.0,
        via: Via::Database,
        keep_routing_key: false,
    };
    Decision::new(Some(Arc::new(ActivePolicy { policy, origin: Origin::Configuration })), 0.5)
}

pub fn any_command(u: &mut Unstructured<'_>) -> Result<Command> {
    let queue = u.arbitrary::<bool>()?.then(|| "other".to_owned());
    let text = u.choose(&["", "a"])?.to_string();
    Ok(match u.int_in_range(0..=5)? {
        0 => Command::Retry { delay: Duration::from_secs(u.int_in_range(0..=9)?), queue },
        1 => Command::Discard { note: Some(text).filter(|note| !note.is_empty()) },
        2 => Command::Reopen,
        3 => Command::SetImportance(*u.choose(Importance::ALL)?),
        4 => Command::SetNote(text),
        _ => Command::SetType(Some(text).filter(|name| !name.is_empty())),
    })
}

/// A letter that can stand so, in any status.
pub fn any_letter(u: &mut Unstructured<'_>) -> Result<LetterState> {
    let mut world = World::default();
    let message = FailedMessage {
        received_at: world.now,
        queue: u.choose(&QUEUES)?,
        attempts: 1,
        rounds: 1,
        is_recognised: false,
        is_own_retry: false,
        decision: None,
        is_another: false,
        is_counted: false,
    };
    let id = world.receive(message, *u.choose(Importance::ALL)?);
    let letter = world.state(id);
    let status = *u.choose(Status::ALL)?;
    let moment = Timestamp::from_seconds(u.int_in_range(0..=9)?);
    let is_claimed = u.arbitrary::<bool>()?;
    let retry = PendingRetry {
        due_at: moment,
        queue: "orders".to_owned(),
        by: if u.arbitrary()? { Actor::SYSTEM } else { "alice" }.to_owned(),
        claimed_until: is_claimed.then_some(moment),
        claims: u.int_in_range(u64::from(is_claimed)..=3)?,
        job: None,
    };
    let is_one_of_several = u.arbitrary::<bool>()?;
    let family = is_one_of_several.then(|| world.new_id());
    let may_have_rival = is_one_of_several && status == Status::Discarded && u.arbitrary()?;
    Ok(LetterState {
        status,
        retry: (status == Status::Scheduled).then_some(retry),
        closed_at: matches!(status, Status::Retried | Status::Discarded).then_some(moment),
        family,
        rival: may_have_rival.then(|| world.new_id()),
        danger: u.arbitrary::<bool>()?.then_some(failure_conventions::danger::Danger::SymfonySerialized),
        ..letter
    })
}
