//! Applying what was decided about letters: their rows, retries, history and counts.

use std::collections::BTreeMap;

use amqp_message::time::Timestamp;
use sqlx::{Database, Encode, QueryBuilder, Type};

use super::{
    history::{self, NewEntry},
    lock::LockedLetter,
};
use crate::{
    domain::{
        letter::LetterId,
        lifecycle::{Change, ColumnChanges, GroupStep, LetterState, Transition},
    },
    store::{
        StoreError,
        counts::{facet_scope::FacetScope, facets::FacetId, place::Place, tally::Tally},
        db::{Tx, id_list::push_ids, on},
        retries::schedule,
    },
};

/// Rows in one statement.
const CHUNK: usize = 1_000;

/// A letter with what becomes of it.
pub(crate) type Moved<'a> = (&'a LockedLetter, Transition<'a>);

/// Applies transitions, each of another letter; to be called once in a transaction, at its end, before `tally` is
/// applied.
///
/// What happens to many letters at once is mostly the same for all of them: one statement then does it.
pub(crate) async fn apply(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    tally: &mut Tally,
    moved: &[Moved<'_>],
) -> Result<(), StoreError> {
    let retries = moved.iter().map(|(letter, transition)| (letter.state.id, &*letter.state.broker, transition.retry));
    schedule::change(tx, &retries.collect::<Vec<_>>()).await?;
    let lines = moved.iter().flat_map(|(letter, transition)| NewEntry::all(letter.state.id, transition));
    history::append(tx, &lines.collect::<Vec<_>>()).await?;
    let keys = moved.iter().map(|(letter, transition)| letter.key(transition.status, transition.importance));
    scope.make_all(tx, keys.collect()).await?;
    let mut alike: BTreeMap<(FacetId, ColumnChanges<'_>), Vec<LetterId>> = BTreeMap::new();
    for (letter, transition) in moved {
        let facet = scope.id(tx, &letter.key(transition.status, transition.importance)).await?;
        count(tally, letter, transition, facet);
        alike.entry((facet, transition.columns)).or_default().push(letter.state.id);
    }
    for ((facet, columns), letters) in alike {
        for chunk in letters.chunks(CHUNK) {
            update(tx, facet, columns, chunk).await?;
        }
    }
    Ok(())
}

/// Counts a letter in its new place.
fn count(tally: &mut Tally, letter: &LockedLetter, transition: &Transition<'_>, facet: FacetId) {
    if facet != letter.facet {
        let place = Place { facet, ..letter.place() };
        tally.remove(letter.place());
        match transition.not_sent() {
            Some((_, at)) => tally.add_unsent(place, at),
            None => tally.add(place),
        }
    }
    count_group_step(tally, letter, transition);
    if let (Some((why, at)), Some(job)) = (transition.not_sent(), letter.state.job()) {
        tally.jobs.not_sent(job, letter.state.id, why, at);
    }
}

pub(crate) fn count_group_step(tally: &mut Tally, letter: &LockedLetter, transition: &Transition<'_>) {
    match transition.group_step {
        Some(GroupStep::Sent { at }) => sent(tally, letter, at),
        Some(GroupStep::FailedAgain { sent_at }) => {
            tally.failed_again(letter.state.group, sent_at);
            tally.jobs.failed_again(letter.state.id, transition.history.last().map_or(sent_at, |line| line.at));
        }
        Some(GroupStep::SentAndFailedAgain { at }) => {
            sent(tally, letter, at);
            tally.failed_again(letter.state.group, at);
            tally.jobs.failed_again(letter.state.id, at);
        }
        None => {}
    }
}

fn sent(tally: &mut Tally, letter: &LockedLetter, at: Timestamp) {
    tally.sent(letter.state.group, at);
    if let Some(job) = letter.state.job() {
        tally.jobs.sent(job, letter.state.id, at);
    }
}

async fn update(
    tx: &mut Tx,
    facet: FacetId,
    columns: ColumnChanges<'_>,
    letters: &[LetterId],
) -> Result<(), StoreError> {
    on!(tx, |tx| {
        let mut update = QueryBuilder::new("UPDATE letters SET facet_id = ");
        update.push_bind(facet.0);
        push_columns(&mut update, columns);
        update.push(" WHERE id IN ");
        push_ids(&mut update, letters);
        update.build().execute(&mut **tx).await?;
    });
    Ok(())
}

fn push_columns<DB: Database>(update: &mut QueryBuilder<DB>, columns: ColumnChanges<'_>)
where
    for<'q> i64: Encode<'q, DB> + Type<DB>,
    for<'q> String: Encode<'q, DB> + Type<DB>,
{
    let ColumnChanges { closed_at, handed_over_at, note, problem, importance_by, rules_anew, type_by_hand } = columns;
    push_change(update, ", closed_at = ", closed_at.map(Timestamp::as_micros));
    if let Some(at) = handed_over_at {
        update.push(", handed_over_at = coalesce(handed_over_at, ").push_bind(at.as_micros()).push(")");
    }
    push_change(update, ", note = ", note.map(str::to_owned));
    push_change(update, ", problem = ", problem.map(str::to_owned));
    if importance_by == Some(LetterState::BY_DEFAULT) {
        // The rules are tried again when it is looked at anew.
        update.push(", named_with = NULL");
    }
    if rules_anew {
        update.push(", enriched_at = NULL");
    }
    push_change(update, ", importance_by = ", importance_by.map_or(Change::Keep, Change::Set).map(str::to_owned));
    push_change(update, ", message_type = ", type_by_hand.map(str::to_owned));
    match type_by_hand {
        Change::Keep => {}
        Change::Set(_) => _ = update.push(", type_source = 'manual', type_confidence = NULL, named_with = NULL"),
        Change::Clear => _ = update.push(", type_source = NULL, type_confidence = NULL, named_with = NULL"),
    }
}

/// `column` is ours; no text of a message or a user is in it.
fn push_change<'v, DB: Database, T>(update: &mut QueryBuilder<DB>, column: &'static str, change: Change<T>)
where
    T: Encode<'v, DB> + Type<DB> + 'v,
{
    match change {
        Change::Keep => {}
        Change::Set(value) => _ = update.push(column).push_bind(value),
        Change::Clear => _ = update.push(column).push("NULL"),
    }
}
