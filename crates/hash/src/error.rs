//! The errors of this crate.

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Room for more or fewer results than there are messages.
    #[error("room for {found} digests, expected {expected}, one for each message")]
    Digests {
        /// Digests that have room.
        found: usize,
        /// Messages.
        expected: usize,
    },
    /// A file could not be opened, mapped or read.
    #[cfg(feature = "mmap")]
    #[error("cannot hash {}: {source}", path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A proof does not begin as one.
    #[error("not a proof of this kind: it does not start with its magic bytes")]
    ProofMagic,
    /// A proof of another version.
    #[error("proof of version {found}, expected {expected}")]
    ProofVersion {
        /// Version in the bytes.
        found: u8,
        /// Version of this crate.
        expected: u8,
    },
    /// A proof whose number of bytes does not fit its index and list length.
    #[error("proof of {found} bytes, expected {expected}")]
    ProofLength {
        /// Bytes given.
        found: usize,
        /// Bytes that the proof must have.
        expected: usize,
    },
    /// A proof for a place that the list does not have.
    #[error("inclusion proof for index {index} of a list of {count}")]
    ProofIndex {
        /// Index in the proof.
        index: u64,
        /// List length in the proof.
        count: u64,
    },
    /// A proof that a list begins with a longer one.
    #[error("extension proof from a list of {old} to one of {new}, which is shorter")]
    ProofShrinks {
        /// Length of the list that is to be extended.
        old: u64,
        /// Length of the other.
        new: u64,
    },
    /// The digest is not at this place of the list with this root, or this list does not begin with the other.
    #[error("the proof does not lead to the root")]
    ProofMismatch,
}
