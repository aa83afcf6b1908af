//! Messages that a database does not take as they come, among others that it does: none holds up another.

use std::{collections::HashSet, time::Duration};

use dead_letter_office::{
    clock::Clock,
    config::DecodeConfig,
    domain::{
        command::Command,
        letter::{LetterId, LetterSummary, Status},
    },
    services::{
        audited_store::AuditedStore,
        change_feed::ChangeFeed,
        decoding::reader::Reader,
        enrichment::{Enrichment, SoFar},
        group_splits::GroupSplits,
        grouping_rules::GroupingRules,
        health::WorkerReport,
        rules::Rules,
        schemas::Schemas,
        wakeup::Wakeup,
        worker,
    },
};
use fastrand::Rng;
use lapin::{
    BasicProperties,
    types::{AMQPValue, FieldArray, FieldTable, LongString},
};
use sqlx::{Connection, Executor, PgConnection, SqliteConnection};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    desk::{AppState, MAIN, PATIENCE, TestDatabase, broker},
    service::{OBITUARIES, Service, confirming_channel, publish, publish_all},
};
use crate::support::{process::wait_until, rabbit::Rabbit, seed, soak};

/// Headers that something is read from.
const HEADERS: [&str; 24] = [
    "dlo-queue",
    "dlo-reason",
    "dlo-id",
    "dlo-attempts",
    "dlo-error",
    "x-death",
    "x-first-death-queue",
    "x-first-death-exchange",
    "x-first-death-reason",
    "x-last-death-queue",
    "x-exception-message",
    "x-exception-stacktrace",
    "x-original-exchange",
    "x-original-routingKey",
    "cloudEvents:type",
    "ce-type",
    "MT-Fault-Message",
    "MT-Fault-ExceptionType",
    "MT-Reason",
    "NServiceBus.ExceptionInfo.Message",
    "rbs2-error-details",
    "rbs2-content-encoding",
    "task",
    "retries",
];

/// What is put where a word is expected.
fn text(rng: &mut Rng) -> String {
    let long = |rng: &mut Rng, n: usize| (0..n).map(|_| rng.alphanumeric()).collect::<String>();
    match rng.u8(0..9) {
        0 => String::new(),
        1 => "a\0b".to_owned(),
        2 => "\u{202e}gpj.exe\u{2066}\u{feff}".to_owned(),
        3 => long(rng, 255),
        4 => long(rng, 256),
        5 => long(rng, 2_700),
        6 => long(rng, 8_000),
        7 => "\u{1b}[31m\r\n<script>alert(1)</script>".to_owned(),
        _ => "💥".repeat(200),
    }
}

fn value(rng: &mut Rng, depth: u32) -> AMQPValue {
    match rng.u8(0..9) {
        0 => AMQPValue::LongString(LongString::from((0..300).map(|_| rng.u8(..)).collect::<Vec<u8>>())),
        1 => AMQPValue::LongLongInt(rng.i64(..)),
        2 => AMQPValue::Timestamp(rng.u64(..)),
        // RabbitMQ ends the connection of whoever sends it a NaN or an infinity.
        3 => AMQPValue::Double(Some(f64::from_bits(rng.u64(..))).filter(|it| it.is_finite()).unwrap_or(f64::MAX)),
        4 => AMQPValue::Void,
        5 if depth < 8 => AMQPValue::FieldArray(FieldArray::from(vec![value(rng, depth + 1), value(rng, depth + 1)])),
        6 if depth < 8 => AMQPValue::FieldTable(table(rng, depth + 1)),
        _ => AMQPValue::LongString(text(rng).into()),
    }
}

fn table(rng: &mut Rng, depth: u32) -> FieldTable {
    let mut table = FieldTable::default();
    for _ in 0..rng.u8(0..4) {
        let name = ["queue", "reason", "exchange", "routing-keys", "count", "time"][rng.usize(0..6)];
        table.insert(name.into(), value(rng, depth));
    }
    table
}

/// At most as long as AMQP lets a property be.
fn short(rng: &mut Rng) -> String {
    let text = text(rng);
    text.get(..text.floor_char_boundary(255)).unwrap_or_default().to_owned()
}

fn hostile(rng: &mut Rng) -> (BasicProperties, Vec<u8>) {
    let mut headers = FieldTable::default();
    for _ in 0..rng.u8(0..8) {
        headers.insert(HEADERS[rng.usize(0..HEADERS.len())].into(), value(rng, 0));
    }
    if rng.bool() {
        headers.insert("dlo-queue".into(), AMQPValue::LongString(text(rng).into()));
    }
    let properties = BasicProperties::default()
        .with_headers(headers)
        .with_type(short(rng).into())
        .with_content_type(short(rng).into())
        .with_content_encoding(short(rng).into())
        .with_message_id(short(rng).into())
        .with_app_id(short(rng).into())
        .with_correlation_id(short(rng).into())
        .with_timestamp(rng.u64(..))
        .with_priority(rng.u8(..));
    let event =
        serde_json::json!({"specversion": "1.0", "id": "1", "source": "/", "type": text(rng), "data": text(rng)});
    let body = match rng.u8(0..5) {
        0 => Vec::new(),
        1 => event.to_string().into_bytes(),
        2 => "[".repeat(20_000).into_bytes(),
        3 => vec![0; soak(100_000, 16 << 20)],
        _ => (0..3_000).map(|_| rng.u8(..)).collect(),
    };
    (properties, body)
}

fn good(n: usize) -> (BasicProperties, Vec<u8>) {
    let mut headers = FieldTable::default();
    for (name, value) in [("dlo-queue", "orders"), ("dlo-reason", "rejected"), ("x-exception-message", "no rate")] {
        headers.insert(name.into(), AMQPValue::LongString(value.into()));
    }
    (BasicProperties::default().with_headers(headers), format!("good {n}").into_bytes())
}

/// A server that enriches what it takes in.
async fn open(database: &TestDatabase, url: String) -> (AppState, JoinSet<()>) {
    let server = AppState::open(database, broker(url)).await;
    let (feed, mut workers) = (ChangeFeed::default(), JoinSet::new());
    let changes = AuditedStore::new(server.store.clone(), server.clock.clone(), feed.clone(), Wakeup::default());
    let schemas = Schemas::new(changes.clone(), server.clock.clone());
    let reader = Reader::new(schemas.clone(), DecodeConfig::default());
    let enrichment = Enrichment {
        store: server.store.clone(),
        reader: reader.clone(),
        schemas,
        rules: Rules::new(None, changes.clone(), server.clock.clone()),
        grouping_rules: GroupingRules::new(changes.clone(), server.clock.clone()),
        group_splits: GroupSplits::new(changes, reader, server.clock.clone()),
        clock: server.clock.clone(),
        metrics: server.metrics.clone(),
        feed,
        so_far: SoFar::default(),
    };
    workers.spawn(worker::run(enrichment, CancellationToken::new(), WorkerReport::default()));
    (server, workers)
}

async fn await_enriched(server: &AppState) {
    let is_enriched = async || server.store.not_enriched(1).await.unwrap().is_empty();
    wait_until("all letters to be enriched", PATIENCE, is_enriched).await;
}

fn ids<'a>(letters: impl IntoIterator<Item = &'a LetterSummary>) -> Vec<LetterId> {
    letters.into_iter().map(|letter| letter.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_holds_up_another() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let seed = seed(1);
    println!("DLO_TEST_SEED={seed}");
    for database in TestDatabase::both() {
        let (vhost, mut rng) = (rabbit.vhost(), Rng::with_seed(seed));
        let (server, _enrichment) = open(&database, vhost.amqp_url()).await;
        let orders = Service::start(&vhost, "orders").await;
        let (channel, messages) = (confirming_channel(&vhost).await, soak(150, 3_000));
        let mixed = (0..messages).map(|n| if n % 3 == 0 { hostile(&mut rng) } else { good(n) });
        publish_all(&channel, OBITUARIES, mixed).await;
        let letters = server.await_letters(messages as u64).await;
        await_enriched(&server).await;

        let letters_now = server.letters().await;
        let is_good = |letter: &&LetterSummary| {
            letter.error_message.as_deref() == Some("no rate")
                && letter.queue.as_deref() == Some("orders")
                && letter.size < 20
        };
        let good: Vec<_> = letters_now.iter().filter(is_good).collect();
        assert_eq!(good.len(), messages * 2 / 3);
        assert_eq!(good.iter().map(|letter| letter.group).collect::<HashSet<_>>().len(), 1, "they are one group");
        assert!(good[0].group.is_some());
        server.retry(&ids(good.iter().copied())).await;
        assert_eq!(orders.work_on(good.len()).await.len(), good.len());

        let good: HashSet<LetterId> = ids(good.iter().copied()).into_iter().collect();
        for letter in letters.iter().filter(|letter| !good.contains(&letter.id)) {
            server.letter(letter.id).await;
            assert_eq!(server.act(letter.id, Command::Discard { note: None }).await.refused, []);
        }
        server.await_count(Status::Discarded, messages as u64 / 3).await;
        server.close().await;
    }
}

/// Has the database refuse what has a certain text in a column, as if for a reason that nobody has thought of.
async fn refuse(database: &TestDatabase, table: &str, when: &str, column: &str, value: &str) {
    let row = if when == "DELETE" { "OLD" } else { "NEW" };
    if database.url.starts_with("sqlite:") {
        let trigger = format!(
            "CREATE TRIGGER refused_{table} BEFORE {when} ON {table} WHEN {row}.{column} = '{value}'
            BEGIN SELECT RAISE(ABORT, 'refused for the test'); END"
        );
        SqliteConnection::connect(&database.url).await.unwrap().execute(sqlx::AssertSqlSafe(trigger)).await.unwrap();
        return;
    }
    let trigger = format!(
        "CREATE FUNCTION refused_{table}() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'refused for the test'; END $$;
        CREATE TRIGGER refused_{table} BEFORE {when} ON {table} FOR EACH ROW
            WHEN ({row}.{column} = '{value}') EXECUTE FUNCTION refused_{table}()"
    );
    database.spoil();
    PgConnection::connect(&database.url).await.unwrap().execute(sqlx::AssertSqlSafe(trigger)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_database_refuses_is_stored_as_plain_as_can_be() {
    const MESSAGES: usize = 100;
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let vhost = rabbit.vhost();
        let (server, _enrichment) = open(&database, vhost.amqp_url()).await;
        refuse(&database, "letters", "INSERT", "error_message", "refused").await;
        refuse(&database, "groups", "INSERT", "error", "not enriched").await;
        let channel = confirming_channel(&vhost).await;
        let mixed = (0..MESSAGES).map(|n| match n {
            17 | 60 => with_error("refused"),
            40 => with_error("not enriched"),
            _ => good(n),
        });
        publish_all(&channel, OBITUARIES, mixed).await;
        server.await_letters(MESSAGES as u64).await;
        await_enriched(&server).await;
        let letters = server.letters().await;
        let plain: Vec<_> = letters.iter().filter(|letter| letter.queue.is_none()).collect();
        assert_eq!(plain.len(), 2, "the messages that are refused are letters all the same");
        for letter in plain {
            let letter = server.letter(letter.id).await;
            assert!(letter.remarks[0].contains("refused for the test"), "{:?}", letter.remarks);
            assert_eq!(letter.message.body, b"body");
        }
        let not_enriched =
            letters.iter().find(|letter| letter.error_message.as_deref() == Some("not enriched")).unwrap();
        let history = server.history(not_enriched.id).await;
        assert!(history.iter().any(|entry| entry.detail.contains("refused for the test")), "{history:?}");
        assert_eq!(letters.iter().filter(|letter| letter.group.is_none()).count(), 0, "all have a group");
        server.close().await;
    }
}

fn with_error(message: &str) -> (BasicProperties, Vec<u8>) {
    let mut headers = FieldTable::default();
    for (name, value) in [("dlo-queue", "orders"), ("dlo-reason", "rejected"), ("x-exception-message", message)] {
        headers.insert(name.into(), AMQPValue::LongString(value.into()));
    }
    (BasicProperties::default().with_headers(headers), b"body".to_vec())
}

/// In microseconds; 0 where nobody has claimed it.
async fn claimed_until(database: &TestDatabase, queue: &str) -> i64 {
    const UNTIL: &str = "SELECT coalesce(claimed_until, 0) FROM retries WHERE queue = $1";
    if database.url.starts_with("sqlite:") {
        let mut connection = SqliteConnection::connect(&database.url).await.unwrap();
        return sqlx::query_scalar(UNTIL).bind(queue).fetch_one(&mut connection).await.unwrap();
    }
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    sqlx::query_scalar(UNTIL).bind(queue).fetch_one(&mut connection).await.unwrap()
}

/// The other retries are marked, and the one is not sent again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_that_cannot_be_marked_goes_once() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for database in TestDatabase::both() {
        let vhost = rabbit.vhost();
        let clock = Clock::manual(Clock::system().now());
        let server = AppState::begin(&database.url, clock, [(MAIN, broker(vhost.amqp_url()))]).await;
        server.await_work().await;
        let (orders, unmarked) = (Service::start(&vhost, "orders").await, Service::start(&vhost, "unmarked").await);
        refuse(&database, "retries", "DELETE", "queue", "unmarked").await;
        let channel = confirming_channel(&vhost).await;
        publish_all(&channel, OBITUARIES, (0..20).map(good)).await;
        let letters = ids(&server.await_letters(20).await);
        server.schedule("unmarked", &letters[..1], Duration::ZERO).await;
        server.retry(&letters[1..]).await;
        assert_eq!(orders.work_on(19).await.len(), 19);
        server.await_count(Status::Retried, 19).await;
        unmarked.work().await;
        // Longer than a claim.
        let long = server.clock.now().plus(Duration::from_secs(60 * 60)).as_micros();
        wait_until("it to be held", PATIENCE, async || claimed_until(&database, "unmarked").await > long).await;
        server.advance(Duration::from_secs(10 * 60));
        let (properties, body) = good(20);
        publish(&channel, OBITUARIES, properties, &body).await;
        let after = ids(&server.await_letters(21).await).into_iter().find(|id| !letters.contains(id)).unwrap();
        server.retry(&[after]).await;
        server.await_status(after, Status::Retried).await;
        assert_eq!(vhost.depth("unmarked").await, 0);
        server.close().await;
    }
}
