//! The log: what is in it, and what must never be.

use serde_json::{Value, json};

use super::super::{
    run::{Running, serve},
    schemas::fixture,
    service::Service,
};
use crate::support::rabbit::{Rabbit, Vhost};

const PASSWORD: &str = "correct-horse-battery";
const SECRET: &str = "4111-1111-1111-1111";

/// A user of that virtual host whose password can be told from anything else.
async fn with_a_password(vhost: &Vhost) -> String {
    let user = vhost.name().replace('/', "-");
    let (credentials, all) =
        (json!({"password": PASSWORD, "tags": ""}), json!({"configure": ".*", "write": ".*", "read": ".*"}));
    vhost.manage(reqwest::Method::PUT, &["users", &user], Some(&credentials)).await;
    vhost.manage(reqwest::Method::PUT, &["permissions", vhost.name(), &user], Some(&all)).await;
    vhost.amqp_url().replace("guest:guest@", &format!("{user}:{PASSWORD}@"))
}

/// Has a message with a secret fail, be retried, fail to be retried, and be discarded with a note.
async fn a_day_at_work(server: &Running, vhost: &Vhost) {
    let orders = Service::start(vhost, "orders").await;
    orders.fail(&json!({"card": SECRET}).to_string()).await;
    let letter = server.await_letters("status=open", 1).await;
    let path = format!("/api/v1/letters/{}", letter["id"].as_str().unwrap());
    server.post(&format!("{path}/retry"), &json!({})).await;
    orders.work().await;
    server.await_letters("status=retried", 1).await;
    orders.fail(SECRET).await;
    let letter = server.await_letters("status=open", 1).await;
    let path = format!("/api/v1/letters/{}", letter["id"].as_str().unwrap());
    server.post(&format!("{path}/retry"), &json!({"queue": "nowhere"})).await;
    server.await_problem("queue=orders").await;
    server.post(&format!("{path}/discard"), &json!({"note": SECRET})).await;
    server.await_letters("status=discarded", 1).await;
    let again = server.post(&format!("{path}/discard"), &json!({})).await;
    assert_eq!(again.status(), 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_any_level_it_holds_no_contents_and_no_passwords() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for filter in ["info", "trace"] {
        let vhost = rabbit.vhost();
        let url = with_a_password(&vhost).await;
        let program = serve().set("DLO_BROKERS__MAIN__URL", &url).set("DLO_LOG__FORMAT", "json");
        // Every statement counts as slow.
        let program = program.set("DLO_DATABASE__SLOW_STATEMENT", "0s");
        let mut server = program.set("DLO_LOG__FILTER", &format!("dead_letter_office={filter},warn")).open().await;
        server.await_ready().await;
        a_day_at_work(&server, &vhost).await;
        server.stop().await;
        let lines = server.lines();
        for line in &lines {
            let said: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            assert!(said["timestamp"].is_string() && said["level"].is_string(), "{line}");
            assert!(said["fields"]["message"].is_string(), "{line}");
            assert!(!line.contains(SECRET) && !line.contains(PASSWORD), "{line}");
        }
        assert!(lines.iter().any(|line| line.contains("a change was made")), "{lines:?}");
        let is_statement = |line: &String| line.contains("slow statement") && line.contains("INSERT INTO contents");
        assert!(lines.iter().any(is_statement), "statements are in the log");
        let refused = |line: &&String| line.contains("\"letters\":0,\"refused\":1");
        let refused = lines.iter().find(refused).expect("the second discard is in the log");
        assert!(refused.contains("a change was refused"), "{refused}");
        let user = vhost.name().replace('/', "-");
        vhost.manage(reqwest::Method::DELETE, &["users", &user], None).await;
    }
}

#[tokio::test]
async fn what_happens_to_a_schema_is_logged_with_its_name() {
    let program = serve().set("DLO_BROKERS__MAIN__URL", "amqp://127.0.0.1:1/%2f");
    let mut server = program.with("--roles=web").open().await;
    let client = crate::support::http().build().unwrap();
    let schemas = format!("{}/api/v1/schemas", server.url);
    let upload = client.post(format!("{schemas}?name=orders")).body(fixture("small.binpb"));
    let upload = upload.header("content-type", "application/octet-stream");
    let schema: Value = upload.send().await.unwrap().json().await.unwrap();
    let remove = client.delete(format!("{schemas}/{}", schema["id"].as_str().expect("an id")));
    assert_eq!(remove.send().await.unwrap().status(), 204);
    server.stop().await;
    for action in ["upload", "remove"] {
        let line = format!("area=schemas action=\"{action}\" subject=\"orders\"");
        assert!(server.lines().iter().any(|said| said.contains(&line)), "{line}: {:?}", server.lines());
    }
}

#[tokio::test]
async fn a_broker_that_is_not_there_is_named_without_its_password() {
    let url = format!("amqp://someone:{PASSWORD}@127.0.0.1:1/%2f");
    let server = serve().set("DLO_BROKERS__MAIN__URL", &url).set("DLO_LOG__FILTER", "debug").open().await;
    server.says("refused").await;
    let page = server.get("/").await.text().await.unwrap();
    for text in [server.lines().join("\n"), page] {
        assert!(text.contains("127.0.0.1:1") && !text.contains(PASSWORD), "{text}");
    }
}
