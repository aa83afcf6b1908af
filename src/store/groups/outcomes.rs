//! The outcome of letters that were sent back, and how groups grow, over time.

use std::{borrow::Cow, collections::HashMap, time::Duration};

use amqp_message::time::Timestamp;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::tally::{ALL_GROUPS, HOUR};
use crate::{
    domain::{
        filter::LetterFilter,
        group::{Group, GroupFilter, GroupId, Hour, Outcome},
        letter::Status,
    },
    store::{
        StoreError, StoreReader,
        db::{
            Sql,
            id_list::{numbers, push_uuids},
            on,
        },
    },
};

impl StoreReader {
    /// How many letters each of `groups` got in each `step` since then in which it got any. They are counted one by one.
    pub async fn group_arrivals(
        &self,
        groups: &[GroupId],
        since: Timestamp,
        step: Duration,
    ) -> Result<HashMap<GroupId, Vec<(Timestamp, u64)>>, StoreError> {
        let groups = self.groups_seen(groups).await?;
        let step = i64::try_from(step.as_micros()).unwrap_or(i64::MAX);
        let rows: Vec<(Uuid, i64, i64)> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT group_id, received_at / ");
            select.push_bind(step).push(" AS n, COUNT(*) FROM letters WHERE group_id IN ");
            push_uuids(&mut select, groups.iter().map(|group| group.as_uuid()).collect());
            select.push(" AND received_at >= ").push_bind(since.as_micros());
            select.push(" GROUP BY group_id, n").build_query_as().fetch_all(pool).await?
        });
        let mut arrivals: HashMap<GroupId, Vec<(Timestamp, u64)>> = HashMap::new();
        for (group, n, letters) in rows {
            let arrived = (Timestamp::from_micros(n.saturating_mul(step)), u64::try_from(letters).unwrap_or(0));
            arrivals.entry(GroupId::from_uuid(group)).or_default().push(arrived);
        }
        Ok(arrivals)
    }

    /// Those of `groups` that whoever asks sees.
    async fn groups_seen<'g>(&self, groups: &'g [GroupId]) -> Result<Cow<'g, [GroupId]>, StoreError> {
        if self.scope.is_everything() {
            return Ok(Cow::Borrowed(groups));
        }
        Ok(self.groups_by_id(groups).await?.iter().map(|group| group.id).collect())
    }

    /// What happened in each of `groups` since then, by hours that something happened in.
    pub async fn group_hours(
        &self,
        groups: &[GroupId],
        since: Timestamp,
    ) -> Result<HashMap<GroupId, Vec<Hour>>, StoreError> {
        let groups = self.groups_seen(groups).await?;
        let rows: Vec<(Uuid, i64, i64, i64, i64)> = on!(self.db.reader(), |pool| {
            let mut select = QueryBuilder::new("SELECT group_id, start, received, sent, failed_again FROM group_hours");
            select.push(" WHERE start >= ").push_bind(since.as_micros()).push(" AND group_id IN ");
            push_uuids(&mut select, groups.iter().map(|group| group.as_uuid()).collect());
            select.push(" ORDER BY group_id, start").build_query_as().fetch_all(pool).await?
        });
        let mut hours: HashMap<GroupId, Vec<Hour>> = HashMap::new();
        for (group, start, received, sent, failed_again) in rows {
            let [received, sent, failed_again] = [received, sent, failed_again].map(|n| u64::try_from(n).unwrap_or(0));
            let hour = Hour { start: Timestamp::from_micros(start), received, sent, failed_again };
            hours.entry(GroupId::from_uuid(group)).or_default().push(hour);
        }
        Ok(hours)
    }

    /// The outcome of what was sent back since the hour of `since` began, of all groups together; what was sent back
    /// since `pending_since` and has not failed again is pending.
    pub async fn outcome(&self, since: Timestamp, pending_since: Timestamp) -> Result<Outcome, StoreError> {
        const SENT: &str = "SELECT CAST(coalesce(sum(sent), 0) AS BIGINT),
            CAST(coalesce(sum(failed_again), 0) AS BIGINT), CAST(coalesce(sum(CASE WHEN start >= ";
        const OF_HOURS: &str = " THEN sent - failed_again ELSE 0 END), 0) AS BIGINT)
            FROM group_hours WHERE (sent > 0 OR failed_again > 0) AND start >= ";
        const PENDING: &str = "SELECT COUNT(*) FROM letters l JOIN facets f ON f.id = l.facet_id
            WHERE f.status = 'retried' AND l.group_id IS NOT NULL AND l.closed_at > ";
        let conditions = self.conditions(&GroupFilter::default()).await?;
        let lately = Lately::since(pending_since.max(since));
        let (sent, failed_again, of_hours): (i64, i64, i64) = on!(self.db.reader(), |pool| {
            let mut sum = QueryBuilder::new(SENT);
            sum.push_bind(lately.hours.as_micros()).push(OF_HOURS).push_bind(since.floor_to(HOUR).as_micros());
            sum.push(" AND group_id ");
            if self.scope.is_everything() {
                sum.push("= ").push_bind(ALL_GROUPS);
            } else {
                sum.push("IN (SELECT id FROM groups");
                conditions.push(&mut sum);
                sum.push(")");
            }
            sum.build_query_as().fetch_one(pool).await?
        });
        let seen = self.seen_of(Status::Retried).await?;
        let of_letters: i64 = on!(self.db.reader(), |pool| {
            let mut count = QueryBuilder::new(PENDING);
            count.push_bind(lately.since.as_micros()).push(" AND l.closed_at < ").push_bind(lately.hours.as_micros());
            count.push(&seen);
            count.build_query_scalar().persistent(seen.is_empty()).fetch_one(pool).await?
        });
        let (sent, failed_again) = (sent.unsigned_abs(), failed_again.unsigned_abs());
        let pending = of_hours.saturating_add(of_letters).max(0).unsigned_abs();
        Ok(Outcome { sent, failed_again, pending: pending.min(sent.saturating_sub(failed_again)) })
    }

    /// Adds what is pending yet of what was sent back since then.
    pub(crate) async fn add_unknown(&self, groups: &mut [Group], since: Timestamp) -> Result<(), StoreError> {
        let lately: Vec<GroupId> =
            groups.iter().filter(|group| group.last_sent_at > Some(since)).map(|group| group.id).collect();
        if lately.is_empty() {
            return Ok(());
        }
        let retried =
            self.matching(&LetterFilter { statuses: vec![Status::Retried], ..LetterFilter::default() }).await?;
        if retried.facets.is_empty() {
            return Ok(());
        }
        let facets = numbers(retried.ids().map(|facet| facet.0));
        // SQLite would rather look at all letters of the groups that were ever sent back.
        const LATELY: Sql = Sql { sqlite: "letters INDEXED BY letters_by_settling", postgres: "letters" };
        let letters = LATELY.pick(self.db.reader());
        let Lately { since, hours } = Lately::since(since);
        let lately: Vec<Uuid> = lately.iter().map(|group| group.as_uuid()).collect();
        let rows: Vec<(Uuid, i64)> = on!(self.db.reader(), |pool| {
            let mut count = QueryBuilder::new(Lately::OF_HOURS);
            count.push_bind(hours.as_micros()).push(" AND group_id IN ");
            push_uuids(&mut count, lately.clone());
            count.push(" UNION ALL SELECT group_id, COUNT(*) FROM ").push(letters);
            count.push(" WHERE closed_at > ").push_bind(since.as_micros());
            count.push(" AND closed_at < ").push_bind(hours.as_micros());
            count.push(" AND facet_id IN ").push(facets).push(" AND group_id IN ");
            push_uuids(&mut count, lately);
            count.push(" GROUP BY group_id").push(Lately::OF_BOTH);
            count.build_query_as().persistent(false).fetch_all(pool).await?
        });
        let pending: HashMap<Uuid, i64> = rows.into_iter().collect();
        for group in groups {
            group.outcome.pending = pending.get(&group.id.as_uuid()).copied().unwrap_or_default().max(0).unsigned_abs();
        }
        Ok(())
    }
}

/// What was sent back lately: whether it has succeeded is not known yet unless it has failed again. Of an hour all of
/// which is lately its counts tell that, however many letters they are; those of the hour before are counted.
pub(crate) struct Lately {
    pub(crate) since: Timestamp,
    /// The first of these hours.
    pub(crate) hours: Timestamp,
}

impl Lately {
    /// What is pending of groups, up to which hours.
    pub(crate) const OF_HOURS: &str = "SELECT group_id, CAST(sum(pending) AS BIGINT) FROM (
        SELECT group_id, sent - failed_again AS pending FROM group_hours
        WHERE (sent > 0 OR failed_again > 0) AND start >= ";
    pub(crate) const OF_BOTH: &str = ") AS lately GROUP BY group_id";

    pub(crate) fn since(since: Timestamp) -> Self {
        Self { since, hours: since.floor_to(HOUR).plus(HOUR) }
    }
}
