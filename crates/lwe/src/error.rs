//! The errors, with the numbers.

/// Why a call was refused. No variant says anything about a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A shape that no table has.
    #[error("{what}: found {found}, expected 1 to {most}")]
    Shape {
        /// The number that is out of range.
        what: &'static str,
        /// Its value.
        found: usize,
        /// The most.
        most: usize,
    },
    /// A list of another length.
    #[error("{what}: found {found} numbers, expected {expected}")]
    Length {
        /// The list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that the shape fixes.
        expected: usize,
    },
    /// Bytes that are no message of this kind.
    #[error("not an LWE query, or an incomplete one")]
    Kind,
    /// A message of another version of the format.
    #[error("query of format {found}, expected {expected}")]
    FormatVersion {
        /// The message's version.
        found: u8,
        /// The version that is read here.
        expected: u8,
    },
    /// A parameter set that does not exist here.
    #[error("unknown parameter set {found}")]
    UnknownSet {
        /// Its number.
        found: u8,
    },
    /// A message whose length does not fit its head.
    #[error("query of {found} bytes, expected {expected}")]
    MessageLength {
        /// Its length.
        found: usize,
        /// The length that its head fixes.
        expected: usize,
    },
    /// A query for a table of another shape.
    #[error("{what} differ: found {found}, expected {expected}")]
    Mismatch {
        /// The numbers that differ.
        what: &'static str,
        /// The query's.
        found: usize,
        /// The table's.
        expected: usize,
    },
    /// A query for another seed.
    #[error("a query for epoch {found:016x}, the table is of epoch {expected:016x}")]
    Epoch {
        /// The query's epoch.
        found: u64,
        /// The table's.
        expected: u64,
    },
}

/// Refuses a number that differs from the table's.
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
