//! What can go wrong.

/// Errors of this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Too few or too many dimensions.
    #[error("{found} dimensions, expected 1 to {most}")]
    Dims {
        /// Dimensions asked for.
        found: usize,
        /// Most that are supported.
        most: usize,
    },
    /// A code length that is not offered.
    #[error("{found} bits, expected a multiple of 64 from 64 to 1024")]
    Bits {
        /// Bits asked for.
        found: usize,
    },
    /// Too few or too many tables, or functions in a table.
    #[error(
        "{tables} tables of {functions} functions, expected at least one and at most {most} in all"
    )]
    Functions {
        /// Tables asked for.
        tables: usize,
        /// Functions in each.
        functions: usize,
        /// Most functions in all.
        most: usize,
    },
    /// A bucket width that is not a positive number.
    #[error("bucket width is not a positive finite number")]
    Width,
    /// More items than 32-bit ids can name.
    #[error("{found} items, expected at most {most}")]
    Items {
        /// Items given.
        found: usize,
        /// Most that are supported.
        most: usize,
    },
    /// Bytes that are not of this kind.
    #[error("not such an object: it does not start with the magic bytes")]
    Magic,
    /// Bytes of another version.
    #[error("version {found}, expected {expected}")]
    Version {
        /// Version in the bytes.
        found: u32,
        /// Version of this crate.
        expected: u32,
    },
    /// Too few or too many bytes.
    #[error("{found} bytes, expected {expected}")]
    Length {
        /// Bytes given.
        found: usize,
        /// Bytes needed.
        expected: usize,
    },
    /// Bytes that contradict themselves.
    #[error("corrupt {what}")]
    Corrupt {
        /// What does not fit.
        what: &'static str,
    },
}
