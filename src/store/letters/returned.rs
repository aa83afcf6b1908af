//! Letters that were sent back and failed again.

use std::collections::{
    BTreeMap, HashMap, HashSet,
    btree_map::Entry::{Occupied, Vacant},
};

use amqp_message::{death::Death, json, time::Timestamp, xdeath};
use failure_conventions::danger::Danger;

use super::{
    apply,
    contents::{contents, errors},
    intake::{Arrival, IntakeBatch},
    lock::{self, LockedLetter},
    rows::{ContentsRow, bigint, remarks_to_string},
};
use crate::{
    domain::{
        group::GroupId,
        letter::{LetterId, Status},
        lifecycle::{
            Change, Transition,
            failures::{FailedAgain, RevivedFamilies},
        },
    },
    store::{
        StoreError,
        counts::{facet_scope::FacetScope, facets::FacetKey, place::Place, tally::Tally},
        db::{
            Tx,
            columns::{self, Column},
        },
    },
};

/// Letters in one statement.
const CHUNK: usize = 1_000;

/// The letters that arrivals of a batch claim to be, locked until the batch is recorded.
#[derive(Default)]
pub(crate) struct Returning {
    letters: HashMap<LetterId, LockedLetter>,
    contents: HashMap<LetterId, ContentsRow>,
    /// What their errors have in common with those that are alike.
    errors: HashMap<LetterId, String>,
    /// Ids of letters that there are, on whatever broker.
    taken: HashSet<LetterId>,
    /// Letters that an arrival of the batch was found to be.
    back: HashSet<LetterId>,
}

impl Returning {
    pub(crate) async fn lock(tx: &mut Tx, batch: &IntakeBatch<'_>) -> Result<Self, StoreError> {
        let claimed: Vec<LetterId> = batch.arrivals.iter().filter_map(|arrival| arrival.returning).collect();
        if claimed.is_empty() {
            return Ok(Self::default());
        }
        let mut letters = lock::lock(tx, &claimed).await?;
        let taken = letters.keys().copied().collect();
        letters.retain(|_, letter| letter.state.broker == batch.broker);
        let ids: Vec<LetterId> = letters.keys().copied().collect();
        let (contents, errors) = (contents(tx, &ids).await?, errors(tx, &ids).await?);
        Ok(Self { letters, contents, errors, taken, back: HashSet::new() })
    }

    /// The letter that an arrival is, where it is the one it claims, or was found, to be.
    pub(crate) fn comes_back(&mut self, arrival: &Arrival) -> Option<LetterId> {
        let id = arrival.returning.filter(|id| self.is_genuine(*id, arrival))?;
        self.back.insert(id);
        Some(id)
    }

    /// Services copy headers, `dlo-id` among them, into messages of their own. So the broker has to be the same and
    /// what the body brings too; anything else is a letter of its own, for what is overwritten is lost.
    ///
    /// What was recognised without its id may be another message with the same content, of which a copy with that id is
    /// still under way. Only one of them is the letter: the one that comes first after it was sent.
    fn is_genuine(&self, id: LetterId, arrival: &Arrival) -> bool {
        let (Some(letter), Some(contents)) = (self.letters.get(&id), self.contents.get(&id)) else { return false };
        let is_away = letter.state.is_away() && !self.back.contains(&id);
        if arrival.own_retry.is_some() {
            // It was published while the letter was here.
            let is_here = matches!(letter.state.status, Status::Open | Status::Scheduled);
            return (is_away || is_here) && contents.is_same_body(&arrival.message);
        }
        if arrival.is_recognised {
            return is_away;
        }
        contents.is_same(&arrival.message) && (is_away || !letter.state.was_recognised)
    }

    /// Takes the id for a new letter, unless some letter has it.
    pub(crate) fn takes(&mut self, id: LetterId) -> bool {
        self.taken.insert(id)
    }

    /// What becomes of the letters that `failed_again`, in the order in which they did.
    pub(super) fn reopen<'a>(&'a self, failed_again: &[(LetterId, &'a Arrival)]) -> Result<Reopened<'a>, StoreError> {
        let mut letters: BTreeMap<LetterId, Letter<'a>> = BTreeMap::new();
        let mut revived = RevivedFamilies::default();
        for (id, arrival) in failed_again {
            let (Some(was), Some(contents)) = (self.letters.get(id), self.contents.get(id)) else { continue };
            let error = self.errors.get(id).map_or("", String::as_str);
            match letters.entry(*id) {
                Vacant(place) => _ = place.insert(Letter::back((was, error), contents, arrival, &mut revived)?),
                Occupied(place) => place.into_mut().back_again(arrival),
            }
        }
        Ok(Reopened { letters: letters.into_values().collect() })
    }
}

/// Letters that came back, each once.
#[derive(Default)]
pub(super) struct Reopened<'a> {
    letters: Vec<Letter<'a>>,
}

impl Reopened<'_> {
    /// The facets that the letters have now.
    pub(super) fn facets(&self) -> impl Iterator<Item = FacetKey> {
        self.letters.iter().map(Letter::facet)
    }

    pub(super) fn transitions(&self) -> impl Iterator<Item = (LetterId, &Transition<'_>)> {
        self.letters.iter().map(|letter| (letter.was.state.id, &letter.transition))
    }

    pub(super) async fn save(
        &self,
        tx: &mut Tx,
        scope: &mut FacetScope<'_>,
        tally: &mut Tally,
    ) -> Result<(), StoreError> {
        let mut letters = Vec::with_capacity(self.letters.len());
        for letter in &self.letters {
            let facet = scope.id(tx, &letter.facet()).await?;
            tally.remove(letter.was.place());
            let place = Place { facet, group: letter.group(), received_at: letter.last.received_at };
            tally.add(place);
            apply::count_group_step(tally, letter.was, &letter.transition);
            letters.push((place, letter));
        }
        for chunk in letters.chunks(CHUNK) {
            update_letters(tx, chunk).await?;
            update_contents(tx, chunk).await?;
            update_bodies(tx, chunk).await?;
        }
        Ok(())
    }
}

/// A letter that came back, perhaps several times in one batch.
struct Letter<'a> {
    was: &'a LockedLetter,
    /// What its error before has in common with those that are alike.
    error: &'a str,
    failed_again: FailedAgain<'a>,
    /// What becomes of it by now.
    transition: Transition<'a>,
    /// It shows the headers it failed with last.
    last: &'a Arrival,
    /// The deaths that stood in the headers before.
    earlier_deaths: Vec<Death>,
    /// What could not be kept of it, now or before.
    losses: Vec<String>,
    /// Its framework has wrapped it anew.
    is_wrapped_anew: bool,
}

impl<'a> Letter<'a> {
    fn back(
        (was, error): (&'a LockedLetter, &'a str),
        contents: &ContentsRow,
        arrival: &'a Arrival,
        revived: &mut RevivedFamilies,
    ) -> Result<Self, StoreError> {
        let failed_again = FailedAgain::new(&was.state, arrival.failed_message(), revived);
        let (transition, earlier_deaths) = (failed_again.transition(), contents.deaths()?);
        let is_wrapped_anew = contents.body != arrival.message.body;
        let mut losses = contents.losses()?;
        add_losses(&mut losses, arrival);
        Ok(Self { was, error, failed_again, transition, last: arrival, earlier_deaths, losses, is_wrapped_anew })
    }

    /// Another copy of it stands further down in the batch.
    fn back_again(&mut self, arrival: &'a Arrival) {
        self.failed_again.again(arrival.failed_message());
        self.transition = self.failed_again.transition();
        self.is_wrapped_anew |= self.last.message.body != arrival.message.body;
        let deaths = xdeath::deaths(&self.last.message.headers);
        self.earlier_deaths.splice(0..0, deaths);
        add_losses(&mut self.losses, arrival);
        self.last = arrival;
    }

    fn facet(&self) -> FacetKey {
        self.last.facet(&self.was.state.broker, &self.transition)
    }

    /// The group that it stays in. What fails in another way mostly belongs to another: to which is known once it is
    /// enriched, and until then nobody is called for either. What is open stays where people know of it.
    fn group(&self) -> Option<GroupId> {
        let was = &self.was.state;
        was.group.filter(|_| was.status == Status::Open || self.last.fails_like(was, self.error))
    }

    fn closed_at(&self) -> Option<Timestamp> {
        match self.transition.columns.closed_at {
            Change::Set(at) => Some(at),
            Change::Keep | Change::Clear => None,
        }
    }
}

fn add_losses(losses: &mut Vec<String>, arrival: &Arrival) {
    /// A message that brings a new one each time is not to grow without end.
    const MOST: usize = 50;
    let new: Vec<String> = arrival.losses.iter().filter(|lost| !losses.contains(lost)).cloned().collect();
    losses.extend(new);
    losses.truncate(MOST);
}

async fn update_letters(tx: &mut Tx, letters: &[(Place, &Letter<'_>)]) -> Result<(), StoreError> {
    const UPDATE: [&str; 2] = [
        "WITH back (id, facet_id, at, last_failed_at, attempts, rounds, size, handed_over_at, closed_at, error_type,
            error_message, message_type, danger, recognised_at, id_key, group_id) AS (",
        ") UPDATE letters SET facet_id = back.facet_id, group_id = back.group_id,
            key_id = CASE WHEN back.group_id IS NOT NULL THEN letters.key_id END,
            received_at = back.at, last_failed_at = back.last_failed_at,
            attempts = back.attempts, rounds = back.rounds, size = back.size, problem = NULL, closed_at = back.closed_at, named_with = NULL,
            handed_over_at = coalesce(letters.handed_over_at, back.handed_over_at),
            recognised_at = coalesce(back.recognised_at, letters.recognised_at),
            id_key = coalesce(back.id_key, letters.id_key),
            error_type = back.error_type, error_message = back.error_message, danger = back.danger,
            message_type = CASE WHEN coalesce(letters.type_source, 'header') = 'header'
                THEN coalesce(back.message_type, letters.message_type) ELSE letters.message_type END,
            type_source = CASE WHEN letters.type_source IS NULL AND back.message_type IS NOT NULL
                THEN 'header' ELSE letters.type_source END
        FROM back WHERE letters.id = back.id",
    ];
    let columns = vec![
        Column::ids(letters, |(_, letter)| letter.was.state.id.as_uuid()),
        Column::numbers(letters, |(place, _)| place.facet.0),
        Column::numbers(letters, |(place, _)| place.received_at.as_micros()),
        Column::numbers(letters, |(_, letter)| letter.last.failed_at().as_micros()),
        Column::numbers(letters, |(_, letter)| bigint(letter.failed_again.attempts())),
        Column::numbers(letters, |(_, letter)| bigint(letter.failed_again.rounds())),
        Column::numbers(letters, |(_, letter)| bigint(letter.last.message.body.len() as u64)),
        Column::numbers(letters, |(_, letter)| letter.transition.columns.handed_over_at.map(Timestamp::as_micros)),
        Column::numbers(letters, |(_, letter)| letter.closed_at().map(Timestamp::as_micros)),
        Column::perhaps_texts(letters, |(_, letter)| letter.last.error_type()),
        Column::perhaps_texts(letters, |(_, letter)| letter.last.error_message()),
        Column::perhaps_texts(letters, |(_, letter)| letter.last.failure.message_type.as_deref()),
        Column::perhaps_texts(letters, |(_, letter)| letter.last.failure.danger.map(Danger::as_str)),
        Column::numbers(letters, |(_, letter)| {
            letter.last.is_recognised.then_some(letter.last.received_at.as_micros())
        }),
        Column::numbers(letters, |(_, letter)| letter.last.id_key.map(|key| key.0)),
        Column::perhaps_ids(letters, |(place, _)| place.group.map(GroupId::as_uuid)),
    ];
    columns::execute(tx, UPDATE, columns).await
}

/// The body is left as it is: most often it is the same.
async fn update_contents(tx: &mut Tx, letters: &[(Place, &Letter<'_>)]) -> Result<(), StoreError> {
    const UPDATE: [&str; 2] = [
        "WITH back (id, exchange, routing_key, properties, headers, earlier_deaths, remarks) AS (",
        ") UPDATE contents SET exchange = back.exchange, routing_key = back.routing_key,
            properties = back.properties, headers = back.headers, earlier_deaths = back.earlier_deaths,
            remarks = back.remarks FROM back WHERE contents.letter_id = back.id",
    ];
    let columns = vec![
        Column::ids(letters, |(_, letter)| letter.was.state.id.as_uuid()),
        Column::texts(letters, |(_, letter)| &*letter.last.message.exchange),
        Column::texts(letters, |(_, letter)| &*letter.last.message.routing_key),
        Column::texts(letters, |(_, letter)| json::properties_to_string(&letter.last.message.properties)),
        Column::texts(letters, |(_, letter)| json::table_to_string(&letter.last.message.headers)),
        Column::texts(letters, |(_, letter)| json::deaths_to_json(&letter.earlier_deaths).to_string()),
        Column::texts(letters, |(_, letter)| remarks_to_string(&letter.losses, &letter.last.remarks)),
    ];
    columns::execute(tx, UPDATE, columns).await
}

async fn update_bodies(tx: &mut Tx, letters: &[(Place, &Letter<'_>)]) -> Result<(), StoreError> {
    const UPDATE: [&str; 2] = [
        "WITH back (id, body) AS (",
        ") UPDATE contents SET body = back.body FROM back WHERE contents.letter_id = back.id",
    ];
    let wrapped: Vec<&Letter<'_>> = letters.iter().map(|(_, letter)| *letter).filter(|l| l.is_wrapped_anew).collect();
    if wrapped.is_empty() {
        return Ok(());
    }
    let columns = vec![
        Column::ids(&wrapped, |letter| letter.was.state.id.as_uuid()),
        Column::bytes(&wrapped, |letter| &letter.last.message.body),
    ];
    columns::execute(tx, UPDATE, columns).await
}
