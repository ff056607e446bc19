//! The error type.

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller's list of digests is longer or shorter than the list of messages.
    #[error("room for {found} digests, expected {expected}, one for each message")]
    Digests {
        /// The number of digests in the caller's list.
        found: usize,
        /// The number of messages.
        expected: usize,
    },
    /// A file could not be opened, mapped or read.
    #[cfg(feature = "mmap")]
    #[error("cannot hash {}: {source}", path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A proof does not begin with the magic bytes of a proof.
    #[error("not a proof of this kind: it does not start with its magic bytes")]
    ProofMagic,
    /// A proof has another version of the format.
    #[error("proof of version {found}, expected {expected}")]
    ProofVersion {
        /// Version in the bytes.
        found: u8,
        /// Version that this crate reads.
        expected: u8,
    },
    /// The number of bytes of a proof does not fit its index and list length.
    #[error("proof of {found} bytes, expected {expected}")]
    ProofLength {
        /// The number of bytes given.
        found: usize,
        /// The number of bytes that the proof must have.
        expected: usize,
    },
    /// The index of a proof is beyond the end of the list.
    #[error("inclusion proof for index {index} of a list of {count}")]
    ProofIndex {
        /// Index in the proof.
        index: u64,
        /// List length in the proof.
        count: u64,
    },
    /// An extension proof claims that a list begins with a longer one.
    #[error("extension proof from a list of {old} to one of {new}, which is shorter")]
    ProofShrinks {
        /// The length of the list that is to be extended.
        old: u64,
        /// The length of the extended list.
        new: u64,
    },
    /// The digest is not at this position of the list with this root, or this list does not begin with the
    /// other one.
    #[error("the proof does not lead to the root")]
    ProofMismatch,
}
