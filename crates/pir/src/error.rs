//! The errors of this crate, with the numbers that were found and expected.

/// Why a call was refused.
///
/// No variant says anything about a secret: anyone can derive each of them from public sizes and the headers of
/// messages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database has no records, or its records have zero bytes.
    #[error("an empty database: {records} records of {record_len} bytes")]
    Empty {
        /// The number of declared records.
        records: usize,
        /// The declared number of bytes of a record.
        record_len: usize,
    },
    /// No named parameter set keeps the failure bound at this size.
    #[error("no parameter set serves {rows} rows by {columns} columns within the failure bound")]
    TooLarge {
        /// The number of rows of the database matrix.
        rows: usize,
        /// The number of columns of the database matrix.
        columns: usize,
    },
    /// With the appended records, the database outgrows the parameter set that it was made with.
    #[error(
        "the parameter set of this database, with hints of their present bits, does not serve {records} records: make it \
         with `Params::with_room` for them"
    )]
    NoRoom {
        /// The number of records, including those to append.
        records: usize,
    },
    /// A record is longer than the declared length.
    #[error("record {index} has {found} bytes, more than the declared {expected}")]
    RecordTooLong {
        /// The record's position.
        index: usize,
        /// The length that was found.
        found: usize,
        /// The declared length.
        expected: usize,
    },
    /// The number of records differs from the declared number.
    #[error("{found} records where {expected} were declared")]
    RecordCount {
        /// The number of records given. Counting stops one record past the declared number.
        found: usize,
        /// The number of records declared.
        expected: usize,
    },
    /// A layout cannot have this number of records per request.
    #[error("requests of {found} records, expected 1 to {most}")]
    Batch {
        /// The number of records asked for.
        found: usize,
        /// The largest possible number.
        most: usize,
    },
    /// An index is past the last record.
    #[error("index out of range: the database has {records} records")]
    IndexOutOfRange {
        /// The number of records in the database.
        records: usize,
    },
    /// A message belongs to other parameters than the receiver has.
    #[error("parameters differ: found {found:?}, expected {expected:?}")]
    ParamsMismatch {
        /// Parameters of the message or object.
        found: Box<crate::params::AnyParams>,
        /// Parameters of the receiver.
        expected: Box<crate::params::AnyParams>,
    },
    /// The bytes of parameters, a message or a database belong to the other scheme.
    #[error("parameters for {found:?}PIR, expected {expected:?}PIR")]
    SchemeMismatch {
        /// Scheme of the bytes.
        found: crate::Scheme,
        /// Scheme whose code read the bytes.
        expected: crate::Scheme,
    },
    /// The versions of the database that a message and its receiver belong to differ.
    #[error("database version {found}, expected {expected}")]
    VersionMismatch {
        /// Version of the message.
        found: u64,
        /// Version of the receiver.
        expected: u64,
    },
    /// Two lists that must have the same length have different lengths.
    #[error("{found} items for {expected}")]
    Count {
        /// The number of items given.
        found: usize,
        /// The number of items expected.
        expected: usize,
    },
    /// The bytes are not a message of this crate.
    #[error("not a message of this crate: magic {found:02x?}")]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// The message has the format of another release.
    #[error("wire format {found}, expected {expected}")]
    Format {
        /// Format of the message.
        found: u16,
        /// Format of this release.
        expected: u16,
    },
    /// The kind of the message differs from the expected one.
    #[error("message kind {found}, expected {expected}")]
    Kind {
        /// Kind in the header.
        found: u8,
        /// Kind expected.
        expected: u8,
    },
    /// A coefficient is not below the modulus.
    #[error("coefficient {index} is not below the modulus")]
    Coefficient {
        /// The position that was found.
        index: usize,
    },
    /// A message belongs to the layout of another database, or of requests of another size.
    #[error("layouts differ: found {found:?}, expected {expected:?}")]
    LayoutMismatch {
        /// The layout of the message: number of records, bytes of a record, records of a request.
        found: [u64; 3],
        /// The receiver's layout, in the same order.
        expected: [u64; 3],
    },
    /// The query does not belong to the session of these keys.
    #[error("the query does not name these keys: make it in the session of these keys")]
    SessionMismatch,
    /// The server does not hold these keys, or no longer holds them.
    #[error("no keys of this session: send them again")]
    SessionUnknown,
    /// The message has the wrong length.
    #[error("{found} bytes, expected {expected}")]
    Length {
        /// The number of bytes found.
        found: usize,
        /// The number of bytes expected.
        expected: usize,
    },
    /// The parameters do not reach the security level that the caller asked for.
    #[error("parameters under {set:?} do not have the security level that was asked for")]
    Security {
        /// The set.
        set: crate::Set,
    },
    /// The header holds values that no encoder writes.
    #[error("malformed header: {0}")]
    Header(&'static str),
    /// An honest server would not have given this answer. The error has no details, because a server may learn only
    /// that the client stopped.
    #[error("the answer failed verification")]
    Unverified,
    /// The operating system refused memory or a file.
    #[error("input or output: {0}")]
    Io(#[from] std::io::Error),
}
