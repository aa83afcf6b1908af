//! A part of a statement with its arguments, which is put together before it is known how a database takes these.

use std::ops::RangeInclusive;

use sqlx::{Database, Encode, QueryBuilder, Type};
use uuid::Uuid;

#[derive(Clone, Debug)]
enum Piece {
    /// Words of our own.
    Sql(String),
    Text(String),
    Number(i64),
    Id(Uuid),
    /// Where rows of the index are asked for: nothing, unless it is said which.
    Rows,
}

/// SQL with arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fragment(Vec<Piece>);

impl Fragment {
    /// Nothing of it may come from anybody else.
    pub(super) fn of(sql: impl Into<String>) -> Self {
        Self::default().sql(sql)
    }

    pub(super) fn sql(mut self, sql: impl Into<String>) -> Self {
        self.0.push(Piece::Sql(sql.into()));
        self
    }

    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Text(text.into()));
        self
    }

    pub(super) fn number(mut self, number: i64) -> Self {
        self.0.push(Piece::Number(number));
        self
    }

    pub(super) fn id(mut self, id: Uuid) -> Self {
        self.0.push(Piece::Id(id));
        self
    }

    pub(super) fn rows(mut self) -> Self {
        self.0.push(Piece::Rows);
        self
    }

    /// The same of these rows of the index alone.
    pub(super) fn within(&self, rows: &RangeInclusive<i64>) -> Self {
        let condition = Self::of(" AND rowid BETWEEN ").number(*rows.start()).sql(" AND ").number(*rows.end());
        let within = |piece: &Piece| match piece {
            Piece::Rows => condition.0.clone(),
            other => vec![other.clone()],
        };
        Self(self.0.iter().flat_map(within).collect())
    }

    pub(super) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// All of them in brackets; `none` where there are none.
    pub(super) fn joined(parts: Vec<Self>, between: &str, none: &str) -> Self {
        if parts.is_empty() {
            return Self::of(none);
        }
        let joined = parts
            .into_iter()
            .enumerate()
            .fold(Self::of("("), |all, (n, part)| all.sql(if n == 0 { "" } else { between }).then(part));
        joined.sql(")")
    }

    pub(crate) fn push<DB: Database>(&self, query: &mut QueryBuilder<DB>)
    where
        for<'q> String: Encode<'q, DB> + Type<DB>,
        for<'q> i64: Encode<'q, DB> + Type<DB>,
        for<'q> Uuid: Encode<'q, DB> + Type<DB>,
    {
        for piece in &self.0 {
            match piece {
                Piece::Sql(sql) => query.push(sql),
                Piece::Text(text) => query.push_bind(text.clone()),
                Piece::Number(number) => query.push_bind(*number),
                Piece::Id(id) => query.push_bind(*id),
                Piece::Rows => query,
            };
        }
    }
}
