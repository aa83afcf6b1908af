//! How we stand with each broker, for the pages, the metrics and `/readyz`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;

use crate::domain::broker::{BrokerHealth, ConnectionState};

/// Shared by the workers, which write, and by all who show it.
#[derive(Clone)]
pub struct BrokerBoard {
    brokers: Arc<Mutex<BTreeMap<String, BrokerHealth>>>,
    changes: watch::Sender<u64>,
}

impl BrokerBoard {
    /// A board for brokers of these names and addresses, none of them reached yet.
    pub fn new(brokers: impl IntoIterator<Item = (String, String)>) -> Self {
        let health = |(name, address): (String, String)| BrokerHealth {
            name,
            address,
            consuming: ConnectionState::Connecting,
            publishing: ConnectionState::Connecting,
            holding: None,
        };
        let brokers = brokers.into_iter().map(|broker| (broker.0.clone(), health(broker))).collect();
        Self { brokers: Arc::new(Mutex::new(brokers)), changes: watch::Sender::new(0) }
    }

    pub fn all(&self) -> Vec<BrokerHealth> {
        self.brokers.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// A counter that grows whenever something on the board changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub fn set_consuming(&self, broker: &str, state: ConnectionState) {
        self.update(broker, |health| health.consuming = state);
    }

    pub fn set_publishing(&self, broker: &str, state: ConnectionState) {
        self.update(broker, |health| health.publishing = state);
    }

    /// Says why deliveries are held instead of stored; `None` when they are stored again. The answer is whether this
    /// was feed.
    pub fn set_holding(&self, broker: &str, why: Option<String>) -> bool {
        self.update(broker, |health| health.holding = why)
    }

    fn update(&self, broker: &str, change: impl FnOnce(&mut BrokerHealth)) -> bool {
        let mut brokers = self.brokers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(health) = brokers.get_mut(broker) else { return false };
        let before = health.clone();
        change(health);
        let is_news = *health != before;
        if is_news {
            self.changes.send_modify(|version| *version += 1);
        }
        is_news
    }
}
