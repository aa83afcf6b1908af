//! What was sent back lately, to recognise it when it comes as a new message.

use std::collections::{BTreeMap, BTreeSet};

use amqp_message::time::Timestamp;
use failure_conventions::identity::LARGEST_BODY;
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use uuid::Uuid;

use crate::{
    domain::{
        actor::Actor,
        content_key::ContentKey,
        letter::LetterId,
        lifecycle::recognition::{SentBack, SentLetter, is_away},
    },
    store::{
        Store, StoreError, StoreReader,
        db::{
            Sql, Tx,
            id_list::{push_ids, push_uuids},
            on,
        },
        letters::rows::parse,
    },
};

/// Of each key and queue the newest hundred: no policy allows more retries. The keys come as two JSON arrays of pairs, by
/// content and by `message_id`, so that the text is the same for any number.
const FIND: Sql = Sql {
    sqlite: "WITH contents AS (SELECT value ->> 0 AS key, value ->> 1 AS queue FROM json_each($1)),
        ids AS (SELECT value ->> 0 AS key, value ->> 1 AS queue FROM json_each($3)),
        found AS (SELECT s.content, s.letter_id FROM contents w CROSS JOIN sent_back s ON s.content = w.key
            AND s.letter_id IN (SELECT letter_id FROM sent_back
                WHERE content = w.key AND queue = w.queue AND broker = $2 ORDER BY letter_id DESC LIMIT 100)
            UNION SELECT s.content, s.letter_id FROM ids w CROSS JOIN sent_back s ON s.id_key = w.key
            AND s.letter_id IN (SELECT letter_id FROM sent_back
                WHERE id_key = w.key AND queue = w.queue AND broker = $2 ORDER BY letter_id DESC LIMIT 100))
        SELECT s.*, f.status, r.claims, l.size FROM found
        CROSS JOIN sent_back s ON s.content = found.content AND s.letter_id = found.letter_id
        LEFT JOIN letters l ON l.id = s.letter_id LEFT JOIN facets f ON f.id = l.facet_id
        LEFT JOIN retries r ON r.letter_id = s.letter_id ORDER BY s.letter_id DESC",
    postgres: "SELECT s.*, f.status, r.claims, l.size FROM (
            SELECT s.* FROM (SELECT CAST(value ->> 0 AS BIGINT) AS key, value ->> 1 AS queue
                FROM json_array_elements(CAST($1 AS JSON)) AS pairs (value)) w
            CROSS JOIN LATERAL (SELECT * FROM sent_back WHERE content = w.key AND queue = w.queue AND broker = $2
                ORDER BY letter_id DESC LIMIT 100) s
            UNION SELECT s.* FROM (SELECT CAST(value ->> 0 AS BIGINT) AS key, value ->> 1 AS queue
                FROM json_array_elements(CAST($3 AS JSON)) AS pairs (value)) w
            CROSS JOIN LATERAL (SELECT * FROM sent_back WHERE id_key = w.key AND queue = w.queue AND broker = $2
                ORDER BY letter_id DESC LIMIT 100) s) s
        LEFT JOIN letters l ON l.id = s.letter_id LEFT JOIN facets f ON f.id = l.facet_id
        LEFT JOIN retries r ON r.letter_id = s.letter_id ORDER BY s.letter_id DESC",
};

#[derive(FromRow)]
struct Row {
    content: i64,
    id_key: Option<i64>,
    letter_id: Uuid,
    queue: String,
    sent_at: i64,
    first_sent_at: Option<i64>,
    automatic: i64,
    rounds: i64,
    stopped: bool,
    status: Option<String>,
    claims: Option<i64>,
    size: Option<i64>,
}

impl TryFrom<Row> for SentBack {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let claims = row.claims.unwrap_or_default().unsigned_abs();
        let status = row.status.as_deref().map(|status| parse("a status", status)).transpose()?;
        Ok(Self {
            key: ContentKey(row.content),
            id_key: row.id_key.map(ContentKey),
            id: LetterId::from_uuid(row.letter_id),
            queue: row.queue,
            sent_at: Timestamp::from_micros(row.sent_at),
            first_sent_at: Timestamp::from_micros(row.first_sent_at.unwrap_or(row.sent_at)),
            automatic: row.automatic.unsigned_abs(),
            rounds: row.rounds.unsigned_abs(),
            is_stopped: row.stopped,
            letter: status.map(|status| SentLetter { is_away: is_away(status, claims), identity: None }),
        })
    }
}

impl StoreReader {
    /// What was sent back of these contents, or under these ids, to these queues of a broker, the newest first, with the
    /// identities of those that are letters and have not been seen since.
    pub async fn sent_back(
        &self,
        broker: &str,
        contents: &[(ContentKey, &str)],
        ids: &[(ContentKey, &str)],
    ) -> Result<Vec<SentBack>, StoreError> {
        let pairs = |keys: &[(ContentKey, &str)]| {
            let pairs: Vec<_> = keys.iter().map(|(key, queue)| (key.0, *queue)).collect();
            serde_json::json!(pairs).to_string()
        };
        let (contents, ids) = (pairs(contents), pairs(ids));
        let sql = FIND.pick(self.db.reader());
        let rows: Vec<Row> = on!(self.db.reader(), |pool| {
            sqlx::query_as(sql).bind(&contents).bind(broker).bind(&ids).fetch_all(pool).await?
        });
        let (mut sent, mut away) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows {
            let size = row.size.unwrap_or_default().unsigned_abs();
            let found = SentBack::try_from(row)?;
            if found.letter.as_ref().is_some_and(|letter| letter.is_away) {
                away.push((found.id, size));
            }
            sent.push(found);
        }
        let mut identities = self.identities(&away, LARGEST_BODY as u64).await?;
        for SentBack { id, letter, .. } in &mut sent {
            if let Some(letter) = letter {
                letter.identity = identities.remove(id);
            }
        }
        Ok(sent)
    }
}

impl StoreReader {
    /// Letters with these contents that failed in these queues of a broker since then and are here, the newest first, each
    /// with how often it has failed.
    pub async fn letters_of_content(
        &self,
        broker: &str,
        contents: &[(ContentKey, &str)],
        since: Timestamp,
    ) -> Result<Vec<(ContentKey, LetterId, u64)>, StoreError> {
        const MOST: i64 = 1_000;
        let names: BTreeSet<&str> = contents.iter().map(|(_, queue)| *queue).collect();
        let keys_wanted: BTreeSet<i64> = contents.iter().map(|(content, _)| content.0).collect();
        let rows: Vec<(i64, Uuid, i64)> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new(
                "SELECT content, id, attempts FROM letters WHERE facet_id IN
                (SELECT id FROM facets WHERE status IN ('open', 'scheduled') AND broker = ",
            );
            query.push_bind(broker).push(" AND queue IN (");
            let mut queues = query.separated(", ");
            names.iter().for_each(|queue| _ = queues.push_bind(*queue));
            query.push(")) AND received_at >= ").push_bind(since.as_micros()).push(" AND content IN (");
            let mut keys = query.separated(", ");
            keys_wanted.iter().for_each(|key| _ = keys.push_bind(*key));
            query.push(") ORDER BY received_at DESC, id DESC LIMIT ").push_bind(MOST);
            query.build_query_as().persistent(false).fetch_all(pool).await?
        });
        let letter = |(content, id, attempts): (i64, Uuid, i64)| {
            (ContentKey(content), LetterId::from_uuid(id), attempts.unsigned_abs())
        };
        Ok(rows.into_iter().map(letter).collect())
    }

    /// Contents that came in under these ids since then, are here and have not been sent back lately; of many letters not
    /// all are looked at.
    pub async fn contents_under_ids(
        &self,
        broker: &str,
        ids: &[(ContentKey, &str)],
        since: Timestamp,
    ) -> Result<Vec<(ContentKey, ContentKey)>, StoreError> {
        const MOST: i64 = 2_000;
        let names: BTreeSet<&str> = ids.iter().map(|(_, queue)| *queue).collect();
        let keys: BTreeSet<i64> = ids.iter().map(|(id, _)| id.0).collect();
        let rows: Vec<(i64, i64)> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new(
                "SELECT l.id_key, l.content FROM (SELECT id, id_key, content FROM letters WHERE facet_id IN
                (SELECT id FROM facets WHERE status IN ('open', 'scheduled') AND broker = ",
            );
            query.push_bind(broker).push(" AND queue IN (");
            let mut queues = query.separated(", ");
            names.iter().for_each(|queue| _ = queues.push_bind(*queue));
            query.push(")) AND received_at >= ").push_bind(since.as_micros()).push(" LIMIT ").push_bind(MOST);
            query.push(") l WHERE l.id_key IN (");
            let mut wanted = query.separated(", ");
            keys.iter().for_each(|key| _ = wanted.push_bind(*key));
            query.push(
                ") AND NOT EXISTS
                (SELECT 1 FROM sent_back s WHERE s.content = l.content AND s.letter_id = l.id)",
            );
            query.build_query_as().persistent(false).fetch_all(pool).await?
        });
        Ok(rows.into_iter().map(|(id, content)| (ContentKey(id), ContentKey(content))).collect())
    }

    /// Those of these queues of a broker whose framework retries by itself, and when that was seen last.
    pub async fn own_retries(&self, broker: &str, queues: &[&str]) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        let found = self.kept_of_queues(broker, queues, |queue| ContentKey::of_own_retries(broker, queue)).await?;
        Ok(found.into_iter().map(|marker| (marker.queue, marker.sent_at)).collect())
    }

    /// What is remembered of these queues of a broker beside messages.
    pub(super) async fn kept_of_queues(
        &self,
        broker: &str,
        queues: &[&str],
        key: impl Fn(&str) -> ContentKey,
    ) -> Result<Vec<SentBack>, StoreError> {
        let wanted: Vec<_> = queues.iter().map(|queue| (key(queue), *queue)).collect();
        if wanted.is_empty() { Ok(Vec::new()) } else { self.sent_back(broker, &wanted, &[]).await }
    }
}

impl Store {
    /// Forgets what was sent back so long ago; the answer is how much that was, of `limit` at most.
    pub async fn forget_sent_back(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        const FORGET: &str = "DELETE FROM sent_back WHERE (content, letter_id) IN (
            SELECT content, letter_id FROM sent_back WHERE sent_at < $1 ORDER BY sent_at LIMIT $2)";
        Ok(on!(self.db.writer(), |pool| {
            let deleted = sqlx::query(FORGET).bind(before.as_micros()).bind(i64::from(limit)).execute(pool).await?;
            deleted.rows_affected()
        }))
    }
}

/// Remembers letters whose retries are about to be published: they may be back before the confirm is read.
pub(super) async fn remember(tx: &mut Tx, ids: &[LetterId], now: Timestamp) -> Result<(), StoreError> {
    on!(tx, |tx| {
        let mut query = QueryBuilder::new(
            "INSERT INTO sent_back (content, id_key, letter_id, broker, queue, sent_at, first_sent_at, automatic, rounds)
            SELECT l.content, l.id_key, l.id, r.broker, r.queue, ",
        );
        query
            .push_bind(now.as_micros())
            .push(", ")
            .push_bind(now.as_micros())
            .push(", CASE WHEN r.actor = ")
            .push_bind(Actor::SYSTEM);
        query.push(
            " THEN 1 ELSE 0 END, l.rounds FROM retries r JOIN letters l ON l.id = r.letter_id
            WHERE l.content IS NOT NULL AND r.letter_id IN ",
        );
        push_ids(&mut query, ids);
        query.push(
            " ON CONFLICT (content, letter_id) DO UPDATE SET queue = excluded.queue, sent_at = excluded.sent_at,
            automatic = sent_back.automatic + excluded.automatic, rounds = excluded.rounds, id_key = excluded.id_key,
            stopped = FALSE",
        );
        query.build().execute(&mut **tx).await?;
    });
    Ok(())
}

/// Letters were not published after all: what a policy was to send does not count among its retries.
pub(super) async fn not_sent(tx: &mut Tx, letters: Vec<Uuid>) -> Result<(), StoreError> {
    on!(tx, |tx| {
        let mut query = QueryBuilder::new(
            "UPDATE sent_back SET automatic = automatic - 1 WHERE automatic > 0 AND (content, letter_id) IN (
                SELECT l.content, l.id FROM retries r JOIN letters l ON l.id = r.letter_id WHERE r.actor = ",
        );
        push_uuids(query.push_bind(Actor::SYSTEM).push(" AND r.letter_id IN "), letters);
        query.push(")").build().execute(&mut **tx).await?;
    });
    Ok(())
}
