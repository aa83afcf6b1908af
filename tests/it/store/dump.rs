//! All of a database as lines, in another database, and as lines again.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt};

use amqp_message::field::FieldValue;
use dead_letter_office::{
    domain::names,
    store::{DumpError, LEFT_OUT, Recorded, Store, exported_tables},
};
use fastrand::Rng;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    database::TestDatabase,
    make::{Make, an_arrival},
    random_lives,
};
use crate::support::{seed, soak};

async fn exported(store: &Store) -> String {
    let mut lines = Vec::new();
    store.export(&mut lines).await.unwrap();
    String::from_utf8(lines).unwrap()
}

async fn import(store: &Store, lines: &str) -> Result<u64, DumpError> {
    store.import(&mut lines.as_bytes()).await
}

/// Empty databases: one of each kind, and again.
async fn around() -> Vec<TestDatabase> {
    let mut all = vec![TestDatabase::sqlite().await];
    if let Some(postgres) = TestDatabase::postgres().await {
        all.extend([postgres, TestDatabase::sqlite().await]);
    }
    all
}

/// What a letter may consist of. Its names are such as the intake lets through.
async fn take_in_hostile(database: &TestDatabase) {
    let all_bytes: Vec<u8> = (0..=255).collect();
    let texts = ["", "a\0b", "\u{202e}gpj.exe", "\u{1b}[31m\r\n\u{2028}", "💥\u{feff}", "{\"end\":{\"rows\":1}}"];
    for text in texts {
        let arrival = an_arrival().body(all_bytes.clone()).header("x-bytes", FieldValue::LongString(all_bytes.clone()));
        let arrival = arrival.make(|arrival| {
            arrival.message.headers.set("x-text", FieldValue::string(text));
            arrival.message.routing_key = text.to_owned();
            arrival.failure.queue = Some(text.to_owned()).filter(|text| !text.is_empty() && names::is_queue(text));
            arrival.remarks = vec![text.to_owned()];
        });
        database.take_in_new(arrival).await;
    }
}

async fn comes_back_the_same(database: &TestDatabase) {
    random_lives::live(database, 4).await;
    take_in_hostile(database).await;
    let first = exported(database).await;
    for other in around().await {
        let rows = import(&other, &first).await.unwrap();
        assert_eq!(rows + 2, first.lines().count() as u64);
        assert!(exported(&other).await == first, "the lines of {} differ", other.url());
        other.audit().await;
        let recorded = other.take_in([an_arrival()]).await;
        assert!(matches!(recorded[0], Recorded::New(_)), "its numbers go on");
        other.audit().await;
    }
}

async fn is_whole_or_not_at_all(database: &TestDatabase) {
    database.take_in_many(3).await;
    let whole = exported(database).await;
    let n_lines = whole.lines().count();
    let Some(other) = around().await.into_iter().find(|other| other.is_sqlite() == database.is_sqlite()) else {
        return;
    };
    let empty = exported(&other).await;
    let check = async |lines: &str, line: usize, part: &str| {
        let error = import(&other, lines).await.unwrap_err().to_string();
        assert!(error.contains(part) && error.ends_with("Nothing was imported"), "{error}");
        assert!(line == 0 || error.starts_with(&format!("line {line}: ")), "{error}");
        assert_eq!(exported(&other).await, empty);
    };
    let at = |part: &str| 1 + whole.lines().position(|line| line.contains(part)).unwrap();
    let with = |number: usize, line: &str| {
        let lines: Vec<&str> =
            whole.lines().enumerate().map(|(n, old)| if n + 1 == number { line } else { old }).collect();
        lines.join("\n") + "\n"
    };
    let (letter, body) = (at("{\"letters\":"), at("{\"contents\":"));
    let nth = |number: usize| whole.lines().nth(number - 1).unwrap();
    check("", 1, "cut short").await;
    check("{}\n", 1, "no export of dlo").await;
    let older = with(1, "{\"dlo_export\":{\"format\":1,\"database\":3}}");
    check(&older, 1, "import it with the dlo that has exported it").await;
    check(&with(letter, "{\"letters\":"), letter, "no JSON").await;
    check(&with(letter, "7"), letter, "no object").await;
    check(&with(letter, "{\"letter\":{}}"), letter, "no such table").await;
    check(&with(letter, "{\"letters\":{}}"), letter, "constraint").await;
    check(&with(letter, &nth(letter).replace("\"size\":", "\"sizes\":")), letter, "other columns").await;
    check(&with(body, &nth(body).replace("\"body\":\"", "\"body\":\"?")), body, "contents.body takes bytes as base64")
        .await;
    let twice = if database.is_sqlite() { "UNIQUE constraint" } else { "unique constraint" };
    check(&with(letter + 1, nth(letter)), letter + 1, twice).await;
    check(&whole.lines().take(n_lines - 1).map(|line| format!("{line}\n")).collect::<String>(), n_lines, "cut short")
        .await;
    check(&format!("{whole}\n"), n_lines + 1, "nothing comes behind").await;
    check(&with(n_lines, "{\"end\":{\"rows\":7}}"), n_lines, "there should be 7 rows").await;
    let without: String =
        whole.lines().enumerate().filter(|(n, _)| n + 1 != body).map(|(_, line)| format!("{line}\n")).collect();
    let rows = n_lines - 2;
    let without = without.replace(&format!("\"rows\":{rows}"), &format!("\"rows\":{}", rows - 1));
    check(&without, 0, "letters without their message").await;
    let counted = with(at("{\"facets\":"), &nth(at("{\"facets\":")).replace("\"count\":3", "\"count\":4"));
    check(&counted, 0, "counts in facets").await;
    assert_eq!(import(&other, &whole).await.unwrap(), rows as u64);
    let error = import(&other, &whole).await.unwrap_err().to_string();
    assert!(error.contains("takes an empty database") && error.contains("letters"), "{error}");
    assert_eq!(exported(&other).await, whole);
}

/// A new table says in the list whether it goes along.
async fn every_table_is_meant(database: &TestDatabase) {
    let tables = match database.is_sqlite() {
        true => {
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
            AND name NOT LIKE 'search_words_%'"
        }
        false => "SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public'",
    };
    let mut there = database.texts(tables).await;
    there.retain(|name| name != "_sqlx_migrations");
    let meant: Vec<&str> = exported_tables().chain(LEFT_OUT.iter().copied()).collect();
    for table in &there {
        assert!(meant.contains(&table.as_str()), "say in src/store/dump whether {table} is exported");
    }
    assert!(exported_tables().all(|table| there.iter().any(|its| its == table)));
    let mut once = meant.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), meant.len(), "a table is listed twice");
}

/// A column as SQLite has it.
struct Field {
    name: String,
    kind: String,
    is_needed: bool,
    /// No two rows may have the same there, or the same in all of some such columns.
    is_key: bool,
}

async fn fields(database: &TestDatabase, table: &str) -> Vec<Field> {
    let columns = format!(
        "SELECT name || ' ' || type || ' ' || (\"notnull\" OR pk > 0) || ' ' || EXISTS (
            SELECT 1 FROM pragma_index_list('{table}') i, pragma_index_info(i.name) its
            WHERE i.\"unique\" AND its.name = c.name)
        FROM pragma_table_info('{table}') c"
    );
    let read = |column: String| {
        let [name, kind, needed, key] = column.split(' ').collect::<Vec<_>>()[..] else { panic!("{column}") };
        Field { name: name.to_owned(), kind: kind.to_owned(), is_needed: needed == "1", is_key: key == "1" }
    };
    database.texts(&columns).await.into_iter().map(read).collect()
}

impl Field {
    /// What it may have in the `n`th row, and that not every way there and back would leave as it is.
    fn hostile(&self, rng: &mut Rng, n: usize) -> Value {
        const BYTES: [&str; 4] = ["body", "entries", "descriptors", "hash"];
        const COUNTS: [&str; 4] = ["critical", "high", "normal", "low"];
        const NUMBERS: [i64; 3] = [i64::MIN, i64::MAX, 0];
        let texts =
            ["", "ö \"c\"\\", "\u{1}\r\n\t", "a,b;NULL", "💥\u{2028}\u{feff}", "e\u{301}", "Z", "a", "true", "0"];
        match &*self.kind {
            "BOOLEAN" => rng.bool().into(),
            "REAL" => json!([rng.f64(), 0.0, 1e300, 5e-324, f64::MAX][rng.usize(0..5)]),
            "TEXT" if self.is_key => format!("{}{n}", texts[rng.usize(0..texts.len())]).into(),
            "TEXT" => texts[rng.usize(0..texts.len())].into(),
            "BLOB" if BYTES.contains(&&*self.name) => {
                ["", "AA==", "AP8=", "cm93cw=="][if self.is_key { n } else { rng.usize(0..4) }].into()
            }
            "BLOB" => Uuid::from_u128(rng.u128(..)).to_string().into(),
            // Numbers that the database gives itself.
            "INTEGER" => (n as i64 + rng.i64(1..i64::MAX / 8) * 4).into(),
            // Counts of a group, or of the hours of a day, which the database adds to one another.
            _ if COUNTS.contains(&&*self.name) || is_hour(&self.name) => rng.i64(0..1 << 60).into(),
            _ if self.is_key => NUMBERS[n].into(),
            _ => [i64::MIN, i64::MAX, 0, rng.i64(..)][rng.usize(0..4)].into(),
        }
    }
}

fn is_hour(column: &str) -> bool {
    column.strip_prefix('h').is_some_and(|hour| hour.len() == 2 && hour.parse::<u8>().is_ok())
}

/// The `n`th of at most three rows of a table.
async fn hostile_row(rng: &mut Rng, database: &TestDatabase, table: &str, n: usize) -> Map<String, Value> {
    let mut row = Map::new();
    for field in fields(database, table).await {
        if field.is_needed || rng.bool() {
            let value = field.hostile(rng, n);
            row.insert(field.name, value);
        }
    }
    row
}

/// Three rows of every table, each of which only refers to what is there.
async fn hostile_lines(rng: &mut Rng, database: &TestDatabase) -> String {
    let head = exported(database).await.lines().next().unwrap().to_owned();
    let mut lines = vec![head];
    let (mut users, mut letters) = (Vec::new(), Vec::new());
    for table in exported_tables() {
        for n in 0..3 {
            let mut row = hostile_row(rng, database, table, n).await;
            match table {
                "users" => users.push(row["id"].clone()),
                "api_tokens" if row.contains_key("owner") => _ = row.insert("owner".to_owned(), users[n].clone()),
                "facets" => row.extend([("id".to_owned(), n.into()), ("count".to_owned(), 1.into())]),
                "letters" => {
                    row.insert("facet_id".to_owned(), n.into());
                    letters.push(row["id"].clone());
                }
                "contents" => _ = row.insert("letter_id".to_owned(), letters[n].clone()),
                _ => {}
            }
            lines.push(json!({ table: row }).to_string());
        }
    }
    lines.push(json!({ "end": { "rows": lines.len() - 1 } }).to_string());
    lines.join("\n") + "\n"
}

/// Whatever stands in whichever column of whichever table.
#[tokio::test]
async fn any_value_comes_back() {
    let seed = seed(1);
    println!("DLO_TEST_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    for _ in 0..soak(2, 50) {
        let databases = around().await;
        let lines = hostile_lines(&mut rng, &databases[0]).await;
        import(&databases[0], &lines).await.unwrap();
        let first = exported(&databases[0]).await;
        assert_eq!(sorted(&first), sorted(&lines));
        for other in &databases[1..] {
            import(other, &first).await.unwrap();
            assert!(exported(other).await == first, "the lines of {} differ", other.url());
        }
        for database in databases {
            database.tamper("SELECT 1").await;
        }
    }
}

fn sorted(lines: &str) -> Vec<Value> {
    let mut lines: Vec<Value> = lines.lines().map(|line| sorted_keys(&serde_json::from_str(line).unwrap())).collect();
    lines.sort_by_key(Value::to_string);
    lines
}

fn sorted_keys(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let sorted: BTreeMap<_, _> = fields.iter().map(|(name, value)| (name.clone(), sorted_keys(value))).collect();
    json!(sorted)
}

async fn a_file_gets_its_name_when_it_is_whole(database: &TestDatabase) {
    database.take_in_many(2).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("dlo.ndjson");
    database.export_to(&file).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), exported(database).await);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let error = database.export_to(&file).await.unwrap_err().to_string();
    assert!(error.contains("is there already"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// Two at once, of cron and of somebody, would be one file of both.
async fn a_file_that_another_writes_is_left_alone(database: &TestDatabase) {
    let directory = tempfile::tempdir().unwrap();
    let (file, partial) = (directory.path().join("dlo.ndjson"), directory.path().join("dlo.ndjson.partial"));
    fs::write(&partial, "half of it").unwrap();
    let other = fs::File::open(&partial).unwrap();
    other.try_lock().unwrap();
    let error = database.export_to(&file).await.unwrap_err().to_string();
    assert!(error.contains("is being written by another dlo"), "{error}");
    assert_eq!(fs::read_to_string(&partial).unwrap(), "half of it");
    // It has ended, and left that.
    drop(other);
    database.export_to(&file).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), exported(database).await);
    assert!(!partial.exists());
}

on_both!(
    comes_back_the_same,
    is_whole_or_not_at_all,
    every_table_is_meant,
    a_file_gets_its_name_when_it_is_whole,
    a_file_that_another_writes_is_left_alone,
);
