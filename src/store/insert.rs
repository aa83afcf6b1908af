//! Writing new letters, many at once: the one place where each database has a body of its own.
//!
//! SQLite takes rows of values. Postgres spends more on a statement with thousands of arguments than on doing it, so it
//! gets one array for each column.

use sqlx::{Postgres, QueryBuilder, Sqlite, Transaction};
use uuid::Uuid;

use super::{
    StoreError,
    db::{Either, Tx},
    facets::FacetId,
    record::Arrival,
    rows::bigint,
};
use crate::{domain::time::Timestamp, typed_json};

/// Rows in one statement: eleven values each stay below SQLite's 32,766.
const CHUNK: usize = 1_000;

/// Inserts letters with their contents, each into its facet.
pub(super) async fn insert(tx: &mut Tx, rows: &[(FacetId, &Arrival)]) -> Result<(), StoreError> {
    for chunk in rows.chunks(CHUNK) {
        match tx {
            Either::Sqlite(tx) => {
                letters_by_row(tx, chunk).await?;
                contents_by_row(tx, chunk).await?;
            }
            Either::Postgres(tx) => {
                letters_by_column(tx, chunk).await?;
                contents_by_column(tx, chunk).await?;
            }
        }
    }
    Ok(())
}

async fn letters_by_row(
    tx: &mut Transaction<'static, Sqlite>,
    rows: &[(FacetId, &Arrival)],
) -> Result<(), sqlx::Error> {
    const INSERT: &str = "INSERT INTO letters (id, facet_id, received_at, first_received_at, first_failed_at,
        last_failed_at, exchange, routing_key, attempts, importance_by, size) ";
    let mut insert = QueryBuilder::new(INSERT);
    insert.push_values(rows, |mut row, (facet, arrival)| {
        let failure = &arrival.failure;
        let received_at = arrival.received_at.as_micros();
        row.push_bind(arrival.id.as_uuid())
            .push_bind(facet.0)
            .push_bind(received_at)
            .push_bind(received_at)
            .push_bind(failure.first_failed_at.map(Timestamp::as_micros))
            .push_bind(received_at)
            .push_bind(&*failure.exchange)
            .push_bind(&*failure.routing_key)
            .push_bind(bigint(failure.attempts))
            .push_bind(arrival.importance_by)
            .push_bind(bigint(arrival.message.body.len() as u64));
    });
    insert.build().execute(&mut **tx).await.map(drop)
}

async fn letters_by_column(
    tx: &mut Transaction<'static, Postgres>,
    rows: &[(FacetId, &Arrival)],
) -> Result<(), sqlx::Error> {
    const INSERT: &str = "INSERT INTO letters (id, facet_id, received_at, first_received_at, first_failed_at,
        last_failed_at, exchange, routing_key, attempts, importance_by, size)
        SELECT id, facet_id, at, at, first_failed_at, at, exchange, routing_key, attempts, importance_by, size
        FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[],
            $8::text[], $9::bigint[])
        AS t (id, facet_id, at, first_failed_at, exchange, routing_key, attempts, importance_by, size)";
    sqlx::query(INSERT)
        .bind(ids(rows))
        .bind(column(rows, |(facet, _)| facet.0))
        .bind(column(rows, |(_, arrival)| arrival.received_at.as_micros()))
        .bind(column(rows, |(_, arrival)| arrival.failure.first_failed_at.map(Timestamp::as_micros)))
        .bind(column(rows, |(_, arrival)| &*arrival.failure.exchange))
        .bind(column(rows, |(_, arrival)| &*arrival.failure.routing_key))
        .bind(column(rows, |(_, arrival)| bigint(arrival.failure.attempts)))
        .bind(column(rows, |(_, arrival)| arrival.importance_by))
        .bind(column(rows, |(_, arrival)| bigint(arrival.message.body.len() as u64)))
        .execute(&mut **tx)
        .await
        .map(drop)
}

async fn contents_by_row(
    tx: &mut Transaction<'static, Sqlite>,
    rows: &[(FacetId, &Arrival)],
) -> Result<(), sqlx::Error> {
    const INSERT: &str = "INSERT INTO contents (letter_id, exchange, routing_key, properties, headers,
        earlier_deaths, remarks, body) ";
    let mut insert = QueryBuilder::new(INSERT);
    insert.push_values(rows, |mut row, (_, arrival)| {
        let message = &arrival.message;
        row.push_bind(arrival.id.as_uuid())
            .push_bind(&*message.exchange)
            .push_bind(&*message.routing_key)
            .push_bind(typed_json::properties_to_string(&message.properties))
            .push_bind(typed_json::table_to_string(&message.headers))
            .push("'[]'")
            .push_bind(remarks(arrival))
            .push_bind(&*message.body);
    });
    insert.build().execute(&mut **tx).await.map(drop)
}

async fn contents_by_column(
    tx: &mut Transaction<'static, Postgres>,
    rows: &[(FacetId, &Arrival)],
) -> Result<(), sqlx::Error> {
    const INSERT: &str = "INSERT INTO contents (letter_id, exchange, routing_key, properties, headers,
        earlier_deaths, remarks, body)
        SELECT id, exchange, routing_key, properties, headers, '[]', remarks, body
        FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])
        AS t (id, exchange, routing_key, properties, headers, remarks, body)";
    sqlx::query(INSERT)
        .bind(ids(rows))
        .bind(column(rows, |(_, arrival)| &*arrival.message.exchange))
        .bind(column(rows, |(_, arrival)| &*arrival.message.routing_key))
        .bind(column(rows, |(_, arrival)| typed_json::properties_to_string(&arrival.message.properties)))
        .bind(column(rows, |(_, arrival)| typed_json::table_to_string(&arrival.message.headers)))
        .bind(column(rows, |(_, arrival)| remarks(arrival)))
        .bind(column(rows, |(_, arrival)| &*arrival.message.body))
        .execute(&mut **tx)
        .await
        .map(drop)
}

fn column<'a, T>(rows: &[(FacetId, &'a Arrival)], value: impl Fn(&(FacetId, &'a Arrival)) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

fn ids(rows: &[(FacetId, &Arrival)]) -> Vec<Uuid> {
    column(rows, |(_, arrival)| arrival.id.as_uuid())
}

fn remarks(arrival: &Arrival) -> String {
    serde_json::Value::from(arrival.remarks.clone()).to_string()
}
