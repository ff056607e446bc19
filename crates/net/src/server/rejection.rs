//! Requests that are not answered, and their status on the wire.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use sordino_index::Error;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

use super::rate::Rate;
use crate::Refusal;
use crate::protocol::{REFUSAL, STALE};

/// A request that is not answered, because the server or the index refuses it.
#[derive(Debug)]
pub(crate) enum Rejection {
    By(Refusal),
    /// The index states the fault of the message. This is public, because the server knows nothing
    /// else.
    Message(Error),
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Self {
        Self::By(refusal)
    }
}

impl Rejection {
    /// The reason, for the counts.
    pub(crate) fn reason(&self) -> Refusal {
        match self {
            Self::By(refusal) => *refusal,
            Self::Message(Error::Session) => Refusal::Session,
            Self::Message(Error::Share(_)) => Refusal::Share,
            Self::Message(_) => Refusal::Message,
        }
    }

    /// The status that is sent.
    pub(crate) fn status(&self) -> Status {
        let (Self::Message(error), Refusal::Message) = (self, self.reason()) else {
            return self.reason().status(None);
        };
        let mut status = Refusal::Message.status(Some(error.to_string()));
        if let Error::Stale { found, serving } = error
            && let Ok(versions) = format!("{found} {serving}").parse()
        {
            status.metadata_mut().insert(STALE, versions);
        }
        status
    }
}

impl Refusal {
    /// The gRPC code of this refusal.
    fn code(self) -> Code {
        match self {
            Self::Unsigned
            | Self::Malformed
            | Self::Key
            | Self::Instance
            | Self::Time
            | Self::Signature
            | Self::Replayed
            | Self::Login => Code::Unauthenticated,
            Self::Rate | Self::Busy => Code::ResourceExhausted,
            Self::Stopping | Self::Shard => Code::Unavailable,
            Self::Slow => Code::DeadlineExceeded,
            Self::Changes | Self::Token | Self::Index => Code::PermissionDenied,
            Self::Message => Code::InvalidArgument,
            Self::Session | Self::Share => Code::FailedPrecondition,
            Self::Long => Code::OutOfRange,
        }
    }

    /// The status that is sent, with details if there are any.
    fn status(self, detail: Option<String>) -> Status {
        let text = detail.unwrap_or_else(|| self.to_string());
        let mut status = Status::new(self.code(), text);
        let name = MetadataValue::from_static(self.name());
        status.metadata_mut().insert(REFUSAL, name);
        status
    }
}

/// Log lines about refusals that a client could not have avoided by waiting. Their number per second is bounded,
/// whatever number of requests clients send.
#[derive(Debug)]
pub(crate) struct Lines(Mutex<(Rate, u64)>);

/// The largest number of lines per second.
const LINES: f64 = 20.0;

impl Lines {
    pub(crate) fn new() -> Self {
        Self(Mutex::new((Rate::new(LINES, Instant::now()), 0)))
    }

    /// If a line may be written now, returns the number of lines that were left out before it.
    pub(crate) fn take(&self) -> Option<u64> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (rate, left_out) = &mut *held;
        if rate.take(Instant::now()) {
            return Some(std::mem::take(left_out));
        }
        *left_out += 1;
        None
    }
}
