//! Taking letters in: one batch, one commit.

use std::collections::HashSet;

use super::{
    delivery_dedup,
    history::{self, NewEntry},
    insert::{self, NewLetter},
    intake::{Arrival, IntakeBatch, Recorded},
    pending_acks::PendingAcks,
    returned::Returning,
};
use crate::{
    domain::{
        actor::Actor,
        history::Event,
        letter::{LetterId, Status},
        lifecycle::Transition,
    },
    store::{
        Store, StoreError,
        counts::{facet_scope::FacetScope, place::Place, tally::Tally},
        db::Tx,
        retries::{outcomes::RetryTally, schedule, waiting},
    },
};

impl Store {
    /// Records a batch; when this returns, it is on disk. The answer has one entry for each arrival, in order.
    pub async fn record(&self, batch: &IntakeBatch<'_>) -> Result<Vec<Recorded>, StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let mut tally = Tally::default();

        let mut known = PendingAcks::default();
        delivery_dedup::wait_for_others(&mut tx, batch.broker, batch.queue, batch.may_repeat()).await?;
        // Asked only now: whoever was quicker has had the lock.
        let is_cut = (batch.is_cut)();
        if is_cut || batch.may_repeat() {
            known = PendingAcks::load(&mut tx, batch, is_cut).await?;
        }
        delivery_dedup::settle(&mut tx, batch.settled).await?;
        let mut returning = Returning::lock(&mut tx, batch).await?;
        let recorded = sort_out(batch, &mut known, &mut returning);
        if !delivery_dedup::remember(&mut tx, batch, &recorded).await? {
            return delivery_dedup::recall(&mut tx, batch).await;
        }
        known.save(&mut tx).await?;
        waiting::forget(&mut tx, batch.arrivals.iter().filter_map(|arrival| arrival.waited)).await?;
        note_redeliveries(&mut tx, batch, &recorded).await?;

        let (mut new, mut failed_again) = (Vec::new(), Vec::new());
        for (arrival, recorded) in batch.arrivals.iter().zip(&recorded) {
            match recorded {
                Recorded::FailedAgain(id) => failed_again.push((*id, arrival)),
                Recorded::Redelivered(_) => {}
                Recorded::New(id) | Recorded::Waits(id) => new.push(NewLetter::new(*id, arrival)),
            }
        }
        let back = returning.reopen(&failed_again)?;
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
    let mut failed = |arrival: &Arrival| {
        if let Some(letter) = returning.comes_back(arrival) {
            return Recorded::FailedAgain(letter);
        }
        match arrival.returning {
            // It has been here before and was forgotten, or it waited in RabbitMQ: one id for its whole life.
            Some(letter) if returning.takes(letter) => Recorded::New(letter),
            _ => Recorded::New(arrival.id),
        }
    };
    let mut sort = |arrival: &Arrival| {
        if let Some(letter) = known.take(arrival) {
            return Recorded::Redelivered(letter);
        }
        let recorded = failed(arrival);
        known.found(batch.id, arrival, recorded.letter());
        recorded
    };
    batch.arrivals.iter().map(&mut sort).collect()
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

/// A message taken for one we have must not vanish in silence.
async fn note_redeliveries(tx: &mut Tx, batch: &IntakeBatch<'_>, recorded: &[Recorded]) -> Result<(), StoreError> {
    const DETAIL: &str =
        "RabbitMQ delivered it once more after an acknowledgement or a rejection that did not get through";
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
