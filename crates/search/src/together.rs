//! A server in the same process, for several searches at the same time.

use std::mem;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sordino_index::{Error, Kind};
use sordino_reader::Transport;
use sordino_server::Server;

/// A server in the same process for several searches at the same time, each on its own thread. When all of them
/// wait for a reply, one pass over the index answers them.
///
/// A pass reads the whole index, which limits its speed if it answers only one query. The messages and the results
/// are the same as with [`InProcess`](crate::InProcess).
#[derive(Debug)]
pub struct Together<'a> {
    server: &'a Server,
    gathered: Mutex<Gathered>,
}

#[derive(Debug, Default)]
struct Gathered {
    members: usize,
    waiting: Vec<Waiting>,
}

/// A request, and the channel to the thread that waits for its reply.
#[derive(Debug)]
struct Waiting {
    request: Vec<u8>,
    back: Sender<(Result<Vec<u8>, Error>, Duration)>,
}

impl<'a> Together<'a> {
    /// Connects to a server.
    #[must_use]
    pub fn new(server: &'a Server) -> Self {
        Self {
            server,
            gathered: Mutex::default(),
        }
    }

    /// A transport for one thread. From now on no pass begins before that thread waits too, or has dropped the
    /// transport. So make all transports before the first is used.
    #[must_use]
    pub fn member(&self) -> Member<'_> {
        self.gathered().members += 1;
        Member {
            together: self,
            server_time: Duration::ZERO,
        }
    }

    /// The number of requests that wait for a pass.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.gathered().waiting.len()
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers all waiting requests, unless another request can still arrive.
    fn pass(&self, mut gathered: MutexGuard<'_, Gathered>) {
        if gathered.waiting.len() < gathered.members {
            return;
        }
        let waiting = mem::take(&mut gathered.waiting);
        drop(gathered);
        let requests: Vec<&[u8]> = waiting.iter().map(|one| &one.request[..]).collect();
        let start = Instant::now();
        let replies = self.server.handle_batch(&requests);
        let share = start.elapsed().div_f64(requests.len().max(1) as f64);
        for (one, reply) in waiting.into_iter().zip(replies) {
            // The thread waits for the reply, or has panicked.
            drop(one.back.send((reply, share)));
        }
    }
}

/// One thread's transport of [`Together`].
#[derive(Debug)]
pub struct Member<'a> {
    together: &'a Together<'a>,
    server_time: Duration,
}

impl Member<'_> {
    /// The time spent in the server since the last call. Each pass counts with one request's share of its time.
    pub fn take_server_time(&mut self) -> Duration {
        mem::take(&mut self.server_time)
    }
}

impl Transport for Member<'_> {
    fn call(&mut self, request: &[u8], _limit: usize) -> Result<Vec<u8>, Error> {
        let (back, reply) = mpsc::channel();
        let mut gathered = self.together.gathered();
        gathered.waiting.push(Waiting {
            request: request.to_vec(),
            back,
        });
        self.together.pass(gathered);
        let (reply, share) = reply.recv().map_err(|_| {
            let why = "a thread of this batch of searches has panicked";
            Error::transport(Kind::Local, why)
        })?;
        self.server_time += share;
        reply
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        let mut gathered = self.together.gathered();
        gathered.members -= 1;
        if std::thread::panicking() {
            // The other threads must not wait for ever, and a second panic here would abort the process.
            gathered.waiting.clear();
        } else if !gathered.waiting.is_empty() {
            // The other threads may have waited only for this thread.
            self.together.pass(gathered);
        }
    }
}
