//! Retries of a group that was merged are counted in the group that it is part of, too: they say what helps.
//!
//! Its own row keeps what it had, which is taken out again when it is split.

use uuid::Uuid;

use crate::{
    domain::group::{Group, GroupId},
    store::{
        StoreError,
        db::{Tx, on},
    },
};

/// Adds them to a group.
pub(super) async fn add(tx: &mut Tx, part: &Group, into: GroupId) -> Result<(), StoreError> {
    change(tx, part, into, 1).await
}

pub(super) async fn take_out(tx: &mut Tx, part: &Group, into: GroupId) -> Result<(), StoreError> {
    change(tx, part, into, -1).await
}

async fn change(tx: &mut Tx, part: &Group, into: GroupId, times: i64) -> Result<(), StoreError> {
    const COUNTS: &str = "UPDATE groups SET sent = groups.sent + $1 * part.sent,
            failed_again = groups.failed_again + $1 * part.failed_again,
            last_sent_at = CASE WHEN groups.last_sent_at IS NULL OR part.last_sent_at > groups.last_sent_at
                THEN part.last_sent_at ELSE groups.last_sent_at END
        FROM (SELECT sent, failed_again, last_sent_at FROM groups WHERE id = $2) AS part WHERE groups.id = $3";
    // What was received follows with the letters.
    const HOURS: &str = "INSERT INTO group_hours (group_id, start, received, sent, failed_again)
        SELECT $3, start, 0, $1 * sent, $1 * failed_again FROM group_hours WHERE group_id = $2
        ON CONFLICT (group_id, start) DO UPDATE SET sent = group_hours.sent + excluded.sent,
            failed_again = group_hours.failed_again + excluded.failed_again";
    let ids: [Uuid; 2] = [part.id.as_uuid(), into.as_uuid()];
    on!(tx, |tx| {
        for statement in [COUNTS, HOURS] {
            sqlx::query(statement).bind(times).bind(ids[0]).bind(ids[1]).execute(&mut **tx).await?;
        }
    });
    Ok(())
}
