//! Messages that are not retried any more because they come as another message each time.

use std::collections::{BTreeMap, HashSet};

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::outcomes::RetryTally;
use crate::{
    domain::{
        content_key::ContentKey,
        letter::LetterId,
        lifecycle::{PolicyOutcome, PolicyStep, failures, recognition::Superseded},
    },
    store::{
        Store, StoreError, StoreReader,
        counts::tally::Tally,
        db::{
            Tx,
            columns::{self, Column},
        },
        letters::{
            apply::{self, Moved},
            lock,
            rows::bigint,
        },
    },
};

/// A message that is not retried any more.
pub struct StoppedRetry {
    /// The letter it becomes.
    pub letter: LetterId,
    pub queue: String,
    pub at: Timestamp,
    /// Whether it has a `message_id`.
    pub has_id: bool,
    /// What it was before.
    pub superseded: Vec<Superseded>,
}

/// What was stopped of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStops {
    pub queue: String,
    pub messages: u64,
    pub since: Timestamp,
    pub last: Timestamp,
    /// Whether the last one had a `message_id`.
    pub has_id: bool,
}

impl Store {
    /// Writes down that messages are not retried any more: what they were before has failed again, and is set aside.
    pub async fn stop_retries(&self, broker: &str, stopped: &[StoppedRetry]) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        let mut scope = self.facet_scope();
        let superseded = || stopped.iter().flat_map(|stop| &stop.superseded);
        let ids: HashSet<LetterId> = superseded().filter(|sent| sent.is_letter).map(|sent| sent.id).collect();
        let letters = lock::lock(&mut tx, &ids.into_iter().collect::<Vec<_>>()).await?;
        let (mut moved, mut counted): (Vec<Moved<'_>>, _) = (Vec::new(), RetryTally::default());
        let mut seen = HashSet::new();
        for stop in stopped {
            // What needs attention is the one that was stopped.
            let outcome = PolicyOutcome::Failed;
            for sent in stop.superseded.iter().filter(|sent| seen.insert(sent.id)) {
                let letter = letters.get(&sent.id).filter(|letter| letter.state.is_away());
                match letter {
                    Some(letter) => {
                        moved.push((letter, failures::failed_as_another(&letter.state, stop.letter, outcome, stop.at)));
                    }
                    None if sent.is_letter => continue,
                    None => {
                        let failures = sent.rounds.saturating_add(1);
                        counted.add(broker, &PolicyStep { queue: &stop.queue, at: stop.at, failures, outcome });
                    }
                }
            }
        }
        let mut tally = Tally::default();
        apply::apply(&mut tx, &mut scope, &mut tally, &moved).await?;
        mark(&mut tx, &superseded().collect::<Vec<_>>()).await?;
        count(&mut tx, broker, stopped).await?;
        tally.apply(&mut tx).await?;
        for (letter, transition) in &moved {
            if let Some(step) = &transition.policy_step {
                counted.add(&letter.state.broker, step);
            }
        }
        counted.apply(&mut tx).await?;
        tx.commit().await?;
        scope.committed();
        Ok(())
    }
}

/// It counts for the next copy, but is not what comes back any more.
async fn mark(tx: &mut Tx, superseded: &[&Superseded]) -> Result<(), StoreError> {
    const MARK: [&str; 2] = [
        "WITH gone (content, letter_id) AS (",
        ") UPDATE sent_back SET stopped = TRUE WHERE (content, letter_id) IN (SELECT content, letter_id FROM gone)",
    ];
    if superseded.is_empty() {
        return Ok(());
    }
    let columns =
        vec![Column::numbers(superseded, |sent| sent.key.0), Column::ids(superseded, |sent| sent.id.as_uuid())];
    columns::execute(tx, MARK, columns).await
}

/// Counts the messages of each queue, in a row beside those of messages.
async fn count(tx: &mut Tx, broker: &str, stopped: &[StoppedRetry]) -> Result<(), StoreError> {
    const COUNT: [&str; 2] = [
        "WITH new (content, letter_id, broker, queue, sent_at, messages, has_id) AS (",
        ") INSERT INTO sent_back (content, letter_id, broker, queue, sent_at, first_sent_at, automatic, rounds)
        SELECT content, letter_id, broker, queue, sent_at, sent_at, messages, has_id FROM new WHERE true
        ON CONFLICT (content, letter_id) DO UPDATE SET sent_at = excluded.sent_at,
            automatic = sent_back.automatic + excluded.automatic, rounds = excluded.rounds",
    ];
    let mut queues: BTreeMap<&str, (u64, &StoppedRetry)> = BTreeMap::new();
    for stop in stopped {
        let (messages, last) = queues.entry(&stop.queue).or_insert((0, stop));
        (*messages, *last) = (*messages + 1, stop);
    }
    let queues: Vec<_> = queues.into_iter().collect();
    let columns = vec![
        Column::numbers(&queues, |(queue, _)| ContentKey::of_stops(broker, queue).0),
        Column::ids(&queues, |_| Uuid::nil()),
        Column::texts(&queues, |_| broker),
        Column::texts(&queues, |(queue, _)| *queue),
        Column::numbers(&queues, |(_, (_, last))| last.at.as_micros()),
        Column::numbers(&queues, |(_, (messages, _))| bigint(*messages)),
        Column::numbers(&queues, |(_, (_, last))| i64::from(last.has_id)),
    ];
    columns::execute(tx, COUNT, columns).await
}

impl StoreReader {
    /// What was stopped lately of these queues of a broker.
    pub async fn stopped_retries(&self, broker: &str, queues: &[&str]) -> Result<Vec<QueueStops>, StoreError> {
        let found = self.kept_of_queues(broker, queues, |queue| ContentKey::of_stops(broker, queue)).await?;
        let stops = found.into_iter().map(|marker| QueueStops {
            queue: marker.queue,
            messages: marker.automatic,
            since: marker.first_sent_at,
            last: marker.sent_at,
            has_id: marker.rounds > 0,
        });
        Ok(stops.collect())
    }
}
