//! Databases of any number of sorted letters: ten thousand that dlo itself has stored and enriched, and copies of
//! them from before that, which the database makes.

use std::{env, time::Duration};

use dead_letter_office::{
    domain::{letter::Importance, rule::Rule},
    services::change_feed::ChangeFeed,
};
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use tokio_util::sync::CancellationToken;

use crate::{
    database::{self, TestDatabase},
    letters::{APART, store_letters},
    support::postgres::Postgres,
};

/// Letters that are copied. They fail in all [`GROUPS`].
const ORIGINALS: u32 = 10_000;
const QUEUES: u32 = 40;
/// Ways to fail in each of the [`QUEUES`].
const ERRORS: u32 = 124;
pub const GROUPS: u32 = QUEUES * ERRORS;

/// Fills it with a multiple of [`ORIGINALS`].
pub async fn fill(database: TestDatabase, letters: u32) -> TestDatabase {
    fill_by(database, letters, queue).await
}

/// Whether SQLite and Postgres are measured.
pub fn chosen() -> (bool, bool) {
    match env::var("DLO_TEST_DATABASE").as_deref() {
        Err(_) => (true, true),
        Ok("sqlite") => (true, false),
        Ok("postgres") => (false, true),
        Ok(other) => panic!("DLO_TEST_DATABASE is sqlite or postgres, not {other}"),
    }
}

/// Has databases with few letters and with many compared, of each kind that there is, or of the one that
/// `DLO_TEST_DATABASE` names.
pub async fn few_and_many(
    few: u32,
    many: u32,
    mut compare: impl AsyncFnMut(&'static str, &TestDatabase, &TestDatabase),
) {
    let (on_sqlite, on_postgres) = chosen();
    if on_sqlite {
        let of_few = fill(TestDatabase::sqlite().await, few).await;
        let of_many = fill(TestDatabase::sqlite().await, many).await;
        compare("SQLite", &of_few, &of_many).await;
    }
    if on_postgres && let Some(postgres) = Postgres::durable() {
        let few = fill(TestDatabase::postgres(&postgres).await, few).await;
        let many = fill(TestDatabase::postgres(&postgres).await, many).await;
        compare("Postgres", &few, &many).await;
    }
}

/// The same over so many queues, each with letters of every importance.
pub async fn fill_queues<const QUEUES: u32>(database: TestDatabase, letters: u32) -> TestDatabase {
    fill_by(database, letters, |number| name(number / 4 % QUEUES)).await
}

async fn fill_by(database: TestDatabase, letters: u32, queue: fn(u32) -> String) -> TestDatabase {
    assert!(letters.is_multiple_of(ORIGINALS), "it takes a multiple of {ORIGINALS}");
    store_letters(&database, ORIGINALS, queue, error).await;
    let mut enrichment = database::enrichment(&database, &rules(), ChangeFeed::default()).await;
    while !database.store.not_enriched(1).await.expect("letters").is_empty() {
        enrichment.work(&CancellationToken::new()).await.expect("enriched");
    }
    let copies = i64::from(letters / ORIGINALS) - 1;
    if database.url.starts_with("sqlite:") {
        let mut connection = SqliteConnection::connect(&database.url).await.expect("a connection");
        let tuning = "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000".to_owned();
        let id = "unhex(printf('%012x', (received_at - {step}) / 1000) || substr(hex({id}), 13))";
        let rest = "PRAGMA wal_checkpoint(TRUNCATE)".to_owned();
        for statement in [vec![tuning], copying(copies, id), vec![rest]].concat() {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.expect("copies");
        }
    } else {
        let mut connection = PgConnection::connect(&database.url).await.expect("a connection");
        let id = "CAST(lpad(to_hex((received_at - {step}) / 1000), 12, '0')
            || substr(replace(CAST({id} AS TEXT), '-', ''), 13) AS UUID)";
        // What autovacuum does after a while in a database that was filled slowly.
        let rest = "VACUUM ANALYZE".to_owned();
        for statement in [copying(copies, id), vec![rest]].concat() {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.expect("copies");
        }
    }
    database
}

fn queue(number: u32) -> String {
    name(number / 4 % QUEUES)
}

fn name(queue: u32) -> String {
    format!("service-{queue}.events")
}

/// In which the letters have failed.
pub fn queues() -> impl Iterator<Item = String> {
    (0..QUEUES).map(name)
}

/// Two letters of each queue and importance fail in the next two ways, so that few letters fill all groups.
fn error(number: u32) -> Option<String> {
    Some(format!("StockError{}", (number / (4 * QUEUES) * 2 + number % 2) % ERRORS))
}

/// They leave every letter the importance that it was stored with.
fn rules() -> Vec<Rule> {
    let rule = |(importance, number): (&Importance, u64)| Rule {
        name: importance.to_string(),
        expression: format!("payload.order % {} == {number}", Importance::ALL.len()),
        importance: *importance,
    };
    Importance::ALL.iter().zip(0..).map(rule).collect()
}

/// Has so many letters, spread over all, say otherwise what they failed with, or carry another payload.
pub async fn plant(database: &TestDatabase, number: u32, of: u32, planted: Planted<'_>) {
    let chosen = format!(
        "IN (SELECT id FROM (SELECT id, row_number() OVER (ORDER BY received_at) AS n FROM letters) AS numbered
            WHERE n % {} = 0)",
        of / number
    );
    let bytes = if database.url.starts_with("sqlite:") { "BLOB" } else { "BYTEA" };
    database
        .execute(match planted {
            Planted::Error(message) => format!("UPDATE letters SET error_message = '{message}' WHERE id {chosen}"),
            Planted::Payload(json) => {
                format!("UPDATE contents SET body = CAST('{json}' AS {bytes}) WHERE letter_id {chosen}")
            }
        })
        .await;
}

pub enum Planted<'a> {
    Error(&'a str),
    Payload(&'a str),
}

/// The statements that put so many copies of all letters into the database, one behind the other, the newest just before the
/// originals. `id` is the expression for the id of a copy.
fn copying(copies: i64, id: &str) -> Vec<String> {
    let span = i64::try_from((APART * ORIGINALS).as_micros()).expect("a time");
    assert!(Duration::from_micros(span.unsigned_abs()).as_secs().is_multiple_of(60 * 60), "hours have to fit on hours");
    let mut statements = vec![
        "CREATE TEMPORARY TABLE originals AS SELECT * FROM letters ORDER BY received_at".to_owned(),
        "CREATE TEMPORARY TABLE original_contents AS SELECT c.*, l.received_at FROM contents c
            JOIN letters l ON l.id = c.letter_id ORDER BY l.received_at"
            .to_owned(),
    ];
    for copy in (1..=copies).rev() {
        let step = copy * span;
        let id = id.replace("{step}", &step.to_string());
        let (letter, content) = (id.replace("{id}", "id"), id.replace("{id}", "letter_id"));
        // Every other column is null in letters that have only come in and been sorted.
        statements.push(format!(
            "BEGIN;
            INSERT INTO letters (id, facet_id, received_at, first_received_at, first_failed_at, last_failed_at, exchange,
                routing_key, attempts, importance_by, size, error_type, error_message, named_with, enriched_at, group_id,
                handed_over_at)
            SELECT {letter}, facet_id, received_at - {step}, first_received_at - {step}, first_failed_at - {step},
                last_failed_at - {step}, exchange, routing_key, attempts, importance_by, size, error_type, error_message,
                named_with, enriched_at, group_id, handed_over_at - {step} FROM originals ORDER BY received_at;
            INSERT INTO contents (letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks, body)
            SELECT {content}, exchange, routing_key, properties, headers, earlier_deaths, remarks, body
            FROM original_contents ORDER BY received_at;
            COMMIT"
        ));
    }
    statements.extend(counting(copies, span));
    statements
}

fn hours(each: impl Fn(u8) -> String) -> String {
    (0..24).map(each).collect::<Vec<_>>().join(", ")
}

/// The statements that keep the counts: days are added up from slices, which fit on one another.
fn counting(copies: i64, span: i64) -> Vec<String> {
    let (times, earlier) = (copies + 1, copies * span);
    let steps = format!(
        "WITH RECURSIVE steps (step) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT step + {span} FROM steps
            WHERE step < {earlier})"
    );
    vec![
        format!("UPDATE facets SET count = count * {times}"),
        format!(
            "UPDATE groups SET critical = critical * {times}, high = high * {times}, normal = normal * {times},
                low = low * {times}, first_seen = first_seen - {earlier}"
        ),
        format!(
            "CREATE TEMPORARY TABLE all_hours AS {steps} SELECT group_id, start - step AS start,
                sum(received) AS received FROM group_hours CROSS JOIN steps GROUP BY group_id, start - step"
        ),
        "DELETE FROM group_hours".to_owned(),
        "INSERT INTO group_hours (group_id, start, received, sent, failed_again)
            SELECT group_id, start, received, 0, 0 FROM all_hours"
            .to_owned(),
        format!(
            "CREATE TEMPORARY TABLE all_slices AS {steps} SELECT scope, start - step AS start, sum(count) AS count
            FROM slices CROSS JOIN steps GROUP BY 1, 2"
        ),
        "DELETE FROM slices; DELETE FROM days".to_owned(),
        "INSERT INTO slices (scope, start, count) SELECT scope, start, count FROM all_slices".to_owned(),
        format!(
            "INSERT INTO days (scope, start, count, {}) SELECT scope, start / 86400000000 * 86400000000, sum(count), {}
            FROM all_slices GROUP BY 1, 2",
            hours(|hour| format!("h{hour:02}")),
            hours(|hour| format!("sum(CASE WHEN start / 3600000000 % 24 = {hour} THEN count ELSE 0 END)")),
        ),
    ]
}
