//! The error type.

/// Why an input was refused. Nothing here depends on a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The dimension is zero or above the largest supported one.
    #[error("dimension {found} is outside 1..={most}")]
    Dimension {
        /// The dimension given.
        found: usize,
        /// The largest supported dimension.
        most: usize,
    },
    /// The number of vectors is above the largest supported one.
    #[error("{found} vectors are more than {most}")]
    Count {
        /// The number given.
        found: usize,
        /// The largest supported number.
        most: usize,
    },
    /// A list of coordinates does not have the length that the dimension requires.
    #[error("{found} coordinates, expected {expected}")]
    Length {
        /// The number of coordinates found.
        found: usize,
        /// The number of coordinates expected.
        expected: usize,
    },
    /// A coordinate is infinite or not a number.
    #[error("coordinate {index} is not finite")]
    NotFinite {
        /// The coordinate's position in the list.
        index: usize,
    },
    /// A vector is longer than the parameter set allows: its scores could wrap.
    #[error("vector {index} has a norm above the bound of the parameter set")]
    Norm {
        /// The vector's number; 0 for a query.
        index: usize,
    },
    /// The operation is for real-valued sets and the set is modular, or the operation is for
    /// modular sets and the set is real-valued.
    #[error("the parameter set is {} and the values are not", if *.modular { "modular" } else { "real-valued" })]
    Encoding {
        /// True if the set is modular.
        modular: bool,
    },
    /// The set rounds its answers, and rounded answers cannot be combined.
    #[error(
        "the parameter set rounds its answers, and rounded answers cannot be combined: use the set's `whole()`"
    )]
    Whole,
    /// An integer is not in `[-P/2, P/2)`.
    #[error("coordinate {index} is not centred mod 2^{log_p}")]
    Range {
        /// The position in the list.
        index: usize,
        /// `log2 P`.
        log_p: u32,
    },
    /// A message was made for another seed, so for other public polynomials.
    #[error("epoch {found:016x}, expected {expected:016x}")]
    Epoch {
        /// The first eight bytes of the message's seed, as a little-endian integer.
        found: u64,
        /// The first eight bytes of the receiver's seed, as a little-endian integer.
        expected: u64,
    },
    /// A message belongs to a state of the database that the receiver does not have.
    #[error("database version {found}, expected {expected}")]
    Version {
        /// The version found.
        found: u64,
        /// The receiver's version. For a delta, the version after the receiver's.
        expected: u64,
    },
    /// The system refused an operation on a file.
    #[error("file: {0}")]
    Io(std::io::ErrorKind),
    /// A vector's number is beyond the last one.
    #[error("vector {index} does not exist: there are {count}")]
    Index {
        /// The number of the vector.
        index: usize,
        /// The number of vectors.
        count: usize,
    },
    /// Two objects belong to different parameter sets, dimensions or counts.
    #[error("{what} differ: found {found}, expected {expected}")]
    Mismatch {
        /// The property that differs.
        what: &'static str,
        /// The value in the given object.
        found: usize,
        /// The value in the receiver.
        expected: usize,
    },
    /// The modulus is too large to be secure at the ring degree.
    #[error("log2 QP of {found} is above {most}, the cap for N = {n}")]
    Security {
        /// The ring degree.
        n: usize,
        /// `log2 QP`, rounded up.
        found: u32,
        /// The largest `log2 QP` with 128 bits of security, or 0 if the degree is not supported.
        most: u32,
    },
    /// A modulus is not a prime of 20 to 50 bits that is 1 mod 2N and different from the others.
    #[error("modulus {found} does not serve the ring")]
    Modulus {
        /// The modulus given.
        found: u64,
    },
    /// The levels of two operands differ, or a level does not exist.
    #[error("level {found}, expected {most}")]
    Level {
        /// The level found.
        found: usize,
        /// The level expected, or the highest level.
        most: usize,
    },
    /// Two scales differ, or a scale is too large for the modulus.
    #[error("scales differ, or the modulus has no room for the scale")]
    Scale,
    /// Values are too large for the modulus.
    #[error(
        "values times the scale reach a quarter of the first modulus: expected smaller values, or a smaller scale"
    )]
    ValueRoom,
    /// The evaluator has no key for the rotation.
    #[error("no key for a rotation by {rotation}")]
    MissingKey {
        /// The requested rotation.
        rotation: usize,
    },
    /// The bytes do not begin with this crate's magic number and the expected kind of message.
    #[error("not a message of the expected kind")]
    Kind,
    /// The message has a version that this crate does not read.
    #[error("message version {found}, expected {expected}")]
    FormatVersion {
        /// The version found.
        found: u8,
        /// The version that this crate reads and writes.
        expected: u8,
    },
    /// The message names a parameter set that does not exist.
    #[error("unknown parameter set {found}")]
    UnknownSet {
        /// The number found.
        found: u8,
    },
    /// The length of the message does not fit its head.
    #[error("message of {found} bytes, expected {expected}")]
    MessageLength {
        /// The number of bytes found.
        found: usize,
        /// The number of bytes expected.
        expected: usize,
    },
    /// The length of a mapped file has changed.
    #[error("the file has {found} bytes, and had {expected} when it was mapped")]
    Changed {
        /// The number of bytes found.
        found: usize,
        /// The number of bytes that were mapped.
        expected: usize,
    },
    /// A coefficient is not a residue of its modulus.
    #[error("coefficient {index} is not below the modulus")]
    Coefficient {
        /// The position in the message.
        index: usize,
    },
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.kind())
    }
}
