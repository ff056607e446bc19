//! The constants of sealed mode.

use serde::{Deserialize, Serialize};

use super::Segment;
use crate::bucket::Layout;
use crate::digest::Digest;

/// Sealed mode's constants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sealed {
    /// The records in the buckets. Its chunks are the owner's, to cluster anew from; a server
    /// does not have them.
    pub base: Segment,
    /// Records added since: chunks that every client downloads and searches whole.
    pub tail: Vec<Segment>,
    /// Buckets, one for each cluster.
    pub clusters: u32,
    /// Buckets that every search fetches.
    pub probes: u32,
    /// The shape of a bucket.
    pub layout: Layout,
    /// The way in which a client finds the buckets it wants.
    pub routing: Routing,
    /// The recall that was wished for, in millionths: compaction plans with it.
    pub recall: u32,
    /// The searches of a typical client: compaction plans with it.
    pub queries: u64,
    /// The seed of the PIR matrix A, or, without a hint, of the pads and of the slots of requests.
    pub pir_seed: [u8; 32],
    /// The digest of all sealed buckets, one after the other.
    pub buckets: Digest,
    /// The digest of the list of all sealed buckets' digests.
    pub digests: Digest,
    /// The digest of the PIR hint; `None` where buckets are fetched without one.
    pub hint: Option<Digest>,
    /// The digest of the centroids, or the mean, in the form that `routing` gives out.
    pub centroids: Digest,
}

impl Sealed {
    /// Buckets of this shape, found in this way, over the records of `base`: the numbers and the digests
    /// are zeros, to be filled in.
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

    /// The salt of hashed routing's hash, one for each index.
    #[must_use]
    pub fn router_salt(&self) -> [u8; 16] {
        router_salt(&self.pir_seed)
    }
}

/// The beginning of a random seed.
#[must_use]
pub fn router_salt(pir_seed: &[u8; 32]) -> [u8; 16] {
    let mut salt = [0; 16];
    salt.copy_from_slice(&pir_seed[..16]);
    salt
}

/// The way in which a client finds the buckets it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Routing {
    /// The centroids are downloaded once, sealed, and scored by the client: the server does not
    /// see them and takes no part.
    Downloaded,
    /// The server holds the centroids in the clear and scores them under encryption, for every
    /// query: nothing to download first.
    Encrypted,
    /// Buckets are those of a keyed hash: a client knows them from its key and the vectors' mean,
    /// which it downloads, sealed. The server takes no part.
    Hashed,
}

impl Routing {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::Downloaded, Self::Encrypted, Self::Hashed];

    /// The word for it in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Downloaded => "downloaded",
            Self::Encrypted => "encrypted",
            Self::Hashed => "hashed",
        }
    }
}
