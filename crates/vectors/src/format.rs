//! The formats of files, and the columns of those that are tables.

use std::path::Path;

use crate::id::IdKind;
use crate::{Error, extension};

/// A format that vectors are read from. Numbers of 64 bits, and those of texts, are rounded to 32: see [`Reader::loss`](crate::Reader::loss).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// NumPy's `.npy`: a matrix of f64, f32, f16, u8 or i8.
    Npy,
    /// TEXMEX's `.fvecs`: f32.
    Fvecs,
    /// TEXMEX's `.bvecs`: u8.
    Bvecs,
    /// The billion-scale benchmarks' `.fbin`: f32.
    Fbin,
    /// The billion-scale benchmarks' `.u8bin`.
    U8bin,
    /// The billion-scale benchmarks' `.i8bin`.
    I8bin,
    /// Parquet: a column of lists of one length.
    #[cfg(feature = "arrow")]
    Parquet,
    /// Lines of JSON objects: a member that is a list of numbers.
    #[cfg(feature = "text")]
    Jsonl,
    /// CSV with a head: a column of numbers, separated by commas or spaces, in brackets or not.
    #[cfg(feature = "text")]
    Csv,
    /// Arrow IPC, as a file or as a stream: a column of lists of one length.
    #[cfg(feature = "arrow")]
    Arrow,
}

impl Format {
    /// The format that a path's extension names.
    ///
    /// # Errors
    /// If it names none that can be read.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, Error> {
        match extension(path.as_ref()) {
            "npy" => Ok(Self::Npy),
            "fvecs" => Ok(Self::Fvecs),
            "bvecs" => Ok(Self::Bvecs),
            "fbin" => Ok(Self::Fbin),
            "u8bin" => Ok(Self::U8bin),
            "i8bin" => Ok(Self::I8bin),
            #[cfg(feature = "arrow")]
            "parquet" => Ok(Self::Parquet),
            #[cfg(feature = "arrow")]
            "arrow" | "arrows" | "feather" | "ipc" => Ok(Self::Arrow),
            #[cfg(feature = "text")]
            "jsonl" | "ndjson" => Ok(Self::Jsonl),
            #[cfg(feature = "text")]
            "csv" => Ok(Self::Csv),
            other => Err(Error::UnknownFormat {
                extension: other.to_owned(),
            }),
        }
    }
}

impl Format {
    /// True for a format of tables, whose columns have names.
    #[must_use]
    pub fn is_table(self) -> bool {
        match self {
            Self::Npy | Self::Fvecs | Self::Bvecs | Self::Fbin | Self::U8bin | Self::I8bin => false,
            #[cfg(feature = "arrow")]
            Self::Parquet | Self::Arrow => true,
            #[cfg(feature = "text")]
            Self::Jsonl | Self::Csv => true,
        }
    }
}

/// The place of the only column of this name; none if there is no such column.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(crate) fn only_place<'a>(
    names: impl Iterator<Item = &'a str>,
    wanted: &str,
) -> Result<Option<usize>, Error> {
    let mut places = names.enumerate().filter(|(_, name)| *name == wanted);
    let first = places.next().map(|(at, _)| at);
    match (first, places.next()) {
        (Some(first), Some((second, _))) => Err(Error::TwoColumns {
            name: wanted.chars().take(60).collect(),
            places: (first + 1, second + 1),
        }),
        (first, _) => Ok(first),
    }
}

/// Which columns of a table hold vectors and ids. Other formats have no columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnNames {
    /// The column of lists of numbers; if `None`, the only one that there is.
    pub vectors: Option<String>,
    /// True if no vectors are read: then each row's is one coordinate, 0, and each record of lines of JSON has all values that are asked for.
    pub vectorless: bool,
    /// The column of ids; if `None`, vectors have none.
    pub ids: Option<String>,
    /// The kind of ids that texts are read as; `None`: texts stay texts. Columns of integers hold numbers, those
    /// of 16 bytes UUIDs.
    pub id_kind: Option<IdKind>,
    /// Columns of other values that are read too.
    pub values: Vec<String>,
}
