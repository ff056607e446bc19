//! The errors, with the numbers.

/// Why a call was refused.
///
/// No variant says anything about a secret: all of them can be told from the public sizes and
/// headers of the messages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No records, or records without bytes.
    #[error("an empty database: {records} records of {record_len} bytes")]
    Empty {
        /// Declared records.
        records: usize,
        /// Declared bytes per record.
        record_len: usize,
    },
    /// No named set keeps the failure bound at this size.
    #[error("no parameter set serves {rows} rows by {columns} columns within the failure bound")]
    TooLarge {
        /// Rows of the database matrix.
        rows: usize,
        /// Columns of the database matrix.
        columns: usize,
    },
    /// Appended records outgrow the set that the database was made with.
    #[error(
        "the parameter set of this database, with hints of their present bits, does not serve {records} records: make it \
         with `Params::with_room` for them"
    )]
    NoRoom {
        /// The number of records, with the ones to be appended.
        records: usize,
    },
    /// A record that is longer than its place.
    #[error("record {index} has {found} bytes, more than the declared {expected}")]
    RecordTooLong {
        /// The record's position.
        index: usize,
        /// Its length.
        found: usize,
        /// The declared length.
        expected: usize,
    },
    /// More or fewer records than declared.
    #[error("{found} records where {expected} were declared")]
    RecordCount {
        /// Records given (counting stops one past the declared number).
        found: usize,
        /// Records declared.
        expected: usize,
    },
    /// A number of records to a request that no layout has.
    #[error("requests of {found} records, expected 1 to {most}")]
    Batch {
        /// Records asked for.
        found: usize,
        /// The most.
        most: usize,
    },
    /// An index past the last record.
    #[error("index out of range: the database has {records} records")]
    IndexOutOfRange {
        /// Records in the database.
        records: usize,
    },
    /// A message made for other parameters.
    #[error("parameters differ: found {found:?}, expected {expected:?}")]
    ParamsMismatch {
        /// Parameters of the message or object.
        found: Box<crate::params::AnyParams>,
        /// Parameters of the receiver.
        expected: Box<crate::params::AnyParams>,
    },
    /// Bytes of parameters, of a message or of a database for the other scheme.
    #[error("parameters for {found:?}PIR, expected {expected:?}PIR")]
    SchemeMismatch {
        /// Scheme of the bytes.
        found: crate::Scheme,
        /// Scheme that was asked to read them.
        expected: crate::Scheme,
    },
    /// A message made for another version of the database.
    #[error("database version {found}, expected {expected}")]
    VersionMismatch {
        /// Version of the message.
        found: u64,
        /// Version of the receiver.
        expected: u64,
    },
    /// Two lists that must have one length.
    #[error("{found} items for {expected}")]
    Count {
        /// Items given.
        found: usize,
        /// Items expected.
        expected: usize,
    },
    /// Not one of this crate's messages.
    #[error("not a message of this crate: magic {found:02x?}")]
    Magic {
        /// The first bytes.
        found: [u8; 4],
    },
    /// A message in a format of another release.
    #[error("wire format {found}, expected {expected}")]
    Format {
        /// Format of the message.
        found: u16,
        /// Format of this release.
        expected: u16,
    },
    /// A message of another kind.
    #[error("message kind {found}, expected {expected}")]
    Kind {
        /// Kind in the header.
        found: u8,
        /// Kind asked for.
        expected: u8,
    },
    /// A number that is not below the modulus.
    #[error("coefficient {index} is not below the modulus")]
    Coefficient {
        /// Its position.
        index: usize,
    },
    /// A layout of another database, or for other requests.
    #[error("layouts differ: found {found:?}, expected {expected:?}")]
    LayoutMismatch {
        /// The layout of the message: records, bytes of a record, records of a request.
        found: [u64; 3],
        /// The receiver's.
        expected: [u64; 3],
    },
    /// The query does not belong to the session of these keys.
    #[error("the query does not name these keys: make it in the session of these keys")]
    SessionMismatch,
    /// The server does not hold these keys, or no longer holds them.
    #[error("no keys of this session: send them again")]
    SessionUnknown,
    /// A message of the wrong length.
    #[error("{found} bytes, expected {expected}")]
    Length {
        /// Bytes found.
        found: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// The parameters do not have the security level that was asked for.
    #[error("parameters under {set:?} do not have the security level that was asked for")]
    Security {
        /// The set.
        set: crate::Set,
    },
    /// A header that no encoder writes.
    #[error("malformed header: {0}")]
    Header(&'static str),
    /// An answer that an honest server would not have given. Nothing more is said. The server may learn only that the
    /// client stopped.
    #[error("the answer failed verification")]
    Unverified,
    /// The operating system refused memory or a file.
    #[error("input or output: {0}")]
    Io(#[from] std::io::Error),
}
