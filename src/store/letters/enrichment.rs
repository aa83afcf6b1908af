//! Enriching letters: of which type each is, how important, and what failed like it.
//!
//! A letter remembers the *edition* it was named with, a number that stands for the schemas and mappings in force.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use amqp_message::time::Timestamp;

use super::{
    history::{self, NewEntry},
    lock::{self, LockedLetter},
    sent_before,
};
use crate::{
    domain::{
        actor::Actor,
        group::{GroupId, GroupKey},
        history::Event,
        letter::{Importance, LetterId, TypeSource},
        lifecycle::{
            LetterState, Transition,
            enrichment::{self, Evaluation},
        },
    },
    store::{
        Store, StoreError,
        counts::{
            facet_scope::FacetScope,
            facets::{FacetId, FacetKey},
            place::Place,
            tally::Tally,
        },
        db::{
            Tx,
            columns::{self, Column},
            on,
        },
        groups::{
            key::{NewGroup, make_groups, missing},
            roots::{hold_roots, roots},
        },
        search::index,
    },
};

/// Rows in one statement.
const CHUNK: usize = 500;

/// What a letter was found to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Enriched {
    pub letter: LetterId,
    /// When it had come in, and what type a user had given it, when it was looked at. If either has changed meanwhile
    /// it is looked at again.
    pub received_at: Timestamp,
    pub type_by_hand: Option<String>,
    pub message_type: Option<String>,
    pub source: Option<TypeSource>,
    /// From 0 to 1, of a guess.
    pub confidence: Option<f64>,
    /// What the message is, where it is a call.
    pub title: Option<String>,
    /// The error as lists show it, where it quotes something that is hidden.
    pub error_type: Option<String>,
    pub error_message: Option<String>,
    /// What the rules say.
    pub importance: Importance,
    /// `rule:<name>` or `default`.
    pub importance_by: String,
    pub group: GroupId,
    pub key: GroupKey,
}

/// A letter that needs attention since it came in, told when it is enriched: only now its importance is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exhausted {
    pub broker: String,
    pub queue: Option<String>,
    pub importance: Importance,
}

impl Enriched {
    fn evaluation(&self) -> Evaluation<'_> {
        Evaluation {
            received_at: self.received_at,
            type_by_hand: self.type_by_hand.as_deref(),
            importance: self.importance,
            importance_by: &self.importance_by,
        }
    }
}

impl Store {
    /// Writes down what letters were found to be. What a user has said of one stays.
    pub async fn enrich(
        &self,
        enriched: &[Enriched],
        edition: i64,
        at: Timestamp,
    ) -> Result<Vec<Exhausted>, StoreError> {
        let mut exhausted = Vec::new();
        for chunk in enriched.chunks(CHUNK) {
            let mut tx = self.db.begin().await?;
            let mut scope = self.facet_scope();
            exhausted.extend(enrich_chunk(&mut tx, &mut scope, chunk, edition, at).await?);
            tx.commit().await?;
            scope.committed();
        }
        Ok(exhausted)
    }

    /// Takes a letter for looked at that cannot be enriched, and says why in its history.
    pub async fn set_aside_unenriched(
        &self,
        letter: LetterId,
        edition: i64,
        why: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const SET: &str = "UPDATE letters SET named_with = $2, enriched_at = coalesce(enriched_at, $3) WHERE id = $1";
        let mut tx = self.db.begin().await?;
        index::ask(&mut tx, &[letter], edition).await?;
        on!(&mut tx, |tx| sqlx::query(SET)
            .bind(letter.as_uuid())
            .bind(edition)
            .bind(at.as_micros())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        let entry = NewEntry { letter, at, event: Event::NotEnriched, by: Actor::SYSTEM, detail: why };
        history::append(&mut tx, &[entry]).await?;
        tx.commit().await
    }
}

async fn enrich_chunk(
    tx: &mut Tx,
    scope: &mut FacetScope<'_>,
    enriched: &[Enriched],
    edition: i64,
    at: Timestamp,
) -> Result<Vec<Exhausted>, StoreError> {
    let ids: Vec<LetterId> = enriched.iter().map(|enriched| enriched.letter).collect();
    let letters = lock::lock(tx, &ids).await?;
    let mut moves = Move::all(enriched, &letters, at);
    if moves.is_empty() {
        return Ok(Vec::new());
    }
    place_in_groups(tx, &mut moves).await?;
    scope.make_all(tx, moves.iter().map(Move::facet).collect()).await?;
    let mut tally = Tally::default();
    let mut rows = Vec::with_capacity(moves.len());
    for letter in &moves {
        let facet = scope.id(tx, &letter.facet()).await?;
        tally.remove(letter.was.place());
        let place = Place { facet, group: Some(letter.group), ..letter.was.place() };
        if letter.is_no_news() {
            tally.moved(place)
        } else {
            tally.add(place)
        }
        rows.push((facet, letter));
    }
    index::ask(tx, &ids, edition).await?;
    let new = moves.iter().filter(|letter| letter.was.state.group.is_none());
    let new: Vec<_> = new.map(|letter| (letter.was, letter.group)).collect();
    sent_before::count(tx, &mut tally, &new).await?;
    update(tx, &rows, edition, at).await?;
    let lines = moves.iter().flat_map(|letter| NewEntry::all(letter.is.letter, &letter.transition));
    history::append(tx, &lines.collect::<Vec<_>>()).await?;
    tally.apply(tx).await?;
    Ok(moves.iter().filter_map(Move::exhausted).collect())
}

/// A letter, as it stands and as it was found to be.
struct Move<'a> {
    was: &'a LockedLetter,
    is: &'a Enriched,
    /// The group that stands for the one that follows from what it is.
    group: GroupId,
    group_is_made: bool,
    transition: Transition<'a>,
}

impl<'a> Move<'a> {
    fn all(enriched: &'a [Enriched], letters: &'a HashMap<LetterId, LockedLetter>, at: Timestamp) -> Vec<Self> {
        let moved = |is: &'a Enriched| {
            let was = letters.get(&is.letter)?;
            let transition = enrichment::evaluated(&was.state, is.evaluation(), at)?;
            Some(Self { was, is, group: is.group, group_is_made: false, transition })
        };
        enriched.iter().filter_map(moved).collect()
    }

    fn facet(&self) -> FacetKey {
        self.was.key(self.transition.status, self.transition.importance)
    }

    /// What follows from what it is, where that is another group.
    fn key(&self) -> Option<GroupId> {
        Some(self.is.group).filter(|key| *key != self.group)
    }

    /// What its group goes on for: the one that was split, or the one that it was in with the same failure.
    fn goes_on_for(&self) -> Option<GroupId> {
        let was = &self.was.state;
        self.is.key.part.as_ref().map(|part| part.of).or(was.group.filter(|_| !enrichment::has_come(was)))
    }

    fn is_no_news(&self) -> bool {
        let of = self.goes_on_for().filter(|of| *of != self.group);
        of.is_some() && self.was.state.group == of && (self.group_is_made || self.is.key.part.is_some())
    }

    fn importance_by(&self) -> &str {
        self.transition.columns.importance_by.unwrap_or(&self.was.state.importance_by)
    }

    fn exhausted(&self) -> Option<Exhausted> {
        let LetterState { broker, queue, .. } = &self.was.state;
        let importance = self.transition.importance;
        let exhausted = || Exhausted { broker: broker.clone(), queue: queue.clone(), importance };
        enrichment::begins_to_need_attention(&self.was.state).then(exhausted)
    }
}

/// Says for each letter in which group it is from now on, and sees to it that those which letters come into are there until
/// the transaction ends: makes those that are new, in the one order in which everybody makes them, and holds those that
/// were there.
async fn place_in_groups(tx: &mut Tx, moves: &mut [Move<'_>]) -> Result<(), StoreError> {
    let keys: BTreeSet<GroupId> = moves.iter().map(|letter| letter.is.group).collect();
    loop {
        let roots = roots(tx, &keys).await?;
        for letter in &mut *moves {
            letter.group = roots.of(letter.is.group);
        }
        let coming = || moves.iter().filter(|letter| letter.was.state.group != Some(letter.group));
        let new = coming().filter(|letter| letter.group == letter.is.group).map(NewGroup::from);
        let new: BTreeMap<GroupId, NewGroup<'_>> = new.map(|group| (group.id, group)).collect();
        let made = missing(tx, new.keys().copied().collect()).await?;
        if !new.is_empty() {
            make_groups(tx, &new.into_values().collect::<Vec<_>>()).await?;
        }
        let coming: BTreeSet<GroupId> = coming().map(|letter| letter.is.group).collect();
        moves.iter_mut().for_each(|letter| letter.group_is_made |= made.contains(&letter.group));
        // One that was there may have been forgotten since, or have become part of another, before it was held.
        if coming.is_empty() || hold_roots(tx, &coming, &roots).await? {
            return Ok(());
        }
    }
}

impl<'a> From<&'a Move<'_>> for NewGroup<'a> {
    fn from(letter: &'a Move<'_>) -> Self {
        Self { id: letter.group, key: &letter.is.key, seen: letter.was.state.received_at, from: letter.goes_on_for() }
    }
}

/// What is as it was before is not written again: mostly that is all of what rules are applied to.
async fn update(tx: &mut Tx, rows: &[(FacetId, &Move<'_>)], edition: i64, at: Timestamp) -> Result<(), StoreError> {
    const UPDATE: [&str; 2] = [
        "WITH found (id, facet_id, group_id, importance_by, message_type, type_source, type_confidence, named_with,
            enriched_at, title, error_type, error_message, key_id) AS (",
        ") UPDATE letters SET facet_id = found.facet_id, group_id = found.group_id, key_id = found.key_id,
            importance_by = found.importance_by, named_with = found.named_with, enriched_at = found.enriched_at,
            title = found.title,
            error_type = coalesce(found.error_type, letters.error_type),
            error_message = coalesce(found.error_message, letters.error_message),
            message_type = CASE WHEN letters.type_source = 'manual'
                THEN letters.message_type ELSE found.message_type END,
            type_confidence = CASE WHEN letters.type_source = 'manual'
                THEN NULL ELSE found.type_confidence END,
            type_source = CASE WHEN letters.type_source = 'manual' THEN 'manual' ELSE found.type_source END
        FROM found WHERE letters.id = found.id AND (
            letters.named_with IS DISTINCT FROM found.named_with OR letters.facet_id <> found.facet_id
            OR letters.group_id IS DISTINCT FROM found.group_id OR letters.key_id IS DISTINCT FROM found.key_id
            OR letters.importance_by <> found.importance_by
            OR letters.message_type IS DISTINCT FROM found.message_type
            OR letters.type_confidence IS DISTINCT FROM found.type_confidence
            OR letters.title IS DISTINCT FROM found.title
            OR letters.error_type <> found.error_type OR letters.error_message <> found.error_message
            OR letters.type_source IS DISTINCT FROM found.type_source)",
    ];
    let columns = vec![
        Column::ids(rows, |(_, letter)| letter.is.letter.as_uuid()),
        Column::numbers(rows, |(facet, _)| facet.0),
        Column::ids(rows, |(_, letter)| letter.group.as_uuid()),
        Column::texts(rows, |(_, letter)| letter.importance_by()),
        Column::perhaps_texts(rows, |(_, letter)| letter.is.message_type.as_deref()),
        Column::perhaps_texts(rows, |(_, letter)| letter.is.source.map(TypeSource::as_str)),
        Column::perhaps_reals(rows, |(_, letter)| letter.is.confidence),
        Column::numbers(rows, |_| edition),
        Column::numbers(rows, |_| at.as_micros()),
        Column::perhaps_texts(rows, |(_, letter)| letter.is.title.as_deref()),
        Column::perhaps_texts(rows, |(_, letter)| letter.is.error_type.as_deref()),
        Column::perhaps_texts(rows, |(_, letter)| letter.is.error_message.as_deref()),
        Column::perhaps_ids(rows, |(_, letter)| letter.key().map(GroupId::as_uuid)),
    ];
    columns::execute(tx, UPDATE, columns).await
}
