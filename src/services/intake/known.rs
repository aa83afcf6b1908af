//! What the database knows of messages that were sent back, as far as it matters for a batch.

use std::collections::{BTreeSet, HashMap};

use amqp_message::time::Timestamp;
use failure_conventions::{identity, may_have_own_retries};

use super::{Intake, parcel::is_for_broker};
use crate::{
    domain::{
        content_key::ContentKey,
        letter::LetterId,
        lifecycle::recognition::{Compared, MARGIN, SentBack, messages_at_once},
    },
    store::{Arrival, StoreError},
};

/// What was sent back lately and may be one of the arrivals, or says something of their queues.
pub(crate) struct Known {
    /// The newest first.
    sent: Vec<SentBack>,
    letters: BTreeSet<LetterId>,
    by_key: HashMap<ContentKey, Vec<usize>>,
    /// The contents that are here with an id and were never sent back.
    here: HashMap<ContentKey, BTreeSet<ContentKey>>,
    /// What has been found by now: each is one message.
    taken: BTreeSet<LetterId>,
}

impl Known {
    pub async fn load(intake: &Intake, arrivals: &[&mut Arrival]) -> Result<Self, StoreError> {
        let (mut contents, mut ids) = (Vec::with_capacity(arrivals.len()), Vec::new());
        for arrival in arrivals {
            let queue = arrival.failure.queue.as_deref().unwrap_or_default();
            if !arrival.is_recognised && (arrival.returning.is_none() || is_for_broker(arrival)) {
                contents.push((arrival.content, queue));
            }
            if arrival.returning.is_none() {
                ids.extend(arrival.id_key.map(|id| (id, queue)));
            }
            if may_have_own_retries(&arrival.message) {
                contents.push((ContentKey::of_own_retries(&intake.broker, queue), queue));
            }
        }
        for wanted in [&mut contents, &mut ids] {
            wanted.sort_unstable();
            wanted.dedup();
        }
        let sent = if contents.is_empty() {
            Vec::new()
        } else {
            intake.store.sent_back(&intake.broker, &contents, &ids).await?
        };
        let mut by_key: HashMap<ContentKey, Vec<usize>> = HashMap::new();
        for (at, sent) in sent.iter().enumerate() {
            by_key.entry(sent.key).or_default().push(at);
            sent.id_key.into_iter().for_each(|id| by_key.entry(id).or_default().push(at));
        }
        let letters = sent.iter().filter(|sent| sent.letter.is_some()).map(|sent| sent.id).collect();
        let mut known = Self { sent, letters, by_key, here: HashMap::new(), taken: BTreeSet::new() };
        known.look_for_others(intake, arrivals).await?;
        Ok(known)
    }

    /// Finds other messages with the same id, where it would matter: something else was sent back under it.
    async fn look_for_others(&mut self, intake: &Intake, arrivals: &[&mut Arrival]) -> Result<(), StoreError> {
        let mut wanted = Vec::new();
        let mut since = intake.clock.now();
        for arrival in arrivals.iter().filter(|arrival| arrival.returning.is_none()) {
            let (Some(id), Some(queue)) = (arrival.id_key, arrival.failure.queue.as_deref()) else { continue };
            if self.of(id).any(|sent| sent.key != arrival.content) {
                self.here.entry(id).or_default().insert(arrival.content);
                let span = arrival.decision.as_ref().map(|decision| decision.span()).unwrap_or_default();
                since = since.min(arrival.received_at.minus(span.saturating_add(MARGIN)));
                wanted.push((id, queue));
            }
        }
        if !wanted.is_empty() {
            for (id, content) in intake.store.contents_under_ids(&intake.broker, &wanted, since).await? {
                self.here.entry(id).or_default().insert(content);
            }
        }
        Ok(())
    }

    /// What was sent back with that key and is not taken.
    pub fn of(&self, key: ContentKey) -> impl Iterator<Item = &SentBack> {
        let sent = self.by_key.get(&key).into_iter().flatten().map(|at| &self.sent[*at]);
        sent.filter(|sent| !self.taken.contains(&sent.id))
    }

    /// A message of which a later failure has come already: of two copies that fail one uses up a retry of the other.
    pub fn rounds_of_copies(&self, arrival: &Arrival) -> Option<u64> {
        let copies =
            self.of(arrival.content).filter(|sent| sent.letter.is_none() && Some(sent.id) == arrival.returning);
        copies.map(|sent| sent.automatic).max().filter(|rounds| *rounds >= arrival.failure.rounds)
    }

    /// Has those after it in its batch know that it goes back.
    pub fn goes_on(&mut self, arrival: &Arrival) {
        let sent = SentBack {
            key: arrival.content,
            id_key: arrival.id_key,
            id: arrival.returning.unwrap_or(arrival.id),
            automatic: arrival.failure.rounds,
            letter: None,
            ..SentBack::own_retries(
                "",
                arrival.failure.queue.as_deref().unwrap_or_default(),
                Timestamp::MAX,
                arrival.failure.rounds,
            )
        };
        let keys = [Some(sent.key), sent.id_key];
        keys.into_iter().flatten().for_each(|key| self.by_key.entry(key).or_default().push(self.sent.len()));
        self.sent.push(sent);
    }

    /// Of what was sent back, what is in the database.
    pub const fn letters(&self) -> &BTreeSet<LetterId> {
        &self.letters
    }

    /// Has nothing else be the same.
    pub fn take(&mut self, id: LetterId) {
        self.taken.insert(id);
    }

    /// What an arrival may be.
    pub fn compared(&self, arrival: &Arrival) -> Compared<'_> {
        let mut compared = Compared { same_content: self.of(arrival.content).collect(), ..Compared::default() };
        let (Some(key), Some((_, kind))) = (arrival.id_key, identity::message_id(&arrival.message)) else {
            return compared;
        };
        let same_id: Vec<&SentBack> = self.of(key).collect();
        let alone = BTreeSet::from([arrival.content]);
        let sharing = messages_at_once(&same_id, self.here.get(&key).unwrap_or(&alone), arrival.received_at);
        if kind.is_shared_by(sharing) {
            (compared.shared_id, compared.sharing) = (same_id, sharing as u64);
        } else {
            compared.same_id = same_id;
        }
        compared
    }
}
