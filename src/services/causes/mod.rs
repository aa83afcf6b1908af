//! What the letters of a group have in common that others have not: the conditions by which a sample of them differs
//! from a sample of messages that did not fail so.
//!
//! The comparison itself is the crate [`contrast_sets`]. Here is said who is compared with whom, and what a letter says.

mod of_search;
mod sample;
mod says;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use contrast_sets::{Contrast, Document, Options, contrasts};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::decoding::{
    confirmed::{Confirmed, ConfirmedTypes},
    reader::{Reader, off_the_runtime},
};
use crate::{
    domain::{
        filter::{Counted, LetterFilter, Names},
        group::{Group, GroupFilter},
        letter::{Letter, LetterSummary, Status},
    },
    store::{StoreError, StoreReader},
};
use sample::{Others, SAMPLE, evenly, sample, within_budget};

pub use sample::LARGEST;

/// What letters of a group or a search have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InCommon {
    /// So many of them were read and compared,
    pub here: usize,
    /// of so many that have not been sent back with success.
    pub total: Counted,
    /// Whom they were compared with.
    pub elsewhere: Elsewhere,
    /// The least likely by chance first.
    pub contrasts: Vec<Contrast>,
    /// Attributes of which some message says null or what is hidden. No search finds a message by that.
    pub untold: BTreeSet<String>,
}

/// The messages that were read and that they are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Of other groups of its queue; of a search: of the same queues, which it does not find.
    pub other_groups: usize,
    /// Of its queue, sent back and not failed again.
    pub succeeded: usize,
    /// Of its type, in other queues; only where its own has too few others.
    pub same_type: usize,
    /// All of these are of the time of what they are compared with: there were enough.
    pub is_same_time: bool,
}

impl Elsewhere {
    pub const fn total(&self) -> usize {
        self.other_groups + self.succeeded + self.same_type
    }

    fn of(others: &Others) -> Self {
        Self {
            other_groups: others.other_groups.len(),
            succeeded: others.succeeded.len(),
            same_type: others.same_type.len(),
            is_same_time: others.is_same_time,
        }
    }
}

/// Statuses of letters that have not been sent back with success.
const FAILED: [Status; 3] = [Status::Open, Status::Scheduled, Status::Discarded];
/// With so many others of the same time those of another time are left out: whatever counts up, or has an hour, differs
/// between one time and another.
const ENOUGH: usize = 100;
/// With fewer others nothing is compared.
pub const FEWEST: usize = 10;

/// Whether something is asked of an attribute, by its name.
type IsAskedFor<'a> = &'a (dyn Fn(&str) -> bool + Sync);
/// Until it is dropped everywhere, no other comparison begins.
type Turn = Arc<Option<OwnedSemaphorePermit>>;

/// Compares letters; cheap to clone.
#[derive(Clone)]
pub struct Causes {
    reader: Reader,
    /// Comparing reads many payloads, and others are to be served meanwhile: one comparison goes on at a time.
    turn: Arc<Semaphore>,
}

impl Causes {
    pub fn new(reader: Reader) -> Self {
        Self { reader, turn: Arc::new(Semaphore::new(1)) }
    }

    /// What the letters of a group have in common, as far as `store` shows them. Where it shows no payloads of the
    /// group's queue, payloads have no part in it.
    pub async fn in_common(&self, store: &StoreReader, group: &Group) -> Result<InCommon, StoreError> {
        let turn = self.turn().await;
        let of_group = LetterFilter { groups: vec![group.id], statuses: FAILED.to_vec(), ..LetterFilter::default() };
        let here = sample(store, &of_group, SAMPLE).await?;
        let mut others = others(store, group, time_of(&here)).await?;
        others.is_same_time = others.len() >= ENOUGH;
        if !others.is_same_time {
            others = self::others(store, group, LetterFilter::default()).await?;
        }
        let total = Counted { n: group.n_letters() - group.of_status(Status::Retried), is_least: false };
        self.compare(&turn, store, (here, others), total, true, &|_| false).await
    }

    async fn turn(&self) -> Turn {
        // It is never closed.
        Arc::new(Arc::clone(&self.turn).acquire_owned().await.ok())
    }

    /// How the one letters, of so many, differ from the others; payloads have a part in it where they are shown and
    /// `shows_payloads`, and attributes that were asked for have none. What is counted is what was read.
    async fn compare(
        &self,
        turn: &Turn,
        store: &StoreReader,
        (here, others): (Vec<LetterSummary>, Others),
        total: Counted,
        shows_payloads: bool,
        is_asked_for: IsAskedFor<'_>,
    ) -> Result<InCommon, StoreError> {
        let ([here], others) = (within_budget([here]), others.within_budget());
        let elsewhere = Elsewhere::of(&others);
        let mut found = InCommon { here: here.len(), total, elsewhere, ..InCommon::default() };
        if here.len() < FEWEST || others.len() < FEWEST {
            return Ok(found);
        }
        let mut here = self.documents(turn, store, here, shows_payloads).await?;
        found.here = here.len();
        let mut elsewhere = Vec::with_capacity(others.len());
        let counts = &mut found.elsewhere;
        for (letters, count) in [
            (others.other_groups, &mut counts.other_groups),
            (others.succeeded, &mut counts.succeeded),
            (others.same_type, &mut counts.same_type),
        ] {
            let read = self.documents(turn, store, letters, shows_payloads).await?;
            *count = read.len();
            elsewhere.extend(read);
        }
        // Before they are compared: what goes together is told as one, and would be left out with it.
        for document in here.iter_mut().chain(&mut elsewhere) {
            document.retain(|attribute| !is_asked_for(attribute));
        }
        let compare = move || {
            let untold: BTreeSet<String> =
                here.iter().chain(&elsewhere).flat_map(Document::untold).map(str::to_owned).collect();
            (contrasts(&here, &elsewhere, &Options::default()), untold)
        };
        (found.contrasts, found.untold) = in_turn(turn, compare).await;
        Ok(found)
    }

    /// What these letters say, without what is hidden.
    async fn documents(
        &self,
        turn: &Turn,
        store: &StoreReader,
        letters: Vec<LetterSummary>,
        shows_payloads: bool,
    ) -> Result<Vec<Document>, StoreError> {
        let letters = store.with_contents(letters).await?;
        let library = self.reader.library().await;
        let mut types = ConfirmedTypes::new(store);
        let mut with_types = Vec::with_capacity(letters.len());
        for letter in letters {
            let (confirmed, shows) = (
                types.of(&letter.summary).await?,
                shows_payloads && store.shows_payload(&letter.summary.broker, letter.summary.queue.as_deref()),
            );
            with_types.push((letter, confirmed, shows));
        }
        let reader = self.reader.clone();
        let read = move |(letter, confirmed, shows): &(Letter, Arc<Confirmed>, bool)| {
            let letter = reader.scrubbed(&library, letter, confirmed);
            let payload = |shows: bool| {
                let payload = |_, _, payload: &rule_language::Decode<'_>| payload();
                shows.then(|| reader.analyze(&library, &letter, confirmed, payload)).flatten()
            };
            says::document(&letter, payload(*shows).as_deref(), *shows)
        };
        Ok(in_turn(turn, move || with_types.iter().map(read).collect()).await)
    }
}

/// The work holds the turn itself, as it goes on when nobody waits for it any more.
async fn in_turn<T: Send + 'static>(turn: &Turn, work: impl FnOnce() -> T + Send + 'static) -> T {
    let turn = Arc::clone(turn);
    off_the_runtime(move || {
        let _held = turn;
        work()
    })
    .await
}

/// From the first of these to the last.
fn time_of(letters: &[LetterSummary]) -> LetterFilter {
    let times = || letters.iter().map(|letter| letter.received_at);
    let until = times().max().map(|last| last.plus(Duration::from_micros(1)));
    LetterFilter { since: times().min(), until, ..LetterFilter::default() }
}

/// Letters of that time to compare a group with: of its queue and type, or else of its queue, or else of its type.
async fn others(store: &StoreReader, group: &Group, time: LetterFilter) -> Result<Others, StoreError> {
    let types = Names::exact(&group.key.message_type);
    let mut found = Others::default();
    if let Some(queue) = &group.key.queue {
        found = of_queue(store, group, queue, types.clone(), &time).await?;
        if found.len() < FEWEST && !types.is_empty() {
            found = of_queue(store, group, queue, Names::default(), &time).await?;
        }
    }
    if found.len() < FEWEST && !types.is_empty() {
        found.same_type = of_type_elsewhere(store, group, types, &time).await?;
    }
    Ok(found)
}

/// Letters of a queue, half of them of other groups and half of them sent back with success, as far as there are such.
async fn of_queue(
    store: &StoreReader,
    group: &Group,
    queue: &str,
    types: Names,
    time: &LetterFilter,
) -> Result<Others, StoreError> {
    let (brokers, queues) = (vec![group.key.broker.clone()], Names::exact([queue]));
    let statuses = vec![Status::Retried];
    let of_groups = GroupFilter {
        brokers: brokers.clone(),
        queues: queues.clone(),
        types: types.clone(),
        ..GroupFilter::default()
    };
    let succeeded = LetterFilter { brokers, queues, types, statuses, ..time.clone() };
    let succeeded = as_sent(sample(store, &succeeded, SAMPLE).await?);
    let room = SAMPLE - succeeded.len().min(SAMPLE / 2);
    let other_groups = of_other_groups(store, group, &of_groups, time, room).await?;
    let succeeded = evenly(succeeded.into_iter(), SAMPLE - other_groups.len()).collect();
    Ok(Others { other_groups, succeeded, ..Others::default() })
}

async fn of_other_groups(
    store: &StoreReader,
    group: &Group,
    filter: &GroupFilter,
    time: &LetterFilter,
    limit: usize,
) -> Result<Vec<LetterSummary>, StoreError> {
    /// To sample letters of groups they have to be counted.
    const MOST_LETTERS: u64 = 100_000;
    const MOST_GROUPS: usize = 50;
    let mut groups = store.matching_groups(filter).await?;
    groups.retain(|other| other.id != group.id && other.n_letters() > 0);
    groups.sort_by_key(|other| std::cmp::Reverse((other.last_seen, other.id)));
    let mut letters = 0;
    let few = groups.into_iter().take_while(|other| {
        let is_first = letters == 0;
        letters += other.n_letters();
        is_first || letters <= MOST_LETTERS
    });
    let groups: Vec<_> = few.take(MOST_GROUPS).map(|other| other.id).collect();
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    Ok(as_sent(sample(store, &LetterFilter { groups, statuses: FAILED.to_vec(), ..time.clone() }, limit).await?))
}

/// Without edited copies: what is in those somebody here has put there.
fn as_sent(mut letters: Vec<LetterSummary>) -> Vec<LetterSummary> {
    letters.retain(|letter| letter.edited_from.is_none());
    letters
}

async fn of_type_elsewhere(
    store: &StoreReader,
    group: &Group,
    types: Names,
    time: &LetterFilter,
) -> Result<Vec<LetterSummary>, StoreError> {
    let mut letters = as_sent(sample(store, &LetterFilter { types, ..time.clone() }, SAMPLE).await?);
    let (broker, queue) = (&*group.key.broker, group.key.queue.as_deref());
    // Payloads are compared with payloads.
    let shows = store.shows_payload(broker, queue);
    letters.retain(|letter| {
        let is_there = (&*letter.broker, letter.queue.as_deref()) != (broker, queue);
        is_there && store.shows_payload(&letter.broker, letter.queue.as_deref()) == shows
    });
    Ok(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_nobody_waits_for_keeps_its_turn() {
        let turns = Arc::new(Semaphore::new(1));
        let turn = Arc::new(Arc::clone(&turns).acquire_owned().await.ok());
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let work = move || {
            begun.send(()).unwrap();
            ends.recv().unwrap();
        };
        tokio::select! {
            _ = in_turn(&turn, work) => panic!("it has ended"),
            begun = has_begun => begun.unwrap(),
        }
        drop(turn);
        assert_eq!(turns.available_permits(), 0);
        end.send(()).unwrap();
        assert!(turns.acquire().await.is_ok());
    }
}
