//! Sends a reply in chunks.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use sordino_server::StaticReply;
use tokio_stream::Stream;
use tonic::Status;

use super::admission::Call;
use crate::protocol::CHUNK;
use crate::schema::CallReply;

/// The bytes of a reply.
pub(crate) enum Content {
    /// A reply for this request only.
    Own(Bytes),
    /// A reply that is the same for all clients. It is copied a chunk at a time, never as a whole.
    StaticReply(StaticReply),
}

impl Content {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Own(bytes) => bytes.len(),
            Self::StaticReply(reply) => reply.len(),
        }
    }

    /// The chunk that begins at `at`.
    fn chunk(&self, at: usize) -> Bytes {
        match self {
            Self::Own(bytes) => bytes.slice(at..self.len().min(at + CHUNK)),
            Self::StaticReply(reply) => reply.range(at, CHUNK).into(),
        }
    }
}

/// A reply that is being sent in chunks. The request is in flight until the client has taken all of
/// them.
pub(crate) struct Reply {
    content: Content,
    at: usize,
    _call: Arc<Call>,
}

impl Reply {
    /// Begins to send.
    pub(crate) fn new(content: Content, call: Arc<Call>) -> Self {
        call.replying(content.len());
        Self {
            content,
            at: 0,
            _call: call,
        }
    }
}

impl Stream for Reply {
    type Item = Result<CallReply, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.at >= self.content.len() {
            return Poll::Ready(None);
        }
        let chunk = self.content.chunk(self.at);
        self.at += CHUNK;
        let length = self.content.len() as u64;
        Poll::Ready(Some(Ok(CallReply { length, chunk })))
    }
}
