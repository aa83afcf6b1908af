//! How we stand with each broker, for the pages, the metrics and `/readyz`.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;

use crate::domain::broker::{BrokerHealth, ConnectionState, Holding};

/// Shared by the workers, which write, and by all who show it.
#[derive(Clone)]
pub struct BrokerBoard {
    brokers: Arc<Mutex<BTreeMap<String, Entry>>>,
    changes: watch::Sender<u64>,
}

struct Entry {
    health: BrokerHealth,
    /// By queue: one of them may go on while another is held.
    held: BTreeMap<String, Holding>,
    /// Somebody was told that the user may not publish.
    is_doubted: bool,
}

impl BrokerBoard {
    /// A board for brokers of these names and addresses, none of them reached yet.
    pub fn new(brokers: impl IntoIterator<Item = (String, String)>) -> Self {
        let entry = |(name, address): (String, String)| {
            let health = BrokerHealth {
                name: name.clone(),
                address,
                consuming: ConnectionState::Connecting,
                publishing: ConnectionState::Connecting,
                holding: None,
            };
            (name, Entry { health, held: BTreeMap::new(), is_doubted: false })
        };
        let brokers = brokers.into_iter().map(entry).collect();
        Self { brokers: Arc::new(Mutex::new(brokers)), changes: watch::Sender::new(0) }
    }

    pub fn all(&self) -> Vec<BrokerHealth> {
        self.brokers.lock().unwrap_or_else(PoisonError::into_inner).values().map(|entry| entry.health.clone()).collect()
    }

    /// A counter that grows whenever something on the board changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub fn set_consuming(&self, broker: &str, state: ConnectionState) {
        self.update(broker, |entry| entry.health.consuming = state);
    }

    pub fn set_publishing(&self, broker: &str, state: ConnectionState) {
        self.update(broker, |entry| entry.health.publishing = state);
    }

    /// Has whoever keeps the publishing connection find out whether the user may publish.
    pub fn doubt_publishing(&self, broker: &str) {
        self.update(broker, |entry| entry.is_doubted = true);
    }

    /// Whether somebody has asked for that since it was last asked.
    pub fn takes_doubt(&self, broker: &str) -> bool {
        let mut is_doubted = false;
        self.update(broker, |entry| is_doubted = mem::take(&mut entry.is_doubted));
        is_doubted
    }

    /// Says that deliveries of `queue` are held instead of stored. How long they are counts from the first time.
    pub fn hold(&self, broker: &str, queue: &str, holding: Holding) {
        self.update(broker, |entry| {
            let since = entry.held.get(queue).map_or(holding.since, |before| before.since);
            entry.held.insert(queue.to_owned(), Holding { since, ..holding });
        });
    }

    /// Says that deliveries of `queue` are stored again. The answer is whether that ended the last hold.
    pub fn release(&self, broker: &str, queue: &str) -> bool {
        self.update(broker, |entry| drop(entry.held.remove(queue)))
    }

    fn update(&self, broker: &str, change: impl FnOnce(&mut Entry)) -> bool {
        let mut brokers = self.brokers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = brokers.get_mut(broker) else { return false };
        let before = entry.health.clone();
        change(entry);
        entry.health.holding = entry.held.values().min_by_key(|holding| holding.since).cloned();
        let is_news = entry.health != before;
        if is_news {
            self.changes.send_modify(|version| *version += 1);
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use amqp_message::time::Timestamp;

    use super::*;

    #[test]
    fn a_doubt_is_taken_once() {
        let board = BrokerBoard::new([("main".to_owned(), "rabbit.example".to_owned())]);
        assert!(!board.takes_doubt("main"));
        board.doubt_publishing("main");
        assert!(board.takes_doubt("main") && !board.takes_doubt("main"));
    }

    fn held(second: i64) -> Holding {
        Holding { since: Timestamp::from_micros(second * 1_000_000), why: "disk full".to_owned(), is_full: true }
    }

    #[test]
    fn a_queue_is_held_although_another_goes_on() {
        let board = BrokerBoard::new([("main".to_owned(), "rabbit.example".to_owned())]);
        let holding = || board.all()[0].holding.clone();
        board.hold("main", "letters", held(5));
        board.hold("main", "obituaries", held(7));
        board.hold("main", "letters", held(9));
        assert_eq!(holding(), Some(held(5)), "since the first time");
        board.release("main", "letters");
        assert_eq!(holding(), Some(held(7)));
        assert!(board.release("main", "obituaries"));
        assert_eq!(holding(), None);
        assert!(!board.release("main", "obituaries"), "that is no news");
    }
}
