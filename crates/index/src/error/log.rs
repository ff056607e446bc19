//! Everything that can be wrong with a log of versions.

use super::words::hex;

/// A log that is refused, or a version that it does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogFault {
    /// A version that is not in the log that its owner publishes.
    #[error("the version is not in the owner's log: not published, or of another history")]
    NotLogged,
    /// A log has a newer version of an index than a client has seen.
    #[error(
        "version {found} of the index was seen, and the owner's log has version {logged}: search again, and check \
         again; a server that still shows the older one stands still"
    )]
    Behind {
        /// The version that was seen.
        found: u64,
        /// The newest in the log.
        logged: u64,
    },
    /// A version of an index is not the next after the last one in a log.
    #[error(
        "version {version} of index {} does not follow from version {logged}, the last of it in the log: another \
         branch, or versions between the two are missing",
        hex(index)
    )]
    Line {
        /// The index's id.
        index: [u8; 16],
        /// The version.
        version: u64,
        /// The last version in the log.
        logged: u64,
    },
    /// A log begins with other entries than were seen before.
    #[error("a log of {found} entries does not begin with the {seen} that were seen before")]
    Fork {
        /// Entries of the log.
        found: u64,
        /// Entries that were seen.
        seen: u64,
    },
    /// A log is shorter than one that was seen before.
    #[error("a log of {found} entries, and {seen} were seen before: an older one")]
    Rollback {
        /// Entries of the log.
        found: u64,
        /// Entries that were seen.
        seen: u64,
    },
    /// A proof from a log begins at another length than a reader has seen.
    #[error(
        "a proof from {from} entries on, and {seen} were seen: ask for one made with --seen {seen}"
    )]
    ProofFrom {
        /// The length that the proof begins at.
        from: u64,
        /// Entries that were seen.
        seen: u64,
    },
    /// The signature of a log's head is not the owner's.
    #[error("the log is not signed by this owner's key: it was changed, or is another owner's")]
    Signature,
}
