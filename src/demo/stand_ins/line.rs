//! Connections that can be cut from the inside.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// Accepts connections, and drops those that `drops_next` says.
pub(super) struct Gate<F> {
    pub(super) listener: TcpListener,
    pub(super) drops_next: F,
}

/// Cuts the connection a request came by: nothing is written to it any more.
#[derive(Clone, Debug)]
pub(super) struct Cutter(Arc<AtomicBool>);

/// A connection with its cutter.
pub(super) struct Line {
    stream: TcpStream,
    cutter: Cutter,
}

impl Cutter {
    pub(super) fn cut(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::SeqCst) { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}

impl<F: FnMut() -> bool + Send + 'static> Listener for Gate<F> {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        loop {
            let (stream, peer) = Listener::accept(&mut self.listener).await;
            if !(self.drops_next)() {
                return (Line { stream, cutter: Cutter(Arc::new(AtomicBool::new(false))) }, peer);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl<F: FnMut() -> bool + Send + 'static> Connected<IncomingStream<'_, Gate<F>>> for Cutter {
    fn connect_info(stream: IncomingStream<'_, Gate<F>>) -> Self {
        stream.io().cutter.clone()
    }
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.cutter.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
