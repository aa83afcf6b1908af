//! The socket.

use std::{
    io,
    net::{Shutdown, TcpStream as StdTcpStream},
};

use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

pub(super) type Tcp = Compat<TcpStream>;

/// Shuts the socket down when dropped, unless the attempt has succeeded.
///
/// lapin reads on a thread of its own, which outlives the future that waits for the handshake:
/// without this, each attempt at an endpoint that accepts and then says nothing would leave a
/// thread behind, with its buffers and its socket.
pub(super) struct HangUp(Option<StdTcpStream>);

impl HangUp {
    pub(super) fn prepare(tcp: TcpStream) -> io::Result<(Tcp, Self)> {
        tcp.set_nodelay(true)?;
        let socket = tcp.into_std()?;
        let handle = socket.try_clone()?;
        Ok((TcpStream::from_std(socket)?.compat(), Self(Some(handle))))
    }

    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for HangUp {
    fn drop(&mut self) {
        if let Some(socket) = self.0.take() {
            // It may have been closed by the other side already; then there is nothing to do.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}
