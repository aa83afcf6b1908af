//! Taking letters in: one batch, one commit.

use uuid::Uuid;

use super::{
    Store, StoreError,
    db::Tx,
    facets::{FacetKey, FacetScope},
    insert,
    returned::Returning,
    tally::Tally,
    unsettled::{self, Settled, Unsettled},
};
use crate::{
    domain::{
        actor::Actor,
        death::Failure,
        history::Event,
        letter::{Importance, LetterId, Status},
        message::Message,
        time::Timestamp,
    },
    store::history::{self, NewEntry},
};

/// What two deliveries of one message have in common: a hash over all that was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub u128);

/// A message that has come into the office.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The id it gets if it turns out to be new.
    pub id: LetterId,
    /// The letter it says it is, when it was sent back by this office before and failed in the same queue again.
    pub returning: Option<LetterId>,
    pub fingerprint: Fingerprint,
    /// RabbitMQ has delivered it before.
    pub redelivered: bool,
    pub received_at: Timestamp,
    pub failure: Failure,
    pub importance: Importance,
    pub importance_by: &'static str,
    pub message: Message,
    pub remarks: Vec<String>,
}

/// Arrivals that are committed and then acknowledged together.
#[derive(Debug)]
pub struct IntakeBatch<'a> {
    pub id: Uuid,
    pub broker: &'a str,
    /// The queue they were consumed from.
    pub queue: &'a str,
    pub recorded_at: Timestamp,
    pub arrivals: &'a [Arrival],
    /// Earlier batches that may be forgotten by now.
    pub settled: Settled<'a>,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    New(LetterId),
    /// A letter that was sent back and failed again.
    CameBack(LetterId),
    /// Already here: the broker had not seen the acknowledgement.
    Redelivered(LetterId),
}

impl Recorded {
    pub const fn letter(self) -> LetterId {
        match self {
            Self::New(id) | Self::CameBack(id) | Self::Redelivered(id) => id,
        }
    }
}

impl Store {
    /// Records a batch; when this returns, it is on disk. The answer has one entry for each arrival, in order.
    pub async fn record(&self, batch: &IntakeBatch<'_>) -> Result<Vec<Recorded>, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let mut tally = Tally::default();

        let mut known = Unsettled::default();
        if batch.arrivals.iter().any(|arrival| arrival.redelivered) {
            known = Unsettled::load(&mut tx, batch).await?;
        }
        unsettled::forget(&mut tx, batch.settled).await?;
        let mut returning = Returning::lock(&mut tx, batch).await?;
        let recorded = sort_out(batch, &mut known, &returning);
        if !unsettled::remember(&mut tx, batch, &recorded).await? {
            return unsettled::recall(&mut tx, batch).await;
        }
        known.save(&mut tx).await?;
        note_redeliveries(&mut tx, batch, &recorded).await?;

        let (mut new, mut came_back) = (Vec::new(), Vec::new());
        for (arrival, recorded) in batch.arrivals.iter().zip(&recorded) {
            match recorded {
                Recorded::New(_) => new.push((open_facet(batch.broker, arrival, arrival.importance), arrival)),
                Recorded::CameBack(id) => came_back.push((*id, arrival)),
                Recorded::Redelivered(_) => {}
            }
        }
        let facets = new.iter().map(|(key, _)| key.clone()).chain(returning.facets(&came_back)).collect();
        scope.make_all(&mut tx, facets).await?;
        insert_new(&mut tx, &mut scope, &mut tally, &new).await?;
        for (id, arrival) in came_back {
            returning.reopen(&mut tx, &mut scope, &mut tally, id, arrival).await?;
        }
        tally.apply(&mut tx).await?;
        tx.commit().await?;
        scope.committed();
        Ok(recorded)
    }
}

/// Tells new letters from those that came back and from mere redeliveries.
fn sort_out(batch: &IntakeBatch<'_>, known: &mut Unsettled, returning: &Returning) -> Vec<Recorded> {
    let mut sort = |arrival: &Arrival| {
        let has_message_id = arrival.message.properties.message_id.is_some();
        let duplicate = if arrival.redelivered { known.take(arrival.fingerprint, has_message_id) } else { None };
        match (duplicate, arrival.returning) {
            (Some(letter), _) => Recorded::Redelivered(letter),
            (None, Some(letter)) if returning.is_genuine(arrival) => Recorded::CameBack(letter),
            _ => Recorded::New(arrival.id),
        }
    };
    batch.arrivals.iter().map(&mut sort).collect()
}

async fn insert_new(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    tally: &mut Tally,
    arrivals: &[(FacetKey, &Arrival)],
) -> Result<(), StoreError> {
    let mut rows = Vec::with_capacity(arrivals.len());
    for (key, arrival) in arrivals {
        let facet = scope.id(tx, key).await?;
        tally.add(facet, arrival.received_at);
        rows.push((facet, *arrival));
    }
    insert::insert(tx, &rows).await
}

pub(super) fn open_facet(broker: &str, arrival: &Arrival, importance: Importance) -> FacetKey {
    FacetKey {
        broker: broker.to_owned(),
        queue: arrival.failure.queue.clone().unwrap_or_default(),
        reason: arrival.failure.reason,
        status: Status::Open,
        importance,
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
                by: Actor::OFFICE,
                detail: DETAIL.to_owned(),
            }),
            _ => None,
        })
        .collect();
    history::append(tx, &entries).await
}
