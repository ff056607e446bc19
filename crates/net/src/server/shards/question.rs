//! A request to one shard, and the servers that may answer it.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sordino_server::{PendingRequest, Server};

use super::line::{Line, Replica};
use crate::server::metrics::Metrics;
use crate::{Error, Refusal};

/// The number of attempts to get a shard's part of a reply.
const TRIES: usize = 2;

/// A request to one shard.
pub(super) struct Question {
    pub(super) line: Arc<Line>,
    pub(super) server: Arc<Server>,
    pub(super) asked: PendingRequest,
    pub(super) request: Bytes,
    pub(super) metrics: Arc<Metrics>,
    /// True if a second server is asked when the first is late.
    pub(super) hedged: bool,
}

impl Question {
    /// The shard's part of the reply. After a failure the shard is asked once more. The request goes to another of its
    /// servers or, if there is only one address, to the process that runs there by then.
    pub(super) async fn part(self) -> Result<Vec<u8>, Refusal> {
        let shard = self.line.shard;
        let limit = self.server.longest_part(self.asked, shard);
        let limit = limit.map_err(|_| Refusal::Shard)?;
        let replicas = self.line.order(self.asked.is_fetch());
        for (at, replica) in replicas.iter().cycle().take(TRIES).enumerate() {
            let start = Instant::now();
            let second = replicas.get(1).filter(|_| at == 0).and_then(|second| {
                let late = self.late(second)?;
                Some((second, late))
            });
            let part = match second {
                Some((second, late)) => self.hedged([replica, second], late, limit).await,
                None => self.once(replica, limit).await,
            };
            let error = match part {
                Ok(part) => {
                    let took = start.elapsed();
                    self.line.hedge.took(took);
                    self.metrics.shard(shard.number(), took);
                    return Ok(part);
                }
                Err(error) => error,
            };
            let last = at + 1 == TRIES;
            if let Some(refusal) = of_client(self.asked, &error, last) {
                return Err(refusal);
            }
            self.metrics.shard_failed(shard.number(), last);
            let address = &replica.address;
            if replica.is_news(&error) {
                tracing::warn!(%shard, address, %error, "a shard did not do its part: it is said once, until it does or fails otherwise");
            }
            if !last && replicas.len() == 1 {
                tokio::time::sleep(PAUSE).await;
            }
        }
        if replicas.is_empty() {
            self.metrics.shard_failed(shard.number(), true);
            tracing::warn!(%shard, "no server holds a shard");
        }
        Err(Refusal::Shard)
    }

    /// The time after which a second server is asked, if one may be.
    fn late(&self, second: &Replica) -> Option<Duration> {
        // A server that failed recently does not help.
        let may = self.hedged && !self.asked.is_fetch() && !second.is_doubtful();
        self.line.hedge.late().filter(|_| may)
    }

    /// Asks one server, and a second one if the first is late. The first complete answer counts.
    async fn hedged(
        &self,
        [first, second]: [&Replica; 2],
        late: Duration,
        limit: usize,
    ) -> Result<Vec<u8>, sordino_server::Error> {
        let mut one = pin!(self.once(first, limit));
        tokio::select! {
            done = &mut one => return done,
            () = tokio::time::sleep(late) => {}
        }
        if !self.line.hedge.spend() {
            return one.await;
        }
        self.metrics.shard_hedged(self.line.shard.number());
        let mut two = pin!(self.once(second, limit));
        tokio::select! {
            done = &mut one => match done {
                Ok(part) => Ok(part),
                Err(_) => two.await,
            },
            done = &mut two => match done {
                Ok(part) => {
                    first.lost();
                    Ok(part)
                }
                Err(_) => one.await,
            },
        }
    }

    async fn once(
        &self,
        replica: &Replica,
        limit: usize,
    ) -> Result<Vec<u8>, sordino_server::Error> {
        let (asked, shard) = (self.asked, self.line.shard);
        let check = |part: &[u8]| self.server.check_part(asked, shard, part);
        replica.part(self.request.clone(), limit, check).await
    }
}

/// The pause before the only server of a shard is asked again. If its process has ended, it refuses at once, and a
/// new process may replace it.
const PAUSE: Duration = Duration::from_millis(50);

/// A refusal on which the client must act: a fetch lacks a session's keys, or the index does not answer such a
/// message. The second reason counts only if the shard repeats it when asked again.
fn of_client(asked: PendingRequest, error: &sordino_server::Error, last: bool) -> Option<Refusal> {
    match error {
        sordino_server::Error::Session if asked.is_fetch() => Some(Refusal::Session),
        error => match Error::of(error) {
            Some(Error::Status { code, .. }) if last && code == "InvalidArgument" => {
                Some(Refusal::Message)
            }
            _ => None,
        },
    }
}
