//! Answers of brokers, and of what is none, from a server of our own.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use amqp_message::time::Timestamp;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;
use crate::domain::queue_level::{QueueKind, QueueState};

const PASSWORD: &str = "hunter2";

/// Answers one request after the other, each on a connection of its own, and keeps what was asked.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// It says what it is given, byte for byte, and then closes the connection.
    async fn saying(answers: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (record, mut answers) = (Arc::clone(&asked), answers.into_iter().collect::<VecDeque<_>>());
        let serving = async move {
            while let Some(answer) = answers.pop_front() {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                record.lock().unwrap().push(String::from_utf8(request).unwrap());
                // Whoever has read enough hangs up.
                drop(stream.write_all(&answer).await);
            }
        };
        tokio_util::task::TaskTracker::new().spawn(serving);
        Self { address, asked }
    }

    async fn answering<'a>(answers: impl IntoIterator<Item = (u16, &'a str)>) -> Self {
        Self::saying(answers.into_iter().map(|(status, body)| http(status, body))).await
    }

    fn management(&self) -> Management {
        management(&format!("http://watcher:{PASSWORD}@{}", self.address))
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn http(status: u16, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").into_bytes()
}

fn management(url: &str) -> Management {
    // Nobody here speaks TLS, but without a provider there is no client. An error says that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    Management::new(url, "a/b", client).unwrap()
}

/// What is said of an answer that is no list of queues.
async fn check(status: u16, body: &str, expected: &str) {
    let server = Server::answering([(status, body)]).await;
    let error = server.management().queues().await.unwrap_err().to_string();
    assert!(error.contains(expected), "{status} {body:?}: {error}");
    assert!(error.contains(&server.address.to_string()) && !error.contains(PASSWORD), "{error}");
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    check(401, r#"{"error":"not_authorized","reason":"Login failed"}"#, "user or password is wrong").await;
    check(401, r#"{"error":"not_authorized","reason":"Not_Authorized"}"#, "user or password is wrong").await;
    let local = r#"{"error":"not_authorized","reason":"User can only log in via localhost"}"#;
    check(401, local, "User can only log in via localhost").await;
    check(401, r#"{"error":"not_authorised","reason":"Not management user"}"#, "set_user_tags watcher monitoring")
        .await;
    let vhost = r#"{"error":"not_authorised","reason":"User not authorised to access virtual host"}"#;
    check(401, vhost, "rabbitmqctl set_permissions -p a/b watcher").await;
    check(404, r#"{"error":"not_found","reason":"Not Found"}"#, r#"no virtual host "a/b""#).await;
    check(503, r#"{"error":"x","reason":"no leader\nyet"}"#, "answered 503: no leaderyet").await;
    check(500, "<h1>oops</h1>", "answered 500").await;
}

#[tokio::test]
async fn what_is_no_management_api_is_called_so() {
    for (status, body) in [
        (200, "<html>"),
        (200, ""),
        (200, "[]"),
        (200, r#"{"items":[{"nameless":1}],"page_count":1,"total_count":1}"#),
        (301, ""),
        (404, "<h1>not here</h1>"),
        (403, "no"),
    ] {
        check(status, body, "does not speak RabbitMQ's management API").await;
    }
    let broker = Server::saying([b"AMQP\x00\x00\x09\x01".to_vec()]).await;
    let error = broker.management().queues().await.unwrap_err().to_string();
    assert!(error.contains("does not speak RabbitMQ's management API"), "{error}");
}

#[tokio::test]
async fn an_address_without_a_user_is_told_to_have_one() {
    for body in ["", r#"{"error":"not_authorized","reason":"Login failed"}"#] {
        let server = Server::answering([(401, body)]).await;
        let error = management(&format!("http://{}", server.address)).whoami().await.unwrap_err();
        assert!(matches!(error, ManagementError::NoUser { .. }), "{error}");
    }
}

#[tokio::test]
async fn nobody_there_is_told_without_the_password() {
    let address = "127.0.0.1:1";
    let management = management(&format!("http://watcher:{PASSWORD}@{address}"));
    let error = management.queues().await.unwrap_err();
    for told in [error.to_string(), format!("{error:?}"), format!("{management:?}")] {
        assert!(told.contains(&address.to_string()) && !told.contains(PASSWORD), "{told}");
    }
    assert!(matches!(error, ManagementError::Unreachable { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_not_awaited_for_ever() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let error = management(&format!("http://{address}")).overview().await.unwrap_err();
    assert_eq!(error.to_string(), format!("{address} did not answer within 10 s"));
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let endless = [b"HTTP/1.1 200 X\r\n\r\n".to_vec(), vec![b' '; 9 * 1024 * 1024]].concat();
    let server = Server::saying([endless]).await;
    let error = server.management().queues().await.unwrap_err();
    assert!(matches!(error, ManagementError::TooLarge { .. }), "{error}");
}

fn page(names: &[&str], pages: u64) -> String {
    let items: Vec<_> = names.iter().map(|name| serde_json::json!({ "name": name })).collect();
    serde_json::json!({"items": items, "page_count": pages, "total_count": names.len()}).to_string()
}

async fn check_pages(pages: &[(u16, String)], expected: &[&str]) {
    let server = Server::answering(pages.iter().map(|(status, body)| (*status, body.as_str()))).await;
    let levels = server.management().queues().await.unwrap();
    assert_eq!(levels.iter().map(|level| level.name.as_str()).collect::<Vec<_>>(), expected);
    assert_eq!(server.asked().len(), pages.len());
}

#[tokio::test]
async fn pages_are_put_together() {
    check_pages(&[(200, page(&[], 0))], &[]).await;
    check_pages(&[(200, page(&["a", "b"], 2)), (200, page(&["c"], 2))], &["a", "b", "c"]).await;
    // A queue was declared before the others meanwhile.
    check_pages(&[(200, page(&["a", "b"], 2)), (200, page(&["b", "c"], 2))], &["a", "b", "c"]).await;
    // Some were deleted.
    let gone = r#"{"error":"page_out_of_range","reason":"Page out of range, page: 2 page size: 500, len: 1"}"#;
    check_pages(&[(200, page(&["a"], 2)), (400, gone.to_owned())], &["a"]).await;
}

#[tokio::test]
async fn the_question_names_the_virtual_host_the_page_and_the_columns() {
    let server = Server::answering([(200, page(&[], 0).as_str())]).await;
    server.management().queues().await.unwrap();
    let [asked] = &server.asked()[..] else { panic!("one question") };
    assert!(asked.starts_with("GET /api/queues/a%2Fb?page=1&page_size=500&columns=name%2Ctype%2C"), "{asked}");
    // watcher:hunter2
    assert!(asked.to_lowercase().contains("authorization: basic d2f0y2hlcjpodw50zxiy"), "{asked}");
}

async fn read_item(item: &str) -> QueueLevel {
    let body = format!(r#"{{"items":[{item}],"page_count":1,"total_count":1}}"#);
    let server = Server::answering([(200, body.as_str())]).await;
    server.management().queues().await.unwrap().pop().unwrap()
}

#[tokio::test]
async fn a_queue_is_read_as_it_is_reported() {
    let level = read_item(
        r#"{"auto_delete":false,"consumers":2,"exclusive":false,"idle_since":"2026-11-21T19:37:40.278+00:00",
            "message_stats":{"deliver_get_details":{"rate":0.5},"publish_details":{"rate":12}},"messages":3,
            "messages_ready":1,"messages_unacknowledged":2,"name":"c1","policy":"pol","state":"running",
            "type":"classic","vhost":"w/a"}"#,
    )
    .await;
    let expected = QueueLevel {
        name: "c1".to_owned(),
        kind: QueueKind::Classic,
        state: Some(QueueState::Running),
        messages_ready: Some(1),
        messages_unacknowledged: Some(2),
        messages: Some(3),
        consumers: Some(2),
        idle_since: Some(Timestamp::from_micros(1_795_289_860_278_000)),
        policy: Some("pol".to_owned()),
        publish_rate: Some(12.0),
        deliver_rate: Some(0.5),
        ..QueueLevel::default()
    };
    assert_eq!(level, expected);
}

#[tokio::test]
async fn what_is_not_told_is_not_zero() {
    let bare = QueueLevel { name: "q".to_owned(), ..QueueLevel::default() };
    assert_eq!(read_item(r#"{"name":"q"}"#).await, bare);
    // As quorum queues look where only totals are reported, and queues without statistics in older brokers.
    let nulls = r#"{"name":"q","exclusive":null,"policy":null,"consumers":null,"message_stats":[],"idle_since":""}"#;
    assert_eq!(read_item(nulls).await, bare);
    let odd = r#"{"name":"q","consumers":-1,"messages":"many","messages_ready":1.5,"policy":"","idle_since":
                 "2020-01-01 10:00:00","message_stats":{"publish_details":{"rate":-1},"deliver_get_details":7}}"#;
    assert_eq!(read_item(odd).await, bare);
    let new = read_item(r#"{"name":"q","type":"MQTT QoS 0","state":"dreaming","exclusive":true}"#).await;
    let expected = QueueLevel { state: Some(QueueState::Other), exclusive: true, ..bare };
    assert_eq!(new, expected);
}

#[tokio::test]
async fn a_probe_says_who_where_and_whether_statistics_are_on() {
    for (overview, expected) in [
        (r#"{"rabbitmq_version":"4.0.5","disable_stats":false}"#, "RabbitMQ 4.0.5, 1 queue, as watcher"),
        (
            r#"{"rabbitmq_version":"3.10.8","disable_stats":true}"#,
            "RabbitMQ 3.10.8, 1 queue, as watcher; its statistics are off, so that nobody sees whether queues have \
             consumers",
        ),
    ] {
        let queues = page(&["q"], 1);
        let answers = [(200, r#"{"name":"watcher","tags":["monitoring"]}"#), (200, overview), (200, &queues)];
        let server = Server::answering(answers).await;
        let probe = server.management().probe().await.unwrap();
        assert_eq!(probe.to_string(), expected);
        assert!(server.asked()[2].contains("page_size=1&"), "{:?}", server.asked());
    }
}
