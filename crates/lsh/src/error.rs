//! The error type, and the checks of lengths that every public function makes.

/// Errors of this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The number of dimensions is 0 or above the largest supported one.
    #[error("{found} dimensions, expected 1 to {most}")]
    Dim {
        /// The requested number of dimensions.
        found: usize,
        /// The largest supported number.
        most: usize,
    },
    /// The code length is not supported.
    #[error("{found} bits, expected a multiple of 64 from 64 to 1024")]
    Bits {
        /// The requested number of bits.
        found: usize,
    },
    /// There are too few or too many tables, or functions in a table.
    #[error(
        "{tables} tables of {functions} functions, expected at least one and at most {most} in all"
    )]
    Functions {
        /// The number of requested tables.
        tables: usize,
        /// The number of requested functions in each table.
        functions: usize,
        /// The largest number of functions in total.
        most: usize,
    },
    /// The bucket width is not a positive number.
    #[error("bucket width is not a positive finite number")]
    Width,
    /// There are more items than 32-bit ids can number.
    #[error("{found} items, expected at most {most}")]
    Items {
        /// The number of items given.
        found: usize,
        /// The largest supported number.
        most: usize,
    },
    /// A vector or a list of scores has the wrong number of floats.
    #[error("{found} floats, expected {expected}")]
    Floats {
        /// The number of floats given.
        found: usize,
        /// The number of floats needed.
        expected: usize,
    },
    /// The floats are not a whole number of vectors.
    #[error("{found} floats, expected whole vectors of {dim}")]
    Vectors {
        /// The number of floats given.
        found: usize,
        /// The number of floats of a vector.
        dim: usize,
    },
    /// A code has the wrong number of words.
    #[error("{found} words, expected {expected}")]
    Words {
        /// The number of words given.
        found: usize,
        /// The number of words of a code.
        expected: usize,
    },
    /// The words are not a whole number of codes.
    #[error("{found} words, expected whole codes of {words}")]
    WholeCodes {
        /// The number of words given.
        found: usize,
        /// The number of words of a code.
        words: usize,
    },
    /// The family does not have a table of this number.
    #[error("table {found}, expected one below {tables}")]
    Table {
        /// The number of the requested table.
        found: usize,
        /// The number of tables.
        tables: usize,
    },
    /// The bytes are not of this kind.
    #[error("the bytes are not such an object: they do not start with its magic bytes")]
    Magic,
    /// The bytes have another version of the format.
    #[error("version {found}, expected {expected}")]
    FormatVersion {
        /// Version in the bytes.
        found: u32,
        /// Version that this crate reads.
        expected: u32,
    },
    /// There are too few or too many bytes.
    #[error("{found} bytes, expected {expected}")]
    Length {
        /// The number of bytes given.
        found: usize,
        /// The number of bytes needed.
        expected: usize,
    },
    /// Parts of the bytes contradict each other.
    #[error("corrupt {what}")]
    Corrupt {
        /// The part that is inconsistent.
        what: &'static str,
    },
}

/// Checks that there are `expected` floats.
pub(crate) fn check_floats(floats: &[f32], expected: usize) -> Result<(), Error> {
    let found = floats.len();
    if found == expected {
        Ok(())
    } else {
        Err(Error::Floats { found, expected })
    }
}

/// Checks that floats are whole vectors of `dim`.
pub(crate) fn check_vectors(floats: &[f32], dim: usize) -> Result<(), Error> {
    let found = floats.len();
    if found.is_multiple_of(dim) {
        Ok(())
    } else {
        Err(Error::Vectors { found, dim })
    }
}

/// Checks that a code has `expected` words.
pub(crate) fn check_words(code: &[u64], expected: usize) -> Result<(), Error> {
    let found = code.len();
    if found == expected {
        Ok(())
    } else {
        Err(Error::Words { found, expected })
    }
}

/// Checks that a table of this number exists.
pub(crate) fn check_table(found: usize, tables: usize) -> Result<(), Error> {
    if found < tables {
        Ok(())
    } else {
        Err(Error::Table { found, tables })
    }
}
