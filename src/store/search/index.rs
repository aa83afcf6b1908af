//! The index of words and values: which letters are to be in it, and putting them there.

use std::{borrow::Cow, collections::HashSet};

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::expression::vector;
use crate::{
    domain::{
        letter::LetterId,
        names,
        search::{Area, document::Document},
    },
    store::{
        Store, StoreError, StoreReader,
        db::{
            Either, Sql, Tx,
            columns::{self, Column},
            id_list::push_ids,
            on,
        },
    },
};

/// Letters that are counted at most of those that wait: it is asked every few seconds.
const COUNTED: i64 = 1_000_000;

/// A letter that is to be indexed, and how often that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToIndex {
    pub letter: LetterId,
    pub asked: i64,
}

impl StoreReader {
    /// Letters that are to be indexed, the newest first.
    pub async fn to_index(&self, limit: u32) -> Result<Vec<ToIndex>, StoreError> {
        const SELECT: &str = "SELECT letter_id, asked FROM search_backlog ORDER BY letter_id DESC LIMIT $1";
        let rows: Vec<(Uuid, i64)> =
            on!(self.db.reader(), |pool| sqlx::query_as(SELECT).bind(i64::from(limit)).fetch_all(pool).await?);
        Ok(rows.into_iter().map(|(id, asked)| ToIndex { letter: LetterId::from_uuid(id), asked }).collect())
    }

    /// How many letters are to be indexed, [`COUNTED`] at most.
    pub async fn search_backlog(&self) -> Result<u64, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM search_backlog LIMIT $1) AS waiting";
        let count: i64 = on!(self.db.reader(), |pool| sqlx::query_scalar(COUNT).bind(COUNTED).fetch_one(pool).await?);
        Ok(count.unsigned_abs())
    }
}

impl Store {
    /// Sees to it that the index is one of these settings; 0 stands for none. Of others nothing is left, so that nothing can be
    /// found that is hidden by now, and all letters are to be indexed.
    pub async fn prepare_search(&self, settings: i64) -> Result<(), StoreError> {
        const MADE_WITH: &str = "SELECT made_with FROM search_settings WHERE id = 1";
        const SET: &str = "INSERT INTO search_settings (id, made_with) VALUES (1, $1)
            ON CONFLICT (id) DO UPDATE SET made_with = excluded.made_with";
        const CLEAR: [Sql; 3] = [
            Sql {
                sqlite: "INSERT INTO search_words (search_words) VALUES ('delete-all')",
                postgres: "DELETE FROM search_backlog",
            },
            Sql { sqlite: "DELETE FROM search_index", postgres: "TRUNCATE search_index" },
            Sql { sqlite: "DELETE FROM search_backlog", postgres: "DELETE FROM search_backlog" },
        ];
        const ALL: &str = "INSERT INTO search_backlog (letter_id, asked) SELECT id, 1 FROM letters WHERE true
            ON CONFLICT (letter_id) DO NOTHING";
        let mut tx = self.db.begin().await?;
        let made_with: Option<i64> = on!(&mut tx, |tx| sqlx::query_scalar(MADE_WITH).fetch_optional(&mut **tx).await?);
        if made_with == Some(settings) {
            return Ok(());
        }
        let clear = CLEAR.map(|sql| sql.pick(&tx));
        on!(&mut tx, |tx| {
            for sql in clear {
                sqlx::query(sql).execute(&mut **tx).await?;
            }
            sqlx::query(SET).bind(settings).execute(&mut **tx).await?;
            if settings != 0 {
                sqlx::query(ALL).execute(&mut **tx).await?;
            }
        });
        tx.commit().await
    }

    /// Has Postgres sort what was put into the index lately into the lists that it asks first. Until then it goes through all
    /// of it for each word of a search, which takes longer than the rest.
    pub async fn sort_into_index(&self) -> Result<(), StoreError> {
        const SORT: &str = "SELECT gin_clean_pending_list('search_words')";
        if let Either::Postgres(pool) = self.db.writer() {
            sqlx::query(SORT).execute(pool).await?;
        }
        Ok(())
    }

    /// Puts letters into the index, in the place of what was there of them. Those that are gone by now are left out; those
    /// that were asked for again meanwhile stay to be indexed.
    pub async fn index(&self, documents: &[(ToIndex, Option<Document>)]) -> Result<(), StoreError> {
        // One after the other: two servers may be at the same letters.
        const ALONE: &str = "SELECT pg_advisory_xact_lock(7301, 10)";
        let mut tx = self.db.begin().await?;
        if let Either::Postgres(tx) = &mut tx {
            sqlx::query(ALONE).execute(&mut **tx).await?;
        }
        let mut ids: Vec<LetterId> = documents.iter().map(|(to_index, _)| to_index.letter).collect();
        ids.sort_unstable();
        let there = hold(&mut tx, &ids).await?;
        forget(&mut tx, &ids).await?;
        let new: Vec<(LetterId, &Document)> = documents
            .iter()
            .filter_map(|(to_index, document)| Some((to_index.letter, document.as_ref()?)))
            .filter(|(letter, _)| there.contains(letter))
            .collect();
        insert(&mut tx, &new).await?;
        done(&mut tx, documents).await?;
        tx.commit().await
    }
}

/// Which of these letters there are; they stay until the transaction ends.
async fn hold(tx: &mut Tx, ids: &[LetterId]) -> Result<HashSet<LetterId>, StoreError> {
    let is_postgres = matches!(tx, Either::Postgres(_));
    let there: Vec<Uuid> = on!(tx, |tx| {
        let mut query = QueryBuilder::new("SELECT id FROM letters WHERE id IN ");
        push_ids(&mut query, ids);
        query.push(if is_postgres { " ORDER BY id FOR KEY SHARE" } else { "" });
        query.build_query_scalar().fetch_all(&mut **tx).await?
    });
    Ok(there.into_iter().map(LetterId::from_uuid).collect())
}

/// Takes letters out of the index.
pub(crate) async fn forget(tx: &mut Tx, ids: &[LetterId]) -> Result<(), StoreError> {
    const WORDS: &str = "DELETE FROM search_words WHERE rowid IN (SELECT seq FROM search_index WHERE letter_id IN ";
    const INDEX: &str = "DELETE FROM search_index WHERE letter_id IN ";
    if let Either::Sqlite(tx) = &mut *tx {
        let mut words = QueryBuilder::new(WORDS);
        push_ids(&mut words, ids);
        words.push(")").build().execute(&mut **tx).await?;
    }
    on!(tx, |tx| {
        let mut index = QueryBuilder::new(INDEX);
        push_ids(&mut index, ids);
        index.build().execute(&mut **tx).await.map(drop)?;
    });
    Ok(())
}

async fn insert(tx: &mut Tx, new: &[(LetterId, &Document)]) -> Result<(), StoreError> {
    const LAST: Sql =
        Sql { sqlite: "SELECT coalesce(max(seq), 0) FROM search_index", postgres: "SELECT COUNT(*) FROM search_index" };
    if new.is_empty() {
        return Ok(());
    }
    let ids = Column::ids(new, |(letter, _)| letter.as_uuid());
    let telling = Column::PerhapsTexts(new.iter().map(|(_, document)| telling(document).map(Cow::Owned)).collect());
    let Either::Sqlite(sqlite) = &mut *tx else {
        const INSERT: [&str; 2] = [
            "WITH new (letter_id, words, telling) AS (",
            ") INSERT INTO search_index (letter_id, words, telling)
            SELECT letter_id, CAST(words AS tsvector), telling FROM new
            ON CONFLICT (letter_id) DO UPDATE SET words = excluded.words, telling = excluded.telling",
        ];
        let words = Column::texts(new, |(_, document)| vector(document));
        return columns::execute(tx, INSERT, vec![ids, words, telling]).await;
    };
    let last: i64 = sqlx::query_scalar(LAST.sqlite).fetch_one(&mut **sqlite).await?;
    let seqs: Vec<Option<i64>> = (last + 1..).map(Some).take(new.len()).collect();
    let insert = ["INSERT INTO search_index (seq, letter_id, telling) ", ""];
    columns::execute(tx, insert, vec![Column::Numbers(seqs.clone()), ids, telling]).await?;
    let area = |area: Area| Column::texts(new, move |(_, document)| document.words(area).join(" "));
    let terms = Column::texts(new, |(_, document)| document.lexemes().collect::<Vec<_>>().join(" "));
    let [error, stack, headers, payload] = Area::ALL.map(area);
    let insert = ["INSERT INTO search_words (rowid, error, stack, headers, payload, terms) ", ""];
    columns::execute(tx, insert, vec![Column::Numbers(seqs), error, stack, headers, payload, terms]).await
}

/// What lists show of its payload, as it is kept.
fn telling(document: &Document) -> Option<String> {
    let telling = document.telling.as_ref().filter(|telling| !telling.fields.is_empty())?;
    serde_json::to_string(telling).ok().map(|text| names::without_nul(&text))
}

/// Takes letters off the backlog, unless they were asked for again.
async fn done(tx: &mut Tx, documents: &[(ToIndex, Option<Document>)]) -> Result<(), StoreError> {
    const DONE: [&str; 2] = [
        "WITH done (letter_id, asked) AS (",
        ") DELETE FROM search_backlog WHERE (letter_id, asked) IN (SELECT letter_id, asked FROM done)",
    ];
    let mut all: Vec<&ToIndex> = documents.iter().map(|(to_index, _)| to_index).collect();
    all.sort_unstable_by_key(|to_index| to_index.letter);
    let ids = Column::ids(&all, |to_index| to_index.letter.as_uuid());
    let asked = Column::numbers(&all, |to_index| to_index.asked);
    columns::execute(tx, DONE, vec![ids, asked]).await
}

/// Has letters be indexed that were not looked at with this edition of schemas and mappings, if any are indexed at all. To be
/// called before they are.
pub(crate) async fn ask(tx: &mut Tx, ids: &[LetterId], edition: i64) -> Result<(), StoreError> {
    const ASK: &str = "INSERT INTO search_backlog (letter_id, asked) SELECT id, 1 FROM letters
        WHERE EXISTS (SELECT 1 FROM search_settings WHERE made_with <> 0) AND (named_with IS NULL OR named_with <> ";
    const AGAIN: &str = " ON CONFLICT (letter_id) DO UPDATE SET asked = search_backlog.asked + 1";
    on!(tx, |tx| {
        let mut query = QueryBuilder::new(ASK);
        query.push_bind(edition).push(") AND id IN ");
        push_ids(&mut query, ids);
        query.push(AGAIN).build().execute(&mut **tx).await.map(drop)?;
    });
    Ok(())
}
