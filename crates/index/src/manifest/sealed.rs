//! The constants of sealed mode.

use serde::{Deserialize, Serialize};

use super::Segment;
use crate::bucket::Layout;
use crate::digest::Digest;

/// Sealed mode's constants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sealed {
    /// The records in the buckets. Only the owner has its chunks, from which it clusters again; a server
    /// does not.
    pub base: Segment,
    /// Records that were added later, in chunks that every client downloads and searches as a whole.
    pub tail: Vec<Segment>,
    /// The number of buckets, one for each cluster.
    pub clusters: u32,
    /// The number of buckets that every search fetches.
    pub probes: u32,
    /// The shape of a bucket.
    pub layout: Layout,
    /// How a client finds the buckets it wants.
    pub routing: Routing,
    /// The requested recall, in millionths. Compaction plans with it.
    pub recall: u32,
    /// The number of searches of a typical client. Compaction plans with it.
    pub queries: u64,
    /// The seed of the PIR matrix A. Without a hint, the seed of the public streams and of the slots of
    /// requests.
    pub pir_seed: [u8; 32],
    /// The digest of all sealed buckets, one after the other.
    pub buckets: Digest,
    /// The digest of the list of all sealed buckets' digests.
    pub digests: Digest,
    /// The digest of the PIR hint, or `None` if buckets are fetched without a hint.
    pub hint: Option<Digest>,
    /// The digest of the centroids, in the form that `routing` gives to clients.
    pub centroids: Digest,
}

impl Sealed {
    /// The constants for buckets of this shape, found in this way, over the records of `base`. The
    /// numbers and the digests are zeros, which the caller replaces.
    #[must_use]
    pub fn new(base: Segment, layout: Layout, routing: Routing) -> Self {
        Self {
            base,
            tail: Vec::new(),
            clusters: 0,
            probes: 0,
            layout,
            routing,
            recall: 0,
            queries: 0,
            pir_seed: [0; 32],
            buckets: [0; 32],
            digests: [0; 32],
            hint: Some([0; 32]),
            centroids: [0; 32],
        }
    }
}

/// How a client finds the buckets it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum Routing {
    /// Clients download the sealed centroids once, and score them. The server does not see them and
    /// takes no part.
    Downloaded,
    /// The server holds the centroids in the clear and scores them under encryption for every query, so
    /// clients download nothing first.
    Encrypted,
}

impl Routing {
    /// All routings.
    pub const ALL: [Self; 2] = [Self::Downloaded, Self::Encrypted];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Downloaded => "downloaded",
            Self::Encrypted => "encrypted",
        }
    }
}

impl From<Routing> for u32 {
    fn from(routing: Routing) -> Self {
        match routing {
            Routing::Downloaded => 0,
            Routing::Encrypted => 1,
        }
    }
}

impl TryFrom<u32> for Routing {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        match number {
            0 => Ok(Self::Downloaded),
            1 => Ok(Self::Encrypted),
            // No other routing may get this number, so that such an index is never read as a different
            // one.
            2 => Err("buckets by a keyed hash, which are served no more: build the index again from its vectors".to_owned()),
            other => Err(format!("routing {other}, which there is not")),
        }
    }
}
