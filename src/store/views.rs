//! Saved views: one's own, and those that others share.

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    ChangeError, Store, StoreError, StoreReader, audit,
    db::{LockTable, Tx, on},
};
use crate::domain::{
    actor::Actor,
    rights::Right,
    saved_view::{Keeper, MOST, SavedView, ViewContent},
    version::Expected,
};

const LOCK: LockTable = LockTable("LOCK TABLE views IN SHARE ROW EXCLUSIVE MODE");

#[derive(FromRow)]
struct Row {
    id: Uuid,
    owner: String,
    name: String,
    query: String,
    shared: i64,
    within: String,
    set_by: String,
    set_at: i64,
}

impl TryFrom<Row> for SavedView {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id,
            content: ViewContent { name: row.name, query: row.query, is_shared: row.shared > 0 },
            owner: row.owner,
            within: audit::read_scope(&row.within)?,
            by: Actor::named(row.set_by),
            set_at: Timestamp::from_micros(row.set_at),
        })
    }
}

/// Why a view was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewRefusal {
    /// It is not there, or may not be changed.
    Missing,
    /// Its owner has another one of that name.
    NameTaken,
    /// They have too many.
    TooMany,
}

type Changing<T> = Result<Result<T, ViewRefusal>, ChangeError<SavedView>>;

impl StoreReader {
    /// Those that somebody sees, by name.
    pub async fn views(&self, keeper: &Keeper) -> Result<Vec<SavedView>, StoreError> {
        const SELECT: &str = "SELECT id, owner, name, query, shared, within, set_by, set_at FROM views
            WHERE (owner = $1 OR shared = 1) AND removed_at IS NULL ORDER BY name, id";
        let rows: Vec<Row> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(&*keeper.name).fetch_all(pool).await?);
        let views = rows.into_iter().map(SavedView::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(views.into_iter().filter(|view| view.is_seen(keeper, &self.scope)).collect())
    }

    pub async fn view(&self, id: Uuid, keeper: &Keeper) -> Result<Option<SavedView>, StoreError> {
        const SELECT: &str = "SELECT id, owner, name, query, shared, within, set_by, set_at FROM views
            WHERE id = $1 AND removed_at IS NULL";
        let row: Option<Row> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(id).fetch_optional(pool).await?);
        let view = row.map(SavedView::try_from).transpose()?;
        Ok(view.filter(|view| view.is_seen(keeper, &self.scope)))
    }

    /// What is seen by this, as a text: who sees the same has the same one.
    pub fn seen_within(&self) -> String {
        format!("{} {}", self.scope.written(), self.payloads.written())
    }
}

impl Store {
    /// Saves a view under an id, in place of the one that is there. The answer is that which is there now.
    pub async fn set_view(
        &self,
        (id, content): (Uuid, &ViewContent),
        keeper: &Keeper,
        expected: &Expected,
        by: &Actor,
        at: Timestamp,
    ) -> Changing<SavedView> {
        const SET: &str = "INSERT INTO views (id, owner, name, query, shared, within, set_by, set_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE SET name = excluded.name,
            query = excluded.query, shared = excluded.shared, within = excluded.within, set_by = excluded.set_by,
            set_at = excluded.set_at";
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let before = find(&mut tx, id).await?;
        let is_new = before.is_none() && *expected == Expected::nothing();
        if !is_new && !before.as_ref().is_some_and(|view| is_theirs(view, keeper, by)) {
            return Ok(Err(ViewRefusal::Missing));
        }
        expected.check(before.as_ref())?;
        let owner = before.as_ref().map_or_else(|| keeper.name.clone(), |before| before.owner.clone());
        if let Some(refusal) = why_not(&mut tx, &owner, id, &content.name).await? {
            return Ok(Err(refusal));
        }
        let kept = before.as_ref().filter(|before| before.owner != keeper.name);
        let within = kept.map_or_else(|| by.concerned(), |before| before.within.clone());
        let view = SavedView { id, content: content.clone(), owner, within, by: by.clone(), set_at: at };
        on!(&mut tx, |tx| sqlx::query(SET)
            .bind(id)
            .bind(&*view.owner)
            .bind(&*content.name)
            .bind(&*content.query)
            .bind(i64::from(content.is_shared))
            .bind(view.within.written())
            .bind(by.as_str())
            .bind(at.as_micros())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        if let Some(entry) = view.entry(before.as_ref(), by, at) {
            audit::append(&mut tx, &entry).await?;
        }
        tx.commit().await?;
        Ok(Ok(view))
    }

    /// Removes a view; [`restore_view`](Self::restore_view) brings it back as long as it is not forgotten.
    pub async fn remove_view(
        &self,
        id: Uuid,
        keeper: &Keeper,
        expected: &Expected,
        by: &Actor,
        at: Timestamp,
    ) -> Changing<SavedView> {
        const REMOVE: &str = "UPDATE views SET removed_at = $2 WHERE id = $1";
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let there = find(&mut tx, id).await?.filter(|view| is_theirs(view, keeper, by));
        let Some(view) = there else { return Ok(Err(ViewRefusal::Missing)) };
        expected.check(Some(&view))?;
        on!(&mut tx, |tx| sqlx::query(REMOVE).bind(id).bind(at.as_micros()).execute(&mut **tx).await.map(drop)?);
        if view.content.is_shared {
            audit::append(&mut tx, &view.entry_of("remove", by, at)).await?;
        }
        tx.commit().await?;
        Ok(Ok(view))
    }

    /// Brings back a view that was removed.
    pub async fn restore_view(&self, id: Uuid, keeper: &Keeper, by: &Actor, at: Timestamp) -> Changing<SavedView> {
        const RESTORE: &str = "UPDATE views SET removed_at = NULL WHERE id = $1 AND removed_at IS NOT NULL
            RETURNING id, owner, name, query, shared, within, set_by, set_at";
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let row: Option<Row> = on!(&mut tx, |tx| sqlx::query_as(RESTORE).bind(id).fetch_optional(&mut **tx).await?);
        let there = row.map(SavedView::try_from).transpose()?.filter(|view| is_theirs(view, keeper, by));
        let Some(view) = there else { return Ok(Err(ViewRefusal::Missing)) };
        if let Some(refusal) = why_not(&mut tx, &view.owner, id, &view.content.name).await? {
            return Ok(Err(refusal));
        }
        if view.content.is_shared {
            audit::append(&mut tx, &view.entry_of("restore", by, at)).await?;
        }
        tx.commit().await?;
        Ok(Ok(view))
    }

    /// Forgets what was removed before then.
    pub async fn forget_views(&self, before: Timestamp) -> Result<u64, StoreError> {
        const FORGET: &str = "DELETE FROM views WHERE removed_at < $1";
        Ok(on!(self.db.writer(), |pool| sqlx::query(FORGET)
            .bind(before.as_micros())
            .execute(pool)
            .await?
            .rows_affected()))
    }
}

/// Whether somebody sees it and may change it.
fn is_theirs(view: &SavedView, keeper: &Keeper, by: &Actor) -> bool {
    view.is_seen(keeper, &by.scope(Right::Read)) && view.may_be_changed_by(keeper)
}

async fn find(tx: &mut Tx, id: Uuid) -> Result<Option<SavedView>, StoreError> {
    const FIND: &str = "SELECT id, owner, name, query, shared, within, set_by, set_at FROM views
        WHERE id = $1 AND removed_at IS NULL";
    let row: Option<Row> = on!(tx, |tx| sqlx::query_as(FIND).bind(id).fetch_optional(&mut **tx).await?);
    row.map(SavedView::try_from).transpose()
}

/// Why somebody cannot have a view of that name under this id.
async fn why_not(tx: &mut Tx, owner: &str, id: Uuid, name: &str) -> Result<Option<ViewRefusal>, StoreError> {
    const OTHERS: &str = "SELECT name FROM views WHERE owner = $1 AND id <> $2 AND removed_at IS NULL";
    let others: Vec<String> =
        on!(tx, |tx| sqlx::query_scalar(OTHERS).bind(owner).bind(id).fetch_all(&mut **tx).await?);
    Ok(if others.iter().any(|other| other == name) {
        Some(ViewRefusal::NameTaken)
    } else {
        (others.len() >= MOST).then_some(ViewRefusal::TooMany)
    })
}
