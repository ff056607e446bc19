//! The manifest: everything public about one version of an index, signed by its owner.
//!
//! All properties of a search that a server can observe are constants of the manifest. Examples are the number of
//! fetched buckets, their size, and the way to find them. None of them depends on a query.
//!
//! # Segments
//! Records come in segments, which never change. Later records form a new segment. Deleted and replaced records stay in their
//! segment and are listed in one sealed part, which every client of the version downloads. A segment's id is random and bound to
//! its content, and all keys of its content are derived from it. So no two contents share a pad or a nonce, even if version
//! numbers repeat: a restored backup and a second writer make different segments.

use serde::{Deserialize, Serialize};

use crate::IdKind;
use crate::bucket::Layout;
use crate::code::Codec;
use crate::digest::{Coded, Digest};
use crate::metric::Metric;
use crate::payload::Payloads;
use crate::sketch::Sketch;

mod addition;
mod check;
mod columns;
mod frame;
mod kind;
mod part;
mod part_kind;
mod payloads;
mod readers;
mod routed;
mod sealed;
mod signed;
mod size;
mod writers;

pub use crate::SHARED;
pub use crate::secret_packing::SecretPacking;
pub use addition::{Addition, MAX_ADDED, MAX_ADDITIONS, MOST_ADDED_BYTES, MOST_ADDED_RECORDS};
pub use columns::{Checking, ColumnSegment, Columns, Combined, Packing, Rows, Scheme};
pub use frame::FramePart;
pub use kind::ModeKind;
pub use part::{Holder, Part};
pub use part_kind::PartKind;
pub use readers::{
    CIPHERTEXT_LEN, MAX_DIRECTORY, MAX_READERS, NUMBER_LEN, RING_HEAD_LEN, entry_len,
};
pub use readers::{KeyUse, MAX_KEYS, Readers};
pub use routed::{ALONG_BITS, SPREAD_LEN};
pub use routed::{ENTRY_LEN, Grid, Routed};
pub use sealed::{Routing, Sealed};
pub use signed::{ShownVersion, SignedManifest};
pub use size::FRAME_HEAD_LEN;
pub(crate) use size::rows_len;
pub use size::{COORDINATE_LEN, scales_len};
pub use size::{MAX_BASES, frame_len, hintless_params, pir_params, route_len};
/// The largest dimension of a vector.
pub use sordino_vectors::MAX_DIM;
pub use writers::{MAX_WRITABLE, MAX_WRITERS, TAG_OF_LABEL_LEN, Writable, Writer};

/// The largest number of results of a search.
pub const MAX_K: u32 = 1024;

/// The largest number of segments of an index. An owner must compact an index before it has more.
pub const MAX_SEGMENTS: usize = 1024;

/// The largest number of vectors of a chunk in local and sealed mode.
pub const CHUNK: u32 = 1024;

/// The largest number of bytes of a signed manifest, including all additions that it may have.
pub const MAX_SIGNED_LEN: usize = 2 * crate::wire::FILE_HEAD_LEN
    + signed::MAX_LEN
    + crate::public_key::SIGNATURE_LEN
    + signed::MAX_ADDED_LEN;

/// One version of one index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The index's id: random, and new for every build.
    pub index: [u8; 16],
    /// The version's number, which grows with every change. A client refuses to go back.
    pub version: u64,
    /// The digest of the signed manifest before this one, or zeros in the first version.
    pub previous: Digest,
    /// The number of records stored in all segments, including deleted and replaced ones.
    pub n: u32,
    /// The number of coordinates of a vector in the form that its owner gives.
    pub dim: u32,
    /// The largest number of results of a search. A search always fetches this number of payloads.
    pub k: u32,
    /// The kind of record ids.
    pub ids: IdKind,
    /// The measure of nearness.
    pub metric: Metric,
    /// The seed of the public rotation of vectors and queries.
    pub rotation: [u8; 32],
    /// The sealed centre and bases, relative to which vectors are stored.
    pub frame: FramePart,
    /// The sealed list of the deleted and replaced records.
    pub deleted: Deleted,
    /// The payloads, if records have any, and exact vectors, if searches have a second look.
    pub payloads: Option<Payloads>,
    /// The parts that later changes have added, oldest first. Clients download them. A record is in the last of them that has its
    /// place.
    pub recent: Vec<Payloads>,
    /// The mode, with its constants.
    pub mode: Mode,
    /// The readers, if the index has its own. In the encoding, the fields that only such indexes have come last.
    #[serde(skip)]
    pub readers: Option<Readers>,
    /// The writers, who may add records, in the order of their keys. They follow the readers in the encoding.
    #[serde(skip)]
    pub writers: Vec<Writer>,
}

impl Manifest {
    /// A first version without records, for vectors of `dim` coordinates. The caller gives it an id and a signature.
    #[must_use]
    pub fn new(
        dim: u32,
        k: u32,
        ids: IdKind,
        metric: Metric,
        rotation: [u8; 32],
        frame: FramePart,
        mode: Mode,
    ) -> Self {
        Self {
            index: [0; 16],
            version: 1,
            previous: [0; 32],
            n: 0,
            dim,
            k,
            ids,
            metric,
            rotation,
            frame,
            deleted: Deleted::none(),
            payloads: None,
            recent: Vec::new(),
            mode,
            readers: None,
            writers: Vec::new(),
        }
    }

    /// True if there is no version before it.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.previous == [0; 32]
    }

    /// Coordinates of a vector in its stored form. The metric may add some.
    #[must_use]
    pub fn stored_dim(&self) -> u32 {
        self.dim + self.metric.added()
    }

    /// The code of vectors in chunks, in local and sealed mode.
    #[must_use]
    pub fn chunk_codec(&self) -> Codec {
        match &self.mode {
            Mode::Local(mode) => mode.codec,
            Mode::Routed(_) => Codec::Int12,
            _ => Codec::Int8,
        }
    }

    /// The segments, oldest first.
    #[must_use]
    pub fn segments(&self) -> Vec<&Segment> {
        self.mode.segments()
    }
}

/// How an index is searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Clients fetch a fixed number of sealed buckets by private information retrieval.
    Sealed(Sealed),
    /// Clients download everything once, sealed, and search it themselves.
    Local(Local),
    /// The server holds the vectors in the clear and scores all of them under encryption.
    Open(Columns),
    /// The server holds the vectors under pads and scores all of them under encryption.
    Masked(Columns),
    /// The server holds the vectors under pads, in clusters, and scores some clusters under encryption without
    /// knowing which.
    Routed(Routed),
}

impl Mode {
    /// The segments, oldest first.
    #[must_use]
    pub fn segments(&self) -> Vec<&Segment> {
        match self {
            Self::Sealed(mode) => std::iter::once(&mode.base).chain(&mode.tail).collect(),
            Self::Local(mode) => mode.segments.iter().collect(),
            Self::Open(mode) | Self::Masked(mode) => {
                mode.segments.iter().map(|column| &column.segment).collect()
            }
            Self::Routed(mode) => {
                let tail = mode.tail.segments.iter();
                let tail = tail.map(|column| &column.segment);
                std::iter::once(&mode.base).chain(tail).collect()
            }
        }
    }

    /// The [segments](Self::segments), for changes.
    fn segments_mut(&mut self) -> Vec<&mut Segment> {
        match self {
            Self::Sealed(mode) => {
                let base = std::iter::once(&mut mode.base);
                base.chain(&mut mode.tail).collect()
            }
            Self::Local(mode) => mode.segments.iter_mut().collect(),
            Self::Open(mode) | Self::Masked(mode) => {
                let columns = mode.segments.iter_mut();
                columns.map(|column| &mut column.segment).collect()
            }
            Self::Routed(mode) => {
                let tail = mode.tail.segments.iter_mut();
                let tail = tail.map(|column| &mut column.segment);
                std::iter::once(&mut mode.base).chain(tail).collect()
            }
        }
    }
}

/// Records that were added together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Segment {
    /// Random and bound to the content. The keys of the segment's content are derived from it.
    pub id: [u8; 16],
    /// The version of the index in which it was written. Pads and nonces depend on it.
    pub version: u64,
    /// The number of records, including deleted and replaced ones.
    pub n: u32,
    /// The digest of the vectors: rows in open and masked mode, sealed chunks in local and sealed
    /// mode.
    pub rows: Digest,
    /// The sealed record ids.
    pub ids: Coded,
    /// The sealed attributes of its records, if they have any.
    pub attributes: Option<Coded>,
    /// The digest of the sealed bases and scales of its rows, if a server scores them all.
    pub scales: Option<Digest>,
    /// The number of the segment's content key: [`SHARED`] unless the index has readers of its own.
    #[serde(skip)]
    pub key: u32,
}

impl Segment {
    /// A segment of `n` records written in `version`, with the digest of their vectors and their sealed ids, without attributes.
    #[must_use]
    pub fn new(id: [u8; 16], version: u64, n: u32, rows: Digest, ids: Coded) -> Self {
        Self {
            id,
            version,
            n,
            rows,
            ids,
            attributes: None,
            scales: None,
            key: SHARED,
        }
    }

    /// The shape of its chunks with this [code](Manifest::chunk_codec), in local and sealed mode.
    #[must_use]
    pub fn layout(&self, width: u32, codec: Codec) -> Layout {
        Layout {
            dim: width,
            slots: self.n.min(CHUNK),
            codec,
        }
    }

    /// The number of its chunks, in local and sealed mode.
    #[must_use]
    pub fn chunks(&self) -> u32 {
        self.n.div_ceil(self.n.min(CHUNK))
    }
}

/// The list of deleted and replaced records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Deleted {
    /// Random and bound to the content, like a segment's id.
    pub id: [u8; 16],
    /// The version of the index in which the list was written.
    pub version: u64,
    /// The list: for each segment, the rows of records that were deleted or replaced.
    pub rows: Coded,
}

impl Deleted {
    /// A sealed list that was written in `version`.
    #[must_use]
    pub fn new(id: [u8; 16], version: u64, rows: Coded) -> Self {
        Self { id, version, rows }
    }

    /// A placeholder, which is replaced before a manifest is signed.
    #[must_use]
    pub fn none() -> Self {
        Self {
            id: [0; 16],
            version: 0,
            rows: Coded::default(),
        }
    }
}

/// Local mode's constants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Local {
    /// The code of a vector.
    pub codec: Codec,
    /// The segments, each in sealed chunks.
    pub segments: Vec<Segment>,
    /// The first stage, in which clients choose the vectors to score. Without it they score all.
    pub sketch: Option<Sketch>,
}

impl Local {
    /// The constants of an index without segments.
    #[must_use]
    pub fn new(codec: Codec) -> Self {
        Self {
            codec,
            segments: Vec::new(),
            sketch: None,
        }
    }
}
