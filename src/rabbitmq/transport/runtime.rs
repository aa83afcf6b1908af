//! The runtime that lapin is given.

use std::{io, net::SocketAddr, time::Duration};

use async_rs::{Runtime, Tokio, traits::Reactor, util::RuntimeParts};
use futures_core::Stream;
use futures_io::{AsyncRead, AsyncWrite};

use super::Guarded;

/// Tokio, but for the type of the streams: lapin takes a stream only if its runtime makes such.
pub(super) type Kit = RuntimeParts<Tokio, GuardedReactor>;

pub(super) fn runtime() -> Runtime<Kit> {
    let tokio = Tokio::current();
    Runtime::new(RuntimeParts::new(tokio.clone(), GuardedReactor(tokio)))
}

/// Tokio's timers. It opens no streams: lapin gets the one it is handed.
#[derive(Clone, Debug)]
pub(super) struct GuardedReactor(Tokio);

impl Reactor for GuardedReactor {
    type TcpStream = Guarded;
    type Sleep = <Tokio as Reactor>::Sleep;

    fn register<H: io::Read + io::Write + Send + 'static>(
        &self,
        _socket: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<Guarded, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(&self, period: Duration) -> impl Stream<Item = std::time::Instant> + Send + 'static {
        self.0.interval(period)
    }

    fn tcp_connect_addr(&self, _address: SocketAddr) -> impl Future<Output = io::Result<Guarded>> + Send + 'static {
        std::future::ready(Err(io::ErrorKind::Unsupported.into()))
    }
}
