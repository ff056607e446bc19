//! The errors of vectors, of their files and of what is known of them.

mod format;
mod line;

use std::path::PathBuf;

/// The fault that was found, and what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A folder stands where a file should, such as Spark writes with a part of a table in each file.
    #[error(
        "{path}: it is a folder: expected a file. Of a folder of Parquet files, as Spark and others write, make one with `duckdb -c \"copy \
         (from '{path}/**/*.parquet') to 'base.parquet'\"`, or with `python3 -c \"import pandas; \
         pandas.read_parquet('{path}').to_parquet('base.parquet')\"`",
        path = path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// A file could not be read on.
    #[error("while reading: {0}")]
    Read(std::io::Error),
    /// A file's extension does not belong to a format that can be read.
    #[error("{}", format::unknown(extension))]
    UnknownFormat {
        /// The extension, without its dot.
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
        /// NumPy's name of the type.
        descr: String,
        /// The types that it may have, and how to save an array of one.
        expected: &'static str,
    },
    /// A `.npy` file is not a matrix.
    #[error(
        "a .npy file of {dimensions} dimension(s): expected 2, a row for each vector{}",
        if *dimensions == 1 { "; of one vector save array[None]" } else { ": save array.reshape(len(array), -1)" }
    )]
    NpyShape {
        /// The number of its dimensions.
        dimensions: usize,
    },
    /// A file's length is not what its header says.
    #[error(
        "a file of shape ({rows}, {columns}) with {found} bytes of values: expected {expected}; {}",
        match found < expected {
            true => "it was cut short, or is damaged",
            false => "something follows the values, such as a second array, or its header is damaged",
        }
    )]
    ShapeLength {
        /// Rows in the header.
        rows: u64,
        /// Columns in the header.
        columns: u64,
        /// Bytes after the header.
        found: u64,
        /// Bytes of this number of values.
        expected: u64,
    },
    /// A file ends before a vector does.
    #[error("the file ends within vector {row}: it was cut short")]
    EndsInRow {
        /// The vector, from 0.
        row: u64,
    },
    /// A file goes on after the vectors that its header promised.
    #[error(
        "the file continues after the {rows} vectors that its header promises: it is damaged, or of another format"
    )]
    TrailingBytes {
        /// The number that it promises.
        rows: u64,
    },
    /// A `.fvecs`, `.bvecs` or `.ivecs` file's length is no multiple of its record.
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
        /// The first that differs, from 0.
        row: u64,
        /// Its dimension.
        found: u64,
        /// The first vector's.
        expected: u64,
    },
    /// A vector's dimension is not that of most vectors at the start of a file of which some may be left out.
    #[error(
        "vector {row} has dimension {found}: expected {expected}, like most of the first vectors"
    )]
    OddDimension {
        /// The vector, from 0.
        row: u64,
        /// Its dimension.
        found: u64,
        /// That of most vectors at the start.
        expected: u64,
    },
    /// A file's vectors have more dimensions than any index takes.
    #[error(
        "vectors of {dim} dimensions: expected at most 8192; a file of another format, or of another order of bytes, begins like that"
    )]
    WideVectors {
        /// Their dimension.
        dim: u64,
    },
    /// A Parquet or Arrow file is damaged, or holds what is not read.
    #[error("cannot read this {format} file: {why}")]
    Table {
        /// The format's name.
        format: &'static str,
        /// The fault.
        why: String,
    },
    /// A line of a text file is not a record.
    #[error("line {line}: {why}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// The fault.
        why: String,
    },
    /// A table has no such column.
    #[error("no column {wanted}: there are {found}")]
    NoColumn {
        /// The name or kind wanted.
        wanted: String,
        /// The columns of the file.
        found: String,
    },
    /// A column's values are of another type.
    #[error("column {column} holds {found}: expected {expected}")]
    ColumnType {
        /// Its name.
        column: String,
        /// Its type.
        found: String,
        /// The types that it may have.
        expected: &'static str,
    },
    /// Two columns of a table, or members of an object, have a name that was asked for.
    #[error("two columns are named {name}, the columns {} and {}, counted from 1: rename one, or leave it out", places.0, places.1)]
    TwoColumns {
        /// Their name.
        name: String,
        /// Where the first two are, from 1.
        places: (usize, usize),
    },
    /// A text is not the numbers of a vector.
    #[error("{found}: expected {expected}")]
    Numbers {
        /// The fault, without the numbers.
        found: String,
        /// Texts that would do.
        expected: &'static str,
    },
    /// A text is not JSON, or has an object with two members of one name.
    #[error("{why}")]
    Json {
        /// The fault, with the places of the two.
        why: String,
    },
    /// A table has several columns that could be the vectors.
    #[error("several columns could be the vectors: name one of {found}")]
    SeveralColumns {
        /// Their names.
        found: String,
    },
    /// A table has no value where a vector, coordinate or id should be.
    #[error("row {row}, column {column} is null or contains a null")]
    Null {
        /// The row, from 0.
        row: u64,
        /// The column's name.
        column: String,
    },
    /// A text is no id of the kind that an index has.
    #[error("{found} is not an id: expected {expected}")]
    Id {
        /// The text in quotes, or the beginning of it with its length; or words for something else.
        found: String,
        /// Ids of that kind.
        expected: &'static str,
    },
    /// A row of a column of ids has no id of the index's kind.
    #[error("row {row}: {found} is not an id: expected {expected}")]
    IdRow {
        /// The row, from 0.
        row: u64,
        /// The text in quotes, or the beginning of it with its length; or words for something else.
        found: String,
        /// Ids of that kind.
        expected: &'static str,
    },
    /// A value of a column does not have the type of the values before it, or cannot be read.
    #[error("row {row}, column {column}: expected {expected}")]
    Value {
        /// The row, from 0.
        row: u64,
        /// The column's name.
        column: String,
        /// The values that it may have.
        expected: &'static str,
    },
    /// A text of a column is no value of the type that was asked for.
    #[error("row {row}, column {column}: {found}, expected {expected}")]
    Text {
        /// The row, from 0.
        row: u64,
        /// The column's name.
        column: String,
        /// The text in quotes, or the beginning of it with its length.
        found: String,
        /// The values that it may have.
        expected: &'static str,
    },
    /// A file of ids is not a list.
    #[error(
        "ids of {dimensions} dimension(s): expected 1, an id for each vector: save array.ravel()"
    )]
    IdsShape {
        /// The number of its dimensions.
        dimensions: usize,
    },
    /// A line of a file of ids is no id.
    #[error("line {line} is not an id: {found}, expected {expected}")]
    IdLine {
        /// The line, from 1.
        line: u64,
        /// The fault of the line.
        found: String,
        /// Ids of the kind that was asked for.
        expected: &'static str,
    },
    /// A neighbour's row number is negative, or has more than 32 bits.
    #[error("the known neighbours contain a row number that is negative or more than 4294967295")]
    NegativeNeighbour,
    /// A set of vectors is empty.
    #[error("no vectors: expected at least one, of at least one dimension")]
    NoVectors,
    /// A matrix has a part of a row.
    #[error("{values} values do not make whole vectors of dimension {dim}")]
    RaggedMatrix {
        /// Values in all.
        values: usize,
        /// Values of one vector.
        dim: usize,
    },
    /// A coordinate is NaN or infinite, or too large or too close to 0 for an f32.
    #[error(
        "row {row}, column {column} is not a finite number of 32 bits: expected 0, or 1e-42 to 3.4e38 with either sign"
    )]
    NotFinite {
        /// The vector.
        row: usize,
        /// The coordinate.
        column: usize,
    },
    /// A vector has no direction.
    #[error("row {row} is the zero vector: cosine similarity needs a direction")]
    ZeroVector {
        /// The vector.
        row: usize,
    },
    /// A vector is longer than the index's metric allows for.
    #[error(
        "row {row} has length {norm:e}: expected at most {most:e} in this index; build one from all vectors after they were divided by one \
         number"
    )]
    Norm {
        /// The vector.
        row: usize,
        /// Its length.
        norm: f32,
        /// The bound in the manifest.
        most: f32,
    },
    /// Known neighbours do not fit the queries.
    #[error("the known neighbours are for {} queries, {} for each: expected at least {} queries with {}", found.0, found.1, expected.0, expected.1)]
    TruthShape {
        /// Queries and neighbours of each in the file.
        found: (usize, usize),
        /// Queries and neighbours of each that are needed.
        expected: (usize, usize),
    },
    /// A known neighbour is not a row of the set.
    #[error(
        "the known neighbours contain row {id}, and the set has only {n} rows: take the neighbours of this set"
    )]
    TruthRow {
        /// The row's number.
        id: u32,
        /// The set's size.
        n: usize,
    },
}

impl Error {
    /// Names the file in an error that came up while it was read.
    pub(crate) fn in_file(self, path: &std::path::Path) -> Self {
        match self {
            Self::Read(source) => Self::File {
                path: path.to_owned(),
                source,
            },
            other => other,
        }
    }
}
