//! The parameter sets of column packing.

mod accuracy;
mod real;
mod sets;
mod whole;
mod widths;

use std::sync::OnceLock;

use sordino_lattice::Modulus;
use sordino_lattice::ntt::Plan;

use super::shape::Shape;
use crate::bits::Width;
use crate::dot::{self, N};
use crate::{Error, wire};

/// The largest 40-bit prime that is 1 mod 4096.
const Q40: u64 = 1_099_511_590_913;

/// The largest norm of a real-valued vector or query. It is 1 plus a margin for vectors that were normalised in single
/// precision.
const NORM: f64 = 1.001;

/// The width of the numbers of a hint. Eight numbers share 159 bits, so every eighth has 19 bits and the others 20.
/// With 20 bits each, the hint of 100,000 vectors at `t = 4` would be 3,520 bytes above a megabyte, as its last block
/// is always whole. This width adds 3.6 % to the error. One bit less for all numbers would add 26 %.
const HINT_WIDTH: Width = Width::eighths(159);

/// The largest dimension: 4096 polynomials of four coordinates, which is the largest number that the sums of the vector
/// kernels can hold.
const MAX_DIM: usize = 1 << 14;

/// The encoding of stored codes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encoding {
    /// `round(scale x)`; scores in `(-window/2, window/2)`.
    Real { scale: f64, window: f64 },
    /// Integers mod `2^log_p`.
    Modular { log_p: u32 },
}

/// A named, checked parameter set. All have `N = 2048`, ternary secrets and centred binomial errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    id: u8,
    name: &'static str,
    q: u64,
    t: usize,
    pub(super) dropped: u32,
    pub(super) answer_bits: u32,
    /// True if answers come as residues mod `q`, and the client rounds them to `answer_bits` itself.
    whole: bool,
    pub(super) hint_width: Width,
    pub(super) encoding: Encoding,
    max_dim: usize,
}

impl Params {
    const ALL: [Self; 12] = [
        Self::real_t4(),
        Self::real_t8(),
        Self::modular_26_t4(),
        Self::modular_26_t8(),
        Self::modular_18_exact(),
        Self::modular_26_t64(),
        Self::modular_26_t128(),
        Self::modular_26_t16(),
        Self::modular_26_t32(),
        Self::real_t16(),
        Self::real_t32(),
        Self::real_t64(),
    ];

    /// The set's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The ring degree `N`.
    #[must_use]
    pub const fn degree(&self) -> usize {
        N
    }

    /// The modulus `q`.
    #[must_use]
    pub const fn modulus(&self) -> u64 {
        self.q
    }

    /// The coordinates `t` that share a polynomial.
    #[must_use]
    pub const fn t(&self) -> usize {
        self.t
    }

    /// `log2 P` of a modular set, or `None` for a real-valued one.
    #[must_use]
    pub const fn log_p(&self) -> Option<u32> {
        match self.encoding {
            Encoding::Real { .. } => None,
            Encoding::Modular { log_p } => Some(log_p),
        }
    }

    /// The largest norm of a real-valued query or vector.
    #[must_use]
    pub const fn norm_bound(&self) -> f64 {
        NORM
    }

    /// The size in bytes of a stored coefficient.
    #[must_use]
    pub(crate) const fn coefficient_len(&self) -> usize {
        (u64::BITS - self.q.leading_zeros()).div_ceil(8) as usize
    }

    pub(super) const fn id(&self) -> u8 {
        self.id
    }

    pub(super) fn from_id(id: u8) -> Result<Self, Error> {
        let sets = Self::ALL.into_iter();
        sets.flat_map(|set| [set, set.whole()])
            .find(|set| set.id == id)
            .ok_or(Error::UnknownSet { found: id })
    }

    pub(super) fn plan(&self) -> &'static Plan {
        static PLAN40: OnceLock<Plan> = OnceLock::new();
        if self.q == dot::Q {
            return dot::plan();
        }
        PLAN40.get_or_init(|| {
            let modulus = Modulus::new(Q40).expect("a 40-bit prime");
            Plan::new(N, modulus).expect("the prime is 1 mod 2N")
        })
    }

    pub(super) fn check_dim(&self, dim: usize) -> Result<(), Error> {
        if (1..=self.max_dim).contains(&dim) {
            return Ok(());
        }
        Err(Error::Dimension {
            found: dim,
            most: self.max_dim,
        })
    }

    /// Checks that a modular set can store these vectors, or encrypt these queries.
    pub(super) fn check_modular(&self, vectors: &[i32], dim: usize) -> Result<(), Error> {
        self.check_modular_rows(vectors, dim)?;
        self.check_codes(vectors, 0)
    }

    /// Checks the set and the number of coordinates, but no values.
    pub(super) fn check_modular_rows(&self, vectors: &[i32], dim: usize) -> Result<(), Error> {
        let Encoding::Modular { .. } = self.encoding else {
            return Err(Error::Encoding { modular: false });
        };
        self.check_dim(dim)?;
        wire::check_rows(vectors.len(), dim)
    }

    /// Checks that codes are in a modular set's range. Codes of a real-valued set were rounded from checked numbers, so
    /// they pass. The function reads every code, in order. `before` is the index of the first one. Not inlined, so that
    /// the constant-time check can name it.
    #[inline(never)]
    pub(super) fn check_codes(&self, codes: &[i32], before: usize) -> Result<(), Error> {
        let log_p = match self.encoding {
            Encoding::Modular { log_p } => log_p,
            Encoding::Real { .. } => i32::BITS,
        };
        // This value has no bit from b on exactly for numbers in [-2^b, 2^b).
        let bits = |x: i32| x ^ (x >> 31);
        let outside = |x: &i32| bits(*x) >> (log_p - 1) != 0;
        let all = codes.iter().fold(0, |all, &x| all | bits(x));
        if !outside(&all) {
            return Ok(());
        }
        let at = codes.iter().position(outside).unwrap_or_default();
        Err(Error::Range {
            index: before + at,
            log_p,
        })
    }

    /// `N / t`, the vectors of a block.
    #[must_use]
    pub fn block_vectors(&self) -> usize {
        N / self.t
    }

    /// The shape of `count` vectors of `dim` coordinates, or an error if `dim` or `count` is out of range.
    pub(super) fn shape(&self, dim: usize, count: usize) -> Result<Shape, Error> {
        self.check_dim(dim)?;
        wire::check_count(count)?;
        let per = N / self.t;
        Ok(Shape {
            dim,
            count,
            t: self.t,
            polys: dim.div_ceil(self.t),
            per,
            blocks: count.div_ceil(per),
        })
    }

    /// Checks that an object belongs to the same set.
    pub(super) fn check_same(&self, expected: &Self) -> Result<(), Error> {
        wire::check_same("parameter sets", self.id.into(), expected.id.into())
    }
}
