//! Connections: how many there are, and how long one may keep quiet.
//!
//! Whoever opens connections and says nothing keeps nobody else out: where there are too many, the one that has waited
//! longest makes room for the next. Where all are at work, a few more can be opened, on which only probes are answered.

pub mod background;
pub mod connections;
pub mod crowded;
pub mod held_body;
pub mod in_time;
pub mod shares;
pub mod tls;
pub mod unread;

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    body::Body,
    http::{Request, Response},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use ipnet::IpNet;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    time::{Duration, sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use connections::{Connection, Connections};
use crowded::Reserved;

use super::{
    security::{Peer, is_within},
    state::limits::Limits,
};

/// After an accept that failed, mostly for want of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// What a server keeps to.
#[derive(Default)]
pub struct Bounds {
    pub limits: Limits,
    pub proxies: Vec<IpNet>,
    /// Without it, plain HTTP.
    pub tls: Option<TlsAcceptor>,
}

/// Serves until `closing` is cancelled, and then until the requests that have begun are answered. Who sits on this machine or
/// is one of the `proxies` may have as many connections as there are; others no more than half of them each.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    Bounds { limits, proxies, tls }: Bounds,
    closing: CancellationToken,
) {
    let (connections, tasks) = (Arc::new(Connections::new(limits)), TaskTracker::new());
    while let Some(accepted) = closing.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, peer)) => {
                let address = peer.ip().to_canonical();
                let is_for_others = address.is_loopback() || is_within(address, &proxies);
                if let Some(connection) = connections.open((!is_for_others).then_some(address)) {
                    let (router, closing) = (router.clone(), closing.clone());
                    // Answers are written whole.
                    let _ = stream.set_nodelay(true);
                    match tls.clone() {
                        None => _ = tasks.spawn(converse((stream, Peer(address)), router, limits, connection, closing)),
                        Some(tls) => {
                            _ = tasks.spawn(async move {
                                if let Some(stream) = shake_hands(&tls, stream, limits, &connection, &closing).await {
                                    converse((stream, Peer(address)), router, limits, connection, closing).await;
                                }
                            });
                        }
                    }
                }
            }
            Err(error) => {
                tracing::warn!(error = %error, "a connection cannot be accepted");
                connections.make_room();
                sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

/// `None` where there is no TLS within the time that a header has.
async fn shake_hands(
    tls: &TlsAcceptor,
    stream: TcpStream,
    limits: Limits,
    connection: &Connection,
    closing: &CancellationToken,
) -> Option<TlsStream<TcpStream>> {
    tokio::select! {
        shaken = timeout(limits.header, tls.accept(stream)) => match shaken {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                tracing::debug!("a connection speaks no TLS: {error}");
                None
            }
            Err(_) => None,
        },
        () = connection.given_up().cancelled_owned() => None,
        () = closing.cancelled() => None,
    }
}

async fn converse(
    (stream, peer): (impl AsyncRead + AsyncWrite + Unpin + Send + 'static, Peer),
    router: Router,
    limits: Limits,
    connection: Connection,
    closing: CancellationToken,
) {
    let (is_reserve, given_up) = (connection.is_reserve(), connection.given_up());
    let connection = Arc::new(connection);
    let service = service_fn(move |request: Request<Incoming>| {
        let (router, busy) = (router.clone(), connection.begin());
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            if is_reserve {
                request.extensions_mut().insert(Reserved);
            }
            let response = answer(router, request).await;
            Ok::<_, Infallible>(response.map(|body| busy.around(body)))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header).keep_alive(!is_reserve);
    // Whoever does not take what they asked for gives up the connection.
    let mut stream = Box::pin(TimeoutStream::new(stream));
    stream.as_mut().set_write_timeout_pinned(Some(limits.pause_of_reader));
    let mut serving = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    let is_closing = tokio::select! {
        _ = &mut serving => false,
        () = given_up.cancelled() => false,
        () = closing.cancelled() => true,
    };
    if is_closing {
        serving.as_mut().graceful_shutdown();
        let _ = serving.await;
    }
}

async fn answer(router: Router, request: Request<Body>) -> Response<Body> {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
