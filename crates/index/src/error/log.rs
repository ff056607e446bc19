//! Errors about a log of versions.

use super::words::hex;

/// A log is refused, or does not have a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogFault {
    /// A version is not in the log that its owner publishes.
    #[error(
        "the version is not in the owner's log: the owner did not publish it, or it is of another history. Stop using \
         this server, and ask the owner"
    )]
    NotLogged,
    /// A log has a newer version of an index than a client has seen.
    #[error(
        "this client has seen version {found} of the index, and the owner's log has the newer version {logged}: search \
         again, then check again. Stop using the server if it still shows version {found}"
    )]
    Behind {
        /// The version that was seen.
        found: u64,
        /// The newest version in the log.
        logged: u64,
    },
    /// A version of an index does not directly follow the last one in a log.
    #[error(
        "version {version} of index {} does not follow from version {logged}, its last in the log. It is of another \
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
    /// A log does not begin with the entries that were seen before.
    #[error(
        "the log of {found} entries does not begin with the {seen} that were seen before. Stop: it was rewritten, or \
         you are shown another log; ask its owner"
    )]
    Fork {
        /// The number of entries of the log.
        found: u64,
        /// The number of entries that were seen.
        seen: u64,
    },
    /// A log is shorter than the one that was seen before.
    #[error(
        "the log has {found} entries, and {seen} were seen before. Stop: it is an older log; ask its owner"
    )]
    Rollback {
        /// The number of entries of the log.
        found: u64,
        /// The number of entries that were seen.
        seen: u64,
    },
    /// A proof from a log does not begin at the length that a reader has seen.
    #[error(
        "the proof begins at {from} entries, and {seen} were seen: ask for one made with --seen {seen}"
    )]
    ProofFrom {
        /// The length at which the proof begins.
        from: u64,
        /// The number of entries that were seen.
        seen: u64,
    },
    /// The signature of a log's head is not the owner's.
    #[error(
        "the log is not signed by this owner's key: it was changed, or is another owner's. Stop using it"
    )]
    Signature,
}
