//! Values of columns as JSON, and back.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use uuid::Uuid;

use crate::store::db::columns::Column;

/// Columns of bytes, which SQLite does not tell from ids: both are `BLOB` there.
const BYTES: [(&str, &str); 5] = [
    ("contents", "body"),
    ("pending_acks", "entries"),
    ("schemas", "descriptors"),
    ("idempotency_keys", "body"),
    ("api_tokens", "hash"),
];

/// What a column holds, in either database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Real,
    Flag,
    Text,
    Id,
    Bytes,
}

impl Kind {
    pub(super) fn of(declared: &str, table: &str, column: &str) -> Option<Self> {
        Some(match &*declared.to_ascii_uppercase() {
            "INTEGER" | "BIGINT" => Self::Number,
            "REAL" | "DOUBLE PRECISION" => Self::Real,
            "BOOLEAN" => Self::Flag,
            "TEXT" => Self::Text,
            "UUID" => Self::Id,
            "BYTEA" => Self::Bytes,
            "BLOB" if BYTES.contains(&(table, column)) => Self::Bytes,
            "BLOB" => Self::Id,
            _ => return None,
        })
    }

    /// What a value of it looks like.
    const fn takes(self) -> &'static str {
        match self {
            Self::Number => "an integer",
            Self::Real => "a number",
            Self::Flag => "true or false",
            Self::Text => "a text without NUL",
            Self::Id => "a UUID",
            Self::Bytes => "bytes as base64",
        }
    }
}

/// Column `$n` of a row of either database as JSON; nothing where it is null.
macro_rules! to_json {
    ($row:expr, $n:expr, $kind:expr) => {
        match $kind {
            Kind::Number => $row.try_get::<Option<i64>, _>($n)?.map(serde_json::Value::from),
            Kind::Real => $row.try_get::<Option<f64>, _>($n)?.map(serde_json::Value::from),
            Kind::Flag => $row.try_get::<Option<bool>, _>($n)?.map(serde_json::Value::from),
            Kind::Text => $row.try_get::<Option<String>, _>($n)?.map(serde_json::Value::from),
            Kind::Id => $row.try_get::<Option<uuid::Uuid>, _>($n)?.map(|id| id.to_string().into()),
            Kind::Bytes => $row.try_get::<Option<Vec<u8>>, _>($n)?.map($crate::store::dump::value::base64),
        }
    };
}
pub(super) use to_json;

pub(super) fn base64(bytes: Vec<u8>) -> Value {
    STANDARD.encode(bytes).into()
}

/// A value on its way into the database.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Number(i64),
    Real(f64),
    Flag(bool),
    Text(String),
    Id(Uuid),
    Bytes(Vec<u8>),
}

impl Cell {
    /// # Errors
    /// What the column takes.
    pub(super) fn read(kind: Kind, value: Value) -> Result<Self, &'static str> {
        let cell = match (kind, value) {
            (Kind::Number, Value::Number(number)) => number.as_i64().map(Self::Number),
            (Kind::Real, Value::Number(number)) => number.as_f64().map(Self::Real),
            (Kind::Flag, Value::Bool(flag)) => Some(Self::Flag(flag)),
            (Kind::Text, Value::String(text)) => (!text.contains('\0')).then_some(Self::Text(text)),
            (Kind::Id, Value::String(text)) => text.parse().ok().map(Self::Id),
            (Kind::Bytes, Value::String(text)) => STANDARD.decode(text).ok().map(Self::Bytes),
            _ => None,
        };
        cell.ok_or(kind.takes())
    }
}

/// The values of one column of these rows.
pub(super) fn column<'a>(kind: Kind, cells: impl Iterator<Item = &'a Cell>) -> Column<'a> {
    macro_rules! collect {
        ($cell:ident, $value:ident => $expression:expr) => {
            cells.map(|cell| if let Cell::$cell($value) = cell { Some($expression) } else { None }).collect()
        };
    }
    match kind {
        Kind::Number => Column::Numbers(collect!(Number, number => *number)),
        Kind::Real => Column::PerhapsReals(collect!(Real, number => *number)),
        Kind::Flag => Column::PerhapsFlags(collect!(Flag, flag => *flag)),
        Kind::Text => Column::PerhapsTexts(collect!(Text, text => text.as_str().into())),
        Kind::Id => Column::PerhapsIds(collect!(Id, id => *id)),
        Kind::Bytes => Column::PerhapsBytes(collect!(Bytes, bytes => bytes.as_slice())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_of_its_column() {
        let check = |kind: Kind, value: Value, expected: Option<Cell>| {
            assert_eq!(Cell::read(kind, value.clone()).ok(), expected, "{kind:?} {value}");
        };
        check(Kind::Number, json!(i64::MIN), Some(Cell::Number(i64::MIN)));
        check(Kind::Number, json!(1.5), None);
        check(Kind::Number, json!(u64::MAX), None);
        check(Kind::Real, json!(1), Some(Cell::Real(1.0)));
        check(Kind::Flag, json!(1), None);
        check(Kind::Text, json!("a\u{0}"), None);
        check(Kind::Id, json!("0198"), None);
        check(Kind::Bytes, json!("AP8="), Some(Cell::Bytes(vec![0, 255])));
        check(Kind::Bytes, json!("AP8"), None);
        check(Kind::Bytes, Value::Null, None);
    }
}
