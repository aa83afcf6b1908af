//! Many rows of values in one statement: the one place where each database has a body of its own.
//!
//! SQLite takes the rows one after the other, in statements of a [few sizes](SIZES). Postgres spends more on a statement
//! with thousands of arguments than on doing it, so it gets one array for each column.

use std::{borrow::Cow, iter, ops::Range};

use sqlx::{Postgres, QueryBuilder, Sqlite};
use uuid::Uuid;

use super::{Either, Tx};
use crate::{domain::names, store::StoreError};

/// Rows in one statement for SQLite. With as many as there happen to be, the statement would be parsed for each batch, and
/// a connection keeps the last hundred prepared: 200 batches of all sizes left 40 MB of them, and leave 9 MB.
const SIZES: [usize; 4] = [100, 25, 5, 1];

/// One value of each row.
pub(crate) enum Column<'a> {
    Ids(Vec<Uuid>),
    PerhapsIds(Vec<Option<Uuid>>),
    Numbers(Vec<Option<i64>>),
    Texts(Vec<Cow<'a, str>>),
    PerhapsTexts(Vec<Option<Cow<'a, str>>>),
    PerhapsReals(Vec<Option<f64>>),
    Bytes(Vec<&'a [u8]>),
    PerhapsFlags(Vec<Option<bool>>),
    PerhapsBytes(Vec<Option<&'a [u8]>>),
}

impl<'a> Column<'a> {
    pub(crate) fn ids<T>(rows: &'a [T], value: impl Fn(&'a T) -> Uuid) -> Self {
        Self::Ids(rows.iter().map(value).collect())
    }

    pub(crate) fn perhaps_ids<T>(rows: &'a [T], value: impl Fn(&'a T) -> Option<Uuid>) -> Self {
        Self::PerhapsIds(rows.iter().map(value).collect())
    }

    pub(crate) fn numbers<T, N: Into<Option<i64>>>(rows: &'a [T], value: impl Fn(&'a T) -> N) -> Self {
        Self::Numbers(rows.iter().map(|row| value(row).into()).collect())
    }

    pub(crate) fn texts<T, S: Into<Cow<'a, str>>>(rows: &'a [T], value: impl Fn(&'a T) -> S) -> Self {
        Self::Texts(rows.iter().map(|row| text(value(row).into())).collect())
    }

    pub(crate) fn perhaps_texts<T>(rows: &'a [T], value: impl Fn(&'a T) -> Option<&'a str>) -> Self {
        Self::PerhapsTexts(rows.iter().map(|row| value(row).map(|found| text(found.into()))).collect())
    }

    pub(crate) fn perhaps_reals<T>(rows: &'a [T], value: impl Fn(&'a T) -> Option<f64>) -> Self {
        Self::PerhapsReals(rows.iter().map(value).collect())
    }

    pub(crate) fn bytes<T>(rows: &'a [T], value: impl Fn(&'a T) -> &'a [u8]) -> Self {
        Self::Bytes(rows.iter().map(value).collect())
    }

    const fn rows(&self) -> usize {
        match self {
            Self::Ids(values) => values.len(),
            Self::PerhapsIds(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Texts(values) => values.len(),
            Self::PerhapsTexts(values) => values.len(),
            Self::PerhapsReals(values) => values.len(),
            Self::Bytes(values) => values.len(),
            Self::PerhapsFlags(values) => values.len(),
            Self::PerhapsBytes(values) => values.len(),
        }
    }
}

/// Postgres takes no NUL in text, and one in a thousand rows would hold up the others.
fn text(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(names::without_nul(&text)) } else { text }
}

/// Executes a statement that has the rows of `columns` between its two halves.
pub(crate) async fn execute(tx: &mut Tx, statement: [&str; 2], columns: Vec<Column<'_>>) -> Result<(), StoreError> {
    execute_returning(tx, statement, columns).await.map(drop)
}

/// The same of a statement that answers with ids.
pub(crate) async fn execute_returning(
    tx: &mut Tx,
    statement: [&str; 2],
    columns: Vec<Column<'_>>,
) -> Result<Vec<Uuid>, StoreError> {
    let [before, after] = statement;
    match tx {
        Either::Sqlite(tx) => {
            let mut ids = Vec::new();
            for rows in parts(columns.first().map_or(0, Column::rows)) {
                let mut query = QueryBuilder::new(before);
                push_by_row(&mut query, &columns, rows);
                ids.extend(query.push(after).build_query_scalar::<Uuid>().fetch_all(&mut **tx).await?);
            }
            Ok(ids)
        }
        Either::Postgres(tx) => {
            let mut query = QueryBuilder::new(before);
            push_by_column(&mut query, columns);
            Ok(query.push(after).build_query_scalar().fetch_all(&mut **tx).await?)
        }
    }
}

/// So many rows in parts of the sizes that statements have.
fn parts(rows: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    iter::from_fn(move || {
        let size = SIZES.into_iter().find(|size| next + size <= rows)?;
        next += size;
        Some(next - size..next)
    })
}

fn push_by_row(query: &mut QueryBuilder<Sqlite>, columns: &[Column<'_>], rows: Range<usize>) {
    query.push_values(rows, |mut row, n| {
        for column in columns {
            match column {
                Column::Ids(values) => row.push_bind(values[n]),
                Column::PerhapsIds(values) => row.push_bind(values[n]),
                Column::Numbers(values) => row.push_bind(values[n]),
                Column::Texts(values) => row.push_bind(&*values[n]),
                Column::PerhapsTexts(values) => row.push_bind(values[n].as_deref()),
                Column::PerhapsReals(values) => row.push_bind(values[n]),
                Column::Bytes(values) => row.push_bind(values[n]),
                Column::PerhapsFlags(values) => row.push_bind(values[n]),
                Column::PerhapsBytes(values) => row.push_bind(values[n]),
            };
        }
    });
}

fn push_by_column(query: &mut QueryBuilder<Postgres>, columns: Vec<Column<'_>>) {
    query.push("SELECT * FROM unnest(");
    let mut arrays = query.separated(", ");
    for column in columns {
        match column {
            Column::Ids(values) => arrays.push_bind(values),
            Column::PerhapsIds(values) => arrays.push_bind(values),
            Column::Numbers(values) => arrays.push_bind(values),
            Column::Texts(values) => arrays.push_bind(values),
            Column::PerhapsTexts(values) => arrays.push_bind(values),
            Column::PerhapsReals(values) => arrays.push_bind(values),
            Column::Bytes(values) => arrays.push_bind(values),
            Column::PerhapsFlags(values) => arrays.push_bind(values),
            Column::PerhapsBytes(values) => arrays.push_bind(values),
        };
    }
    query.push(")");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_in_order_by_statements_of_few_sizes() {
        for rows in 0..=1_234 {
            let parts: Vec<_> = super::parts(rows).collect();
            assert!(parts.iter().all(|part| SIZES.contains(&part.len())), "{rows}: {parts:?}");
            assert!(parts.into_iter().flatten().eq(0..rows), "{rows}");
        }
    }
}
