//! A line to a server that a test can cut, slow down, silence and garble.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use url::Url;

/// What is sent over a line as this text arrives as the same number of bytes that are no UTF-8.
pub const GARBLED: &str = "@@GARBLED@@";

/// An eavesdropper on one connection, who is told what the client says before it goes on.
type Ear = Box<dyn FnMut(&[u8]) -> Heard + Send>;

/// Sends an eavesdropper for each connection.
type Ears = Arc<dyn Fn() -> Ear + Send + Sync>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Nothing,
    /// The server still gets this; its answer does not get through, nor does anything else on that connection.
    CutAfterThis,
    /// Not even this gets to the server.
    CutBeforeThis,
}

/// How a line passes on what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    AtOnce,
    /// So much later.
    Late(Duration),
    /// Not before it is set otherwise; connections stand meanwhile, as when packets are lost.
    Never,
}

/// Accepts connections on a port of its own and passes on what is said. It ends when dropped.
pub struct Line {
    url: String,
    server: Arc<Mutex<String>>,
    standing: Arc<Mutex<CancellationToken>>,
    pace: watch::Sender<Pace>,
    _open: DropGuard,
}

impl Line {
    /// A line to the server at `url`.
    pub async fn to(url: &str) -> Self {
        Self::tapped(url, nobody).await
    }

    /// The same with an eavesdropper on each connection.
    pub async fn tapped(url: &str, ears: impl Fn() -> Ear + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut here = Url::parse(url).unwrap();
        let server = Arc::new(Mutex::new(address(&here)));
        here.set_host(Some("127.0.0.1")).unwrap();
        here.set_port(Some(port)).unwrap();
        let open = CancellationToken::new();
        let standing = Arc::new(Mutex::new(open.child_token()));
        let pace = watch::Sender::new(Pace::AtOnce);
        let accepting = accept(listener, Arc::clone(&server), Arc::clone(&standing), pace.subscribe(), Arc::new(ears));
        TaskTracker::new().spawn(open.clone().run_until_cancelled_owned(accepting));
        Self { url: here.into(), server, standing, pace, _open: open.drop_guard() }
    }

    /// The server's URL by way of this line.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    pub fn set_pace(&self, pace: Pace) {
        self.pace.send_replace(pace);
    }

    /// From now on it leads to another server; connections that stand are cut.
    #[cfg_attr(not(feature = "crash-points"), expect(dead_code, reason = "only random sequences of faults need it"))]
    pub fn lead_to(&self, url: &str) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = address(&Url::parse(url).unwrap());
        self.cut();
    }

    /// Cuts all connections that stand; new ones can be made at once.
    pub fn cut(&self) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *standing).cancel();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.cut();
    }
}

fn address(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap(), url.port().unwrap())
}

async fn accept(
    listener: TcpListener,
    server: Arc<Mutex<String>>,
    standing: Arc<Mutex<CancellationToken>>,
    pace: watch::Receiver<Pace>,
    ears: Ears,
) {
    let connections = TaskTracker::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let cut = standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let server = server.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (pace, ear) = (pace.clone(), ears());
        connections.spawn(cut.run_until_cancelled_owned(async move {
            // A server that is down is seen by the client as a connection that closes at once.
            let Ok(server) = TcpStream::connect(server).await else { return };
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::select! {
                () = pass_on(from_client, to_server, pace.clone(), ear) => {}
                () = pass_on(from_server, to_client, pace, nobody()) => {}
            }
        }));
    }
}

/// Passes on until either end closes.
async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut pace: watch::Receiver<Pace>, mut ear: Ear) {
    let mut said = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut said).await {
        let said = &mut said[..length];
        garble(said);
        let heard = ear(said);
        keep(&mut pace).await;
        if heard == Heard::CutBeforeThis || to.write_all(said).await.is_err() || heard == Heard::CutAfterThis {
            return;
        }
    }
}

/// Waits as long as the pace says. A line that is gone keeps none.
async fn keep(pace: &mut watch::Receiver<Pace>) {
    let spoken = pace.wait_for(|pace| *pace != Pace::Never).await.map(|pace| *pace);
    if let Ok(Pace::Late(delay)) = spoken {
        // Nothing is waited for here: it is what the line does.
        sleep_until(Instant::now() + delay).await;
    }
}

fn nobody() -> Ear {
    Box::new(|_| Heard::Nothing)
}

fn garble(said: &mut [u8]) {
    let length = GARBLED.len();
    for start in 0..said.len().saturating_sub(length - 1) {
        let word = &mut said[start..start + length];
        if word == GARBLED.as_bytes() {
            word.fill(0xff);
        }
    }
}
