//! The errors of inputs, files and messages.

mod access;
mod filter;
mod kind;
mod log;
mod owner;
mod words;

use sordino_vectors::id::{Id, IdKind};
use std::path::PathBuf;
use words::{WRONG, quoted};
pub use {
    access::AccessFault, filter::FilterFault, kind::Kind, log::LogFault, owner::NotNext,
    owner::OwnerFault,
};

/// An error in an input, a file or a message, with the values found and expected.
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
    /// An error about vectors or their files.
    #[error(transparent)]
    Vectors(#[from] sordino_vectors::Error),
    /// The number of record ids differs from the number of vectors.
    #[error("{found} record ids for {expected} vectors")]
    Ids {
        /// The number of ids.
        found: usize,
        /// The number of vectors.
        expected: usize,
    },
    /// A record id occurs twice.
    #[error("record {id} is given twice")]
    RepeatedId {
        /// The id.
        id: Id,
    },
    /// A record id does not have the kind of the index's ids.
    #[error("record {id} is named by a {}: this index names records by a {expected}", id.kind())]
    IdKind {
        /// The id.
        id: Id,
        /// The index's kind.
        expected: IdKind,
    },
    /// No number is left for records without ids.
    #[error("the highest record id is {highest}, and none follows: give the new records ids")]
    NoNextId {
        /// The highest id.
        highest: u64,
    },
    /// Records without ids are added to an index whose ids are not numbers.
    #[error("records without ids: this index names records by a {0}, so each needs one")]
    NoIds(IdKind),
    /// A column of attributes cannot be stored.
    #[error("attribute {name}: {why}")]
    Attribute {
        /// The name of the column.
        name: String,
        /// The reason.
        why: String,
    },
    /// The number of rows of attributes differs from the number of vectors.
    #[error("attributes of {found} records for {expected} vectors")]
    AttributeCount {
        /// The number of rows of attributes.
        found: usize,
        /// The number of vectors.
        expected: usize,
    },
    /// A filter cannot be read, or does not fit this index.
    #[error(transparent)]
    Filter(#[from] FilterFault),
    /// A search asks for more results than the index was built for.
    #[error("k = {k}: expected 1 to {most}; for more results build the index with a larger --k")]
    Results {
        /// The requested number.
        k: usize,
        /// The bound in the manifest.
        most: usize,
    },
    /// The record to delete does not exist.
    #[error("there is no record {}", quoted(id))]
    UnknownId {
        /// The id.
        id: Id,
    },
    /// A change would make more segments than an index may have.
    #[error("the index has {found} segments and may have {most}: compact it first")]
    Segments {
        /// The number of segments.
        found: usize,
        /// The largest number of segments.
        most: usize,
    },
    /// Another process is changing the directory.
    #[error("{} is locked: another process is changing this index, or serves it with --accept-changes; try again when it has ended", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// A new index cannot be created, because the directory already has one.
    #[error("{} holds an index already: choose another folder, or change that index", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// A new index cannot be created, because the directory holds other files.
    #[error("{}", words::occupied(path, entry))]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// A file or directory in it.
        entry: PathBuf,
    },
    /// The directory has no index, or its first version is being made, or the path is not a directory.
    #[error("{}", words::no_index(path))]
    NoIndex {
        /// The directory.
        path: PathBuf,
    },
    /// The directory has manifests of an index, but no `CURRENT` that names the newest.
    #[error("{}", words::lost(path, versions))]
    Lost {
        /// The directory.
        path: PathBuf,
        /// The versions, in order.
        versions: Vec<u64>,
    },
    /// The change would delete all records.
    #[error("cannot delete all {n} records: an index keeps at least one")]
    NothingLeft {
        /// The number of records.
        n: usize,
    },
    /// The last change failed. It may or may not have taken effect.
    #[error("{}", words::unsure(path))]
    Unsure {
        /// The directory.
        path: PathBuf,
    },
    /// On a disk without locks, another owner has changed the index since it was opened.
    #[error("{}", words::overtaken(path))]
    Overtaken {
        /// The directory.
        path: PathBuf,
    },
    /// An owner's store refuses a change, or something is left to do after a change.
    #[error(transparent)]
    Owner(#[from] OwnerFault),
    /// A version of an index is larger than a server accepts.
    #[error("{}", words::room(*found, *most))]
    Room {
        /// The bytes of its parts, and of what a server computes from them.
        found: u64,
        /// The largest accepted number.
        most: u64,
    },
    /// A build or a server needs more memory than is available.
    #[error("{}", words::memory(*needed, *found))]
    Memory {
        /// The number of bytes that it needs in addition.
        needed: u64,
        /// The bytes that are available, if the system says so.
        found: Option<u64>,
    },
    /// A dimension differs from the index's.
    #[error("a vector of {found} dimensions: expected {expected}")]
    Dimension {
        /// The vector's dimension.
        found: usize,
        /// The index's dimension.
        expected: usize,
    },
    /// The plan is for another number of vectors.
    #[error("{found} vectors: the plan is for {expected}")]
    Count {
        /// The number of vectors.
        found: usize,
        /// The planned number.
        expected: usize,
    },
    /// A build was asked for a number of results that no search can have.
    #[error("k = {k}: expected 1 to {}", words::most_results(*n))]
    K {
        /// The number of results wanted.
        k: usize,
        /// The number of vectors, or 1024 if the set may grow.
        n: usize,
    },
    /// A build was asked for a recall that is not between 0 and 1.
    #[error("a recall of {0}: expected more than 0 and less than 1")]
    Recall(f64),
    /// There are more vectors, or longer ones, than an index can hold.
    #[error("{n} vectors of {dim} dimensions: expected at most 2^32 - 1 vectors of at most 8192")]
    TooLarge {
        /// The number of vectors.
        n: usize,
        /// Their dimension.
        dim: usize,
    },
    /// A message, manifest or index has a wrong form.
    #[error("malformed {what}: {why}")]
    Malformed {
        /// The thing that was read.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// A message, manifest or index has a version of the format that is not supported.
    #[error("{}", words::form(what, *found, *expected))]
    FormatVersion {
        /// The thing that was read.
        what: &'static str,
        /// The format version that was found.
        found: u16,
        /// The version that this program reads.
        expected: u16,
    },
    /// The records that a writer added in this version do not open, or contradict themselves.
    #[error("{}", words::addition(*.0, .1))]
    Addition(u64, Box<Self>),
    /// A part of an index is not the part that the signed manifest names.
    #[error("{}", words::digest(what))]
    Digest {
        /// The part.
        what: &'static str,
    },
    /// An error about a log of versions, a proof from one, or a version that it should have.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// The manifest's signature is not the owner's.
    #[error("{}", words::FOREIGN)]
    Signature,
    /// The server offers an older version of the index than the client has seen before.
    #[error("{}", words::rollback(*found, *pinned))]
    Rollback {
        /// The version offered.
        found: u64,
        /// The newest version seen.
        pinned: u64,
    },
    /// An owner's version does not follow from the version before it.
    #[error(transparent)]
    NotNext(#[from] NotNext),
    /// A payload is longer than the longest possible one.
    #[error("a payload of {found} bytes, expected at most {most}")]
    Payload {
        /// The number of bytes found.
        found: usize,
        /// The largest possible number.
        most: usize,
    },
    /// The number of candidates of a second look is below the number of results, or above 64.
    #[error("a second look at {0} candidates: expected a search's results or more, at most 64")]
    Candidates(u32),
    /// The number of payloads differs from the number of vectors.
    #[error("{found} payloads for {expected} vectors")]
    PayloadCount {
        /// The number of payloads.
        found: usize,
        /// The number of vectors.
        expected: usize,
    },
    /// A request is for a version of the index that the server does not serve.
    #[error("the request is for version {found}, and the server has version {serving}: refresh")]
    Stale {
        /// The request's version.
        found: u64,
        /// The server's version.
        serving: u64,
    },
    /// Two manifests do not follow from one another: a restored backup was changed, or clients see two histories.
    #[error("{}", words::fork(*version))]
    Fork {
        /// The version offered.
        version: u64,
    },
    /// The server offers an index that is not the one that the client knows.
    #[error("{}", words::other(found, pinned))]
    OtherIndex {
        /// The id of the index offered.
        found: [u8; 16],
        /// The id of the index that is known.
        pinned: [u8; 16],
    },
    /// The server does not have the manifests that lead from the version that a client knows to the newest one.
    #[error("{}", words::gap(*found, *pinned))]
    Gap {
        /// The version offered.
        found: u64,
        /// The version that is known.
        pinned: u64,
    },
    /// The index does not have the mode that the call requires.
    #[error("an index in {found} mode: expected {expected}")]
    Mode {
        /// The index's mode.
        found: &'static str,
        /// The required mode.
        expected: &'static str,
    },
    /// A server holds a different shard. The fields are number and count: of its own shard, then of the expected one.
    #[error("this server holds shard {}/{}, expected shard {}/{}: name the shards in their order", .0[0], .0[1], .1[0], .1[1])]
    Position([u16; 2], [u16; 2]),
    /// A client sent a request to a server of a shard. Such a server answers only the gathering server.
    #[error("the server holds only shard {}/{}: connect to the one that runs `sordino gather`", .0[0], .0[1])]
    Share([u16; 2]),
    /// These keys do not open the index. They belong to no reader of it, or it has no readers with keys of their own.
    #[error("{}", words::NO_READER)]
    NoReader,
    /// A change of readers, groups or labels is not possible.
    #[error(transparent)]
    Access(#[from] AccessFault),
    /// A message did not reach the server, or no acceptable reply came back.
    #[error("the request failed: {source}")]
    Transport {
        /// The kind of the fault.
        kind: Kind,
        /// The transport's own error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A search failed. The server must not learn how, since that would reveal something about the query.
    #[error("the search failed: the server's answers do not belong to this index. {WRONG}")]
    BadReply,
    /// A reply did not belong to this index, and a later message failed. [`seen`](Self::seen) has that failure.
    #[error("the server's answers do not belong to this index, and the next failed: {0}. {WRONG}")]
    AfterBadReply(Box<Self>),
    /// The server does not hold the keys that a query names. A client sends them again, with a fresh query.
    #[error("the server does not hold the keys that the query names: send them with it")]
    Session,
    /// An error about PIR parameters, a query or an answer.
    #[error(transparent)]
    Pir(#[from] sordino_pir::Error),
    /// An error about homomorphic scores.
    #[error(transparent)]
    Ckks(#[from] sordino_ckks::Error),
    /// An error about encrypted queries for clusters.
    #[error(transparent)]
    Lwe(#[from] sordino_lwe::Error),
}
