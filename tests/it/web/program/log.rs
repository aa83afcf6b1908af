//! The log: what is in it, and what must never be.

use serde_json::{Value, json};

use super::super::{
    run::{Running, serve},
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
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_any_level_it_holds_no_contents_and_no_passwords() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for filter in ["info", "trace"] {
        let vhost = rabbit.vhost();
        let url = with_a_password(&vhost).await;
        let program = serve().set("DLO_BROKERS__MAIN__URL", &url).set("DLO_LOG__FORMAT", "json");
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
        let user = vhost.name().replace('/', "-");
        vhost.manage(reqwest::Method::DELETE, &["users", &user], None).await;
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
