//! Messages whose framework retries them by itself and dead-letters each try as well: one message, several dead letters.
//!
//! The copy that it publishes says which retry it is, so it is joined with the try before. What dlo sent back beside that
//! would be processed twice. So from a queue of which such a copy was seen, and the try before it, nothing is retried by
//! itself: the marker [`SentBack::own_retries`] says so.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use amqp_message::time::Timestamp;
use failure_conventions::{identity::Identity, may_have_own_retries};

use super::{Intake, known::Known};
use crate::{
    domain::{
        content_key::ContentKey,
        letter::LetterId,
        lifecycle::recognition::{OWN_RETRIES, SentBack},
        policy::Decision,
    },
    store::{Arrival, StoreError},
};

/// How far apart the clocks of a service and of dlo may be.
const CLOCKS: Duration = Duration::from_secs(5 * 60);
/// How long ago the try before was at most, where the copy does not say.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How old a marker is when it is written anew.
const FRESH: Duration = Duration::from_secs(60);
/// So many copies of one content are looked at, to find the one of a message.
const MOST: usize = 100;

/// The decision of its policy, or none where its framework `retries` by itself.
pub(crate) fn hold(decision: Option<Decision>, retries: bool, remarks: &mut Vec<String>) -> Option<Decision> {
    let decision = decision?;
    if !retries {
        return Some(decision);
    }
    remarks.push(format!("no automatic retry: {OWN_RETRIES}"));
    None
}

/// What is known of queues whose framework retries by itself, from the messages of a batch.
#[derive(Clone, Default)]
pub(crate) struct OwnRetries {
    /// Where a copy came, and the try before it.
    pub queues: BTreeSet<String>,
    /// Copies of which the first try was in the same batch.
    joined: BTreeSet<LetterId>,
}

impl OwnRetries {
    /// Whether it is known already which try it follows.
    pub fn is_joined(&self, arrival: &Arrival) -> bool {
        self.joined.contains(&arrival.id)
    }
}

/// Takes out the tries of which a later one is in the same batch, which says that there were others.
pub(crate) fn join_tries(here: &mut Vec<Arrival>, onward: &mut Vec<(u64, Arrival)>) -> OwnRetries {
    let mut later: HashMap<_, Vec<(LetterId, Identity)>> = HashMap::new();
    for arrival in here.iter() {
        if let Some(retry) = arrival.own_retry {
            let copy = (arrival.id, Identity::of(&arrival.message));
            later.entry(try_of(arrival, retry.number.saturating_sub(1))).or_default().push(copy);
        }
    }
    let (mut found, mut earlier) = (OwnRetries::default(), BTreeSet::new());
    for arrival in onward.iter().map(|(_, arrival)| arrival).chain(here.iter()) {
        let number = arrival.own_retry.map_or(0, |retry| retry.number);
        let Some(copy) = later.get_mut(&try_of(arrival, number)).and_then(|copies| take(copies, arrival)) else {
            continue;
        };
        found.queues.extend(arrival.failure.queue.clone());
        // What stands for another copy follows the try before that one.
        if arrival.own_retry.is_none() || found.joined.contains(&arrival.id) {
            found.joined.insert(copy);
        }
        earlier.insert(arrival.id);
    }
    onward.retain(|(_, arrival)| !earlier.contains(&arrival.id));
    here.retain(|arrival| !earlier.contains(&arrival.id));
    found
}

/// Takes the last of these copies that may be of the same message: two messages may bring the same under different types.
fn take(copies: &mut Vec<(LetterId, Identity)>, arrival: &Arrival) -> Option<LetterId> {
    if copies.is_empty() {
        return None;
    }
    let identity = Identity::of(&arrival.message);
    let mut latest = copies.iter().enumerate().rev().take(MOST);
    let (at, _) = latest.find(|(_, (_, copy))| !copy.differs_from(&identity))?;
    Some(copies.remove(at).0)
}

/// What the tries of one message have in common, and which it is.
fn try_of(arrival: &Arrival, number: u64) -> (ContentKey, Option<String>, Option<LetterId>, u64) {
    (arrival.content, arrival.failure.queue.clone(), arrival.returning, number)
}

/// Holds what came from a queue whose framework retries by itself, as `known` says, or was seen to.
///
/// A copy alone does not say so: anybody may write that it is one. The try before has come as well.
pub(super) fn hold_all(intake: &Intake, arrivals: &mut [&mut Arrival], known: &Known, retries: &OwnRetries) {
    for arrival in arrivals {
        let Some(queue) = arrival.failure.queue.as_deref().filter(|_| may_have_own_retries(&arrival.message)) else {
            continue;
        };
        let key = ContentKey::of_own_retries(&intake.broker, queue);
        let retries = retries.queues.contains(queue) || known.of(key).next().is_some();
        arrival.decision = hold(arrival.decision.take(), retries, &mut arrival.remarks);
    }
}

/// Remembers the queues that were seen to.
pub(super) async fn remember(
    intake: &Intake,
    arrivals: &[&mut Arrival],
    known: &Known,
    retries: &OwnRetries,
) -> Result<(), StoreError> {
    let mut seen: BTreeMap<&str, SentBack> = BTreeMap::new();
    for arrival in arrivals {
        let Some((queue, retry)) = arrival.failure.queue.as_deref().zip(arrival.own_retry) else { continue };
        let is_fresh = |marker: &SentBack| arrival.received_at.since(marker.sent_at) < FRESH;
        let is_known = known.of(ContentKey::of_own_retries(&intake.broker, queue)).any(is_fresh);
        if retries.queues.contains(queue) && !is_known {
            seen.insert(queue, SentBack::own_retries(&intake.broker, queue, arrival.received_at, retry.number));
        }
    }
    if seen.is_empty() {
        return Ok(());
    }
    tracing::warn!(queues = ?seen.keys(), "a framework retries messages by itself that dlo would retry as well");
    let seen: Vec<SentBack> = seen.into_values().collect();
    intake.store.remember_sent_back(&intake.broker, &seen).await
}

/// Finds the letters of the tries before, where these were not sent back.
pub(super) async fn find_tries_before(
    intake: &Intake,
    arrivals: &mut [&mut Arrival],
    retries: &mut OwnRetries,
) -> Result<(), StoreError> {
    let mut copies: Vec<&mut Arrival> = arrivals
        .iter_mut()
        .map(|arrival| &mut **arrival)
        .filter(|arrival| arrival.own_retry.is_some() && arrival.returning.is_none() && !retries.is_joined(arrival))
        .collect();
    let Some(since) = copies.iter().map(|copy| failed_before(copy)).min() else { return Ok(()) };
    let wanted: Vec<(ContentKey, &str)> =
        copies.iter().map(|copy| (copy.content, copy.failure.queue.as_deref().unwrap_or_default())).collect();
    let mut letters = intake.store.letters_of_content(&intake.broker, &wanted, since).await?;
    // What tells tries of one content apart stands beside it.
    let ids: Vec<_> = letters.iter().map(|(_, id, _)| (*id, 0)).collect();
    let identities = intake.store.identities(&ids, 0).await?;
    for copy in &mut copies {
        let identity = Identity::of(&copy.message);
        let is_it = |(content, id, _): &(ContentKey, _, _)| {
            *content == copy.content && identities.get(id).is_some_and(|its| !its.differs_from(&identity))
        };
        // Of equal messages each has failed as often as the copy says.
        let tries = copy.own_retry.map(|retry| retry.number);
        let is_next = |letter: &(ContentKey, _, u64)| is_it(letter) && Some(letter.2) == tries;
        let Some(at) = letters.iter().position(is_next).or_else(|| letters.iter().position(is_it)) else { continue };
        copy.returning = Some(letters.remove(at).1);
        copy.is_recognised = true;
        retries.queues.extend(copy.failure.queue.clone());
    }
    Ok(())
}

fn failed_before(copy: &Arrival) -> Timestamp {
    let before = copy.own_retry.and_then(|retry| retry.failed_before);
    before.map_or_else(|| copy.received_at.minus(LONGEST_DELAY), |at| at.minus(CLOCKS))
}
