//! A TCP connection with time limits.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::futures::OwnedNotified;
use tokio::time::{Sleep, sleep};

use super::counts::GaugeGuard;
use super::metrics::Metrics;
use super::peer::Peer;
use super::shares::Place;

/// A TCP connection with time limits. It ends when it is idle or busy with one request for too long, or when another
/// connection takes its place.
///
/// The limits are below TLS and HTTP/2, so they hold for every client. That includes clients that never finish a
/// handshake, send a byte at a time, only answer pings, or do not take their reply.
pub(crate) struct TimedStream {
    tcp: TcpStream,
    tick: Pin<Box<Sleep>>,
    /// `None` once another client has taken the place.
    displaced: Option<Pin<Box<OwnedNotified>>>,
    peer: Arc<Peer>,
    metrics: Arc<Metrics>,
    _gauge: GaugeGuard,
    _place: Place,
}

impl TimedStream {
    pub(crate) fn new(
        tcp: TcpStream,
        place: Place,
        peer: &Arc<Peer>,
        metrics: &Arc<Metrics>,
    ) -> Self {
        Self {
            tcp,
            tick: Box::pin(sleep(peer.tick)),
            displaced: Some(Box::pin(Arc::clone(&place.displaced).notified_owned())),
            peer: Arc::clone(peer),
            metrics: Arc::clone(metrics),
            _gauge: GaugeGuard::new(&metrics.connections),
            _place: place,
        }
    }
}

impl TimedStream {
    /// Ready when the connection must end.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let displaced = match &mut self.displaced {
            Some(displaced) => displaced.as_mut().poll(context).is_ready(),
            None => return Poll::Ready(io::ErrorKind::ConnectionAborted.into()),
        };
        if displaced {
            self.metrics.closed.inc();
            // Nothing more is read, not even for a proper end, because another client has the
            // place.
            self.displaced = None;
            return Poll::Ready(io::ErrorKind::ConnectionAborted.into());
        }
        while self.tick.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            if self.peer.is_over(now) {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            let next = now + self.peer.tick;
            self.tick.as_mut().reset(next.into());
        }
        Poll::Pending
    }

    /// Ends a waiting write together with the connection.
    fn or_end(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Pending => self.poll_end(context).map(Err),
            written => written,
        }
    }
}

impl AsyncRead for TimedStream {
    /// HTTP/2 always reads, and HTTP/1.1 reads whenever it does not write. So the time is checked here and in a waiting
    /// write.
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(end) = self.poll_end(context) {
            return Poll::Ready(Err(end));
        }
        Pin::new(&mut self.tcp).poll_read(context, buffer)
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write(context, bytes);
        self.or_end(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write_vectored(context, parts);
        self.or_end(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}
