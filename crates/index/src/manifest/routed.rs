//! The constants of routed mode.

use serde::{Deserialize, Serialize};
use sordino_ckks::column;
use sordino_lwe as lwe;

use super::{Columns, Segment};
use crate::checks::balance::{self, Noise};
use crate::digest::Digest;
use crate::elias_fano::EliasFano;
use crate::secret_packing::SecretPacking;
use crate::{Error, TAG_LEN};

/// Routed mode's constants.
///
/// The records lie in clusters of one size, and the clusters in groups of one size. Group `g` is a matrix with a row for
/// each place of a cluster, followed by a row for each check row. Its clusters lie next to each other. A search scores
/// one cluster of each group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Routed {
    /// The records in the clusters. Only the owner has its chunks, from which it clusters again; a server does not.
    pub base: Segment,
    /// Records that were added later. Every search scores all of them, as in masked mode.
    pub tail: Columns,
    /// How the base is cut into groups and clusters.
    pub grid: Grid,
    /// The requested recall, in millionths. Compaction plans with it.
    pub recall: u32,
    /// The number of searches of a typical client. Compaction plans with it.
    pub queries: u64,
    /// The seed of the public matrix of a query's words.
    pub seed: [u8; 32],
    /// The seed of the public polynomials of a query's secret, and of the hint.
    pub hint_seed: [u8; 32],
    /// The digest of the table: the clusters' codes under pads.
    pub table: Digest,
    /// The digest of the hint.
    pub hint: Digest,
    /// The digest of the sealed centroids.
    pub centroids: Digest,
    /// The digest of the sealed list of each cluster's records.
    pub members: Digest,
}

/// How records are cut into clusters, and clusters into groups.
///
/// The fields must not change: a segment's id binds each of them. A new field that the id does not bind must not
/// compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Grid {
    /// The number of groups. A search scores one cluster of each.
    pub groups: u32,
    /// The number of clusters of a group.
    pub clusters: u32,
    /// The number of places of a cluster. Together with its check rows they are whole blocks of the packing.
    pub slots: u32,
    /// The number of entries of a query's secret that share a polynomial.
    pub packing: SecretPacking,
}

impl Routed {
    /// The constants for clusters cut in this way, of the records of `base`. The other numbers and the digests are
    /// zeros, which the caller replaces.
    #[must_use]
    pub fn new(base: Segment, grid: Grid, tail: Columns) -> Self {
        Self {
            base,
            tail,
            grid,
            recall: 0,
            queries: 0,
            seed: [0; 32],
            hint_seed: [0; 32],
            table: [0; 32],
            hint: [0; 32],
            centroids: [0; 32],
            members: [0; 32],
        }
    }
}

impl Grid {
    /// The parameter set of a query's words.
    #[must_use]
    pub fn params() -> lwe::Params {
        lwe::Params::module_1536()
    }

    /// The smallest number of places, not below `least`, for which a cluster's places and check rows fill whole blocks
    /// of the packing.
    #[must_use]
    pub fn slots_from(least: usize, packing: SecretPacking) -> Option<usize> {
        let block = packing.params().block_vectors();
        let whole = |slots: &usize| (slots + balance::count(*slots)).is_multiple_of(block);
        // A part of check rows has 512 places, which are several blocks, so one of the next few numbers ends a block.
        (least..).find(whole)
    }

    /// True if clusters with their check rows are whole blocks of this packing, too.
    #[must_use]
    pub fn packs(&self, packing: SecretPacking) -> bool {
        self.stored()
            .is_multiple_of(packing.params().block_vectors())
    }

    /// The number of all clusters.
    #[must_use]
    pub fn all_clusters(&self) -> usize {
        self.groups as usize * self.clusters as usize
    }

    /// The number of rows of a cluster: its places, followed by its check rows.
    #[must_use]
    pub fn stored(&self) -> usize {
        let slots = self.slots as usize;
        slots.saturating_add(balance::count(slots))
    }

    /// The number of rows of all clusters.
    #[must_use]
    pub fn all_stored(&self) -> usize {
        self.all_clusters().saturating_mul(self.stored())
    }

    /// The number of places of all clusters.
    #[must_use]
    pub fn places(&self) -> usize {
        self.all_clusters() * self.slots as usize
    }

    /// The number of scores of a search, including the scores of check rows.
    #[must_use]
    pub fn scores(&self) -> usize {
        self.groups as usize * self.stored()
    }

    /// The largest error of the check rows of a part of a cluster in an honest reply, for vectors of `width` coordinates
    /// ([`balance`]).
    #[must_use]
    pub fn tolerance(&self, width: usize) -> u64 {
        let params = Self::params();
        let (slots, columns) = (self.slots as usize, self.clusters as usize * width);
        let noise = Noise {
            fixed: self.engine_noise().powi(2),
            carried: params.statistical_noise(columns).powi(2),
            errors: columns as f64,
            places: slots.min(balance::PLACES) as f64,
        };
        let parts = self.groups as usize * slots.div_ceil(balance::PLACES);
        noise.tolerance(parts as f64)
    }

    /// The standard deviation of the noise of an encrypted product, for vectors of `width` coordinates, in steps of `P`.
    #[must_use]
    pub fn noise(&self, width: usize) -> f64 {
        let columns = self.clusters as usize * width;
        let words = Self::params().statistical_noise(columns);
        words.hypot(self.engine_noise())
    }

    /// The part of this noise that comes from the product of hint and secret.
    fn engine_noise(&self) -> f64 {
        let error = self.packing.params().statistical_error(Self::params().n());
        error / balance::STEP
    }

    /// The shape of the table, for vectors of `width` coordinates.
    ///
    /// # Errors
    /// Fails if no table has this shape.
    pub fn shape(&self, width: usize) -> Result<lwe::Shape, Error> {
        let (groups, rows) = (self.groups as usize, self.stored());
        let columns = (self.clusters as usize).saturating_mul(width);
        Ok(lwe::Shape::new(groups, rows, columns)?)
    }

    /// The size in bytes of the table.
    #[must_use]
    pub(crate) fn table_len(&self, width: usize) -> usize {
        self.all_stored().saturating_mul(width * ENTRY_LEN)
    }

    /// The bytes of the hint of one group.
    ///
    /// # Errors
    /// [`Error`] if there are more places than a hint can have.
    pub fn group_hint_len(&self) -> Result<usize, Error> {
        let n = Self::params().n();
        let params = self.packing.params();
        let len = column::Hint::encoded_len(&params, n, self.stored())?;
        // All groups together are scored like one database.
        column::Reply::encoded_len(&params, n, self.scores())?;
        Ok(len)
    }

    /// Bytes of a server's memory for the hint of all groups, encoded for multiplication with secrets. A residue of 50
    /// bits takes 7.
    #[must_use]
    pub fn encoded_hint_len(&self) -> u64 {
        7 * Self::params().n() as u64 * self.scores() as u64
    }

    /// The size in bytes of an encrypted query for the clusters.
    ///
    /// # Errors
    /// [`Error`] if no table has this shape.
    pub fn query_len(&self, width: usize) -> Result<usize, Error> {
        let words = lwe::Query::encoded_len(self.shape(width)?);
        let params = self.packing.params();
        Ok(words + column::Query::encoded_len(&params, Self::params().n())?)
    }

    /// The bytes of the encrypted scores of the clusters.
    ///
    /// # Errors
    /// [`Error`] if there are more scores than one reply can hold.
    pub fn reply_len(&self) -> Result<usize, Error> {
        let params = self.packing.params();
        let n = Self::params().n();
        Ok(column::Reply::encoded_len(&params, n, self.scores())?)
    }

    /// The size in bytes of the sealed centroids.
    #[must_use]
    pub fn route_len(&self, width: usize) -> usize {
        let (coordinate, share) = (size_of::<f32>(), size_of::<f32>());
        width * coordinate + self.all_clusters() * (share + width) + TAG_LEN
    }

    /// The size in bytes of the sealed list of each cluster's records, for `n` records.
    #[must_use]
    pub fn members_len(&self, n: u32) -> usize {
        let clusters = self.all_clusters().saturating_mul(self.cluster_len(n));
        clusters.saturating_add(TAG_LEN)
    }

    /// The number of bytes of a cluster in that list: the range of its vectors' parts, its rows, and the position of
    /// each part in the range.
    #[must_use]
    pub fn cluster_len(&self, n: u32) -> usize {
        let along = (self.slots as usize * ALONG_BITS).div_ceil(8);
        SPREAD_LEN + self.rows(n).list_len() + along
    }

    /// The format of the rows of a cluster's places, for `n` records. Empty places have row `n`.
    #[must_use]
    pub fn rows(&self, n: u32) -> EliasFano {
        EliasFano::new(self.slots as usize, n)
    }
}

/// The size in bytes of an entry of the table.
pub const ENTRY_LEN: usize = 3;

/// The size in bytes of the range of a cluster's parts.
pub const SPREAD_LEN: usize = 8;

/// The number of bits of the position of a part in that range.
pub const ALONG_BITS: usize = 10;
