//! The kinds of errors, and the part of an error that a server knows of.

use super::{Error, LogFault, OwnerFault};

/// The kind of an error: exit codes, classes of exceptions and attempts follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A signature, digest, version or reply is wrong: the index, the file or the server is not to be trusted.
    Untrusted,
    /// The server is busy, or was asked too often. The same work may succeed a little later.
    Busy,
    /// The server cannot be reached, the connection broke, or the server was started again. The same work may succeed a
    /// little later.
    Away,
    /// The server refused, for a reason that waiting does not mend.
    Refused,
    /// The index has another version by now.
    Stale,
    /// An argument, a file, a key or this machine.
    Local,
}

impl Kind {
    /// True if the same work, done again with fresh secrets, may succeed a little later.
    #[must_use]
    pub fn is_passing(self) -> bool {
        matches!(self, Self::Busy | Self::Away | Self::Stale)
    }
}

impl Error {
    /// The kind of the part that a server knows of; [`Kind::Untrusted`] where a server knows of nothing.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let Some(seen) = self.seen() else {
            return Kind::Untrusted;
        };
        match seen {
            Self::Transport { kind, .. } => *kind,
            Self::Stale { .. } => Kind::Stale,
            Self::Session | Self::Position(..) => Kind::Refused,
            // It says nothing of the log.
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
            | Self::Owner(OwnerFault::Undone(_) | OwnerFault::Copy { .. }) => Kind::Untrusted,
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

    /// The part of it that a server knows of: nothing of a bad reply, and of a failure after one the failure.
    ///
    /// # Security
    /// A client asks again, or does not, by this alone.
    #[must_use]
    pub fn seen(&self) -> Option<&Self> {
        match self {
            Self::BadReply => None,
            Self::AfterBadReply(then) => Some(then),
            error => Some(error),
        }
    }

    /// True if a reply was bad, whatever came after it.
    #[must_use]
    pub fn is_bad_reply(&self) -> bool {
        matches!(self, Self::BadReply | Self::AfterBadReply(_))
    }

    /// This error where a reply was bad before it.
    #[must_use]
    pub fn after_bad_reply(self) -> Self {
        match self.is_bad_reply() {
            true => self,
            false => Self::AfterBadReply(Box::new(self)),
        }
    }
}
