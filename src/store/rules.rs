//! Rules of importance, as far as people have written them here.

use std::collections::BTreeMap;

use amqp_message::time::Timestamp;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{
    ChangeError, Store, StoreError, StoreReader, audit,
    db::{LockTable, Tx, on},
    letters::rows::parse,
};
use crate::domain::{
    activity::{Area, AuditEntry},
    actor::Actor,
    letter::LetterId,
    rule::{ActiveRule, Rule, RuleFailures, RuleId},
    rule_order::{RuleOrder, RulePlace},
    version::Expected,
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

impl TryFrom<Row> for ActiveRule {
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
    /// What the rule that is changed has to say, or in which order they have to be.
    pub expected: &'a Expected,
}

/// Why rules are not put into another order.
pub type OrderError = ChangeError<RuleOrder>;

/// Whether a rule was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleSet {
    Yes,
    /// Another one has its name.
    NameTaken,
    /// They are in another order than its place is counted in.
    Reordered,
}

const LOCK: LockTable = LockTable("LOCK TABLE rules IN SHARE ROW EXCLUSIVE MODE");

impl StoreReader {
    /// All rules, in the order in which they are tried.
    pub async fn rules(&self) -> Result<Vec<ActiveRule>, StoreError> {
        const SELECT: &str =
            "SELECT id, name, expression, importance, set_by, set_at FROM rules ORDER BY position, name";
        let rows: Vec<Row> = on!(self.db.reader(), |pool| sqlx::query_as(SELECT).fetch_all(pool).await?);
        rows.into_iter().map(ActiveRule::try_from).collect()
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
}

impl Store {
    /// Writes a rule, in the place of the one that has its id. It comes to stand at `place`; where none is given, where
    /// it stood, or at the end. One that is there already stays as it is, with who wrote it.
    pub async fn set_rule(
        &self,
        id: RuleId,
        rule: &Rule,
        place: Option<&RulePlace>,
        change: &RuleChange<'_>,
    ) -> Result<RuleSet, ChangeError<ActiveRule>> {
        const TAKEN: &str = "SELECT COUNT(*) FROM rules WHERE name = $1 AND id <> $2";
        const SET: &str = "INSERT INTO rules (id, position, name, expression, importance, set_by, set_at)
            VALUES ($1, (SELECT coalesce(max(position), 0) + 1 FROM rules), $2, $3, $4, $5, $6)
            ON CONFLICT (id) DO UPDATE SET name = excluded.name, expression = excluded.expression,
            importance = excluded.importance, set_by = excluded.set_by, set_at = excluded.set_at";
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let before = find(&mut tx, id).await?;
        let is_same = before.as_ref().is_some_and(|before| before.rule == *rule);
        if !is_same {
            change.expected.check(before.as_ref())?;
        }
        let taken: i64 = on!(&mut tx, |tx| sqlx::query_scalar(TAKEN)
            .bind(&*rule.name)
            .bind(id.as_uuid())
            .fetch_one(&mut **tx)
            .await?);
        if taken > 0 {
            return Ok(RuleSet::NameTaken);
        }
        let order = RuleOrder(self::order(&mut tx).await?);
        if !is_same {
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
            forget_failures_of_change(&mut tx, before.as_ref().map(|before| &before.rule), rule).await?;
        }
        let has_moved = match place {
            Some(place) => move_to(&mut tx, id, place.at).await?,
            None => false,
        };
        // What stands there by now is no conflict. Nothing of what is written above stays.
        if has_moved && place.is_some_and(|place| !place.order.is_met(Some(&order))) {
            return Ok(RuleSet::Reordered);
        }
        if is_same && !has_moved {
            return Ok(RuleSet::Yes);
        }
        write(&mut tx, "set", &rule.name, change).await?;
        tx.commit().await?;
        Ok(RuleSet::Yes)
    }

    /// Removes a rule; the answer is its name, if there was such a rule.
    pub async fn remove_rule(
        &self,
        id: RuleId,
        change: &RuleChange<'_>,
    ) -> Result<Option<String>, ChangeError<ActiveRule>> {
        const REMOVE: &str = "DELETE FROM rules WHERE id = $1";
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let Some(before) = find(&mut tx, id).await? else { return Ok(None) };
        change.expected.check(Some(&before))?;
        on!(&mut tx, |tx| sqlx::query(REMOVE).bind(id.as_uuid()).execute(&mut **tx).await.map(drop)?);
        let name = before.rule.name;
        forget_failures(&mut tx, &name).await?;
        write(&mut tx, "remove", &name, change).await?;
        tx.commit().await?;
        Ok(Some(name))
    }

    /// Puts rules into this order; those that are not named follow as they were.
    pub async fn order_rules(&self, order: &[RuleId], change: &RuleChange<'_>) -> Result<(), OrderError> {
        let mut tx = self.db.begin().await?;
        tx.lock_table(LOCK).await?;
        let was = self::order(&mut tx).await?;
        let mut is: Vec<RuleId> = Vec::with_capacity(was.len());
        for id in order.iter().chain(&was).filter(|id| was.contains(id)) {
            if !is.contains(id) {
                is.push(*id);
            }
        }
        if is == was {
            return Ok(());
        }
        change.expected.check(Some(&RuleOrder(was)))?;
        put_in_order(&mut tx, &is).await?;
        write(&mut tx, "order", "", change).await?;
        Ok(tx.commit().await?)
    }

    /// Forgets the failures of rules that are not any more what they were.
    pub async fn forget_rule_failures(&self, rules: &[String]) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        for rule in rules {
            forget_failures(&mut tx, rule).await?;
        }
        tx.commit().await
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

/// A rule as it stands.
async fn find(tx: &mut Tx, id: RuleId) -> Result<Option<ActiveRule>, StoreError> {
    const SELECT: &str = "SELECT id, name, expression, importance, set_by, set_at FROM rules WHERE id = $1";
    let row: Option<Row> = on!(tx, |tx| sqlx::query_as(SELECT).bind(id.as_uuid()).fetch_optional(&mut **tx).await?);
    row.map(ActiveRule::try_from).transpose()
}

/// Says whether that is another place than it had.
async fn move_to(tx: &mut Tx, id: RuleId, place: usize) -> Result<bool, StoreError> {
    let was = order(tx).await?;
    let mut is = was.clone();
    is.retain(|other| *other != id);
    is.insert(place.min(is.len()), id);
    put_in_order(tx, &is).await?;
    Ok(is != was)
}

/// A rule that only has another importance fails as it did.
async fn forget_failures_of_change(tx: &mut Tx, was: Option<&Rule>, is: &Rule) -> Result<(), StoreError> {
    match was {
        Some(was) if was.expression == is.expression && was.name == is.name => return Ok(()),
        Some(was) => forget_failures(tx, &was.name).await?,
        None => {}
    }
    forget_failures(tx, &is.name).await
}

async fn order(tx: &mut Tx) -> Result<Vec<RuleId>, StoreError> {
    const SELECT: &str = "SELECT id FROM rules ORDER BY position, name";
    let ids: Vec<Uuid> = on!(tx, |tx| sqlx::query_scalar(SELECT).fetch_all(&mut **tx).await?);
    Ok(ids.into_iter().map(RuleId::from_uuid).collect())
}

async fn put_in_order(tx: &mut Tx, order: &[RuleId]) -> Result<(), StoreError> {
    const PLACE: &str = "UPDATE rules SET position = $1 WHERE id = $2 AND position <> $1";
    for (id, position) in order.iter().zip(1_i64..) {
        on!(&mut *tx, |tx| sqlx::query(PLACE).bind(position).bind(id.as_uuid()).execute(&mut **tx).await.map(drop)?);
    }
    Ok(())
}

/// What failed as it was written before says nothing about how it is written now.
async fn forget_failures(tx: &mut Tx, rule: &str) -> Result<(), StoreError> {
    const FORGET: &str = "DELETE FROM rule_failures WHERE rule = $1";
    on!(tx, |tx| sqlx::query(FORGET).bind(rule).execute(&mut **tx).await.map(drop)?);
    Ok(())
}

async fn write(tx: &mut Tx, action: &str, rule: &str, change: &RuleChange<'_>) -> Result<(), StoreError> {
    let entry = AuditEntry::new(change.at, change.by, Area::Rules, action, rule);
    audit::append(tx, &AuditEntry { detail: change.detail.to_owned(), ..entry }).await
}
