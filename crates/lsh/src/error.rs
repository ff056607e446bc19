//! The errors, and the checks of lengths that every public function makes.

/// Errors of this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Too few or too many dimensions.
    #[error("{found} dimensions, expected 1 to {most}")]
    Dim {
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
    /// Too few or too many floats for a vector or for scores.
    #[error("{found} floats, expected {expected}")]
    Floats {
        /// Floats given.
        found: usize,
        /// Floats needed.
        expected: usize,
    },
    /// Floats that are not a whole number of vectors.
    #[error("{found} floats, expected whole vectors of {dim}")]
    Vectors {
        /// Floats given.
        found: usize,
        /// Floats of a vector.
        dim: usize,
    },
    /// Too few or too many words for a code.
    #[error("{found} words, expected {expected}")]
    Words {
        /// Words given.
        found: usize,
        /// Words of a code.
        expected: usize,
    },
    /// Words that are not a whole number of codes.
    #[error("{found} words, expected whole codes of {words}")]
    WholeCodes {
        /// Words given.
        found: usize,
        /// Words of a code.
        words: usize,
    },
    /// A table that a family does not have.
    #[error("table {found}, expected one below {tables}")]
    Table {
        /// Table asked for.
        found: usize,
        /// Number of tables.
        tables: usize,
    },
    /// Bytes that are not of this kind.
    #[error("the bytes are not such an object: they do not start with its magic bytes")]
    Magic,
    /// Bytes of another version.
    #[error("version {found}, expected {expected}")]
    FormatVersion {
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
        /// The part that does not fit.
        what: &'static str,
    },
}

/// Refuses floats that are not `expected` in number.
pub(crate) fn check_floats(floats: &[f32], expected: usize) -> Result<(), Error> {
    let found = floats.len();
    if found == expected {
        Ok(())
    } else {
        Err(Error::Floats { found, expected })
    }
}

/// Refuses floats that are not whole vectors of `dim`.
pub(crate) fn check_vectors(floats: &[f32], dim: usize) -> Result<(), Error> {
    let found = floats.len();
    if found.is_multiple_of(dim) {
        Ok(())
    } else {
        Err(Error::Vectors { found, dim })
    }
}

/// Refuses a code that is not `expected` words.
pub(crate) fn check_words(code: &[u64], expected: usize) -> Result<(), Error> {
    let found = code.len();
    if found == expected {
        Ok(())
    } else {
        Err(Error::Words { found, expected })
    }
}

/// Refuses a number that no table has.
pub(crate) fn check_table(found: usize, tables: usize) -> Result<(), Error> {
    if found < tables {
        Ok(())
    } else {
        Err(Error::Table { found, tables })
    }
}
