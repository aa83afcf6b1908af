//! Connections that say nothing, or say it slowly.

use std::{io::ErrorKind, time::Duration};

use dead_letter_office::web::{Bounds, Limits, serve};
use http_body_util::BodyExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    desk::Desk,
    run::PATIENCE,
    sign_in::{desks, signed_in},
};
use crate::support::process::wait_until;

/// A server on a port of its own, until the guard is dropped.
async fn listening(desk: &Desk, limits: Limits) -> (std::net::SocketAddr, DropGuard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, closing) = (listener.local_addr().unwrap(), CancellationToken::new());
    TaskTracker::new().spawn(serve(listener, desk.router(), Bounds { limits, ..Bounds::default() }, closing.clone()));
    (address, closing.drop_guard())
}

async fn say(address: std::net::SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// All that comes until the connection is closed.
async fn hear(mut stream: TcpStream) -> String {
    let mut heard = Vec::new();
    // A connection that is given up may be reset.
    let _ = stream.read_to_end(&mut heard).await;
    String::from_utf8_lossy(&heard).into_owned()
}

const SOON: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_header_that_does_not_end_and_a_connection_that_rests_are_given_up() {
    let desk = Desk::open().await;
    let (address, _guard) = listening(&desk, Limits { header: SOON, ..Limits::default() }).await;
    hear(say(address, "GET /healthz HTTP/1.1\r\nhost:").await).await;
    hear(say(address, "").await).await;
    let rests = hear(say(address, "GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await).await;
    assert!(rests.starts_with("HTTP/1.1 200"), "{rests}");
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_a_408() {
    let desk = Desk::limited(Limits { pause: SOON, ..Limits::default() }).await;
    let (address, _guard) = listening(&desk, Limits::default()).await;
    let post = "POST /api/v1/decode HTTP/1.1\r\nhost: 127.0.0.1:8420\r\ncontent-type: application/json\r\n";
    let answer = hear(say(address, &format!("{post}content-length: 100\r\n\r\n{{")).await).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("application/problem+json") && answer.contains("connection: close"), "{answer}");
}

/// Whoever goes on with the connection would find it closed.
#[tokio::test]
async fn a_call_that_is_refused_before_its_body_has_come_says_that_the_connection_ends() {
    let desk = Desk::open().await;
    let (address, _guard) = listening(&desk, Limits::default()).await;
    let call = |path: &str, host: &str| {
        format!("POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n")
    };
    for (path, host, status) in
        [("/api/v1/nothing", "127.0.0.1:8420", 404), ("/api/v1/actions", "elsewhere.example", 421)]
    {
        let answer = hear(say(address, &call(path, host)).await).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        assert!(answer.contains("connection: close"), "{path}: {answer}");
    }
    let mut kept = say(address, &format!("{}{{\"zzz\":1}}", call("/api/v1/rules/apply", "127.0.0.1:8420"))).await;
    let next = "GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
    kept.write_all(next.as_bytes()).await.unwrap();
    let answers = hear(kept).await;
    assert!(answers.starts_with("HTTP/1.1 400") && answers.contains("this call takes no body"), "{answers}");
    assert!(answers.contains("HTTP/1.1 200"), "{answers}");
}

#[tokio::test]
async fn probes_speak_http_1_0_and_come_through_a_crowd() {
    let desk = Desk::open().await;
    let (address, _guard) = listening(&desk, Limits { connections: 4, reserve: 1, ..Limits::default() }).await;
    let mut crowd = Vec::new();
    for _ in 0..20 {
        crowd.push(say(address, "GET /letters HTTP/1.1\r\n").await);
    }
    let answer = hear(say(address, "GET /readyz HTTP/1.0\r\n\r\n").await).await;
    assert!(answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Event streams are at work as long as they last.
    let mut streams = Vec::new();
    for _ in 0..4 {
        let mut stream = say(address, "GET /events HTTP/1.1\r\nhost: 127.0.0.1:8420\r\n\r\n").await;
        stream.read_u8().await.unwrap();
        streams.push(stream);
    }
    let answer = hear(say(address, "GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let answer = hear(say(address, "GET /letters HTTP/1.1\r\nhost: 127.0.0.1:8420\r\n\r\n").await).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after"), "{answer}");
    let answer = hear(say(address, "GET /api/v1/queues HTTP/1.1\r\nhost: 127.0.0.1:8420\r\n\r\n").await).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after"), "{answer}");
    assert!(answer.contains("application/problem+json") && answer.contains("connection: close"), "{answer}");
    assert!(answer.contains("\"code\":\"unavailable\""), "{answer}");
}

/// Nobody waits for who asks and does not listen.
#[tokio::test]
async fn who_takes_nothing_of_an_answer_is_given_up() {
    let desk = Desk::open().await;
    let limits = Limits { pause_of_reader: Duration::from_millis(300), ..Limits::default() };
    let (address, _guard) = listening(&desk, limits).await;
    // More than the buffers in between hold.
    let requests = "GET /api/openapi.json HTTP/1.1\r\nhost: 127.0.0.1:8420\r\n\r\n".repeat(200);
    let stream = say(address, &requests).await;
    let is_given_up = async || stream.try_write(b"G").is_err_and(|error| error.kind() != ErrorKind::WouldBlock);
    wait_until("the connection to be given up", PATIENCE, is_given_up).await;
}

#[tokio::test]
async fn one_has_a_part_of_the_event_streams() {
    for (desk, _kept) in desks().await {
        let (ada, vera) = (signed_in(&desk, "ada").await, signed_in(&desk, "vera").await);
        let mut open = Vec::new();
        for _ in 0..96 {
            open.push(ada.stream(&desk, "/events").await);
        }
        let answer = ada.get(&desk, "/events").await.expect(503);
        assert!(answer.text().contains("Too many pages listen for changes at once"), "{}", answer.text());
        let mut stream = vera.stream(&desk, "/events").await;
        assert!(stream.frame().await.is_some(), "there is room for others");
        open.pop();
        let mut stream = ada.stream(&desk, "/events").await;
        assert!(stream.frame().await.is_some(), "and for her again");
    }
}
