//! Grouping rules, as people have added them.
//!
//! A rule that is removed stays until the groups that it had merged are split again, and one that is added is not applied
//! until those that it makes alike are merged. So what there is to do follows from the database, whoever dies meanwhile.

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError, StoreReader, audit,
    db::{LockTable, on},
};
use crate::domain::{
    actor::Actor,
    grouping_rule::{GroupingRule, MOST_RULES},
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    name: String,
    pattern: String,
    placeholder: String,
    set_by: String,
    set_at: i64,
}

impl From<Row> for GroupingRule {
    fn from(row: Row) -> Self {
        let Row { id, name, pattern, placeholder, set_by, set_at } = row;
        let (by, set_at) = (Actor::named(set_by), Timestamp::from_micros(set_at));
        Self { id, name, pattern, placeholder, by, set_at }
    }
}

/// Whether a rule was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupingRuleAdded {
    Yes,
    /// Another one has its name.
    NameTaken,
    TooMany,
}

const LOCK: LockTable = LockTable("LOCK TABLE grouping_rules IN SHARE ROW EXCLUSIVE MODE");

impl StoreReader {
    /// Those in force, in the order in which they were added.
    pub async fn grouping_rules(&self) -> Result<Vec<GroupingRule>, StoreError> {
        const SELECT: &str = "SELECT id, name, pattern, placeholder, set_by, set_at FROM grouping_rules
            WHERE NOT is_removed ORDER BY set_at, id";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        Ok(rows.into_iter().map(GroupingRule::from).collect())
    }

    /// Whether groups may still have to be merged or split by what was added or removed.
    pub async fn has_grouping_rules_to_apply(&self) -> Result<bool, StoreError> {
        const SELECT: &str = "SELECT EXISTS (SELECT 1 FROM grouping_rules WHERE NOT is_applied)";
        Ok(on!(self.db.reader(), |pool| sqlx::query_scalar(SELECT).fetch_one(pool).await?))
    }
}

impl Store {
    pub async fn add_grouping_rule(&self, rule: &GroupingRule) -> Result<GroupingRuleAdded, StoreError> {
        const NAMES: &str = "SELECT name FROM grouping_rules WHERE NOT is_removed";
        const ADD: &str = "INSERT INTO grouping_rules (id, name, pattern, placeholder, set_by, set_at, changed_at)
            VALUES ($1, $2, $3, $4, $5, $6, $6)";
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let names: Vec<String> = on!(&mut tx, |tx| sqlx::query_scalar(NAMES).fetch_all(&mut **tx).await?);
        if names.contains(&rule.name) {
            return Ok(GroupingRuleAdded::NameTaken);
        }
        if names.len() >= MOST_RULES {
            return Ok(GroupingRuleAdded::TooMany);
        }
        on!(&mut tx, |tx| sqlx::query(ADD)
            .bind(rule.id)
            .bind(&*rule.name)
            .bind(&*rule.pattern)
            .bind(&*rule.placeholder)
            .bind(rule.by.as_str())
            .bind(rule.set_at.as_micros())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        audit::append(&mut tx, &rule.entry("add", &rule.by, rule.set_at)).await?;
        tx.commit().await?;
        Ok(GroupingRuleAdded::Yes)
    }

    /// Removes a rule; the answer is that one.
    pub async fn remove_grouping_rule(
        &self,
        id: Uuid,
        by: &Actor,
        at: Timestamp,
    ) -> Result<Option<GroupingRule>, StoreError> {
        const REMOVE: &str = "UPDATE grouping_rules SET is_removed = TRUE, is_applied = FALSE, changed_at = $2
            WHERE id = $1 AND NOT is_removed RETURNING id, name, pattern, placeholder, set_by, set_at";
        let mut tx = self.db.begin().await?;
        let row: Option<Row> =
            on!(&mut tx, |tx| sqlx::query_as(REMOVE).bind(id).bind(at.as_micros()).fetch_optional(&mut **tx).await?);
        let Some(rule) = row.map(GroupingRule::from) else { return Ok(None) };
        audit::append(&mut tx, &rule.entry("remove", by, at)).await?;
        tx.commit().await?;
        Ok(Some(rule))
    }

    /// Writes down that groups are as the rules want them that were there at `changed_before`.
    pub async fn grouping_rules_are_applied(&self, changed_before: Timestamp) -> Result<(), StoreError> {
        const APPLIED: &str = "UPDATE grouping_rules SET is_applied = TRUE WHERE NOT is_applied AND changed_at < $1";
        const FORGET: &str = "DELETE FROM grouping_rules WHERE is_removed AND is_applied";
        let mut tx = self.db.begin().await?;
        on!(&mut tx, |tx| {
            sqlx::query(APPLIED).bind(changed_before.as_micros()).execute(&mut **tx).await?;
            sqlx::query(FORGET).execute(&mut **tx).await.map(drop)?;
        });
        tx.commit().await
    }
}
