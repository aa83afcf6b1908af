//! The stream of octets, read through the guard.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_io::{AsyncRead, AsyncWrite};

use super::{
    frame_limit::{FrameLimit, TUNE_OK_LEN, answer_in, lowered},
    frames::*,
    repairs::Repairs,
};

/// How much of a held frame is read at a time, so that a size that was only claimed costs nothing.
const READ_STEP: usize = 16 * 1024;

/// A stream of AMQP 0-9-1 frames that is mended as it is read. Writing passes straight through, but for the answer about the
/// size of frames.
///
/// What arrives is read into the caller's buffer and inspected there. Only a frame cut off at the
/// end of a read is copied, and held back until the rest of it has come.
#[derive(Debug)]
pub struct Utf8Guard<S> {
    stream: S,
    inspector: Inspector,
    held: Held,
}

/// The beginning of a frame that has to be seen whole and, once it has been, that frame on its way
/// to the caller.
#[derive(Debug, Default)]
struct Held {
    octets: Vec<u8>,
    cleared: bool,
    handed_out: usize,
}

impl<S> Utf8Guard<S> {
    /// Guards `stream`, from its first octet on, and reports to `repairs` what it mends.
    pub fn new(stream: S, repairs: Repairs) -> Self {
        Self { stream, inspector: Inspector::new(repairs, FrameLimit::AsAgreed), held: Held::default() }
    }

    /// The same, where nothing is published and frames may be larger than was agreed, by [`ROOM`](super::ROOM) at most. Whoever
    /// reads here has to want that much more.
    pub fn with_larger_frames(stream: S, repairs: Repairs) -> Self {
        Self { stream, inspector: Inspector::new(repairs, FrameLimit::Larger), held: Held::default() }
    }

    #[cfg(test)]
    pub(super) fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> Utf8Guard<S> {
    /// Reads into the caller's buffer; the octets that may be seen, or `None` if there are none yet.
    fn poll_direct(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<Option<usize>>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let cleared = self.inspector.clear(&mut buf[..read]);
        self.held.octets.extend_from_slice(&buf[cleared..read]);
        Poll::Ready(Ok((cleared > 0 || read == 0).then_some(cleared)))
    }

    /// Reads on in the frame that is held back.
    fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let octets = &mut self.held.octets;
        let start = octets.len();
        octets.resize(wanted(octets).min(start + READ_STEP), 0);
        let read = Pin::new(&mut self.stream).poll_read(cx, &mut octets[start..]);
        octets.truncate(start + if let Poll::Ready(Ok(read)) = read { read } else { 0 });
        let at_end = ready!(read)? == 0;
        self.held.cleared = at_end || self.inspector.clear(octets) > 0;
        Poll::Ready(Ok(()))
    }
}

/// How many octets to have of the frame that begins here before it can be judged.
fn wanted(octets: &[u8]) -> usize {
    FrameHeader::parse(octets).map_or(FRAME_HEADER_LEN, |header| header.frame_len())
}

impl Held {
    fn hand_out(&mut self, buf: &mut [u8]) -> usize {
        let rest = &self.octets[self.handed_out..];
        let amount = rest.len().min(buf.len());
        buf[..amount].copy_from_slice(&rest[..amount]);
        self.handed_out += amount;
        if self.handed_out == self.octets.len() {
            self.octets.clear();
            self.cleared = false;
            self.handed_out = 0;
        }
        amount
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Utf8Guard<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        loop {
            if this.held.cleared {
                return Poll::Ready(Ok(this.held.hand_out(buf)));
            }
            if !this.held.octets.is_empty() {
                ready!(this.poll_held(cx))?;
            } else if let Some(amount) = ready!(this.poll_direct(cx, buf))? {
                return Poll::Ready(Ok(amount));
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Utf8Guard<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let Self { stream, inspector, .. } = self.get_mut();
        let (mut stream, limit) = (Pin::new(stream), &mut inspector.limit);
        let FrameLimit::Asked { frame_max, written } = limit else { return stream.poll_write(cx, buf) };
        match answer_in(buf) {
            None => stream.poll_write(cx, buf),
            Some(0) => {
                let answer = lowered(buf, *frame_max);
                while *written < TUNE_OK_LEN {
                    match ready!(stream.as_mut().poll_write(cx, &answer[*written..]))? {
                        0 => return Poll::Ready(Ok(0)),
                        more => *written += more,
                    }
                }
                *limit = FrameLimit::AsAgreed;
                Poll::Ready(Ok(TUNE_OK_LEN))
            }
            Some(before) => stream.poll_write(cx, &buf[..before]),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let FrameLimit::Asked { .. } = self.inspector.limit {
            let first = bufs.iter().find(|buf| !buf.is_empty()).map_or(&[][..], |buf| buf);
            return self.poll_write(cx, first);
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}
