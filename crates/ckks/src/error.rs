//! The reasons for a refusal.

/// Why an input was refused. Nothing here depends on a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A dimension of zero or above the largest supported.
    #[error("dimension {found} is outside 1..={most}")]
    Dimension {
        /// The dimension given.
        found: usize,
        /// The largest that is supported.
        most: usize,
    },
    /// More vectors than are supported.
    #[error("{found} vectors are more than {most}")]
    Count {
        /// The number given.
        found: usize,
        /// The largest that is supported.
        most: usize,
    },
    /// A list of coordinates does not have the length that the dimension requires.
    #[error("{found} coordinates, expected {expected}")]
    Length {
        /// Coordinates found.
        found: usize,
        /// Coordinates expected.
        expected: usize,
    },
    /// A coordinate is infinite or not a number.
    #[error("coordinate {index} is not finite")]
    NotFinite {
        /// Its position in the list.
        index: usize,
    },
    /// A vector is longer than the parameter set scores without wrapping.
    #[error("vector {index} has a norm above the bound of the parameter set")]
    Norm {
        /// The vector's number; 0 for a query.
        index: usize,
    },
    /// The real-valued operation was asked of a modular set, or the other way round.
    #[error("the parameter set is {} and the values are not", if *.modular { "modular" } else { "real-valued" })]
    Encoding {
        /// True if the set is modular.
        modular: bool,
    },
    /// Answers that were rounded cannot be combined.
    #[error(
        "the parameter set rounds its answers, and rounded answers cannot be combined: use the set's `whole()`"
    )]
    Whole,
    /// An integer that is not in `[-P/2, P/2)`.
    #[error("coordinate {index} is not centred mod 2^{log_p}")]
    Range {
        /// Its position in the list.
        index: usize,
        /// `log2 P`.
        log_p: u32,
    },
    /// A message for other public polynomials: made for another seed.
    #[error("epoch {found:016x}, expected {expected:016x}")]
    Epoch {
        /// The first eight bytes of the seed it was made for, as a little-endian integer.
        found: u64,
        /// The same of the receiver's seed.
        expected: u64,
    },
    /// A message for a state of the database that the receiver does not have.
    #[error("database version {found}, expected {expected}")]
    Version {
        /// The version found.
        found: u64,
        /// The receiver's state; for a delta, the state after it.
        expected: u64,
    },
    /// The system refused an operation on a file.
    #[error("file: {0}")]
    Io(std::io::ErrorKind),
    /// A vector number beyond the last.
    #[error("vector {index} does not exist: there are {count}")]
    Index {
        /// The number asked for.
        index: usize,
        /// The number of vectors.
        count: usize,
    },
    /// Two parties' objects belong to different parameter sets, dimensions or counts.
    #[error("{what} differ: found {found}, expected {expected}")]
    Mismatch {
        /// The thing that differs.
        what: &'static str,
        /// On the object that was given.
        found: usize,
        /// On the receiver.
        expected: usize,
    },
    /// A modulus above what is secure for the ring degree.
    #[error("log2 QP of {found} is above {most}, the cap for N = {n}")]
    Security {
        /// The ring degree.
        n: usize,
        /// `log2 QP`, rounded up.
        found: u32,
        /// The largest with 128 bits of security; 0 if the degree has no entry.
        most: u32,
    },
    /// A modulus that is not a prime of 20 to 50 bits, 1 mod 2N, different from the others.
    #[error("modulus {found} does not serve the ring")]
    Modulus {
        /// The modulus given.
        found: u64,
    },
    /// Operands of different levels, or a level that does not exist.
    #[error("level {found}, expected {most}")]
    Level {
        /// The level found.
        found: usize,
        /// The level expected, or the highest.
        most: usize,
    },
    /// Scales that differ, or that the modulus has no room for.
    #[error("scales differ, or the modulus has no room for the scale")]
    Scale,
    /// Values that are too large for the modulus.
    #[error(
        "values times the scale reach a quarter of the first modulus: expected smaller values, or a smaller scale"
    )]
    ValueRoom,
    /// A rotation for which the evaluator has no key.
    #[error("no key for a rotation by {rotation}")]
    MissingKey {
        /// The rotation asked for.
        rotation: usize,
    },
    /// Bytes that do not begin with this crate's magic and the expected kind of message.
    #[error("not a message of the expected kind")]
    Kind,
    /// A message of a version that this crate does not read.
    #[error("message version {found}, expected {expected}")]
    FormatVersion {
        /// The version found.
        found: u8,
        /// The version that this crate reads and writes.
        expected: u8,
    },
    /// A message that names a parameter set that does not exist.
    #[error("unknown parameter set {found}")]
    UnknownSet {
        /// The number found.
        found: u8,
    },
    /// A message whose length does not fit its head.
    #[error("message of {found} bytes, expected {expected}")]
    MessageLength {
        /// Bytes found.
        found: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// A file whose length changed after it was mapped.
    #[error("the file has {found} bytes, and had {expected} when it was mapped")]
    Changed {
        /// Bytes found.
        found: usize,
        /// Bytes that were mapped.
        expected: usize,
    },
    /// A coefficient that is not a residue of its modulus.
    #[error("coefficient {index} is not below the modulus")]
    Coefficient {
        /// Its position in the message.
        index: usize,
    },
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.kind())
    }
}
