//! What waits in RabbitMQ, among what was sent back.

use std::collections::BTreeMap;

use crate::{
    domain::{content_key::ContentKey, letter::LetterId, lifecycle::recognition::SentBack},
    store::{
        Store, StoreError,
        db::{
            Tx,
            columns::{self, Column},
        },
        letters::rows::bigint,
    },
};

impl Store {
    /// Remembers messages that go back from RabbitMQ, where they wait.
    pub async fn remember_sent_back(&self, broker: &str, sent: &[SentBack]) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        remember(&mut tx, broker, sent).await?;
        tx.commit().await
    }

    /// Forgets messages that do not go back from RabbitMQ after all.
    pub async fn forget_returned(&self, returned: &[(ContentKey, LetterId)]) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        forget(&mut tx, returned.iter().copied()).await?;
        tx.commit().await
    }
}

/// Remembers messages that go back from RabbitMQ. What comes back with our headers is counted by these, in `automatic`;
/// `rounds` is what counts for an equal one without them.
pub(super) async fn remember(tx: &mut Tx, broker: &str, sent: &[SentBack]) -> Result<(), StoreError> {
    const REMEMBER: [&str; 2] = [
        "WITH new (content, id_key, letter_id, broker, queue, sent_at, automatic, rounds) AS (",
        ") INSERT INTO sent_back (content, id_key, letter_id, broker, queue, sent_at, first_sent_at, automatic, rounds)
        SELECT content, id_key, letter_id, broker, queue, sent_at, sent_at, automatic, rounds FROM new WHERE true
        ON CONFLICT (content, letter_id) DO UPDATE SET sent_at = excluded.sent_at, automatic = excluded.automatic",
    ];
    // Of copies of one message the last one stands for all.
    let sent: BTreeMap<_, &SentBack> = sent.iter().map(|sent| ((sent.key, sent.id), sent)).collect();
    let sent: Vec<&SentBack> = sent.into_values().collect();
    if sent.is_empty() {
        return Ok(());
    }
    let columns = vec![
        Column::numbers(&sent, |sent| sent.key.0),
        Column::numbers(&sent, |sent| sent.id_key.map(|key| key.0)),
        Column::ids(&sent, |sent| sent.id.as_uuid()),
        Column::texts(&sent, |_| broker),
        Column::texts(&sent, |sent| &*sent.queue),
        Column::numbers(&sent, |sent| sent.sent_at.as_micros()),
        Column::numbers(&sent, |sent| bigint(sent.automatic)),
        Column::numbers(&sent, |sent| bigint(sent.rounds)),
    ];
    columns::execute(tx, REMEMBER, columns).await
}

/// Forgets messages that have come back.
pub(in crate::store) async fn forget(
    tx: &mut Tx,
    returned: impl Iterator<Item = (ContentKey, LetterId)>,
) -> Result<(), StoreError> {
    const FORGET: [&str; 2] = [
        "WITH back (content, letter_id) AS (",
        ") DELETE FROM sent_back WHERE (content, letter_id) IN (SELECT content, letter_id FROM back)",
    ];
    let returned: Vec<_> = returned.collect();
    if returned.is_empty() {
        return Ok(());
    }
    let columns = vec![
        Column::numbers(&returned, |(content, _)| content.0),
        Column::ids(&returned, |(_, letter)| letter.as_uuid()),
    ];
    columns::execute(tx, FORGET, columns).await
}
