//! Accepts connections, up to the allowed number.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};
use tokio_stream::Stream;

use super::address::{Budgets, holder};
use super::handshake::{Handshake, Tls};
use super::metrics::Metrics;
use super::peer::Peer;
use super::shares::{Newcomer, Place, Shares};
use super::timed_stream::TimedStream;
use crate::Limits;

/// The pause after the system refused a connection, for example for lack of file descriptors. The second, shorter
/// pause applies if another connection makes room.
const PAUSE: Duration = Duration::from_millis(50);
const SHORT_PAUSE: Duration = Duration::from_millis(2);

/// Accepts connections. There is a limit for all connections, and one for each address. A connection beyond a limit is
/// closed at once, or replaces one that has proven no key.
pub(crate) struct Connections {
    listeners: Vec<TcpListener>,
    tls: Tls,
    places: Arc<Shares>,
    pace: Budgets,
    anyone: bool,
    pause: Option<Pin<Box<Sleep>>>,
    limits: Limits,
    metrics: Arc<Metrics>,
    stopping: Arc<AtomicBool>,
}

impl Connections {
    pub(crate) fn new(
        listeners: Vec<TcpListener>,
        tls: Tls,
        anyone: bool,
        limits: &Limits,
        metrics: &Arc<Metrics>,
        stopping: &Arc<AtomicBool>,
    ) -> Self {
        Self {
            listeners,
            tls,
            // If keys are known, a client without a proven key makes room. If anyone may send requests, no connection
            // of an address has precedence over another.
            places: Shares::new(limits.connections, limits.per_address, !anyone),
            pace: Budgets::new(limits.connects_per_address, Instant::now()),
            anyone,
            pause: None,
            limits: *limits,
            metrics: Arc::clone(metrics),
            stopping: Arc::clone(stopping),
        }
    }

    /// The next connection. The ports take turns at being first, so that none waits for the others.
    fn poll_accept(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        self.listeners.rotate_left(1);
        let mut ports = self.listeners.iter();
        let ready = ports.find_map(|port| match port.poll_accept(context) {
            Poll::Ready(accepted) => Some(accepted),
            Poll::Pending => None,
        });
        ready.map_or(Poll::Pending, Poll::Ready)
    }

    /// A place among all connections and among its address's connections.
    fn place(&self, address: IpAddr) -> Option<Place> {
        if !self.pace.take(address, Instant::now()) {
            return None;
        }
        self.places.admit(Newcomer::from(address))
    }
}

impl Stream for Connections {
    type Item = io::Result<Handshake>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = &mut self.pause {
                std::task::ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            let Ok((tcp, from)) = std::task::ready!(self.poll_accept(context)) else {
                let pause = match self.places.make_room() {
                    true => SHORT_PAUSE,
                    false => PAUSE,
                };
                self.pause = Some(Box::pin(sleep(pause)));
                continue;
            };
            let address = holder(from.ip());
            let Some(place) = self.place(address) else {
                self.metrics.closed.inc();
                tracing::debug!(%address, "connection refused: too many");
                continue;
            };
            // Replies are written as a whole, so waiting for more data would not help.
            if tcp.set_nodelay(true).is_err() {
                continue;
            }
            let (number, anyone) = (place.number, self.anyone);
            let (limits, stopping) = (&self.limits, &self.stopping);
            let peer = Peer::new(address, number, &self.places, anyone, limits, stopping);
            let watched = TimedStream::new(tcp, place, &peer, &self.metrics);
            return Poll::Ready(Some(Ok(Handshake::new(watched, peer, &self.tls))));
        }
    }
}
