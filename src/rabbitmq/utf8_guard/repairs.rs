//! What was repaired, kept until somebody asks.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Deliveries whose repairs are kept until somebody takes them; beyond it the oldest are forgotten.
pub(super) const MAX_DELIVERIES: usize = 4096;

/// Repairs kept of one delivery: a table can hold tens of thousands of bad keys.
pub(super) const MAX_REPAIRS_PER_DELIVERY: usize = 16;

/// Something in a delivery that was changed so that it could be received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// What was changed, in the words of AMQP: `message_id`, `header key`, `routing key`…; or
    /// `header nesting`, for a table or array that lay too deep and is now a byte array.
    pub field: String,
    /// The octets that stood there; of what lay too deep, the one that names its type.
    pub original: Vec<u8>,
}

pub(super) type DeliveryId = (u16, u64);

/// The repairs made on one connection, until the consumer of each delivery takes them.
///
/// A clone is another handle to the same repairs.
#[derive(Clone, Debug, Default)]
pub struct Repairs(Arc<Shared>);

#[derive(Debug, Default)]
pub(super) struct Shared {
    /// How many deliveries wait, so that `take` costs one load while all is well.
    waiting: AtomicUsize,
    deliveries: Mutex<Deliveries>,
}

#[derive(Debug, Default)]
pub(super) struct Deliveries {
    repairs: HashMap<DeliveryId, Vec<Repair>>,
    /// By arrival, for forgetting the oldest; may name deliveries that were taken.
    arrivals: VecDeque<DeliveryId>,
}

impl Repairs {
    /// Takes what was repaired in a delivery of `basic.deliver` or `basic.get-ok`; almost always
    /// nothing. Repairs are there before lapin sees the delivery.
    ///
    /// Two header keys that differ only in octets that were replaced have become one key, of which
    /// lapin keeps the last value.
    #[must_use]
    pub fn take(&self, channel: u16, delivery_tag: u64) -> Vec<Repair> {
        if self.0.waiting.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.change(|deliveries| deliveries.take((channel, delivery_tag)))
    }

    pub(super) fn record(&self, id: DeliveryId, repairs: impl Iterator<Item = Repair>) {
        self.change(|deliveries| deliveries.record(id, repairs));
    }

    /// Delivery tags begin again at 1 in a channel that is opened again.
    pub(super) fn forget_channel(&self, channel: u16) {
        self.change(|deliveries| deliveries.forget_channel(channel));
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Deliveries) -> T) -> T {
        let mut deliveries = self.0.deliveries.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = change(&mut deliveries);
        self.0.waiting.store(deliveries.repairs.len(), Ordering::Release);
        answer
    }
}

impl Deliveries {
    pub(super) fn take(&mut self, id: DeliveryId) -> Vec<Repair> {
        self.repairs.remove(&id).unwrap_or_default()
    }

    pub(super) fn record(&mut self, id: DeliveryId, repairs: impl Iterator<Item = Repair>) {
        if !self.repairs.contains_key(&id) {
            self.arrivals.push_back(id);
        }
        let kept = self.repairs.entry(id).or_default();
        kept.extend(repairs.take(MAX_REPAIRS_PER_DELIVERY.saturating_sub(kept.len())));
        while self.arrivals.len() > MAX_DELIVERIES {
            if let Some(oldest) = self.arrivals.pop_front() {
                self.repairs.remove(&oldest);
            }
        }
    }

    pub(super) fn forget_channel(&mut self, channel: u16) {
        self.repairs.retain(|id, _| id.0 != channel);
        self.arrivals.retain(|id| id.0 != channel);
    }
}
