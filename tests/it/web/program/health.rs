//! What a server says of itself while something around it is down, and that it says no more of it afterwards.

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};

use super::super::{
    run::{PATIENCE, Program, Running, dlo, serve},
    service::Service,
};
use crate::support::{
    http,
    postgres::Postgres,
    process::wait_until,
    rabbit::{Rabbit, Vhost},
};

/// Needs no broker.
const ONLY_WEB: &str = "--roles=web";

/// Of nothing that there is.
const ID: &str = "019ab0f4-0000-7000-8000-000000000000";

/// Waits until `/readyz` answers with that code, and names that condition or none.
#[track_caller]
fn awaits<'a>(server: &'a Running, code: u16, condition: &str) -> impl Future<Output = String> + use<'a> {
    let (condition, at) = (condition.to_owned(), std::panic::Location::caller());
    async move {
        let mut text = String::new();
        wait_until(&format!("{code} {condition} ({at})"), PATIENCE, async || {
            let answer = server.get("/readyz").await;
            let is_so = answer.status() == code;
            text = answer.text().await.unwrap();
            let conditions = text.split_once("\"conditions\":").unwrap().1;
            is_so && if condition.is_empty() { conditions == "[]}" } else { conditions.contains(&condition) }
        })
        .await;
        text
    }
}

/// What is wrong is on the banner and in the metrics, and the process is alive.
async fn check_told(server: &Running, condition: &str, title: &str) {
    assert!(server.get("/banner").await.text().await.unwrap().contains(title));
    assert_eq!(server.get("/healthz").await.status(), 200);
    let metric = format!("dlo_condition{{condition=\"{condition}\"}} 1");
    assert!(server.get("/metrics").await.text().await.unwrap().contains(&metric));
    server.says(title).await;
}

/// It is refused until it is worth another try.
#[track_caller]
fn check_waits(answer: &reqwest::Response) {
    let (path, header) = (answer.url().path(), |name| answer.headers().get(name).map(|value| value.to_str().unwrap()));
    assert_eq!(answer.status(), 503, "{path}");
    assert_eq!(header("content-type"), Some("application/problem+json"), "{path}");
    assert!(header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok_and(|it| it > 0)), "{path}");
}

/// The first call after the database went away, while nobody knows that it did.
async fn check_first_call_waits(server: &Running) {
    check_waits(&server.get("/api/v1/policies").await);
    check_waits(&server.post(&format!("/api/v1/letters/{ID}/discard"), &json!({})).await);
}

/// Every call that is described is refused, while probes and numbers are answered.
async fn check_all_calls_wait(server: &Running) {
    let description = server.json("/api/openapi.json").await;
    let mut n_calls = 0;
    for (path, calls) in description["paths"].as_object().unwrap() {
        let path = path.replace("{id}", ID);
        for method in calls.as_object().unwrap().keys().filter(|name| *name != "parameters") {
            check_waits(&server.call(method.to_uppercase().parse().unwrap(), &path, &json!({})).await);
            n_calls += 1;
        }
    }
    assert!(n_calls > 40, "{n_calls} calls");
    for path in ["/metrics", "/healthz"] {
        assert_eq!(server.get(path).await.status(), 200, "{path}");
    }
}

fn client() -> reqwest::Client {
    http().timeout(PATIENCE).build().unwrap()
}

async fn execute(url: &str, statement: &str) {
    let statement = AssertSqlSafe(statement.to_owned());
    if url.starts_with("sqlite:") {
        SqliteConnection::connect(url).await.unwrap().execute(statement).await.unwrap();
    } else {
        PgConnection::connect(url).await.unwrap().execute(statement).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_stops_or_hangs_is_told_and_is_over_when_it_is_back() {
    let Some(mut postgres) = Postgres::doomed() else { return };
    let server = serve().with(ONLY_WEB).set("DLO_DATABASE__URL", &postgres.database_url()).open().await;
    awaits(&server, 200, "").await;
    let signs_in = serve().with(ONLY_WEB).set("DLO_DATABASE__URL", &postgres.database_url());
    let signs_in = signs_in.set("DLO_AUTH__MODE", "password").open().await;

    postgres.stop();
    check_first_call_waits(&server).await;
    assert_eq!(server.get("/readyz").await.status(), 503, "the first call that fails says so");
    awaits(&server, 503, "database_unreachable").await;
    check_all_calls_wait(&server).await;
    check_told(&server, "database_unreachable", "The database does not answer").await;
    let page = server.get("/letters").await;
    assert_eq!(page.status(), 503);
    assert!(page.text().await.unwrap().contains("health-item is-unready"), "also the page of an error says it");
    postgres.start();
    awaits(&server, 200, "").await;
    assert_eq!(server.get("/letters").await.status(), 200);

    awaits(&signs_in, 200, "").await;

    postgres.freeze();
    // Nothing that is asked of the database is answered now, nor who it is that sends a body.
    let call = client().post(format!("{}/api/v1/letters/{ID}/discard", signs_in.url)).bearer_auth("dlo_x");
    check_waits(&call.json(&json!({})).send().await.unwrap());
    check_first_call_waits(&server).await;
    awaits(&server, 503, "database_unreachable").await;
    check_all_calls_wait(&server).await;
    assert!(server.get("/banner").await.text().await.unwrap().contains("The database does not answer"));
    postgres.thaw();
    awaits(&server, 200, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_became_read_only_is_told_and_is_over_when_it_can_be_written() {
    let (Some(rabbit), Some(postgres)) = (Rabbit::shared(), Postgres::shared()) else { return };
    let (vhost, database) = (rabbit.vhost(), postgres.database());
    let name = database.url.rsplit('/').next().unwrap();
    let server = with_broker(&vhost).set("DLO_DATABASE__URL", &database.url).open().await;
    awaits(&server, 200, "").await;
    let orders = Service::start(&vhost, "orders").await;

    execute(&database.url, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
    cut(&database.url).await;
    orders.fail("{}").await;
    let told = awaits(&server, 503, "database_read_only").await;
    assert!(told.contains("read-only transaction"), "{told}");
    check_told(&server, "database_read_only", "The database is read-only").await;
    awaits(&server, 503, "intake_held").await;
    // Its connections stay, and are as read-only as when they were made.
    let writable = format!("{}?options=-cdefault_transaction_read_only=off", database.url);
    execute(&writable, &format!("ALTER DATABASE {name} RESET default_transaction_read_only")).await;
    awaits(&server, 200, "").await;
    server.await_letters("queue=orders", 1).await;
}

/// As a failover does.
async fn cut(url: &str) {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    execute(url, cut).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_stops_is_told_and_is_over_when_it_is_back() {
    let Some(mut rabbit) = Rabbit::doomed().await else { return };
    let vhost = rabbit.vhost();
    let server = with_broker(&vhost).open().await;
    awaits(&server, 200, "").await;
    rabbit.stop().await;
    awaits(&server, 503, "broker_unreachable").await;
    check_told(&server, "broker_unreachable", "No connection to broker main").await;
    rabbit.start().await;
    awaits(&server, 200, "").await;
}

fn with_broker(vhost: &Vhost) -> Program {
    dlo(&["serve"])
        .set("DLO_WEB__LISTEN", "127.0.0.1:0")
        .set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url())
        .set("DLO_RETRY__DELAYS", "")
}

/// Has the database refuse what is done to a table; [`Refusal::lift`] ends it.
struct Refusal<'a> {
    url: &'a str,
    table: &'a str,
}

impl<'a> Refusal<'a> {
    async fn of(url: &'a str, when: &str, table: &'a str) -> Self {
        if url.starts_with("sqlite:") {
            execute(
                url,
                &format!(
                    "CREATE TRIGGER refused_{table} BEFORE {when} ON {table}
                    BEGIN SELECT RAISE(ABORT, 'refused for the test'); END"
                ),
            )
            .await;
        } else {
            execute(
                url,
                &format!(
                    "CREATE FUNCTION refuse_{table}() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN RAISE EXCEPTION 'refused for the test'; END $$;
                    CREATE TRIGGER refused_{table} BEFORE {when} ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_{table}()"
                ),
            )
            .await;
        }
        Self { url, table }
    }

    async fn lift(self) {
        let table = self.table;
        let drop = match self.url.starts_with("sqlite:") {
            true => format!("DROP TRIGGER refused_{table}"),
            false => format!("DROP FUNCTION refuse_{table} CASCADE"),
        };
        execute(self.url, &drop).await;
    }
}

/// A trigger that refuses all messages, one that refuses what enrichment writes, and one that refuses everything.
async fn check_refusals(database: Option<&str>) {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let program = with_broker(&vhost);
    let program = match database {
        Some(url) => program.set("DLO_DATABASE__URL", url),
        None => program,
    };
    let server = program.open().await;
    let file = format!("sqlite://{}", server.file("dlo.db").display());
    let url = database.unwrap_or(&file);
    awaits(&server, 200, "").await;
    let orders = Service::start(&vhost, "orders").await;

    let refusal = Refusal::of(url, "INSERT", "letters").await;
    orders.fail("{}").await;
    let told = awaits(&server, 503, "intake_held").await;
    assert!(told.contains("refused for the test"), "{told}");
    check_told(&server, "intake_held", "Messages from broker main are held and not stored").await;
    refusal.lift().await;
    // It may be stored plainly, without its queue.
    server.await_letters("status=open", 1).await;
    awaits(&server, 200, "").await;

    let refusal = Refusal::of(url, "UPDATE", "letters").await;
    orders.fail("{\"n\": 2}").await;
    let told = awaits(&server, 200, "worker_failing").await;
    assert!(told.contains("\"status\":\"degraded\"") && told.contains("enrichment"), "{told}");
    check_told(&server, "worker_failing", "Background work fails: enrichment").await;
    refusal.lift().await;
    awaits(&server, 200, "").await;

    let refusal = Refusal::of(url, "INSERT", "jobs").await;
    awaits(&server, 503, "database_refuses").await;
    refusal.lift().await;
    awaits(&server, 200, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sqlite_that_refuses_rows_is_told_until_it_takes_them() {
    check_refusals(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_refuses_rows_is_told_until_it_takes_them() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database();
    check_refusals(Some(&database.url)).await;
}

/// Where they have a port of their own they are all there is, whoever asks.
#[tokio::test]
async fn probes_and_metrics_may_have_a_port_of_their_own() {
    const SAID: &str = "probes and metrics on ";
    let program = serve().with("--roles=web").set("DLO_AUTH__MODE", "password");
    let server = program.set("DLO_WEB__PROBES_LISTEN", "127.0.0.1:0").open().await;
    let line = server.line(SAID).await;
    let address = line.split_once(SAID).unwrap().1.split_whitespace().next().unwrap();
    let client = client();
    let ask = async |path: &str| client.get(format!("{address}{path}")).header("host", "dlo.svc").send().await.unwrap();
    for path in ["/metrics", "/healthz"] {
        assert_eq!(ask(path).await.status(), 200, "{path}");
    }
    for path in ["/", "/letters", "/api/v1/letters", "/events"] {
        assert_eq!(ask(path).await.status(), 404, "{path}");
    }
    assert_eq!(server.get("/metrics").await.status(), 401, "on the other port it is as before");
}
