//! What a digest says, read from the database at one moment.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use amqp_message::{glob::Globs, time::Timestamp};
use sqlx::QueryBuilder;
use uuid::Uuid;

use crate::{
    domain::{
        digest::{Figures, GroupSnapshot, LastDigest, PartOf},
        group::{Group, GroupId},
        letter::Importance,
    },
    store::{
        StoreError, StoreReader,
        db::{Tx, id_list::numbers, on},
        groups::{COLUMNS, Row, outcomes::Lately},
        letters::rows::parse,
    },
};

/// What is received so long before a digest may be written down after it.
const LATE: Duration = Duration::from_secs(60);
/// What is put into its group so long before a digest may be there only after it.
const UNDER_WAY: Duration = Duration::from_secs(5);

/// What a digest is about.
#[derive(Clone, Copy, Debug)]
pub struct DigestScope<'a> {
    /// The digest's name, by which the last one is found.
    pub name: &'a str,
    pub importances: &'a [Importance],
    /// Names or globs; none: all.
    pub queues: &'a [String],
    pub now: Timestamp,
    /// Of what was sent back since then and has not failed again nobody knows yet whether it has succeeded.
    pub pending_since: Timestamp,
}

impl StoreReader {
    /// All figures of a digest, as they are at one moment.
    ///
    /// The last digest is the one of the last slot that was made until now. One that Slack has refused counts for nothing:
    /// nobody has read it. Nor does one that waits while Slack takes nothing, as it may be given up.
    pub async fn digest_figures(&self, scope: DigestScope<'_>) -> Result<Figures, StoreError> {
        let mut tx = self.db.snapshot().await?;
        // The last one was about all queues.
        let last = if self.scope.is_everything() { last_digest(&mut tx, scope).await? } else { None };
        let mut groups = groups(&mut tx, scope.queues).await?;
        groups.retain(|group| self.scope.includes(&group.key.broker, group.key.queue.as_deref().unwrap_or_default()));
        add_unknown(&mut tx, &mut groups, scope.pending_since).await?;
        let facets = open_facets(&mut tx, scope.importances).await?;
        let (new, sent) = match &last {
            Some(last) => (new_since(&mut tx, &facets, last).await?, sent_since(&mut tx, scope, last.made_at).await?),
            None => Default::default(),
        };
        let (merged, ungrouped_since) = (merged(&mut tx).await?, ungrouped_since(&mut tx, scope.now).await?);
        let mut oldest_open = oldest_open(&mut tx, &facets).await?;
        if !self.scope.is_everything() {
            let theirs: HashSet<GroupId> = groups.iter().map(|group| group.id).collect();
            oldest_open.retain(|id, _| theirs.contains(id));
        }
        let figures = Figures { last, groups, merged, ungrouped_since, new, sent, oldest_open };
        tx.commit().await?;
        Ok(figures)
    }

    /// Whether letters that were received before then are not in their groups yet.
    pub async fn is_sorting_before(&self, at: Timestamp) -> Result<bool, StoreError> {
        const LOOK: &str = "SELECT EXISTS (SELECT 1 FROM letters WHERE named_with IS NULL AND received_at < $1)";
        Ok(on!(self.db.reader(), |pool| sqlx::query_scalar(LOOK).bind(at.as_micros()).fetch_one(pool).await?))
    }
}

async fn last_digest(tx: &mut Tx, scope: DigestScope<'_>) -> Result<Option<LastDigest>, StoreError> {
    const LAST: &str =
        "SELECT d.made_at, d.snapshot FROM digests d LEFT JOIN notifications n ON n.id = d.notification_id
        WHERE d.name = $1 AND d.slot IS NOT NULL AND d.made_at <= $2 AND coalesce(n.state, '') <> 'refused'
        AND d.snapshot <> '' AND NOT EXISTS (SELECT 1 FROM notifications o
            WHERE n.state = 'waiting' AND o.subject = n.subject AND o.channel = n.channel
            AND o.state = 'waiting' AND o.attempts > 0 AND o.seq <= n.seq)
        ORDER BY d.made_at DESC LIMIT 1";
    let row: Option<(i64, String)> = on!(tx, |tx| sqlx::query_as(LAST)
        .bind(scope.name)
        .bind(scope.now.as_micros())
        .fetch_optional(&mut **tx)
        .await?);
    let read = |(made_at, snapshot): (i64, String)| {
        let snapshot = GroupSnapshot::read(&snapshot)
            .map_err(|why| StoreError::Unreadable { what: "how groups stood at a digest", why })?;
        Ok(LastDigest { made_at: Timestamp::from_micros(made_at), snapshot })
    };
    row.map(read).transpose()
}

async fn groups(tx: &mut Tx, queues: &[String]) -> Result<Vec<Group>, StoreError> {
    let rows: Vec<Row> = on!(tx, |tx| {
        let mut select = QueryBuilder::new("SELECT ");
        select.push(COLUMNS).push(" FROM groups").build_query_as().fetch_all(&mut **tx).await?
    });
    let queues = Globs::new(queues);
    let mut groups = Vec::with_capacity(rows.len());
    for row in rows {
        let group = Group::try_from(row)?;
        if queues.matches(group.key.queue.as_deref().unwrap_or_default()) {
            groups.push(group);
        }
    }
    Ok(groups)
}

async fn merged(tx: &mut Tx) -> Result<HashMap<GroupId, PartOf>, StoreError> {
    const MERGED: &str = "SELECT id, merged_into, is_counted_in FROM groups WHERE merged_into IS NOT NULL";
    let rows: Vec<(Uuid, Uuid, bool)> = on!(tx, |tx| sqlx::query_as(MERGED).fetch_all(&mut **tx).await?);
    let part_of = |(id, group, is_counted_in)| {
        (GroupId::from_uuid(id), PartOf { group: GroupId::from_uuid(group), is_counted_in })
    };
    Ok(rows.into_iter().map(part_of).collect())
}

/// When the oldest letter was received until now that is in no group yet.
async fn ungrouped_since(tx: &mut Tx, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    // Ids go by time, but for differences between clocks.
    const OLDEST: &str = "SELECT min(received_at) FROM (SELECT received_at FROM letters
        WHERE named_with IS NULL AND group_id IS NULL ORDER BY id LIMIT 1000) AS oldest";
    let oldest: Option<i64> = on!(tx, |tx| sqlx::query_scalar(OLDEST).fetch_one(&mut **tx).await?);
    Ok(oldest.map(Timestamp::from_micros).filter(|oldest| *oldest < now))
}

async fn add_unknown(tx: &mut Tx, groups: &mut [Group], since: Timestamp) -> Result<(), StoreError> {
    const OF_LETTERS: &str = " UNION ALL SELECT l.group_id, COUNT(*) FROM letters l JOIN facets f ON f.id = l.facet_id
        WHERE f.status = 'retried' AND l.group_id IS NOT NULL AND l.closed_at > ";
    let Lately { since, hours } = Lately::since(since);
    let rows: Vec<(Uuid, i64)> = on!(tx, |tx| {
        let mut count = QueryBuilder::new(Lately::OF_HOURS);
        count.push_bind(hours.as_micros()).push(OF_LETTERS).push_bind(since.as_micros());
        count.push(" AND l.closed_at < ").push_bind(hours.as_micros());
        count.push(" GROUP BY l.group_id").push(Lately::OF_BOTH);
        count.build_query_as().fetch_all(&mut **tx).await?
    });
    let pending: HashMap<Uuid, i64> = rows.into_iter().collect();
    for group in groups {
        group.outcome.pending = pending.get(&group.id.as_uuid()).copied().unwrap_or_default().max(0).unsigned_abs();
    }
    Ok(())
}

/// The facets of open letters of these importances, as a list for a statement.
async fn open_facets(tx: &mut Tx, importances: &[Importance]) -> Result<String, StoreError> {
    const OPEN: &str = "SELECT id, importance FROM facets WHERE status = 'open' AND count > 0";
    let rows: Vec<(i64, String)> = on!(tx, |tx| sqlx::query_as(OPEN).fetch_all(&mut **tx).await?);
    let of_importance = |importance: &str| importances.iter().any(|one| one.as_str() == importance);
    // A facet that is none stands in for an empty list.
    let ids = rows.iter().filter(|(_, importance)| of_importance(importance)).map(|(id, _)| *id);
    Ok(numbers(ids.chain([-1])))
}

/// Letters that were received since the last digest, and those that were in no group yet when it was made.
async fn new_since(tx: &mut Tx, facets: &str, last: &LastDigest) -> Result<HashMap<GroupId, u64>, StoreError> {
    let late = last.made_at.minus(LATE);
    // Where letters were just being put into their groups, some are counted twice rather than never.
    let (since, grouped_after) = match last.snapshot.ungrouped_since {
        Some(ungrouped) => (ungrouped.min(late), last.made_at.minus(UNDER_WAY)),
        None => (late, last.made_at),
    };
    let rows: Vec<(Uuid, i64)> = on!(tx, |tx| {
        let mut count = QueryBuilder::new("SELECT group_id, COUNT(*) FROM letters WHERE received_at >= ");
        count.push_bind(since.as_micros()).push(" AND (received_at >= ").push_bind(last.made_at.as_micros());
        count.push(" OR enriched_at > ").push_bind(grouped_after.as_micros()).push(") AND facet_id IN ").push(facets);
        count.push(" AND group_id IS NOT NULL GROUP BY group_id");
        count.build_query_as().persistent(false).fetch_all(&mut **tx).await?
    });
    Ok(rows.into_iter().map(|(group, count)| (GroupId::from_uuid(group), count.unsigned_abs())).collect())
}

/// One step into an index for each group and facet of it, however many letters they have.
async fn oldest_open(tx: &mut Tx, facets: &str) -> Result<HashMap<GroupId, Timestamp>, StoreError> {
    let rows: Vec<(Uuid, i64)> = on!(tx, |tx| {
        let mut select = QueryBuilder::new(
            "SELECT id, min(oldest) FROM (SELECT g.id, (SELECT min(l.received_at) FROM letters l
                WHERE l.group_id = g.id AND l.facet_id = f.id) AS oldest FROM groups g
                JOIN facets f ON f.broker = g.broker AND f.queue = g.queue AND f.reason = g.reason
                WHERE (g.critical > 0 OR g.high > 0 OR g.normal > 0 OR g.low > 0) AND f.id IN ",
        );
        select.push(facets).push(") AS open WHERE oldest IS NOT NULL GROUP BY id");
        select.build_query_as().persistent(false).fetch_all(&mut **tx).await?
    });
    Ok(rows.into_iter().map(|(group, at)| (GroupId::from_uuid(group), Timestamp::from_micros(at))).collect())
}

async fn sent_since(
    tx: &mut Tx,
    scope: DigestScope<'_>,
    since: Timestamp,
) -> Result<HashMap<GroupId, Importance>, StoreError> {
    const SENT: &str = "SELECT DISTINCT l.group_id, f.importance FROM letters l JOIN facets f ON f.id = l.facet_id
        WHERE l.closed_at >= $1 AND l.handed_over_at IS NOT NULL AND f.status = 'retried' AND l.group_id IS NOT NULL";
    // What was sent back shortly before the last digest was unknown to it, and has succeeded since.
    let unsettled = since.minus(scope.now.since(scope.pending_since));
    let rows: Vec<(Uuid, String)> =
        on!(tx, |tx| sqlx::query_as(SENT).bind(unsettled.as_micros()).fetch_all(&mut **tx).await?);
    let mut sent: HashMap<GroupId, Importance> = HashMap::new();
    for (group, importance) in rows {
        let importance: Importance = parse("an importance", &importance)?;
        if scope.importances.contains(&importance) {
            let most_important = sent.entry(GroupId::from_uuid(group)).or_insert(importance);
            *most_important = importance.min(*most_important);
        }
    }
    Ok(sent)
}
