//! What waits for its retry: the page of it, soonest first.

use amqp_message::time::Timestamp;
use sqlx::{Database, Encode, QueryBuilder, Type};
use sqlx_macros::FromRow;
use uuid::Uuid;

use crate::{
    domain::{
        actor::Actor,
        filter::LetterFilter,
        letter::{LetterId, LetterSummary, Status},
        waiting::{Waiting, WaitingCursor, WaitingPage, WaitingRetry},
    },
    store::{
        StoreError, StoreReader,
        counts::facets::Matching,
        db::{id_list::numbers, on},
        letters::rows::{SUMMARY_COLUMNS, SummaryRow},
    },
};

/// So many are sorted more quickly than found one by one among millions of others.
const SORTED: u64 = 20_000;

#[derive(FromRow)]
struct Row {
    #[sqlx(flatten)]
    letter: SummaryRow,
    due_at: i64,
    to_queue: String,
    actor: String,
}

impl TryFrom<Row> for Waiting {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let retry = retry((row.due_at, row.to_queue, row.actor));
        Ok(Self { letter: LetterSummary::try_from(row.letter)?, retry })
    }
}

fn retry((due_at, queue, actor): (i64, String, String)) -> WaitingRetry {
    WaitingRetry { due_at: Timestamp::from_micros(due_at), queue, by: Actor::named(actor) }
}

/// Which part of the order is meant.
#[derive(Clone, Copy)]
struct Range {
    after: Option<WaitingCursor>,
    limit: usize,
}

impl StoreReader {
    /// One page of the waiting letters that `filter` lets through, whatever statuses it names.
    pub async fn waiting(
        &self,
        filter: &LetterFilter,
        after: Option<WaitingCursor>,
        limit: usize,
    ) -> Result<WaitingPage, StoreError> {
        let matching = self.matching(&waiting_only(filter)).await?;
        if matching.facets.is_empty() {
            return Ok(WaitingPage::default());
        }
        let range = Range { after, limit: limit + 1 };
        let mut items = if matching.total() <= SORTED {
            self.sort_waiting(&matching, range).await?
        } else {
            self.walk_waiting(&matching, range).await?
        };
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more);
        let next = next.map(|last| WaitingCursor { due_at: last.retry.due_at, id: last.letter.id });
        Ok(WaitingPage { items, next })
    }

    /// The retry that one letter waits for.
    pub async fn waiting_retry(&self, id: LetterId) -> Result<Option<WaitingRetry>, StoreError> {
        const SELECT: &str = "SELECT due_at, queue, actor FROM retries WHERE letter_id = $1";
        if !self.sees(id).await? {
            return Ok(None);
        }
        let row: Option<(i64, String, String)> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(id.as_uuid()).fetch_optional(pool).await?);
        Ok(row.map(retry))
    }

    /// Takes all that match and sorts them.
    async fn sort_waiting(&self, matching: &Matching, range: Range) -> Result<Vec<Waiting>, StoreError> {
        // CROSS, so that SQLite begins with the letters of these facets.
        self.fetch_waiting(
            "letters l CROSS JOIN retries r",
            format!("l.facet_id IN {}", numbers(matching.ids().map(|facet| facet.0))),
            None,
            range,
        )
        .await
    }

    /// Walks along what is due next and drops what does not match.
    async fn walk_waiting(&self, matching: &Matching, range: Range) -> Result<Vec<Waiting>, StoreError> {
        let mut brokers: Vec<&str> = matching.facets.iter().map(|(_, key, _)| &*key.broker).collect();
        brokers.sort_unstable();
        brokers.dedup();
        let facets = numbers(matching.ids().map(|facet| facet.0));
        let mut items = Vec::new();
        for broker in brokers {
            let condition = format!("l.facet_id IN {facets}");
            items.extend(self.fetch_waiting("retries r CROSS JOIN letters l", condition, Some(broker), range).await?);
        }
        items.sort_unstable_by_key(|item| (item.retry.due_at, item.letter.id));
        items.truncate(range.limit);
        Ok(items)
    }

    /// `tables` and `condition` are ours; no text of a message or a user is in them.
    async fn fetch_waiting(
        &self,
        tables: &'static str,
        condition: String,
        broker: Option<&str>,
        range: Range,
    ) -> Result<Vec<Waiting>, StoreError> {
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT ");
            query.push(SUMMARY_COLUMNS).push(", r.due_at, r.queue AS to_queue, r.actor FROM ").push(tables);
            query.push(" JOIN facets f ON f.id = l.facet_id WHERE l.id = r.letter_id AND ").push(condition);
            if let Some(broker) = broker {
                query.push(" AND r.broker = ").push_bind(broker);
            }
            range.push(&mut query);
            query.build_query_as().fetch_all(pool).await?
        });
        let waiting = rows.into_iter().map(|row| {
            let Waiting { letter, retry } = row.try_into()?;
            Ok(Waiting { letter: self.without_payload(letter), retry })
        });
        waiting.collect()
    }
}

impl Range {
    fn push<DB: Database>(&self, query: &mut QueryBuilder<DB>)
    where
        for<'q> i64: Encode<'q, DB> + Type<DB>,
        for<'q> Uuid: Encode<'q, DB> + Type<DB>,
    {
        if let Some(after) = self.after {
            query.push(" AND (r.due_at, r.letter_id) > (").push_bind(after.due_at.as_micros());
            query.push(", ").push_bind(after.id.as_uuid()).push(")");
        }
        query.push(" ORDER BY r.due_at, r.letter_id LIMIT ").push(self.limit);
    }
}

fn waiting_only(filter: &LetterFilter) -> LetterFilter {
    LetterFilter { statuses: vec![Status::Scheduled], ..filter.clone() }
}
