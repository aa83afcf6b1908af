//! The database as far as who asks may see it.

use super::Visitor;
use crate::{domain::access::Grants, store::StoreReader};

/// The database behind the guard: pages and API have no other, so that they cannot forget who asks.
pub struct GuardedStore(StoreReader);

impl GuardedStore {
    pub const fn new(store: StoreReader) -> Self {
        Self(store)
    }

    /// As far as who asks may see it. Nobody sees nothing.
    pub fn seen(&self) -> StoreReader {
        match Visitor::current() {
            Some(visitor) => visitor.reader.get_or_init(|| self.0.within(&visitor.grants)).clone(),
            None => self.0.within(&Grants::nothing()),
        }
    }

    /// All of it: for probes and metrics, which say of no letter what is in it.
    pub const fn whole(&self) -> &StoreReader {
        &self.0
    }
}
