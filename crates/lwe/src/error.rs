//! The error type.

/// Why a call was refused. No variant says anything about a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No table can have this shape.
    #[error("{what}: found {found}, expected 1 to {most}")]
    Shape {
        /// The property that is out of range.
        what: &'static str,
        /// The value that was given.
        found: usize,
        /// The largest possible value.
        most: usize,
    },
    /// A list has the wrong length.
    #[error("{what}: found {found} numbers, expected {expected}")]
    Length {
        /// The list.
        what: &'static str,
        /// The length that was found.
        found: usize,
        /// The length that the shape fixes.
        expected: usize,
    },
    /// The bytes are not a message of this kind.
    #[error("not an LWE query, or an incomplete one")]
    Kind,
    /// The message has another version of the format.
    #[error("query of format {found}, expected {expected}")]
    FormatVersion {
        /// The message's version.
        found: u8,
        /// The version that this release reads.
        expected: u8,
    },
    /// The parameter set does not exist.
    #[error("unknown parameter set {found}")]
    UnknownSet {
        /// The number that was found.
        found: u8,
    },
    /// The length of the message does not fit its head.
    #[error("query of {found} bytes, expected {expected}")]
    MessageLength {
        /// The length that was found.
        found: usize,
        /// The length that its head fixes.
        expected: usize,
    },
    /// The query is for a table of another shape.
    #[error("{what} differ: found {found}, expected {expected}")]
    Mismatch {
        /// The property that differs.
        what: &'static str,
        /// The value in the query.
        found: usize,
        /// The value in the table.
        expected: usize,
    },
    /// The query is for another seed.
    #[error("a query for epoch {found:016x}, the table is of epoch {expected:016x}")]
    Epoch {
        /// The query's epoch.
        found: u64,
        /// The table's epoch.
        expected: u64,
    },
}

/// Checks that a number equals the table's.
pub(crate) const fn check_same(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Mismatch {
        what,
        found,
        expected,
    })
}
