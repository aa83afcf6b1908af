//! What people write on groups.

use amqp_message::time::Timestamp;

use crate::{
    domain::{
        actor::Actor,
        group::{Group, GroupId, Note},
        rights::Right,
        version::Expected,
    },
    store::{ChangeError, Store, db::on},
};

use super::state::{locked, log};

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
        let group = locked(&mut tx, &[id]).await?.remove(&id);
        let queue = |group: &Group| group.key.queue.clone().unwrap_or_default();
        let Some(group) = group.filter(|group| by.may_at(Right::Act, &group.key.broker, &queue(group))) else {
            return Ok(false);
        };
        // A call may name the version of the whole group.
        if !expected.is_met(Some(&group)) {
            expected.check(group.note.as_ref())?;
        }
        if group.note.as_ref().map(|note| &*note.text).unwrap_or_default() == text {
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
        log(&mut tx, &group, ("note", text.to_owned()), by, at).await?;
        tx.commit().await?;
        Ok(true)
    }
}
