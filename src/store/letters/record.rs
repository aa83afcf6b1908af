//! Taking letters in: one batch, one commit.

use std::collections::HashSet;

use amqp_message::{message::Message, time::Timestamp};
use failure_conventions::Failure;
use uuid::Uuid;

use super::{
    delivery_dedup::{self, AckState, PendingAcks},
    insert,
    returned::Returning,
};
use crate::{
    domain::{
        actor::Actor,
        history::Event,
        letter::{Importance, LetterId, Status},
        lifecycle::{
            Transition,
            failures::{self, FailedMessage},
        },
        policy::Decision,
    },
    store::{
        Store, StoreError,
        counts::{
            facets::{FacetKey, FacetScope},
            tally::{Place, Tally},
        },
        db::Tx,
        letters::history::{self, NewEntry},
        retries::{outcomes::RetryTally, schedule},
    },
};

/// What two deliveries of one message have in common: a hash over all that was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub u128);

/// A message that has come into dlo.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The id it gets if it turns out to be new.
    pub id: LetterId,
    /// The letter it says it is, when it was sent back by this server before and failed in the same queue again.
    pub returning: Option<LetterId>,
    pub fingerprint: Fingerprint,
    /// RabbitMQ has delivered it before.
    pub redelivered: bool,
    pub received_at: Timestamp,
    pub failure: Failure,
    /// What the retry policy rules for it; `None` for an obituary, which is a person's matter in any case.
    pub ruling: Option<Decision>,
    pub importance: Importance,
    pub importance_by: &'static str,
    pub message: Message,
    pub remarks: Vec<String>,
}

impl Arrival {
    /// When it failed: as it says or, where it says nothing or something impossible, when it came in.
    pub(crate) fn failed_at(&self) -> Timestamp {
        self.failure.last_failed_at.filter(|at| *at < self.received_at).unwrap_or(self.received_at)
    }

    /// All that its retry policy looks at.
    pub(super) fn failed_message(&self) -> FailedMessage<'_> {
        FailedMessage {
            received_at: self.received_at,
            queue: self.failure.queue.as_deref().unwrap_or_default(),
            attempts: self.failure.attempts,
            decision: self.ruling.as_ref(),
        }
    }

    pub(crate) fn error_type(&self) -> Option<&str> {
        self.failure.error.as_ref()?.kind.as_deref().map(listed)
    }

    /// Where there is only a stack trace, its first line.
    pub(crate) fn error_message(&self) -> Option<&str> {
        let error = self.failure.error.as_ref()?;
        let first_line = || error.stacktrace.as_deref().filter(|_| error.kind.is_none())?.lines().next();
        error.message.as_deref().or_else(first_line).map(listed)
    }
}

/// As much of a text as lists show, and letters are told apart by.
fn listed(text: &str) -> &str {
    const CHARACTERS: usize = 1_000;
    text.char_indices().nth(CHARACTERS).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Arrivals that are committed and then acknowledged together.
#[derive(Debug)]
pub struct IntakeBatch<'a> {
    pub id: Uuid,
    pub broker: &'a str,
    /// The queue they were consumed from.
    pub queue: &'a str,
    /// Names the connection that they came by.
    pub session: Uuid,
    pub recorded_at: Timestamp,
    pub arrivals: &'a [Arrival],
    /// Earlier batches of which more is known by now.
    pub settled: AckState<'a>,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// A letter for a person that was not here before.
    New(LetterId),
    /// One that was sent back, failed again and awaits a person.
    CameBack(LetterId),
    /// New or not, it waits for its retry.
    Waits(LetterId),
    /// Already here: the broker had not seen the acknowledgement.
    Redelivered(LetterId),
}

impl Recorded {
    pub const fn letter(self) -> LetterId {
        match self {
            Self::New(id) | Self::CameBack(id) | Self::Waits(id) | Self::Redelivered(id) => id,
        }
    }

    fn or_waits(self, waiting: &HashSet<LetterId>) -> Self {
        match self {
            Self::New(id) | Self::CameBack(id) if waiting.contains(&id) => Self::Waits(id),
            _ => self,
        }
    }
}

impl Store {
    /// Records a batch; when this returns, it is on disk. The answer has one entry for each arrival, in order.
    pub async fn record(&self, batch: &IntakeBatch<'_>) -> Result<Vec<Recorded>, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let mut tally = Tally::default();

        let mut known = PendingAcks::default();
        if batch.arrivals.iter().any(|arrival| arrival.redelivered) {
            known = PendingAcks::load(&mut tx, batch).await?;
        }
        delivery_dedup::settle(&mut tx, batch.settled).await?;
        let mut returning = Returning::lock(&mut tx, batch).await?;
        let recorded = sort_out(batch, &mut known, &mut returning);
        if !delivery_dedup::remember(&mut tx, batch, &recorded).await? {
            return delivery_dedup::recall(&mut tx, batch).await;
        }
        known.save(&mut tx).await?;
        note_redeliveries(&mut tx, batch, &recorded).await?;

        let (mut new, mut came_back) = (Vec::new(), Vec::new());
        for (arrival, recorded) in batch.arrivals.iter().zip(&recorded) {
            match recorded {
                Recorded::CameBack(id) => came_back.push((*id, arrival)),
                Recorded::Redelivered(_) => {}
                Recorded::New(id) | Recorded::Waits(id) => new.push(NewLetter::new(*id, arrival)),
            }
        }
        let back = returning.reopen(&came_back)?;
        let facets = new.iter().map(|letter| letter.facet(batch.broker)).chain(back.facets()).collect();
        scope.make_all(&mut tx, facets).await?;
        insert_new(&mut tx, &mut scope, &mut tally, batch.broker, &new).await?;
        back.save(&mut tx, &mut scope, &mut tally).await?;
        let transitions = new.iter().map(|letter| (letter.id, &letter.transition)).chain(back.transitions());
        let transitions: Vec<_> = transitions.collect();
        let waiting = write_transitions(&mut tx, batch.broker, &transitions).await?;
        tally.apply(&mut tx).await?;
        RetryTally::of(transitions.iter().map(|(_, transition)| (batch.broker, *transition))).apply(&mut tx).await?;
        tx.commit().await?;
        scope.committed();
        Ok(recorded.into_iter().map(|recorded| recorded.or_waits(&waiting)).collect())
    }
}

/// Writes the retries and histories of letters; the answer is which of them wait.
async fn write_transitions(
    tx: &mut Tx,
    broker: &str,
    transitions: &[(LetterId, &Transition<'_>)],
) -> Result<HashSet<LetterId>, StoreError> {
    let retries = transitions.iter().map(|(letter, transition)| (*letter, broker, transition.retry));
    schedule::change(tx, &retries.collect::<Vec<_>>()).await?;
    let lines = transitions.iter().flat_map(|(letter, transition)| NewEntry::all(*letter, transition));
    history::append_in_order(tx, &lines.collect::<Vec<_>>()).await?;
    let waiting = transitions.iter().filter(|(_, transition)| transition.status == Status::Scheduled);
    Ok(waiting.map(|(letter, _)| *letter).collect())
}

/// Tells new letters from those that came back and from mere redeliveries.
fn sort_out(batch: &IntakeBatch<'_>, known: &mut PendingAcks, returning: &mut Returning) -> Vec<Recorded> {
    let mut sort = |arrival: &Arrival| {
        let duplicate = if arrival.redelivered { known.take(arrival) } else { None };
        match (duplicate, arrival.returning) {
            (Some(letter), _) => Recorded::Redelivered(letter),
            (None, Some(letter)) if returning.is_genuine(arrival) => Recorded::CameBack(letter),
            // It has been here before and was forgotten, or it waited in RabbitMQ: one id for its whole life.
            (None, Some(letter)) if returning.takes(letter) => Recorded::New(letter),
            _ => Recorded::New(arrival.id),
        }
    };
    batch.arrivals.iter().map(&mut sort).collect()
}

/// A letter that is not in the database yet.
pub(super) struct NewLetter<'a> {
    pub(super) id: LetterId,
    pub(super) arrival: &'a Arrival,
    /// Its first.
    pub(super) transition: Transition<'a>,
}

impl<'a> NewLetter<'a> {
    fn new(id: LetterId, arrival: &'a Arrival) -> Self {
        Self { id, arrival, transition: failures::received(arrival.failed_message(), arrival.importance) }
    }

    fn facet(&self, broker: &str) -> FacetKey {
        facet(broker, self.arrival, &self.transition)
    }
}

async fn insert_new(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    tally: &mut Tally,
    broker: &str,
    letters: &[NewLetter<'_>],
) -> Result<(), StoreError> {
    let mut rows = Vec::with_capacity(letters.len());
    for letter in letters {
        let facet = scope.id(tx, &letter.facet(broker)).await?;
        tally.add(Place { facet, group: None, received_at: letter.arrival.received_at });
        rows.push((facet, letter));
    }
    insert::insert(tx, &rows).await
}

/// The facet of a letter that has failed like `arrival`.
pub(super) fn facet(broker: &str, arrival: &Arrival, transition: &Transition<'_>) -> FacetKey {
    FacetKey {
        broker: broker.to_owned(),
        queue: arrival.failure.queue.clone().unwrap_or_default(),
        reason: arrival.failure.reason,
        status: transition.status,
        importance: transition.importance,
    }
}

/// A message taken for one we have must not vanish in silence.
async fn note_redeliveries(tx: &mut Tx, batch: &IntakeBatch<'_>, recorded: &[Recorded]) -> Result<(), StoreError> {
    const DETAIL: &str = "RabbitMQ delivered it once more after an acknowledgement that did not get through";
    let entries: Vec<NewEntry<'_>> = recorded
        .iter()
        .filter_map(|recorded| match recorded {
            Recorded::Redelivered(letter) => Some(NewEntry {
                letter: *letter,
                at: batch.recorded_at,
                event: Event::Redelivered,
                by: Actor::SYSTEM,
                detail: DETAIL,
            }),
            _ => None,
        })
        .collect();
    history::append(tx, &entries).await
}
