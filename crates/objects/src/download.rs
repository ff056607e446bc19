//! Downloads files in pieces. Each piece is requested by its range, counted, and requested again if it arrived incomplete.
//!
//! A store is not trusted. The client refuses a piece that is shorter than its range or from another place. It reads no
//! more of a body than it requested, whatever the store sends. This code does not check that bytes are the right ones:
//! callers compare digests.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path as Key;
use object_store::{Error as Fault, GetOptions, GetRange, ObjectStore};
use tokio_stream::StreamExt;

use crate::retry::{Requests, RetryPolicy, Waiting};

/// The size in bytes of a piece.
pub(crate) const PIECE: u64 = 8 << 20;

/// The number of pieces that are requested at the same time.
const AHEAD: usize = 4;

/// The first piece of a file.
pub(crate) struct First {
    pub(crate) bytes: Bytes,
    /// The size in bytes of the file, according to the store.
    pub(crate) len: u64,
    pub(crate) tag: Option<String>,
}

/// A file that is being read.
pub(crate) struct Download<'a> {
    pub(crate) store: &'a Arc<dyn ObjectStore>,
    pub(crate) requests: &'a Requests,
    pub(crate) patience: RetryPolicy,
    pub(crate) key: Key,
}

impl Download<'_> {
    /// The first bytes: one piece, or the whole file if that is shorter.
    pub(crate) fn first(&self, most: u64) -> io::Result<First> {
        self.piece(0, most.clamp(1, PIECE), None).end()
    }

    /// Passes the bytes to `each` in order, or the first `most + 1` bytes of a longer file.
    pub(crate) fn stream(&self, most: u64, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let most = most.saturating_add(1);
        let First { bytes, len, tag } = self.first(most)?;
        let want = len.min(most);
        let mut next = bytes.len() as u64;
        let mut waiting = VecDeque::new();
        each(&bytes);
        drop(bytes);
        loop {
            while next < want && waiting.len() < AHEAD {
                let len = PIECE.min(want - next);
                waiting.push_back(self.piece(next, len, tag.clone()));
                next += len;
            }
            match waiting.pop_front() {
                None => return Ok(()),
                Some(piece) => each(&piece.end()?.bytes),
            }
        }
    }

    fn piece(&self, start: u64, len: u64, tag: Option<String>) -> Waiting<First> {
        let (store, key, patience) = (Arc::clone(self.store), self.key.clone(), self.patience);
        self.requests.begin(patience.request, async move {
            let mut pause = patience.pause;
            for _ in 1..patience.attempts {
                match once(&*store, &key, start, len, tag.clone()).await {
                    Err(error) if is_passing(&error) => tokio::time::sleep(pause).await,
                    done => return done,
                }
                pause *= 2;
            }
            once(&*store, &key, start, len, tag).await
        })
    }
}

/// One attempt at a piece.
async fn once(
    store: &dyn ObjectStore,
    key: &Key,
    start: u64,
    len: u64,
    tag: Option<String>,
) -> io::Result<First> {
    let options = GetOptions {
        range: Some(GetRange::Bounded(start..start.saturating_add(len))),
        // If the file were replaced while it is read, the result would be half of each.
        if_match: tag,
        ..GetOptions::default()
    };
    let found = store.get_opts(key, options).await.map_err(fault)?;
    let size = found.meta.size;
    let expected = start..size.min(start.saturating_add(len));
    if found.range != expected {
        let why = format!("bytes {:?} of {size}, asked for {expected:?}", found.range);
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let tag = found.meta.e_tag.clone();
    let expected = expected.end.saturating_sub(start);
    let mut body = found.into_stream();
    let mut bytes: Vec<u8> = Vec::new();
    while let Some(some) = body.next().await {
        let some = some.map_err(fault)?;
        if bytes.len() as u64 + some.len() as u64 > expected {
            let why = format!("more than the {expected} bytes that were asked for");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        bytes.extend_from_slice(&some);
    }
    if bytes.len() as u64 != expected {
        let why = format!("{} bytes, expected {expected}", bytes.len());
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
    }
    Ok(First {
        bytes: Bytes::from(bytes),
        len: size,
        tag,
    })
}

/// True if the same request may well succeed a little later.
fn is_passing(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::Unsupported
    )
}

/// A store's error as an error of the system, by its kind.
pub(crate) fn fault(error: Fault) -> io::Error {
    let kind = match &error {
        Fault::NotFound { .. } => io::ErrorKind::NotFound,
        Fault::PermissionDenied { .. } | Fault::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        Fault::AlreadyExists { .. } | Fault::Precondition { .. } => io::ErrorKind::AlreadyExists,
        Fault::NotSupported { .. } | Fault::NotImplemented { .. } => io::ErrorKind::Unsupported,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
