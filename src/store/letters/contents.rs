//! What letters hold, read where a transaction is open.

use std::collections::HashMap;

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::rows::ContentsRow;
use crate::{
    domain::letter::LetterId,
    grouping,
    store::{
        StoreError,
        db::{Tx, id_list::push_ids, on},
    },
};

/// Letters in one statement.
const CHUNK: usize = 1_000;

/// The contents of those of `ids` that exist.
pub(crate) async fn contents(tx: &mut Tx, ids: &[LetterId]) -> Result<HashMap<LetterId, ContentsRow>, StoreError> {
    const SELECT: &str = "SELECT letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks,
        body FROM contents WHERE letter_id IN ";
    let mut contents = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<ContentsRow> = on!(&mut *tx, |tx| {
            let mut query = QueryBuilder::new(SELECT);
            push_ids(&mut query, chunk);
            query.build_query_as().fetch_all(&mut **tx).await?
        });
        contents.extend(rows.into_iter().map(|row| (LetterId::from_uuid(row.letter_id), row)));
    }
    Ok(contents)
}

/// What the errors of those of `ids` that exist have in common with errors that are alike.
pub(crate) async fn errors(tx: &mut Tx, ids: &[LetterId]) -> Result<HashMap<LetterId, String>, StoreError> {
    let mut errors = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let rows: Vec<(Uuid, Option<String>, Option<String>)> = on!(&mut *tx, |tx| {
            let mut query = QueryBuilder::new("SELECT id, error_type, error_message FROM letters WHERE id IN ");
            push_ids(&mut query, chunk);
            query.build_query_as().fetch_all(&mut **tx).await?
        });
        let alike = |(id, name, message): (Uuid, Option<String>, Option<String>)| {
            (LetterId::from_uuid(id), grouping::alike(name.as_deref(), message.as_deref()))
        };
        errors.extend(rows.into_iter().map(alike));
    }
    Ok(errors)
}
