//! The client's TCP connections, whose bytes are counted.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The bytes of TCP payload, below TLS and HTTP/2.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) up: AtomicU64,
    pub(crate) down: AtomicU64,
}

/// A connection that can be read and written, above TLS if TLS is used.
pub(crate) trait Line: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Line for T {}

/// A TCP connection whose bytes are counted.
pub(crate) struct CountedStream {
    tcp: TcpStream,
    count: Arc<Count>,
    encrypted: bool,
    /// True once the first bytes have arrived.
    begun: bool,
}

/// The position of a frame's type in HTTP/2, and the type of settings (RFC 9113, 4.1 and 6.5).
const FRAME_TYPE: usize = 3;
const SETTINGS: u8 = 4;

/// The types of TLS records (RFC 8446, 5.1).
const TLS_RECORDS: std::ops::RangeInclusive<u8> = 20..=24;

impl CountedStream {
    /// Wraps a connection. If `encrypted` is true, TLS follows on it.
    pub(crate) fn new(tcp: TcpStream, count: &Arc<Count>, encrypted: bool) -> Self {
        Self {
            tcp,
            count: Arc::clone(count),
            encrypted,
            begun: false,
        }
    }

    fn sent(&self, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = sent {
            self.count.up.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        sent
    }

    /// Checks the first bytes. If the server speaks another protocol, the layers above would report this in
    /// terms that do not explain it.
    fn look(&mut self, came: &[u8]) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let wrong = |text: &str| Err(io::Error::new(io::ErrorKind::InvalidData, text));
        match (came.first(), self.encrypted) {
            // A server closes a connection whose protocol it does not speak, or that exceeds its
            // limit of connections.
            (None, encrypted) => {
                let tls = match encrypted {
                    true => "may have no TLS (http://)",
                    false => "may speak TLS (https://)",
                };
                let text = format!(
                    "the server closed the connection at once: it {tls}, or have too many connections, \
                     of all or of your address"
                );
                Err(io::Error::new(io::ErrorKind::ConnectionReset, text))
            }
            (Some(byte), false) if TLS_RECORDS.contains(byte) => {
                wrong("the server speaks TLS: its address begins with https://")
            }
            (Some(byte), true) if !TLS_RECORDS.contains(byte) => {
                wrong("the server does not speak TLS: its address begins with http://")
            }
            _ if came.starts_with(b"HTTP") => wrong(
                "this is not a Sordino server: it speaks HTTP/1.1, like a server's port of metrics or `sordino proxy`",
            ),
            // In HTTP/2, the first frame is of the type settings (RFC 9113, 3.4), which follows the frame's
            // length.
            (_, false) if came.get(FRAME_TYPE).is_some_and(|kind| *kind != SETTINGS) => {
                wrong("this is not a Sordino server: it does not speak HTTP/2")
            }
            _ => Ok(()),
        }
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.tcp).poll_read(context, buffer);
        let came = &buffer.filled()[before..];
        self.count
            .down
            .fetch_add(came.len() as u64, Ordering::Relaxed);
        if matches!(read, Poll::Ready(Ok(()))) {
            self.look(came)?;
        }
        read
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.tcp).poll_write(context, bytes);
        self.sent(sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.tcp).poll_write_vectored(context, parts);
        self.sent(sent)
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
