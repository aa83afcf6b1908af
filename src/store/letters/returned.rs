//! Letters that were sent back and failed again.

use std::collections::{
    BTreeMap, HashMap, HashSet,
    btree_map::Entry::{Occupied, Vacant},
};

use amqp_message::{death::Death, json, time::Timestamp, xdeath};
use failure_conventions::danger::Danger;

use super::{
    contents::contents,
    history::{self, NewEntry},
    record::{Arrival, IntakeBatch, facet},
    rows::{ContentsRow, bigint, remarks_to_string},
    state::{self, LetterState},
};
use crate::{
    domain::{
        actor::Actor,
        history::Event,
        letter::{LetterId, Status},
    },
    store::{
        StoreError,
        counts::{
            facets::{FacetId, FacetKey, FacetScope},
            tally::{Place, Tally},
        },
        db::{
            Tx,
            columns::{self, Column},
        },
        retries::{automatic::Failed, schedule::unschedule},
    },
};

/// Letters in one statement.
const CHUNK: usize = 1_000;

/// The letters that arrivals of a batch claim to be, locked until the batch is recorded.
#[derive(Default)]
pub(crate) struct Returning {
    states: HashMap<LetterId, LetterState>,
    contents: HashMap<LetterId, ContentsRow>,
    /// Ids of letters that there are, on whatever broker.
    taken: HashSet<LetterId>,
}

impl Returning {
    pub(crate) async fn lock(tx: &mut Tx, batch: &IntakeBatch<'_>) -> Result<Self, StoreError> {
        let claimed: Vec<LetterId> = batch.arrivals.iter().filter_map(|arrival| arrival.returning).collect();
        if claimed.is_empty() {
            return Ok(Self::default());
        }
        let mut states = state::lock(tx, &claimed).await?;
        let taken = states.keys().copied().collect();
        states.retain(|_, state| state.key.broker == batch.broker);
        let ids: Vec<LetterId> = states.keys().copied().collect();
        Ok(Self { states, contents: contents(tx, &ids).await?, taken })
    }

    /// Whether an arrival is the letter it claims to be.
    ///
    /// Services copy headers, `dlo-id` among them, into messages of their own. So the broker has to be the same and
    /// what the body brings too; anything else is a letter of its own, for what is overwritten is lost.
    pub(crate) fn is_genuine(&self, arrival: &Arrival) -> bool {
        let contents = arrival.returning.and_then(|letter| self.contents.get(&letter));
        contents.is_some_and(|contents| contents.is_same_body(&arrival.message))
    }

    /// Takes the id for a new letter, unless some letter has it.
    pub(crate) fn takes(&mut self, id: LetterId) -> bool {
        self.taken.insert(id)
    }

    /// What becomes of the letters that `came_back`, in the order in which they did.
    pub(crate) fn reopen<'a>(&'a self, came_back: &[(LetterId, &'a Arrival)]) -> Result<Reopened<'a>, StoreError> {
        let mut reopened = Reopened::default();
        for (id, arrival) in came_back {
            let (Some(state), Some(contents)) = (self.states.get(id), self.contents.get(id)) else { continue };
            reopened.add(state, contents, arrival)?;
        }
        Ok(reopened)
    }
}

/// Letters that are open again, each once, with a line of history for each time it came back.
#[derive(Default)]
pub(crate) struct Reopened<'a> {
    letters: BTreeMap<LetterId, Letter<'a>>,
    history: Vec<NewEntry<'a>>,
    /// Families of which one was discarded like all others and is back now.
    revived: HashSet<LetterId>,
}

impl<'a> Reopened<'a> {
    fn add(&mut self, was: &'a LetterState, contents: &ContentsRow, arrival: &'a Arrival) -> Result<(), StoreError> {
        let letter = match self.letters.entry(was.id) {
            Vacant(place) => {
                let is_replaced = was.rival.is_some() || !revives(was, &mut self.revived);
                place.insert(Letter::back(was, contents, arrival, is_replaced)?)
            }
            Occupied(place) => {
                let letter = place.into_mut();
                letter.back_again(arrival);
                letter
            }
        };
        self.history.push(NewEntry {
            letter: was.id,
            at: arrival.received_at,
            event: Event::CameBack,
            by: Actor::SYSTEM,
            detail: format!("failed again, attempt {}{}", letter.attempts, letter.remark()),
        });
        Ok(())
    }

    /// The facets that the letters have now.
    pub(crate) fn facets(&self) -> impl Iterator<Item = FacetKey> {
        self.letters.values().map(Letter::facet)
    }

    /// The same letters, as what the policies have to rule about.
    pub(crate) fn failed(&self) -> impl Iterator<Item = Failed<'a>> {
        self.letters.values().map(Letter::failed)
    }

    pub(crate) async fn save(
        &self,
        tx: &mut Tx,
        scope: &mut FacetScope<'_>,
        tally: &mut Tally,
    ) -> Result<(), StoreError> {
        let mut letters = Vec::with_capacity(self.letters.len());
        for letter in self.letters.values() {
            let facet = scope.id(tx, &letter.facet()).await?;
            tally.remove(letter.was.place());
            tally.add(Place { facet, received_at: letter.last.received_at, ..letter.was.place() });
            if let (Status::Retried, Some(sent_at)) = (letter.was.key.status, letter.was.closed_at) {
                tally.came_back(letter.was.group, sent_at);
            }
            letters.push((facet, letter));
        }
        for chunk in letters.chunks(CHUNK) {
            update_letters(tx, chunk).await?;
            update_contents(tx, chunk).await?;
            update_bodies(tx, chunk).await?;
        }
        let arrived = letters.iter().filter(|(_, letter)| !letter.was.waits).map(|(_, letter)| letter.was.id);
        unschedule(tx, &arrived.collect::<Vec<_>>()).await?;
        history::append_in_order(tx, &self.history).await
    }
}

/// A letter that is open again, with its attempts and deaths carried on.
struct Letter<'a> {
    was: &'a LetterState,
    /// It shows the headers it failed with last.
    last: &'a Arrival,
    attempts: u64,
    /// The deaths that stood in the headers before.
    earlier_deaths: Vec<Death>,
    /// Its framework has wrapped it anew.
    is_wrapped_anew: bool,
    /// It was sent before it was edited, and another edit of it stands: this one is not sent again.
    is_replaced: bool,
}

impl<'a> Letter<'a> {
    fn back(
        was: &'a LetterState,
        contents: &ContentsRow,
        arrival: &'a Arrival,
        is_replaced: bool,
    ) -> Result<Self, StoreError> {
        let attempts = next_attempt(was.attempts, arrival);
        let is_wrapped_anew = contents.body != arrival.message.body;
        Ok(Self { was, last: arrival, attempts, earlier_deaths: contents.deaths()?, is_wrapped_anew, is_replaced })
    }

    /// Another copy of it stands further down in the batch.
    fn back_again(&mut self, arrival: &'a Arrival) {
        self.attempts = next_attempt(self.attempts, arrival);
        self.is_wrapped_anew |= self.last.message.body != arrival.message.body;
        let deaths = xdeath::deaths(&self.last.message.headers);
        self.earlier_deaths.splice(0..0, deaths);
        self.last = arrival;
    }

    /// Where another copy of it is back while it is already settled when it is sent again, that stands.
    fn failed(&self) -> Failed<'a> {
        let failed = Failed::new(self.was.id, self.last, self.attempts);
        match self.is_replaced {
            true => Failed { delay: None, is_replaced: true, ..failed },
            false => Failed { is_scheduled: self.was.waits, ..failed },
        }
    }

    const fn remark(&self) -> &'static str {
        if self.is_replaced { "; it stays set aside, since it was edited and another edit stands" } else { "" }
    }

    /// What is set aside for good stays so, from now on.
    fn closed_at(&self) -> Option<Timestamp> {
        self.is_replaced.then_some(self.last.received_at)
    }

    fn facet(&self) -> FacetKey {
        facet(&self.was.key.broker, self.last, self.failed().status(), self.was.key.importance)
    }

    fn handed_over_at(&self) -> Option<Timestamp> {
        (!self.failed().waits()).then_some(self.last.received_at)
    }
}

/// Whether a letter may be open again beside the other edits of it, none of which stands: only the first that comes back.
fn revives(was: &LetterState, revived: &mut HashSet<LetterId>) -> bool {
    was.key.status != Status::Discarded || was.family.is_none_or(|family| revived.insert(family))
}

fn next_attempt(attempts: u64, arrival: &Arrival) -> u64 {
    arrival.failure.attempts.max(attempts.saturating_add(1))
}

async fn update_letters(tx: &mut Tx, letters: &[(FacetId, &Letter<'_>)]) -> Result<(), StoreError> {
    const UPDATE: [&str; 2] = [
        "WITH back (id, facet_id, at, last_failed_at, attempts, size, handed_over_at, closed_at, error_type,
            error_message, message_type, danger) AS (",
        ") UPDATE letters SET facet_id = back.facet_id, received_at = back.at, last_failed_at = back.last_failed_at,
            attempts = back.attempts, size = back.size, problem = NULL, closed_at = back.closed_at, named_with = NULL,
            handed_over_at = coalesce(letters.handed_over_at, back.handed_over_at),
            error_type = back.error_type, error_message = back.error_message, danger = back.danger,
            message_type = CASE WHEN coalesce(letters.type_source, 'header') = 'header'
                THEN coalesce(back.message_type, letters.message_type) ELSE letters.message_type END,
            type_source = CASE WHEN letters.type_source IS NULL AND back.message_type IS NOT NULL
                THEN 'header' ELSE letters.type_source END
        FROM back WHERE letters.id = back.id",
    ];
    let columns = vec![
        Column::ids(letters, |(_, letter)| letter.was.id.as_uuid()),
        Column::numbers(letters, |(facet, _)| facet.0),
        Column::numbers(letters, |(_, letter)| letter.last.received_at.as_micros()),
        Column::numbers(letters, |(_, letter)| letter.last.failed_at().as_micros()),
        Column::numbers(letters, |(_, letter)| bigint(letter.attempts)),
        Column::numbers(letters, |(_, letter)| bigint(letter.last.message.body.len() as u64)),
        Column::numbers(letters, |(_, letter)| letter.handed_over_at().map(Timestamp::as_micros)),
        Column::numbers(letters, |(_, letter)| letter.closed_at().map(Timestamp::as_micros)),
        Column::perhaps_texts(letters, |(_, letter)| letter.last.error_type()),
        Column::perhaps_texts(letters, |(_, letter)| letter.last.error_message()),
        Column::perhaps_texts(letters, |(_, letter)| letter.last.failure.message_type.as_deref()),
        Column::perhaps_texts(letters, |(_, letter)| letter.last.failure.danger.map(Danger::as_str)),
    ];
    columns::execute(tx, UPDATE, columns).await
}

/// The body is left as it is: most often it is the same.
async fn update_contents(tx: &mut Tx, letters: &[(FacetId, &Letter<'_>)]) -> Result<(), StoreError> {
    const UPDATE: [&str; 2] = [
        "WITH back (id, exchange, routing_key, properties, headers, earlier_deaths, remarks) AS (",
        ") UPDATE contents SET exchange = back.exchange, routing_key = back.routing_key,
            properties = back.properties, headers = back.headers, earlier_deaths = back.earlier_deaths,
            remarks = back.remarks FROM back WHERE contents.letter_id = back.id",
    ];
    let columns = vec![
        Column::ids(letters, |(_, letter)| letter.was.id.as_uuid()),
        Column::texts(letters, |(_, letter)| &*letter.last.message.exchange),
        Column::texts(letters, |(_, letter)| &*letter.last.message.routing_key),
        Column::texts(letters, |(_, letter)| json::properties_to_string(&letter.last.message.properties)),
        Column::texts(letters, |(_, letter)| json::table_to_string(&letter.last.message.headers)),
        Column::texts(letters, |(_, letter)| json::deaths_to_json(&letter.earlier_deaths).to_string()),
        Column::texts(letters, |(_, letter)| remarks_to_string(&letter.last.remarks)),
    ];
    columns::execute(tx, UPDATE, columns).await
}

async fn update_bodies(tx: &mut Tx, letters: &[(FacetId, &Letter<'_>)]) -> Result<(), StoreError> {
    const UPDATE: [&str; 2] = [
        "WITH back (id, body) AS (",
        ") UPDATE contents SET body = back.body FROM back WHERE contents.letter_id = back.id",
    ];
    let wrapped: Vec<&Letter<'_>> = letters.iter().map(|(_, letter)| *letter).filter(|l| l.is_wrapped_anew).collect();
    if wrapped.is_empty() {
        return Ok(());
    }
    let columns = vec![
        Column::ids(&wrapped, |letter| letter.was.id.as_uuid()),
        Column::bytes(&wrapped, |letter| &letter.last.message.body),
    ];
    columns::execute(tx, UPDATE, columns).await
}
