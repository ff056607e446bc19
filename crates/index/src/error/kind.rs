//! The kinds of errors, and the part of an error that a server can observe.

use super::{Error, LogFault, OwnerFault};

/// The kind of an error. Exit codes, classes of exceptions and retries depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A signature, digest, version or reply is wrong, so the index, the file or the server cannot be trusted.
    Untrusted,
    /// The server is busy, or was asked too often. The same request may succeed a little later.
    Busy,
    /// The client cannot reach the server, or the connection broke. The same request may succeed a little later.
    Away,
    /// The server does not know the client's login, because it was restarted or the login is over. The same request, with
    /// fresh secrets, may succeed at once.
    Restarted,
    /// The server refused, and waiting does not help.
    Refused,
    /// The index has a newer version now.
    Stale,
    /// The cause is an argument, a file, a key or this machine.
    Local,
}

impl Kind {
    /// True if the same work may succeed a little later, with fresh secrets.
    #[must_use]
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Self::Busy | Self::Away | Self::Restarted | Self::Stale
        )
    }
}

impl Error {
    /// The kind of the part that a server can observe, or [`Kind::Untrusted`] if it observes nothing.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let Some(seen) = self.seen() else {
            return Kind::Untrusted;
        };
        match seen {
            Self::Transport { kind, .. } => *kind,
            Self::Stale { .. } => Kind::Stale,
            Self::Session | Self::Position(..) => Kind::Refused,
            // Such a proof does not say anything about the log.
            Self::Log(LogFault::ProofFrom { .. }) => Kind::Local,
            Self::Malformed { .. }
            | Self::Addition(..)
            | Self::FormatVersion { .. }
            | Self::Digest { .. }
            | Self::Signature
            | Self::Log(_)
            | Self::Rollback { .. }
            | Self::NotNext(_)
            | Self::Fork { .. }
            | Self::OtherIndex { .. }
            | Self::Gap { .. }
            | Self::Owner(
                OwnerFault::Undone(_) | OwnerFault::Copy { .. } | OwnerFault::OtherServed { .. },
            ) => Kind::Untrusted,
            _ => Kind::Local,
        }
    }

    /// An error of a transport.
    pub fn transport(
        kind: Kind,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let source = source.into();
        Self::Transport { kind, source }
    }

    /// The part of the error that a server can observe. For a bad reply, `None`. For a failure after a bad reply, the
    /// failure alone.
    ///
    /// # Security
    /// A client decides only by this part whether to retry.
    #[must_use]
    pub fn seen(&self) -> Option<&Self> {
        match self {
            Self::BadReply => None,
            Self::AfterBadReply(then) => Some(then),
            error => Some(error),
        }
    }

    /// True if a reply was bad, even if other failures followed.
    #[must_use]
    pub fn is_bad_reply(&self) -> bool {
        matches!(self, Self::BadReply | Self::AfterBadReply(_))
    }

    /// This error, marked as one that followed a bad reply.
    #[must_use]
    pub fn after_bad_reply(self) -> Self {
        match self.is_bad_reply() {
            true => self,
            false => Self::AfterBadReply(Box::new(self)),
        }
    }
}
