//! Connections, as many as there may be, each as long as it has something to do.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tokio_stream::Stream;
use tonic::transport::server::Connected;

use crate::Limits;
use crate::addresses::{Addresses, Place};
use crate::metrics::Metrics;

/// A pause after the system refused a connection, for instance for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// When a server stops, connections without requests are closed after this time.
const STOPPING: Duration = Duration::from_millis(200);

/// Accepts connections. One too many, of all or of its address, is closed at once.
pub(crate) struct Incoming {
    listener: TcpListener,
    slots: Arc<Semaphore>,
    addresses: Arc<Addresses>,
    pause: Option<Pin<Box<Sleep>>>,
    limits: Limits,
    metrics: Arc<Metrics>,
    stopping: Arc<AtomicBool>,
}

impl Incoming {
    pub(crate) fn new(
        listener: TcpListener,
        limits: &Limits,
        metrics: Arc<Metrics>,
        stopping: Arc<AtomicBool>,
    ) -> Self {
        Self {
            listener,
            slots: Arc::new(Semaphore::new(limits.connections)),
            addresses: Addresses::new(limits.per_address),
            pause: None,
            limits: limits.clone(),
            metrics,
            stopping,
        }
    }

    /// A place among all connections and among those of its address.
    fn place(&self, from: IpAddr) -> Option<(OwnedSemaphorePermit, Place)> {
        let slot = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        Some((slot, self.addresses.admit(from)?))
    }
}

impl Stream for Incoming {
    type Item = io::Result<Watched>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = &mut self.pause {
                std::task::ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            let Ok((tcp, from)) = std::task::ready!(self.listener.poll_accept(context)) else {
                self.pause = Some(Box::pin(sleep(PAUSE)));
                continue;
            };
            let Some(place) = self.place(from.ip()) else {
                self.metrics.closed.inc();
                continue;
            };
            // Replies are written whole, so waiting for more would only delay them.
            if tcp.set_nodelay(true).is_err() {
                continue;
            }
            let activity = Activity::new(&self.limits, Arc::clone(&self.stopping));
            let open = Open::new(&self.metrics, place);
            return Poll::Ready(Some(Ok(Watched {
                tcp,
                tick: Box::pin(sleep(activity.tick)),
                activity,
                _open: open,
            })));
        }
    }
}

/// An open connection.
struct Open {
    metrics: Arc<Metrics>,
    _place: (OwnedSemaphorePermit, Place),
}

impl Open {
    fn new(metrics: &Arc<Metrics>, place: (OwnedSemaphorePermit, Place)) -> Self {
        metrics.connections.inc();
        Self {
            metrics: Arc::clone(metrics),
            _place: place,
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.metrics.connections.dec();
    }
}

/// A TCP connection that ends when it has been idle, or busy with one request, for too long.
///
/// This is below TLS and HTTP/2, so it holds for a client that never finishes a handshake, that
/// sends a byte at a time, that only answers pings, and that does not take its reply.
pub(crate) struct Watched {
    tcp: TcpStream,
    tick: Pin<Box<Sleep>>,
    activity: Arc<Activity>,
    _open: Open,
}

impl Connected for Watched {
    type ConnectInfo = Arc<Activity>;

    fn connect_info(&self) -> Self::ConnectInfo {
        Arc::clone(&self.activity)
    }
}

impl AsyncRead for Watched {
    /// HTTP/2 always reads, so this is where the clock is looked at.
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.tick.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            if self.activity.is_over(now) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            let next = now + self.activity.tick;
            self.tick.as_mut().reset(next.into());
        }
        Pin::new(&mut self.tcp).poll_read(context, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(context, parts)
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

/// What a connection is busy with.
#[derive(Debug)]
pub(crate) struct Activity {
    first_request: Duration,
    idle: Duration,
    tick: Duration,
    stopping: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Since when there is nothing to do.
    idle_since: Instant,
    /// Requests so far.
    requests: u64,
    /// The requests in flight: their numbers, and when they must be over.
    in_flight: Vec<(u64, Instant)>,
}

impl Activity {
    fn new(limits: &Limits, stopping: Arc<AtomicBool>) -> Arc<Self> {
        let shortest = limits.first_request.min(limits.idle).min(limits.request);
        Arc::new(Self {
            first_request: limits.first_request,
            idle: limits.idle,
            tick: (shortest / 8).clamp(Duration::from_millis(5), STOPPING),
            stopping,
            state: Mutex::new(State {
                idle_since: Instant::now(),
                requests: 0,
                in_flight: Vec::new(),
            }),
        })
    }

    fn is_over(&self, now: Instant) -> bool {
        let state = self.lock();
        if state.in_flight.is_empty() {
            let mut limit = match state.requests {
                0 => self.first_request,
                _ => self.idle,
            };
            if self.stopping.load(Ordering::Relaxed) {
                limit = limit.min(STOPPING);
            }
            return now >= state.idle_since + limit;
        }
        state.in_flight.iter().any(|&(_, end)| now >= end)
    }

    /// A request begins, and must be over at `end`; its number.
    pub(crate) fn begin(&self, end: Instant) -> u64 {
        let mut state = self.lock();
        state.requests += 1;
        let number = state.requests;
        state.in_flight.push((number, end));
        number
    }

    /// A request may take until `end`.
    pub(crate) fn extend(&self, number: u64, end: Instant) {
        let mut state = self.lock();
        let found = state.in_flight.iter_mut().find(|(n, _)| *n == number);
        if let Some((_, present)) = found {
            *present = end;
        }
    }

    /// A request is over.
    pub(crate) fn end(&self, number: u64) {
        let mut state = self.lock();
        state.in_flight.retain(|(n, _)| *n != number);
        state.idle_since = Instant::now();
    }

    /// The state is whole between any two statements, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
