//! The beginning of a connection: TLS, and the detection of the client's protocol.

use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tonic::transport::server::Connected;

use super::peer::Peer;
use super::timed_stream::TimedStream;

/// The protection of connections: TLS or nothing.
#[cfg(feature = "tls")]
pub(crate) type Tls = Option<super::identity::Acceptor>;
/// The protection of connections: this build has no TLS.
#[cfg(not(feature = "tls"))]
#[derive(Clone, Debug)]
pub(crate) struct Tls;

/// The beginning of HTTP/2 (RFC 9113, 3.4), which no method of HTTP/1.1 has.
const HTTP2: [u8; 3] = *b"PRI";

/// The first bytes of the methods of HTTP/1.1 that gRPC-Web uses: POST, and OPTIONS, with which a browser asks
/// first.
const WEB: [[u8; 3]; 2] = [*b"POS", *b"OPT"];

/// The answer to other methods of HTTP/1.1, such as the requests of a browser that opens this port.
const HTTP1: &[u8] = b"HTTP/1.1 505 HTTP Version Not Supported\r\n\
    Content-Type: text/plain\r\nContent-Length: 76\r\nConnection: close\r\n\r\n\
    This is a Sordino server: gRPC over HTTP/2. Search it with `sordino query`.\n";

/// The number of bytes that are still read from an ending connection, and the time for that.
const END_READ: u64 = 1 << 20;
const END_TIME: Duration = Duration::from_secs(1);

/// Reads and writes of a connection, above TLS.
trait Secured: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Secured for T {}

type Opened = Box<dyn Secured>;

/// A connection whose protocol is known.
struct Begun {
    opened: Opened,
    /// The bytes that showed the protocol.
    first: [u8; HTTP2.len()],
    /// The number of them that have been passed on.
    passed: usize,
}

/// A connection whose handshake is part of its first read or write. So the handshake runs where the connection is
/// served, at the same time as all others and under its time limit.
pub(crate) struct Handshake {
    peer: Arc<Peer>,
    state: State,
}

enum State {
    Handshake(Pin<Box<dyn Future<Output = io::Result<Begun>> + Send>>),
    Open(Begun),
    /// An HTTP/1.1 connection that is ending.
    Ending(Pin<Box<dyn Future<Output = ()> + Send>>),
    Failed,
}

impl Handshake {
    pub(crate) fn new(watched: TimedStream, peer: Arc<Peer>, tls: &Tls) -> Self {
        let opening = open(watched, tls.clone());
        Self {
            peer,
            state: State::Handshake(Box::pin(opening)),
        }
    }

    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<io::Result<&mut Begun>> {
        if let State::Handshake(opening) = &mut self.state {
            match ready!(opening.as_mut().poll(context)) {
                Ok(begun) => self.state = State::Open(begun),
                Err(error) => {
                    self.state = State::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        match &mut self.state {
            State::Open(begun) => Poll::Ready(Ok(begun)),
            _ => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

/// Performs the handshake. Continues only with HTTP/2, or with HTTP/1.1 that may be gRPC-Web.
async fn open(watched: TimedStream, tls: Tls) -> io::Result<Begun> {
    #[cfg(feature = "tls")]
    let opened: Opened = match tls {
        Some(tls) => match tls.current().accept(watched).into_fallible().await {
            Ok(stream) => Box::new(stream),
            Err((error, watched)) => {
                end(watched).await;
                return Err(error);
            }
        },
        None => Box::new(watched),
    };
    #[cfg(not(feature = "tls"))]
    let opened: Opened = {
        let Tls = tls;
        Box::new(watched)
    };
    begin(opened).await
}

async fn begin(mut opened: Opened) -> io::Result<Begun> {
    let mut first = [0; HTTP2.len()];
    opened.read_exact(&mut first).await?;
    if first == HTTP2 || WEB.contains(&first) {
        return Ok(Begun {
            opened,
            first,
            passed: 0,
        });
    }
    if first.iter().all(u8::is_ascii_uppercase) {
        opened.write_all(HTTP1).await?;
    }
    end(opened).await;
    Err(io::ErrorKind::InvalidData.into())
}

/// Ends a connection that is not used further. If unread bytes were left at the close, the last
/// reply could be lost, so a few bytes are read first.
async fn end(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let reading = async {
        stream.shutdown().await?;
        let mut rest = stream.take(END_READ);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    // The connection ends, whatever the result of reading is.
    let _ = tokio::time::timeout(END_TIME, reading).await;
}

impl Connected for Handshake {
    type ConnectInfo = Arc<Peer>;

    fn connect_info(&self) -> Self::ConnectInfo {
        Arc::clone(&self.peer)
    }
}

impl AsyncRead for Handshake {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let begun = ready!(self.poll_open(context))?;
        let left = &begun.first[begun.passed..];
        if !left.is_empty() {
            let some = left.len().min(buffer.remaining());
            buffer.put_slice(&left[..some]);
            begun.passed += some;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut begun.opened).poll_read(context, buffer)
    }
}

impl AsyncWrite for Handshake {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let begun = ready!(self.poll_open(context))?;
        Pin::new(&mut begun.opened).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let begun = ready!(self.poll_open(context))?;
        Pin::new(&mut begun.opened).poll_write_vectored(context, parts)
    }

    /// Both TCP and TLS can write several buffers at once.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let begun = ready!(self.poll_open(context))?;
        Pin::new(&mut begun.opened).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state = match mem::replace(&mut self.state, State::Failed) {
            // If an HTTP/1.1 request is refused before it is read completely, bytes are left.
            State::Open(begun) if begun.first != HTTP2 => {
                State::Ending(Box::pin(end(begun.opened)))
            }
            state => state,
        };
        match &mut self.state {
            State::Open(begun) => Pin::new(&mut begun.opened).poll_shutdown(context),
            State::Ending(ending) => {
                ready!(ending.as_mut().poll(context));
                self.state = State::Failed;
                Poll::Ready(Ok(()))
            }
            // Neither side has sent anything that needs a proper end, so dropping the connection
            // closes it.
            _ => Poll::Ready(Ok(())),
        }
    }
}
