//! What all stand-ins have in common: they listen, write down what they are asked, and misbehave when told to.

use std::{
    collections::VecDeque,
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{ConnectInfo, State},
    http::{Request, Response, StatusCode, header},
    response::IntoResponse,
};
use tokio::{net::TcpListener, sync::watch, task::JoinSet};

use super::{
    answered::Answered,
    line::{Cutter, Gate},
    page::page,
};

/// Bytes taken of a request; more is answered 413.
const MAX_REQUEST: usize = 4 * 1_024 * 1_024;
/// How many requests and messages are kept; the oldest give way.
const KEPT: usize = 1_000;

/// What a stand-in does with one request instead of what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Answers this.
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// Reads the request and answers nothing until it is released; then it behaves.
    Hang,
    /// Closes the connection as soon as it is there.
    CloseBeforeReading,
    /// Does what the request asks for and closes the connection instead of saying so.
    CloseAfterReading,
}

impl Misbehaviour {
    pub fn status(status: u16) -> Self {
        Self::Answer { status, headers: Vec::new(), body: Vec::new() }
    }

    /// 200, and what nobody can read.
    pub fn garbage() -> Self {
        Self::Answer { status: 200, headers: Vec::new(), body: vec![0xff; 64 * 1_024] }
    }
}

/// The manners of one of the servers that are stood in for.
pub(super) trait Manners: Send + Sync + 'static {
    /// Who it stands in for.
    const NAME: &'static str;

    /// Does what the request asks for.
    fn answer(&self, request: &Answered) -> Response<Body>;
}

/// A server that listens until it is dropped.
pub struct StandIn {
    address: SocketAddr,
    log: Arc<Log>,
    _server: JoinSet<()>,
}

/// What it was asked, and what it is to do wrong.
struct Log {
    requests: Mutex<Vec<Answered>>,
    misbehaviours: Mutex<VecDeque<Misbehaviour>>,
    released: watch::Sender<bool>,
    /// Requests that have arrived.
    arrived: watch::Sender<usize>,
}

impl StandIn {
    /// Listens on a free port of loopback.
    pub(super) async fn open<M: Manners>(manners: Arc<M>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let log = Arc::new(Log {
            requests: Mutex::default(),
            misbehaviours: Mutex::default(),
            released: watch::Sender::new(false),
            arrived: watch::Sender::new(0),
        });
        let gatekeeper = log.clone();
        let gate = Gate { listener, drops_next: move || gatekeeper.drops_next() };
        let app = Router::new().fallback(serve::<M>).with_state((log.clone(), manners));
        let mut server = JoinSet::new();
        server.spawn(async move {
            // It serves until the stand-in is dropped.
            let _ = axum::serve(gate, app.into_make_service_with_connect_info::<Cutter>()).await;
        });
        Ok(Self { address, log, _server: server })
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Misbehaves like this at the next `n` requests, after those it was notified of before.
    pub fn misbehave(&self, n: usize, misbehaviour: Misbehaviour) {
        if misbehaviour == Misbehaviour::Hang {
            self.log.released.send_replace(false);
        }
        lock(&self.log.misbehaviours).extend(std::iter::repeat_n(misbehaviour, n));
    }

    /// Lets go of what hangs.
    pub fn release(&self) {
        self.log.released.send_replace(true);
    }

    /// All it was asked and has read, in the order it was done with them.
    pub fn requests(&self) -> Vec<Answered> {
        lock(&self.log.requests).clone()
    }

    /// Waits until so many requests have arrived altogether, answered or not.
    pub async fn has_heard(&self, n: usize) {
        // The sender is kept by what is waited on, so that this ends only one way.
        let _ = self.log.arrived.subscribe().wait_for(|arrived| *arrived >= n).await;
    }
}

impl fmt::Debug for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StandIn({})", self.address)
    }
}

impl Log {
    fn drops_next(&self) -> bool {
        let mut misbehaviours = lock(&self.misbehaviours);
        let drops = misbehaviours.front() == Some(&Misbehaviour::CloseBeforeReading);
        if drops {
            misbehaviours.pop_front();
        }
        drops
    }

    fn next_misbehaviour(&self) -> Option<Misbehaviour> {
        lock(&self.misbehaviours).pop_front()
    }
}

async fn serve<M: Manners>(
    State((log, manners)): State<(Arc<Log>, Arc<M>)>,
    ConnectInfo(cutter): ConnectInfo<Cutter>,
    request: Request<Body>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_REQUEST).await else { return StatusCode::PAYLOAD_TOO_LARGE.into_response() };
    let path = head.uri.path().to_owned();
    let mut request = Answered { method: head.method, path, headers: head.headers, body, status: None };
    if request.is_get("/") {
        return answer(StatusCode::OK, "text/html; charset=utf-8", page(M::NAME, &lock(&log.requests)));
    }
    let misbehaviour = log.next_misbehaviour();
    log.arrived.send_modify(|arrived| *arrived += 1);
    if misbehaviour == Some(Misbehaviour::Hang) {
        let _ = log.released.subscribe().wait_for(|released| *released).await;
    }
    let (response, is_cut) = match misbehaviour {
        None | Some(Misbehaviour::Hang) => (manners.answer(&request), false),
        Some(Misbehaviour::Answer { status, headers, body }) => (instead(status, &headers, body), false),
        Some(Misbehaviour::CloseAfterReading) => (manners.answer(&request), true),
        // It came by a connection that was there already.
        Some(Misbehaviour::CloseBeforeReading) => (Response::default(), true),
    };
    if is_cut {
        cutter.cut();
    } else {
        request.status = Some(response.status());
    }
    keep(&mut lock(&log.requests), request);
    response
}

fn instead(status: u16, headers: &[(&'static str, String)], body: Vec<u8>) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, value);
    }
    response.body(Body::from(body)).unwrap_or_default()
}

/// An answer with a text of some type.
pub(super) fn answer(status: StatusCode, content_type: &'static str, body: impl Into<String>) -> Response<Body> {
    (status, [(header::CONTENT_TYPE, content_type)], body.into()).into_response()
}

/// An answer in JSON.
pub(super) fn json(status: StatusCode, body: &serde_json::Value) -> Response<Body> {
    answer(status, "application/json", body.to_string())
}

/// Adds it at the end, and lets go of the oldest when there are many.
pub(super) fn keep<T>(all: &mut Vec<T>, new: T) {
    all.push(new);
    all.drain(..all.len().saturating_sub(KEPT));
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
