//! Groups whose letters were in another one, and became of another type, while people knew of that one.

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::{COLUMNS, Row};
use crate::{
    domain::group::{Group, GroupId},
    store::{
        Store, StoreError, StoreReader,
        db::{Sql, id_list::push_uuids, on},
    },
};

impl StoreReader {
    /// The groups themselves, where they are there, and those that are told in their incidents, in no particular order.
    pub async fn groups_told_as(&self, ids: &[GroupId]) -> Result<Vec<Group>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT ");
            select.push(COLUMNS).push(" FROM groups WHERE merged_into IS NULL AND id IN (SELECT id FROM ");
            push_uuids(&mut select, ids.clone());
            // Not OR, which would have Postgres read them all.
            select.push(" AS named UNION SELECT id FROM groups WHERE told_as IN ");
            push_uuids(&mut select, ids);
            select.push(")").build_query_as().fetch_all(pool).await?
        });
        let theirs = rows.into_iter().filter(|row| self.scope.includes(&row.key.broker, &row.key.queue));
        theirs.map(Group::try_from).collect()
    }

    /// Where the letters are that were in a group which has none any more, those first that need attention: links to it are in
    /// notifications.
    pub async fn goes_on_as(&self, id: GroupId) -> Result<Vec<Group>, StoreError> {
        let (was, next): (Vec<Group>, Vec<Group>) =
            self.groups_told_as(&[id]).await?.into_iter().partition(|group| group.id == id);
        if was.iter().any(|group| group.letters() > 0) {
            return Ok(Vec::new());
        }
        let (open, done): (Vec<Group>, Vec<Group>) =
            next.into_iter().filter(|group| group.letters() > 0).partition(|group| group.n_open() > 0);
        Ok(if open.is_empty() { done } else { open })
    }
}

impl Store {
    /// From now on it, and those that were told as it, are told each by itself, unless the incident of that key is open: then
    /// somebody else has opened it meanwhile, and what was made since is told of it.
    pub async fn tell_apart(&self, id: GroupId, key: &str) -> Result<(), StoreError> {
        const APART: Sql = Sql {
            sqlite: "UPDATE groups SET told_as = NULL
                WHERE (told_as = $1 OR id = $1 AND told_as IS NOT NULL)
                AND NOT EXISTS (SELECT 1 FROM incidents WHERE key = $2 AND resolved_at IS NULL)",
            postgres: "UPDATE groups SET told_as = NULL WHERE id IN (SELECT id FROM groups
                WHERE (told_as = $1 OR id = $1 AND told_as IS NOT NULL)
                AND NOT EXISTS (SELECT 1 FROM incidents WHERE key = $2 AND resolved_at IS NULL)
                ORDER BY id FOR UPDATE)",
        };
        let apart = APART.pick(self.db.writer());
        on!(self.db.writer(), |pool| {
            sqlx::query(apart).bind(id.as_uuid()).bind(key).execute(pool).await?;
        });
        Ok(())
    }
}
