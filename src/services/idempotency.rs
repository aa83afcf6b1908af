//! Calls that have to happen once, however often they are made.

use std::{sync::Arc, time::Duration};

use crate::{
    clock::Clock,
    store::{KeptAnswer, KeyClaim, KeyedCall, Store, StoreError},
};

/// How long an answer is kept.
pub const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// A call that has not been answered by then has died with its server, and is not made again: longer than any call may take.
const LEASE: Duration = Duration::from_secs(5 * 60);

/// The keys of calls, and what was answered to them. Cheap to clone.
#[derive(Clone)]
pub struct Keys {
    store: Arc<Store>,
    clock: Clock,
}

impl Keys {
    pub const fn new(store: Arc<Store>, clock: Clock) -> Self {
        Self { store, clock }
    }

    /// What is to be done with a call.
    pub async fn claim(&self, call: KeyedCall<'_>) -> Result<KeyClaim, StoreError> {
        let now = self.clock.now();
        self.store.claim_key(call, now, now.minus(KEPT), LEASE).await
    }

    /// Keeps the answer to a call that claimed its key.
    pub async fn keep(&self, call: KeyedCall<'_>, answer: &KeptAnswer) -> Result<(), StoreError> {
        self.store.keep_answer(call, answer).await
    }

    /// Has the call be made again: it came to nothing.
    pub async fn release(&self, call: KeyedCall<'_>) -> Result<(), StoreError> {
        self.store.release_key(call).await
    }
}
