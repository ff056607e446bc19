//! The errors about vectors, their files and their known neighbours.

pub(crate) mod format;
mod line;

use std::path::{Path, PathBuf};

/// An error: the fault that was found, and what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The path is a folder, not a file.
    #[error("{}: it is a folder: expected a file; make one, with {conversion}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The command that makes one file of it.
        conversion: String,
    },
    /// A file could not be read further.
    #[error("while reading: {0}")]
    Read(std::io::Error),
    /// A file's extension does not belong to a format that can be read.
    #[error("{}", format::unknown(extension))]
    UnknownFormat {
        /// The extension without its dot.
        extension: String,
    },
    /// A `.npy` header is damaged.
    #[error("damaged .npy header: {what}")]
    NpyHeader {
        /// The fault.
        what: &'static str,
    },
    /// A `.npy` file holds another element type.
    #[error("unsupported .npy element type {descr}: expected {expected}")]
    NpyType {
        /// NumPy's name for the type.
        descr: String,
        /// The accepted types, and a way to save an array with one of them.
        expected: &'static str,
    },
    /// A `.npy` array is not a matrix.
    #[error(
        "a .npy file of {dimensions} dimension(s): expected 2, a row for each vector{}",
        if *dimensions == 1 { "; of one vector save array[None]" } else { ": save array.reshape(len(array), -1)" }
    )]
    NpyShape {
        /// The number of the array's dimensions.
        dimensions: usize,
    },
    /// A file's length does not fit its header.
    #[error(
        "a file of shape ({rows}, {columns}) with {found} bytes of values: expected {expected}; {}",
        match found < expected {
            true => "it was cut short, or is damaged",
            false => "something follows the values, such as a second array, or its header is damaged",
        }
    )]
    ShapeLength {
        /// The number of rows in the header.
        rows: u64,
        /// The number of columns in the header.
        columns: u64,
        /// The bytes after the header.
        found: u64,
        /// The number of bytes that this number of values takes.
        expected: u64,
    },
    /// A file ends within a vector.
    #[error("the file ends within vector {row}: it was cut short")]
    EndsInRow {
        /// The vector, from 0.
        row: u64,
    },
    /// A file has more bytes after the vectors that its header announced.
    #[error(
        "the file continues after the {rows} vectors that its header promises: it is damaged, or of another format"
    )]
    TrailingBytes {
        /// The number of vectors that the header announced.
        rows: u64,
    },
    /// The length of a `.fvecs`, `.bvecs` or `.ivecs` file is not a multiple of its records' length.
    #[error(
        "vectors of dimension {dim} do not fill a file of {found} bytes: it is truncated or another format"
    )]
    TexmexLength {
        /// The first vector's dimension.
        dim: u64,
        /// The file's length.
        found: u64,
    },
    /// A file's vectors differ in dimension.
    #[error("vector {row} has dimension {found}: expected {expected}, like the first")]
    RowDimension {
        /// The first vector that differs, from 0.
        row: u64,
        /// The dimension that was found.
        found: u64,
        /// The dimension of the first vector.
        expected: u64,
    },
    /// A vector's dimension differs from the dimension of most vectors at the start. This is for files from
    /// which rows may be left out.
    #[error(
        "vector {row} has dimension {found}: expected {expected}, like most of the first vectors"
    )]
    OddDimension {
        /// The vector, from 0.
        row: u64,
        /// The dimension that was found.
        found: u64,
        /// The dimension of most vectors at the start.
        expected: u64,
    },
    /// A file's vectors have more dimensions than any index takes.
    #[error(
        "vectors of {dim} dimensions: expected at most 8192; a file of another format, or of another order of bytes, begins like that"
    )]
    WideVectors {
        /// The vectors' dimension.
        dim: u64,
    },
    /// A Parquet or Arrow file is damaged, or has content that is not supported.
    #[error("cannot read this {format} file: {why}")]
    Table {
        /// The format's name.
        format: &'static str,
        /// The fault.
        why: String,
    },
    /// A line of a text file is not a valid record.
    #[error("line {line}: {why}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// The fault.
        why: String,
    },
    /// A table does not have the wanted column.
    #[error("no column {wanted}: there are {found}")]
    NoColumn {
        /// The name or kind wanted.
        wanted: String,
        /// The names of the file's columns.
        found: String,
    },
    /// A column's values are of another type.
    #[error("column {column} holds {found}: expected {expected}")]
    ColumnType {
        /// The column's name.
        column: String,
        /// The column's type.
        found: String,
        /// The accepted types.
        expected: &'static str,
    },
    /// Two columns of a table, or two members of an object, have a requested name.
    #[error("two columns are named {name}, the columns {} and {}, counted from 1: rename one, or leave it out", places.0, places.1)]
    TwoColumns {
        /// The columns' name.
        name: String,
        /// The positions of the first two, from 1.
        places: (usize, usize),
    },
    /// A text is not a vector's numbers.
    #[error("{found}: expected {expected}")]
    Numbers {
        /// The fault, which does not quote the numbers.
        found: String,
        /// The accepted texts.
        expected: &'static str,
    },
    /// A text is not JSON, or has an object with two members of the same name.
    #[error("{why}")]
    Json {
        /// The fault, with the positions of the two members.
        why: String,
    },
    /// A table has several columns that may hold the vectors.
    #[error("several columns could be the vectors: name one of {found}")]
    SeveralColumns {
        /// The columns' names.
        found: String,
    },
    /// A table has no value for a vector, a coordinate or an id.
    #[error("row {row}, column {column} is null or contains a null")]
    Null {
        /// The row, from 0.
        row: u64,
        /// The column's name.
        column: String,
    },
    /// A text is not an id of the kind that an index has.
    #[error("{found} is not an id: expected {expected}")]
    Id {
        /// The text in quotes, or its beginning and its length. For other values it is a description.
        found: String,
        /// The ids of that kind, in words.
        expected: &'static str,
    },
    /// A value in a column of ids is not an id of the index's kind.
    #[error("row {row}: {found} is not an id: expected {expected}")]
    IdRow {
        /// The row, from 0.
        row: u64,
        /// The text in quotes, or its beginning and its length. For other values it is a description.
        found: String,
        /// The ids of that kind, in words.
        expected: &'static str,
    },
    /// A value of a column differs in type from the values before it, or cannot be read.
    #[error("row {row}, column {column}: expected {expected}")]
    Value {
        /// The row, from 0.
        row: u64,
        /// The column's name.
        column: String,
        /// The accepted values.
        expected: &'static str,
    },
    /// A text of a column is not a value of the requested type.
    #[error("row {row}, column {column}: {found}, expected {expected}")]
    Text {
        /// The row, from 0.
        row: u64,
        /// The column's name.
        column: String,
        /// The text in quotes, or its beginning and its length.
        found: String,
        /// The accepted values.
        expected: &'static str,
    },
    /// A file of ids is not a list.
    #[error(
        "ids of {dimensions} dimension(s): expected 1, an id for each vector: save array.ravel()"
    )]
    IdsShape {
        /// The number of the list's dimensions.
        dimensions: usize,
    },
    /// A line of a file of ids is not an id.
    #[error("line {line} is not an id: {found}, expected {expected}")]
    IdLine {
        /// The line, from 1.
        line: u64,
        /// The fault of the line.
        found: String,
        /// The ids of the requested kind, in words.
        expected: &'static str,
    },
    /// A neighbour's row number is negative, or has more than 32 bits.
    #[error("the known neighbours contain a row number that is negative or more than 4294967295")]
    NegativeNeighbour,
    /// A set of vectors is empty.
    #[error("no vectors: expected at least one, of at least one dimension")]
    NoVectors,
    /// The number of values is not a multiple of the dimension.
    #[error("{values} values do not make whole vectors of dimension {dim}")]
    RaggedMatrix {
        /// The number of all values.
        values: usize,
        /// The number of values of one vector.
        dim: usize,
    },
    /// A coordinate is NaN or infinite, or too large or too close to 0 for an f32.
    #[error(
        "row {row}, column {column} is not a finite number of 32 bits: expected 0, or 1e-42 to 3.4e38 with either sign"
    )]
    NotFinite {
        /// The row of the vector.
        row: usize,
        /// The column of the coordinate.
        column: usize,
    },
    /// A zero vector, which has no direction.
    #[error("row {row} is the zero vector, which has no direction: this metric needs one")]
    ZeroVector {
        /// The row of the vector.
        row: usize,
    },
    /// A vector is longer than the index's metric allows for.
    #[error(
        "row {row} has length {norm:e}: expected at most {most:e} in this index; build one from all vectors after they were divided by one \
         number"
    )]
    Norm {
        /// The row of the vector.
        row: usize,
        /// The vector's length.
        norm: f32,
        /// The longest length that the manifest allows.
        most: f32,
    },
    /// The known neighbours do not fit the queries.
    #[error("the known neighbours are for {} queries, {} for each: expected at least {} queries with {}", found.0, found.1, expected.0, expected.1)]
    TruthShape {
        /// The number of queries in the file, and the number of neighbours for each query.
        found: (usize, usize),
        /// The number of queries that is needed, and the number of neighbours for each query.
        expected: (usize, usize),
    },
    /// A known neighbour is not a row of the vectors.
    #[error(
        "the known neighbours contain row {id}, and the set has only {n} rows: take the neighbours of this set"
    )]
    TruthRow {
        /// The row's number.
        id: u32,
        /// The number of vectors.
        n: usize,
    },
}

impl Error {
    /// The error about a folder. The function looks into the folder to find the command that the error
    /// names.
    pub(crate) fn folder(path: &Path) -> Self {
        Self::Folder {
            path: path.to_owned(),
            conversion: format::folder(path),
        }
    }

    /// Adds the file's name to an error that occurred while it was read.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Read(source) => Self::File {
                path: path.to_owned(),
                source,
            },
            other => other,
        }
    }
}
