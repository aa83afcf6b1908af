//! Which types people have confirmed for the messages of a queue, asked of the database once for each queue.

use std::{collections::HashMap, sync::Arc};

use crate::{
    domain::letter::LetterSummary,
    store::{StoreError, StoreReader},
};

/// How often people have confirmed which type for messages on some address.
pub type Confirmed = Vec<(String, u64)>;

/// For as many letters as are looked at together.
pub(crate) struct ConfirmedTypes<'a> {
    store: &'a StoreReader,
    /// By broker and queue.
    known: HashMap<(String, String), Arc<Confirmed>>,
}

impl<'a> ConfirmedTypes<'a> {
    pub(crate) fn new(store: &'a StoreReader) -> Self {
        Self { store, known: HashMap::new() }
    }

    pub(crate) async fn of(&mut self, letter: &LetterSummary) -> Result<Arc<Confirmed>, StoreError> {
        let Some(queue) = letter.queue.clone() else { return Ok(Arc::default()) };
        let address = (letter.broker.clone(), queue);
        if let Some(confirmed) = self.known.get(&address) {
            return Ok(Arc::clone(confirmed));
        }
        let confirmed = Arc::new(self.store.confirmed_types(&address.0, &address.1).await?);
        self.known.insert(address, Arc::clone(&confirmed));
        Ok(confirmed)
    }
}
