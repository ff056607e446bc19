//! The parameter sets of row packing, and the shape of a packing.

use std::sync::OnceLock;

use sordino_lattice::Modulus;
use sordino_lattice::ntt::Plan;
use sordino_lattice::rounding::nearest;
use sordino_lattice::sample::cbd;
use sordino_lattice::switch::Switch;

use crate::Error;
use crate::precision::WorstError;
use crate::rounding::check_norms;

/// The ring degree `N`.
pub(crate) const N: usize = 2048;

/// The largest 50-bit prime that is 1 mod 4096: `2^50 - 16383`.
pub(crate) const Q: u64 = 1_125_899_906_826_241;

/// Low bits of `b` that the upload leaves out.
pub(super) const DROPPED: u32 = 2;

/// The score window `R`: vectors and queries of norm up to [`NORM`] cannot leave it.
const WINDOW: f64 = 2.01;

/// The largest norm of a vector or a query. It is 1 plus a margin for vectors that were normalised in single
/// precision.
const NORM: f64 = 1.001;

/// The scale `D_c` of the vectors' coordinates.
const VECTOR_SCALE: f64 = (1 << 21) as f64;

/// A named, checked parameter set.
///
/// All sets share `N = 2048`, the 50-bit prime and the distributions, so their security is the same:
/// 137 bits (lattice estimator, MATZOV; 108.8 under core-SVP). They differ in the precision of the
/// reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    id: u8,
    name: &'static str,
    reply_bits: u32,
}

impl Params {
    const ALL: [Self; 2] = [Self::rlwe_2048_50(), Self::rlwe_2048_50_fine()];

    /// The default: replies of 25 bits a coefficient, scores with a standard error near `2^-20.5`.
    #[must_use]
    pub const fn rlwe_2048_50() -> Self {
        Self {
            id: 1,
            name: "rlwe-2048-50",
            reply_bits: 25,
        }
    }

    /// Replies of 28 bits a coefficient, scores with a standard error near `2^-22`.
    #[must_use]
    pub const fn rlwe_2048_50_fine() -> Self {
        Self {
            id: 2,
            name: "rlwe-2048-50-fine",
            reply_bits: 28,
        }
    }

    /// The set's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The ring degree `N`.
    #[must_use]
    pub const fn degree(self) -> usize {
        N
    }

    /// The modulus `q` under which queries are encrypted.
    #[must_use]
    pub const fn modulus(self) -> u64 {
        Q
    }

    /// The bits of a reply coefficient.
    #[must_use]
    pub const fn reply_bits(self) -> u32 {
        self.reply_bits
    }

    /// The largest norm of a query or a vector.
    #[must_use]
    pub const fn norm_bound(self) -> f64 {
        NORM
    }

    /// The error of a score in `dim` dimensions for the worst query and vectors of norm up to
    /// [`Self::norm_bound`].
    #[must_use]
    pub fn worst_error(self, dim: usize) -> WorstError {
        let shape = Shape::new(dim, 1);
        let (root, unit) = ((dim as f64).sqrt(), 1.0 / self.query_scale());
        let step = WINDOW / (1u64 << self.reply_bits) as f64;
        // The norm of a vector after rounding, in units of the score.
        let norm = NORM + root / (2.0 * VECTOR_SCALE);
        // Each coordinate of vectors and query is half a step off at most. The reply adds half a step, and switching
        // adds a little. Single precision adds half a unit in the last place of a score below 2.
        let coded = NORM * root / (2.0 * VECTOR_SCALE) + norm * root * unit / 2.0;
        let rounding = coded + 0.501 * step + 2f64.powi(-24);
        // The error of b is multiplied by all vectors of a pack. The rounding errors of c1, half a step each, are
        // multiplied by the secret. Together, the parts of a split vector have the vector's norm.
        let upload = cbd::VARIANCE + cut_off();
        let encryption = upload * shape.per as f64 * (norm * unit).powi(2);
        let reply = (0.501 * step).powi(2) * 2.0 * N as f64 / 3.0;
        WorstError {
            rounding,
            noise: (encryption + reply).sqrt(),
        }
    }

    /// The standard deviation of a score's error in `dim` dimensions. It holds for a query and vectors of norm one
    /// without structure, whose rounding errors are independent. It includes rounding of the vectors and of the
    /// query, encryption, and rounding of the reply. For all other vectors use [`Self::worst_error`].
    #[must_use]
    pub fn statistical_error(self, dim: usize) -> f64 {
        let shape = Shape::new(dim, 1);
        let step = 1.0 / 12.0;
        let vectors = step / VECTOR_SCALE.powi(2);
        let query = step / self.query_scale().powi(2);
        // The error of b is multiplied by all vectors of a pack, which are a polynomial of norm
        // sqrt(per) D_c.
        let upload = cbd::VARIANCE + cut_off();
        let encryption = upload * shape.per as f64 / self.query_scale().powi(2);
        // c1's rounding errors are multiplied by 2N/3 nonzero coefficients of s.
        let reply = (1.0 + 2.0 * N as f64 / 3.0)
            * step
            * (WINDOW / (1u64 << self.reply_bits) as f64).powi(2);
        (vectors + query + encryption + reply).sqrt()
    }

    pub(super) fn id(self) -> u8 {
        self.id
    }

    pub(super) fn from_id(id: u8) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|set| set.id == id)
            .ok_or(Error::UnknownSet { found: id })
    }

    /// The scale `D_q` of the query's coordinates.
    fn query_scale(self) -> f64 {
        Q as f64 / (WINDOW * VECTOR_SCALE)
    }

    /// Rounds a coordinate of the query to an integer.
    #[inline]
    pub(super) fn query_code(self, x: f32) -> i64 {
        nearest(f64::from(x) * self.query_scale())
    }

    /// Rounds a coordinate of a vector to an integer.
    #[inline]
    pub(super) fn vector_code(self, x: f32) -> i64 {
        nearest(f64::from(x) * VECTOR_SCALE)
    }

    /// Converts a decrypted reply coefficient mod `2^r` to a score.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "scores are single precision"
    )]
    pub(super) fn score(self, coefficient: u64) -> f32 {
        let unused = u64::BITS - self.reply_bits;
        let centred = (coefficient << unused).cast_signed() >> unused;
        (centred as f64 * WINDOW / (1u64 << self.reply_bits) as f64) as f32
    }

    pub(super) fn check_norms(self, vectors: &[f32], dim: usize) -> Result<(), Error> {
        check_norms(vectors, dim, NORM)
    }

    pub(super) fn switch(self) -> Switch {
        const { assert!(Modulus::new(Q).is_ok()) };
        Switch::new(plan().modulus(), self.reply_bits)
    }
}

/// The variance of the error from dropping the lowest bits of an upload, with ties to even.
fn cut_off() -> f64 {
    f64::from(1u32 << (2 * DROPPED)) / 12.0 + 1.0 / 6.0
}

/// The transform of the ring, which all sets share.
pub(crate) fn plan() -> &'static Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    PLAN.get_or_init(|| {
        let modulus = Modulus::new(Q).expect("a 50-bit prime");
        Plan::new(N, modulus).expect("the prime is 1 mod 2N")
    })
}

/// How `count` vectors of `dim` coordinates lie in polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) dim: usize,
    pub(super) count: usize,
    /// The number of parts that a vector is cut into: 1 up to dimension `N`.
    pub(super) parts: usize,
    /// The number of coordinates of a part; the last part may use fewer.
    pub(super) width: usize,
    /// The number of vectors of a pack.
    pub(super) per: usize,
    /// The number of packs, of `parts` polynomials each.
    pub(super) packs: usize,
}

impl Shape {
    /// `dim` must not be 0.
    pub(super) fn new(dim: usize, count: usize) -> Self {
        let parts = dim.div_ceil(N);
        let width = dim.div_ceil(parts);
        let per = N / width;
        Self {
            dim,
            count,
            parts,
            width,
            per,
            packs: count.div_ceil(per),
        }
    }

    /// The coefficient that holds the score of vector `v` of a pack.
    pub(super) fn position(self, v: usize) -> usize {
        v * self.width + self.width - 1
    }

    /// Vectors of pack `k`.
    pub(super) fn in_pack(self, k: usize) -> usize {
        self.per.min(self.count - k * self.per)
    }
}
