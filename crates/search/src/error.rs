//! What can be wrong with an input, a file or a message.

use std::path::PathBuf;

/// What was wrong, and what was expected.
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
    /// A file could not be read on.
    #[error("while reading: {0}")]
    Read(std::io::Error),
    /// A file's extension is not that of a format that can be read.
    #[error(
        "unknown format .{extension}: expected .npy, .fvecs, .bvecs, .fbin, .u8bin, .i8bin{} (.npy or .ivecs for neighbours)",
        if cfg!(feature = "arrow") { ", .parquet or .arrow" } else { "" }
    )]
    UnknownFormat {
        /// The extension, without its dot.
        extension: String,
    },
    /// A `.npy` header is damaged.
    #[error("damaged .npy header: {what}")]
    NpyHeader {
        /// What is wrong with it.
        what: &'static str,
    },
    /// A `.npy` file holds another element type.
    #[error(
        "unsupported .npy element type {descr}: expected <f8, <f4, <f2, |u1 or |i1 (<i4 for neighbours)"
    )]
    NpyType {
        /// NumPy's name of the type.
        descr: String,
    },
    /// A `.npy` file is not a matrix.
    #[error("a .npy file of {dimensions} dimension(s): expected 2, a row for each vector")]
    NpyShape {
        /// How many dimensions it has.
        dimensions: usize,
    },
    /// A file's length is not what its header says.
    #[error(
        "a file of shape ({rows}, {columns}) with another length: found {found} bytes of values"
    )]
    ShapeLength {
        /// Rows in the header.
        rows: u64,
        /// Columns in the header.
        columns: u64,
        /// Bytes after the header.
        found: u64,
    },
    /// A file ends before a vector does.
    #[error("the file ends within vector {row}")]
    EndsInRow {
        /// The vector, from 0.
        row: u64,
    },
    /// A file goes on after the vectors that its header promised.
    #[error("the file goes on after the {rows} vectors that its header promises")]
    TrailingBytes {
        /// How many it promises.
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
    /// A file's vectors are longer than those of any index.
    #[error("vectors of {dim} dimensions: expected at most 4096")]
    WideVectors {
        /// Their dimension.
        dim: u64,
    },
    /// A Parquet or Arrow file is damaged, or holds what is not read.
    #[error("cannot read this {format} file: {why}")]
    Table {
        /// The format's name.
        format: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A table has no such column.
    #[error("no column {wanted} of the type that is needed: there are {found}")]
    NoColumn {
        /// The name or kind wanted.
        wanted: String,
        /// The columns that there are.
        found: String,
    },
    /// A table has several columns that could be the vectors.
    #[error("several columns could be the vectors: name one of {found}")]
    SeveralColumns {
        /// Their names.
        found: String,
    },
    /// A table has no value where a vector, coordinate or id should be.
    #[error("row {row} is null or has a null in it")]
    Null {
        /// The row, from 0.
        row: u64,
    },
    /// An id is negative or too large.
    #[error("an id outside 0 to 4294967295")]
    IdRange,
    /// A file of ids is not a list.
    #[error("ids of {dimensions} dimension(s): expected 1, an id for each vector")]
    IdsShape {
        /// How many dimensions it has.
        dimensions: usize,
    },
    /// A line of a file of ids is no number.
    #[error("line {line} is not an id: expected a number from 0 to 4294967295")]
    IdLine {
        /// The line, from 1.
        line: u64,
    },
    /// A neighbour's row number is negative.
    #[error("a negative row number among the neighbours")]
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
    /// A coordinate is NaN or infinite.
    #[error("row {row}, column {column} is not a finite number")]
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
    #[error("row {row} has length {norm}: this index was made for vectors of at most {most}")]
    Norm {
        /// The vector.
        row: usize,
        /// Its length.
        norm: f32,
        /// The bound in the manifest.
        most: f32,
    },
    /// Another number of record ids than of vectors.
    #[error("{found} record ids for {expected} vectors")]
    Ids {
        /// Ids.
        found: usize,
        /// Vectors.
        expected: usize,
    },
    /// A record id occurs twice.
    #[error("record {id} is given twice")]
    RepeatedId {
        /// The id.
        id: u32,
    },
    /// A record to be deleted is not there.
    #[error("there is no record {id}")]
    UnknownId {
        /// The id.
        id: u32,
    },
    /// A change would make more segments than an index may have.
    #[error("the index has {found} segments and may have {most}: compact it first")]
    Segments {
        /// Segments that there are.
        found: usize,
        /// Segments that there may be.
        most: usize,
    },
    /// A directory is being changed by another process.
    #[error("{} is locked: another process is changing this index", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// A new index was to be made where there is one.
    #[error("{} holds an index already", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The last change failed at a moment when it may or may not have been made.
    #[error("the last change of {} may or may not have been made: open it anew", path.display())]
    Unsure {
        /// The directory.
        path: PathBuf,
    },
    /// Known neighbours do not fit the queries.
    #[error("known neighbours for {} queries of {} each: expected at least {} of {}", found.0, found.1, expected.0, expected.1)]
    TruthShape {
        /// Queries and neighbours of each in the file.
        found: (usize, usize),
        /// Queries and neighbours of each that are needed.
        expected: (usize, usize),
    },
    /// A known neighbour is not a row of the set.
    #[error("row {id} among the known neighbours of a set of {n} rows")]
    TruthRow {
        /// The row's number.
        id: u32,
        /// The set's size.
        n: usize,
    },
    /// A dimension differs from the index's.
    #[error("a vector of {found} dimensions: expected {expected}")]
    Dimension {
        /// The vector's.
        found: usize,
        /// The index's.
        expected: usize,
    },
    /// Another number of vectors than was planned for.
    #[error("{found} vectors: the plan is for {expected}")]
    Count {
        /// The matrix's.
        found: usize,
        /// The plan's.
        expected: usize,
    },
    /// A build was asked for a number of results that no search can give.
    #[error("k = {k} of {n} vectors: expected 1 to {}", n.min(&1024))]
    K {
        /// The number of results wanted.
        k: usize,
        /// The set's size.
        n: usize,
    },
    /// A build was asked for a recall that is no share.
    #[error("a recall of {0}: expected more than 0 and less than 1")]
    Recall(f64),
    /// More vectors, or longer ones, than an index can hold.
    #[error("{n} vectors of {dim} dimensions: expected at most 2^32 - 1 vectors of at most 4096")]
    TooLarge {
        /// Vectors.
        n: usize,
        /// Their dimension.
        dim: usize,
    },
    /// A message, manifest or index does not have the form it should have.
    #[error("malformed {what}: {why}")]
    Malformed {
        /// What was read.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A message, manifest or index is of a version that this program does not read.
    #[error("{what} of format version {found}: expected {expected}")]
    FormatVersion {
        /// What was read.
        what: &'static str,
        /// Its version.
        found: u16,
        /// The version that can be read.
        expected: u16,
    },
    /// A part of an index is not the one that the signed manifest names.
    #[error("the {what} do not match the digest in the manifest")]
    Digest {
        /// The part.
        what: &'static str,
    },
    /// The manifest's signature is not the owner's.
    #[error("the manifest is not signed by the owner's key")]
    Signature,
    /// The server offers an older version of the index than the client has seen.
    #[error("version {found} of the index: this client has already seen version {pinned}")]
    Rollback {
        /// The version offered.
        found: u64,
        /// The newest version seen.
        pinned: u64,
    },
    /// A payload is longer than payloads can be.
    #[error("a payload of {found} bytes, expected at most {most}")]
    Payload {
        /// Bytes found.
        found: usize,
        /// The most.
        most: usize,
    },
    /// There are not as many payloads as vectors.
    #[error("{found} payloads for {expected} vectors")]
    PayloadCount {
        /// Payloads.
        found: usize,
        /// Vectors.
        expected: usize,
    },
    /// A request is about another version of the index than the one that is served.
    #[error("a request about version {found}, and version {serving} is served: refresh")]
    Stale {
        /// The request's.
        found: u64,
        /// The server's.
        serving: u64,
    },
    /// Two manifests of one index do not follow one another: it was restored from a backup and
    /// changed in another way, or the server shows different clients different indexes.
    #[error("version {version} of the index does not follow from the one that this client knows")]
    Fork {
        /// The version offered.
        version: u64,
    },
    /// The index is of another mode than the call.
    #[error("an index in {found} mode: expected {expected}")]
    Mode {
        /// The manifest's.
        found: &'static str,
        /// The call's.
        expected: &'static str,
    },
    /// A message did not reach the server, or no acceptable reply came back.
    #[error("no reply: {0}")]
    Transport(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A search failed. It does not say how: whatever a bucket contained, the messages were the
    /// same, and a reason that reached the server would tell it about the query.
    #[error("the search failed: the server's answers do not belong to this index")]
    Search,
    /// PIR parameters, query or answer.
    #[error(transparent)]
    Pir(#[from] sordino_pir::Error),
    /// Homomorphic scores.
    #[error(transparent)]
    Ckks(#[from] sordino_ckks::Error),
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
