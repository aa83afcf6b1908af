//! What people write on groups.

use amqp_message::time::Timestamp;

use crate::{
    domain::{
        activity::{Area, AuditEntry, Concerns},
        actor::Actor,
        group::{GroupId, Note},
        rights::Right,
        version::Expected,
    },
    store::{
        ChangeError, Store, StoreError, audit,
        db::{Sql, Tx, on},
    },
};

use super::state::locked;

impl Store {
    /// Sets the note of a group, or with an empty text removes it; says whether there is such a group. A note that it has
    /// already stays, with who wrote it.
    pub async fn set_group_note(
        &self,
        id: GroupId,
        text: &str,
        expected: &Expected,
        by: &Actor,
        at: Timestamp,
    ) -> Result<bool, ChangeError<Note>> {
        const SET: &str = "UPDATE groups SET note = $1, note_by = $2, note_at = $3 WHERE id = $4";
        let mut tx = self.db.begin().await?;
        let found = note(&mut tx, id).await?;
        let whole = locked(&mut tx, &[id]).await?.remove(&id);
        let found = found.filter(|(_, (broker, queue))| by.may_at(Right::Act, broker, queue));
        let Some((before, (broker, queue))) = found else { return Ok(false) };
        // A call may name the version of the whole group.
        if !expected.is_met(whole.as_ref()) {
            expected.check(before.as_ref())?;
        }
        if before.as_ref().map(|note| &*note.text).unwrap_or_default() == text {
            return Ok(true);
        }
        on!(&mut tx, |tx| sqlx::query(SET)
            .bind(text)
            .bind(by.as_str())
            .bind(Some(at.as_micros()).filter(|_| !text.is_empty()))
            .bind(id.as_uuid())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        let entry = AuditEntry::new(at, by, Area::Groups, "note", id.to_string());
        let concerns = Concerns::Queue(broker, queue);
        audit::append(&mut tx, &AuditEntry { detail: text.to_owned(), concerns, ..entry }).await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// Broker and queue.
type Place = (String, String);

/// The note of a group, which nobody else changes until the transaction ends, and where the group is; `None` without such a
/// group.
async fn note(tx: &mut Tx, id: GroupId) -> Result<Option<(Option<Note>, Place)>, StoreError> {
    const NOTE: Sql = Sql {
        sqlite: "SELECT note, note_by, note_at, broker, queue FROM groups WHERE id = $1",
        postgres: "SELECT note, note_by, note_at, broker, queue FROM groups WHERE id = $1 FOR NO KEY UPDATE",
    };
    let select = NOTE.pick(tx);
    let row: Option<(String, String, Option<i64>, String, String)> =
        on!(tx, |tx| sqlx::query_as(select).bind(id.as_uuid()).fetch_optional(&mut **tx).await?);
    Ok(row.map(|(text, by, at, broker, queue)| {
        let note = at.map(|at| Note { text, by: Actor::named(by), at: Timestamp::from_micros(at) });
        (note, (broker, queue))
    }))
}
