//! Everything that can be wrong with an input, a file or a message.

mod access;
mod filter;
mod kind;
mod log;
mod owner;
mod words;

use sordino_vectors::id::{Id, IdKind};
use std::path::PathBuf;
use words::WRONG;
pub use {
    access::AccessFault, filter::FilterFault, kind::Kind, log::LogFault, owner::NotNext,
    owner::OwnerFault,
};

/// An input, a file or a message that is not as it should be, with the numbers found and expected.
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
    /// Vectors, their files, or what is known of them.
    #[error(transparent)]
    Vectors(#[from] sordino_vectors::Error),
    /// The numbers of record ids and vectors differ.
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
    /// Records of an index whose ids are not numbers come without ids.
    #[error("records without ids: this index names records by a {0}, so each needs one")]
    NoIds(IdKind),
    /// A column of attributes cannot be stored.
    #[error("attribute {name}: {why}")]
    Attribute {
        /// Its name.
        name: String,
        /// The fault.
        why: String,
    },
    /// The numbers of rows of attributes and vectors differ.
    #[error("attributes of {found} records for {expected} vectors")]
    AttributeCount {
        /// Rows of attributes.
        found: usize,
        /// Vectors.
        expected: usize,
    },
    /// A filter that cannot be read, or does not fit this index.
    #[error(transparent)]
    Filter(#[from] FilterFault),
    /// A search asks for more results than the index was built for.
    #[error("k = {k}: expected 1 to {most}; for more results build the index with a larger --k")]
    Results {
        /// The number wanted.
        k: usize,
        /// The bound in the manifest.
        most: usize,
    },
    /// A record that should be deleted does not exist.
    #[error("there is no record {id}")]
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
    /// A directory is being changed by another process.
    #[error("{} is locked: another process is changing this index; try again when it has ended", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// A new index cannot be made where there is one.
    #[error("{} holds an index already: choose another folder, or change that index", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// A new index was to be made in a directory that holds other files.
    #[error("{}", words::occupied(path, entry))]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// A file or directory in it.
        entry: PathBuf,
    },
    /// There is no index in a directory, or the path names no directory.
    #[error("no index in {}: expected the folder that `sordino index build` made", path.display())]
    NoIndex {
        /// The directory.
        path: PathBuf,
    },
    /// A directory has manifests of an index, and no `CURRENT` that names the newest.
    #[error("{}", words::lost(path, versions))]
    Lost {
        /// The directory.
        path: PathBuf,
        /// The versions, in order.
        versions: Vec<u64>,
    },
    /// All records would be deleted.
    #[error("cannot delete all {n} records: an index keeps at least one")]
    NothingLeft {
        /// The records there are.
        n: usize,
    },
    /// The last change failed at a moment when it may or may not have been made.
    #[error("{}", words::unsure(path))]
    Unsure {
        /// The directory.
        path: PathBuf,
    },
    /// Another owner has changed the index since it was opened, on a disk without locks.
    #[error("{}", words::overtaken(path))]
    Overtaken {
        /// The directory.
        path: PathBuf,
    },
    /// A change that an owner's store does not make, or after which something is left to do.
    #[error(transparent)]
    Owner(#[from] OwnerFault),
    /// A version of an index is larger than a server takes.
    #[error("{}", words::room(*found, *most))]
    Room {
        /// Bytes of its parts, and of what a server computes from them.
        found: u64,
        /// The most.
        most: u64,
    },
    /// A build or a server needs more memory than there is.
    #[error("{}", words::memory(*needed, *found))]
    Memory {
        /// Bytes that it needs in addition.
        needed: u64,
        /// Bytes that are available, if the system says so.
        found: Option<u64>,
    },
    /// A dimension differs from the index's.
    #[error("a vector of {found} dimensions: expected {expected}")]
    Dimension {
        /// The vector's.
        found: usize,
        /// The index's.
        expected: usize,
    },
    /// The plan is for a different number of vectors.
    #[error("{found} vectors: the plan is for {expected}")]
    Count {
        /// The matrix's.
        found: usize,
        /// The plan's.
        expected: usize,
    },
    /// A build was asked for a number of results that no search can give.
    #[error("k = {k}: expected 1 to {}", words::most_results(*n))]
    K {
        /// The number of results wanted.
        k: usize,
        /// The set's size; 1024 where it may grow.
        n: usize,
    },
    /// A build was asked for a recall that is no share.
    #[error("a recall of {0}: expected more than 0 and less than 1")]
    Recall(f64),
    /// More vectors, or longer ones, than an index can hold.
    #[error("{n} vectors of {dim} dimensions: expected at most 2^32 - 1 vectors of at most 8192")]
    TooLarge {
        /// Vectors.
        n: usize,
        /// Their dimension.
        dim: usize,
    },
    /// A message, manifest or index does not have the form it should have.
    #[error("malformed {what}: {why}")]
    Malformed {
        /// The thing that was read.
        what: &'static str,
        /// The fault.
        why: String,
    },
    /// A message, manifest or index is of a version that this program does not read.
    #[error("{}", words::form(what, *found, *expected))]
    FormatVersion {
        /// The thing that was read.
        what: &'static str,
        /// Its version.
        found: u16,
        /// The version that can be read.
        expected: u16,
    },
    /// What a writer added as this version does not open, or contradicts itself.
    #[error("{}", words::addition(*.0, .1))]
    Addition(u64, Box<Self>),
    /// A part of an index is not the one that the signed manifest names.
    #[error("{}", words::digest(what))]
    Digest {
        /// The part.
        what: &'static str,
    },
    /// A log of versions, or a proof from one, or a version that it should have.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// The manifest's signature is not the owner's.
    #[error("{}", words::FOREIGN)]
    Signature,
    /// The server offers an older version of the index than the client has seen.
    #[error("{}", words::rollback(*found, *pinned))]
    Rollback {
        /// The version offered.
        found: u64,
        /// The newest version seen.
        pinned: u64,
    },
    /// An owner's version was to go where there is one that it does not follow.
    #[error(transparent)]
    NotNext(#[from] NotNext),
    /// A payload is longer than payloads can be.
    #[error("a payload of {found} bytes, expected at most {most}")]
    Payload {
        /// Bytes found.
        found: usize,
        /// The most.
        most: usize,
    },
    /// A second look has fewer candidates than a search has results, or more than 64.
    #[error("a second look at {0} candidates: expected a search's results or more, at most 64")]
    Candidates(u32),
    /// The numbers of payloads and vectors differ.
    #[error("{found} payloads for {expected} vectors")]
    PayloadCount {
        /// Payloads.
        found: usize,
        /// Vectors.
        expected: usize,
    },
    /// A request is for a version of the index that the server does not have.
    #[error("the request is for version {found}, and the server has version {serving}: refresh")]
    Stale {
        /// The request's.
        found: u64,
        /// The server's.
        serving: u64,
    },
    /// Two manifests of one index do not follow one another: one was restored and changed, or clients are shown several.
    #[error("{}", words::fork(*version))]
    Fork {
        /// The version offered.
        version: u64,
    },
    /// The server does not offer the index that the client knows.
    #[error("{}", words::other(found, pinned))]
    OtherIndex {
        /// The id of the index offered.
        found: [u8; 16],
        /// The id of the index that is known.
        pinned: [u8; 16],
    },
    /// The server has no manifests that lead from the version that a client knows to the newest.
    #[error("{}", words::gap(*found, *pinned))]
    Gap {
        /// The version offered.
        found: u64,
        /// The version that is known.
        pinned: u64,
    },
    /// The index does not have the mode that the call needs.
    #[error("an index in {found} mode: expected {expected}")]
    Mode {
        /// The manifest's.
        found: &'static str,
        /// The call's.
        expected: &'static str,
    },
    /// A server holds a different shard: number and count of its own, and of the expected one.
    #[error("this server holds shard {}/{}, expected shard {}/{}: name the shards in their order", .0[0], .0[1], .1[0], .1[1])]
    Position([u16; 2], [u16; 2]),
    /// A client has asked a server of a shard, which answers only the gathering server.
    #[error("the server holds only shard {}/{}: connect to the one that runs `sordino gather`", .0[0], .0[1])]
    Share([u16; 2]),
    /// These keys do not open the index: it has readers of its own and these are not theirs, or it has none.
    #[error("{}", words::NO_READER)]
    NoReader,
    /// A change of readers, groups or labels that cannot be made.
    #[error(transparent)]
    Access(#[from] AccessFault),
    /// A message did not reach the server, or no acceptable reply came back.
    #[error("the request failed: {source}")]
    Transport {
        /// Its kind.
        kind: Kind,
        /// The transport's own error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A search failed. It does not say how: a reason that reached the server would tell it about the query.
    #[error("the search failed: the server's answers do not belong to this index. {WRONG}")]
    BadReply,
    /// A reply did not belong to this index, and a message after it failed. [`seen`](Self::seen) has the failure.
    #[error("the server's answers do not belong to this index, and the next failed: {0}. {WRONG}")]
    AfterBadReply(Box<Self>),
    /// A query names keys that the server does not hold, or no longer. A client sends them again, with a fresh query.
    #[error("the server does not hold the keys that the query names: send them with it")]
    Session,
    /// PIR parameters, query or answer.
    #[error(transparent)]
    Pir(#[from] sordino_pir::Error),
    /// Homomorphic scores.
    #[error(transparent)]
    Ckks(#[from] sordino_ckks::Error),
    /// Encrypted queries for clusters.
    #[error(transparent)]
    Lwe(#[from] sordino_lwe::Error),
}
