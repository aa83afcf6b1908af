//! Lists of letters, or of texts, in a statement.
//!
//! A list is one argument, so that the text of the statement is the same for any number of letters: it is parsed once
//! and stays prepared. With an argument for each letter SQLite spends more on reading the statement than on doing it.

use sqlx::{
    Database, Encode, Postgres, QueryBuilder, Sqlite, Type,
    encode::IsNull,
    error::BoxDynError,
    postgres::{PgArgumentBuffer, PgTypeInfo},
    sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo},
};
use uuid::Uuid;

use crate::domain::letter::LetterId;

/// A list of letters as one argument: `uuid[]` in Postgres, the bytes of all ids one after the other in hexadecimal
/// digits as a JSON array in SQLite.
pub(crate) struct IdList(Vec<Uuid>);

impl Type<Sqlite> for IdList {
    fn type_info() -> SqliteTypeInfo {
        <String as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for IdList {
    fn encode_by_ref(&self, arguments: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        let mut json = String::with_capacity(self.0.len() * 35 + 2);
        for id in &self.0 {
            json.push_str(if json.is_empty() { "[\"" } else { "\",\"" });
            json.push_str(id.simple().encode_lower(&mut Uuid::encode_buffer()));
        }
        json.push_str(if json.is_empty() { "[]" } else { "\"]" });
        <String as Encode<'_, Sqlite>>::encode(json, arguments)
    }
}

impl Type<Postgres> for IdList {
    fn type_info() -> PgTypeInfo {
        <Vec<Uuid> as Type<Postgres>>::type_info()
    }
}

impl Encode<'_, Postgres> for IdList {
    fn encode_by_ref(&self, arguments: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        <Vec<Uuid> as Encode<'_, Postgres>>::encode_by_ref(&self.0, arguments)
    }
}

/// A list of texts as one argument: `text[]` in Postgres, a JSON array in SQLite.
pub(crate) struct TextList(Vec<String>);

impl Type<Sqlite> for TextList {
    fn type_info() -> SqliteTypeInfo {
        <String as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for TextList {
    fn encode_by_ref(&self, arguments: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        let json = serde_json::Value::from(self.0.as_slice()).to_string();
        <String as Encode<'_, Sqlite>>::encode(json, arguments)
    }
}

impl Type<Postgres> for TextList {
    fn type_info() -> PgTypeInfo {
        <Vec<String> as Type<Postgres>>::type_info()
    }
}

impl Encode<'_, Postgres> for TextList {
    fn encode_by_ref(&self, arguments: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        <Vec<String> as Encode<'_, Postgres>>::encode_by_ref(&self.0, arguments)
    }
}

/// How a database turns a list into rows of one column: what stands before and after the argument.
pub(crate) trait Unnest: Database {
    /// The column is called `id`.
    const UNNEST: [&'static str; 2];
    const UNNEST_TEXTS: [&'static str; 2];
    /// The condition that the columns `broker` and `queue`, with a line break between them, are one of a list of texts.
    const QUEUE_AMONG: [&'static str; 2];
    /// What joins the letters `l` of few rows `found`, one after the other; a condition follows.
    const LOOKED_UP: &'static str;
}

impl Unnest for Sqlite {
    const UNNEST: [&'static str; 2] = ["(SELECT unhex(value) AS id FROM json_each(", "))"];
    const UNNEST_TEXTS: [&'static str; 2] = ["(SELECT value FROM json_each(", "))"];
    const QUEUE_AMONG: [&'static str; 2] = [
        "(broker, queue) IN (SELECT substr(value, 1, instr(value, char(10)) - 1), substr(value, instr(value, char(10)) + 1)
            FROM json_each(",
        "))",
    ];
    const LOOKED_UP: &'static str = " CROSS JOIN letters l WHERE l.id = found.id AND ";
}

impl Unnest for Postgres {
    const UNNEST: [&'static str; 2] = ["(SELECT unnest(", ") AS id)"];
    const UNNEST_TEXTS: [&'static str; 2] = ["(SELECT unnest(", "))"];
    /// Not `= ANY`: in a prepared statement each row would be compared with each text.
    const QUEUE_AMONG: [&'static str; 2] = ["broker || chr(10) || queue IN (SELECT unnest(", "))"];
    /// With `OFFSET` it is not joined in another order: a million letters would be read to find a thousand.
    const LOOKED_UP: &'static str =
        " CROSS JOIN LATERAL (SELECT * FROM letters WHERE letters.id = found.id OFFSET 0) AS l WHERE ";
}

/// Pushes a subquery that has `texts` as its rows, to stand behind `IN`.
pub(crate) fn push_texts<DB: Unnest>(query: &mut QueryBuilder<DB>, texts: Vec<String>)
where
    for<'q> TextList: Encode<'q, DB> + Type<DB>,
{
    let [before, after] = DB::UNNEST_TEXTS;
    query.push(before).push_bind(TextList(texts)).push(after);
}

/// Pushes the condition that a row is of one of these queues: broker and queue, with a line break between them, which no name of
/// a broker has.
pub(crate) fn push_queues<DB: Unnest>(query: &mut QueryBuilder<DB>, queues: &[String])
where
    for<'q> TextList: Encode<'q, DB> + Type<DB>,
{
    let [before, after] = DB::QUEUE_AMONG;
    query.push(before).push_bind(TextList(queues.to_vec())).push(after);
}

/// Pushes a subquery that has `ids` as its rows, to stand behind `IN` or `FROM`.
pub(crate) fn push_ids<DB: Unnest>(query: &mut QueryBuilder<DB>, ids: &[LetterId])
where
    for<'q> IdList: Encode<'q, DB> + Type<DB>,
{
    push_uuids(query, ids.iter().map(|id| id.as_uuid()).collect());
}

/// The same for ids of whatever they name.
pub(crate) fn push_uuids<DB: Unnest>(query: &mut QueryBuilder<DB>, ids: Vec<Uuid>)
where
    for<'q> IdList: Encode<'q, DB> + Type<DB>,
{
    let [before, after] = DB::UNNEST;
    query.push(before).push_bind(IdList(ids)).push(after);
}

/// How a database reads thousands of numbers soonest.
pub(crate) trait Numbers: Database {
    /// Pushes the condition that what stands before it is one of them.
    fn push(query: &mut QueryBuilder<Self>, numbers: impl Iterator<Item = i64>);
}

impl Numbers for Sqlite {
    fn push(query: &mut QueryBuilder<Self>, among: impl Iterator<Item = i64>) {
        query.push("IN ").push(numbers(among));
    }
}

impl Numbers for Postgres {
    /// A statement that names each is planned for each.
    fn push(query: &mut QueryBuilder<Self>, among: impl Iterator<Item = i64>) {
        query.push("= ANY(").push_bind(among.collect::<Vec<_>>()).push(")");
    }
}

/// A list of numbers of our own, which may stand in the text: thousands of binds would be slower to no use.
pub(crate) fn numbers(numbers: impl Iterator<Item = i64>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("({})", numbers.join(", "))
}
