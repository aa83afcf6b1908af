//! Rules of importance, as far as people have written them here.

use std::collections::BTreeMap;

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError, activity,
    db::{Tx, on},
    rows::{bigint, parse},
};
use crate::domain::{
    activity::{Area, Deed},
    actor::Actor,
    letter::LetterId,
    rule::{Rule, RuleFailures, RuleId, StandingRule},
    time::Timestamp,
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    name: String,
    expression: String,
    importance: String,
    set_by: String,
    set_at: i64,
}

impl TryFrom<Row> for StandingRule {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let rule =
            Rule { name: row.name, expression: row.expression, importance: parse("an importance", &row.importance)? };
        let set = Some((Actor::named(row.set_by), Timestamp::from_micros(row.set_at)));
        Ok(Self { id: RuleId::from_uuid(row.id), rule, set })
    }
}

/// A failure of a rule on one letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFailure {
    pub rule: String,
    pub letter: LetterId,
    pub error: String,
}

/// Who changes rules, when, and what there is to say about it.
pub struct RuleChange<'a> {
    pub by: &'a Actor,
    pub at: Timestamp,
    pub detail: &'a str,
}

impl Store {
    /// All rules, in the order in which they are tried.
    pub async fn rules(&self) -> Result<Vec<StandingRule>, StoreError> {
        const SELECT: &str =
            "SELECT id, name, expression, importance, set_by, set_at FROM rules ORDER BY position, name";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        rows.into_iter().map(StandingRule::try_from).collect()
    }

    /// Writes a rule at the end, or in the place of the one that has its id. The answer is whether its name was free.
    pub async fn set_rule(&self, id: RuleId, rule: &Rule, change: &RuleChange<'_>) -> Result<bool, StoreError> {
        const TAKEN: &str = "SELECT COUNT(*) FROM rules WHERE name = $1 AND id <> $2";
        const SET: &str = "INSERT INTO rules (id, position, name, expression, importance, set_by, set_at)
            VALUES ($1, (SELECT coalesce(max(position), 0) + 1 FROM rules), $2, $3, $4, $5, $6)
            ON CONFLICT (id) DO UPDATE SET name = excluded.name, expression = excluded.expression,
            importance = excluded.importance, set_by = excluded.set_by, set_at = excluded.set_at";
        let mut tx = self.db.begin().await?;
        let taken: i64 = on!(&mut tx, |tx| sqlx::query_scalar(TAKEN)
            .bind(&*rule.name)
            .bind(id.as_uuid())
            .fetch_one(&mut **tx)
            .await?);
        if taken > 0 {
            return Ok(false);
        }
        on!(&mut tx, |tx| sqlx::query(SET)
            .bind(id.as_uuid())
            .bind(&*rule.name)
            .bind(&*rule.expression)
            .bind(rule.importance.as_str())
            .bind(change.by.as_str())
            .bind(change.at.as_micros())
            .execute(&mut **tx)
            .await
            .map(drop)?);
        forget_failures(&mut tx, &rule.name).await?;
        write(&mut tx, "set", &rule.name, change).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Removes a rule; the answer is its name, if there was such a rule.
    pub async fn remove_rule(&self, id: RuleId, change: &RuleChange<'_>) -> Result<Option<String>, StoreError> {
        const REMOVE: &str = "DELETE FROM rules WHERE id = $1 RETURNING name";
        let mut tx = self.db.begin().await?;
        let name: Option<String> =
            on!(&mut tx, |tx| sqlx::query_scalar(REMOVE).bind(id.as_uuid()).fetch_optional(&mut **tx).await?);
        if let Some(name) = &name {
            forget_failures(&mut tx, name).await?;
            write(&mut tx, "remove", name, change).await?;
        }
        tx.commit().await?;
        Ok(name)
    }

    /// Puts rules into this order; those that are not named follow as they were.
    pub async fn order_rules(&self, order: &[RuleId], change: &RuleChange<'_>) -> Result<(), StoreError> {
        const BEHIND: &str = "UPDATE rules SET position = position + $1";
        const PLACE: &str = "UPDATE rules SET position = $1 WHERE id = $2";
        let mut tx = self.db.begin().await?;
        on!(&mut tx, |tx| sqlx::query(BEHIND).bind(bigint(order.len() as u64)).execute(&mut **tx).await.map(drop)?);
        for (id, position) in order.iter().zip(1_i64..) {
            on!(&mut tx, |tx| sqlx::query(PLACE)
                .bind(position)
                .bind(id.as_uuid())
                .execute(&mut **tx)
                .await
                .map(drop)?);
        }
        write(&mut tx, "order", "", change).await?;
        tx.commit().await
    }

    /// How often rules could not be tried, by name.
    pub async fn rule_failures(&self) -> Result<BTreeMap<String, RuleFailures>, StoreError> {
        const SELECT: &str = "SELECT rule, count, last_at, last_letter, last_error FROM rule_failures";
        let rows: Vec<(String, i64, i64, Uuid, String)> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        let failures = |(rule, count, last_at, letter, last_error): (String, i64, i64, Uuid, String)| {
            let last_at = Timestamp::from_micros(last_at);
            let last_letter = LetterId::from_uuid(letter);
            (rule, RuleFailures { count: count.unsigned_abs(), last_at, last_letter, last_error })
        };
        Ok(rows.into_iter().map(failures).collect())
    }

    /// Counts failures of rules.
    pub async fn count_rule_failures(&self, failures: &[RuleFailure], at: Timestamp) -> Result<(), StoreError> {
        const COUNT: &str = "INSERT INTO rule_failures (rule, count, last_at, last_letter, last_error)
            VALUES ($1, $2, $3, $4, $5) ON CONFLICT (rule) DO UPDATE SET
            count = rule_failures.count + excluded.count, last_at = excluded.last_at,
            last_letter = excluded.last_letter, last_error = excluded.last_error";
        let mut by_rule: BTreeMap<&str, (i64, &RuleFailure)> = BTreeMap::new();
        for failure in failures {
            let entry = by_rule.entry(&failure.rule).or_insert((0, failure));
            *entry = (entry.0 + 1, failure);
        }
        let mut tx = self.db.begin().await?;
        for (rule, (count, last)) in by_rule {
            on!(&mut tx, |tx| sqlx::query(COUNT)
                .bind(rule)
                .bind(count)
                .bind(at.as_micros())
                .bind(last.letter.as_uuid())
                .bind(&*last.error)
                .execute(&mut **tx)
                .await
                .map(drop)?);
        }
        tx.commit().await
    }
}

/// What failed as it was written before says nothing about how it is written now.
async fn forget_failures(tx: &mut Tx, rule: &str) -> Result<(), StoreError> {
    const FORGET: &str = "DELETE FROM rule_failures WHERE rule = $1";
    on!(tx, |tx| sqlx::query(FORGET).bind(rule).execute(&mut **tx).await.map(drop)?);
    Ok(())
}

async fn write(tx: &mut Tx, action: &str, rule: &str, change: &RuleChange<'_>) -> Result<(), StoreError> {
    let deed = Deed::new(change.at, change.by, Area::Rules, action, rule);
    activity::append(tx, &Deed { detail: change.detail.to_owned(), ..deed }).await
}
