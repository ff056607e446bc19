//! The parameter sets of column packing, and the shape of a database.

use std::sync::OnceLock;

use sordino_lattice::Modulus;
use sordino_lattice::ntt::Plan;
use sordino_lattice::rounding::nearest;
use sordino_lattice::sample::cbd;

use crate::bits::Width;
use crate::dot::{self, N};
use crate::precision::WorstError;
use crate::rounding::{Switch, check_norms};
use crate::{Error, wire};

/// The largest 40-bit prime that is 1 mod 4096.
const Q40: u64 = 1_099_511_590_913;

/// The largest norm of a real-valued vector or query: 1, and room for single-precision normalisation.
const NORM: f64 = 1.001;

/// Bits of the numbers of a hint: eight share 159, so every eighth has 19 and the others 20. With 20 each
/// the hint of 100,000 vectors at `t = 4` would be 3,520 bytes above a megabyte, as its last block is
/// whole whatever it holds; this costs 3.6 % of the error, one bit less for all would cost 26 %.
const HINT_WIDTH: Width = Width::eighths(159);

/// The largest dimension: 4096 polynomials of four coordinates, as many as the sums of the vector
/// kernel take.
const MAX_DIM: usize = 1 << 14;

/// What the stored codes are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
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
    pub(super) hint_width: Width,
    pub(super) form: Form,
    max_dim: usize,
}

impl Params {
    const ALL: [Self; 5] = [
        Self::real_t4(),
        Self::real_t8(),
        Self::modular_26_t4(),
        Self::modular_26_t8(),
        Self::modular_18_exact(),
    ];

    const fn real(id: u8, name: &'static str, t: usize) -> Self {
        Self {
            id,
            name,
            q: Q40,
            t,
            dropped: 7,
            answer_bits: 15,
            hint_width: HINT_WIDTH,
            form: Form::Real {
                scale: 8000.0,
                window: 2.05,
            },
            max_dim: MAX_DIM,
        }
    }

    /// Real-valued, `q` of 40 bits, 5 bytes a coefficient, `t = 4`: the default. Standard error of a
    /// score `4.9e-5`; upload 8,448 bytes per four dimensions, hint 9.94 bytes a vector.
    #[must_use]
    pub const fn real_t4() -> Self {
        Self::real(1, "column-2048-40-real-t4", 4)
    }

    /// The same with `t = 8`: half the upload, twice the hint. For long sessions and `d >= 256`.
    #[must_use]
    pub const fn real_t8() -> Self {
        Self::real(2, "column-2048-40-real-t8", 8)
    }

    const fn modular(id: u8, name: &'static str, t: usize) -> Self {
        Self {
            id,
            name,
            q: dot::Q,
            t,
            dropped: 2,
            answer_bits: 15,
            hint_width: HINT_WIDTH,
            form: Form::Modular { log_p: 26 },
            max_dim: MAX_DIM,
        }
    }

    /// Modular, `P = 2^26`, `q` of 50 bits, 7 bytes a coefficient, `t = 4`: approximate scores.
    #[must_use]
    pub const fn modular_26_t4() -> Self {
        Self::modular(3, "column-2048-50-mod26-t4", 4)
    }

    /// The same with `t = 8`: half the upload, twice the hint, a little less error.
    #[must_use]
    pub const fn modular_26_t8() -> Self {
        Self::modular(4, "column-2048-50-mod26-t8", 8)
    }

    /// Modular, `P = 2^18`, `t = 8`: exact scores mod `P`. For codes that are uniform mod `P`, as pads
    /// make them, a score is wrong with probability below `2^-128` up to the largest dimension, 512.
    #[must_use]
    pub const fn modular_18_exact() -> Self {
        Self {
            id: 5,
            name: "column-2048-50-mod18-exact",
            q: dot::Q,
            t: 8,
            dropped: 2,
            answer_bits: 22,
            hint_width: Width::bits(27),
            form: Form::Modular { log_p: 18 },
            max_dim: 512,
        }
    }

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

    /// `log2 P` of a modular set, `None` of a real-valued one.
    #[must_use]
    pub const fn log_p(&self) -> Option<u32> {
        match self.form {
            Form::Real { .. } => None,
            Form::Modular { log_p } => Some(log_p),
        }
    }

    /// The largest norm of a real-valued query or vector.
    #[must_use]
    pub const fn norm_bound(&self) -> f64 {
        NORM
    }

    /// Bytes of a stored coefficient.
    #[must_use]
    pub const fn coefficient_len(&self) -> usize {
        (u64::BITS - self.q.leading_zeros()).div_ceil(8) as usize
    }

    /// The error of a decrypted score in `dim` dimensions for the worst vectors and query, in the units of the
    /// score.
    ///
    /// Real-valued sets: of norm up to [`Self::norm_bound`]. Modular sets: any codes in `[-P/2, P/2)` and any
    /// query of such integers; before the final rounding to an integer.
    #[must_use]
    pub fn worst_error(&self, dim: usize) -> WorstError {
        let (q, d, per) = (self.q as f64, dim as f64, (N / self.t) as f64);
        // The norm of a vector's codes, their sum at most, a unit of the message in units of the score, what
        // rounding codes and the decrypted score adds.
        let (norm, sum, unit, window, coded) = match self.form {
            Form::Real { scale, window } => {
                let norm = NORM * scale + d.sqrt() / 2.0;
                // Single precision: half a unit in the last place of a score below 2.
                let coded = NORM * d.sqrt() / (2.0 * scale) + 2f64.powi(-24);
                (norm, norm * d.sqrt(), window / q, window, coded)
            }
            Form::Modular { log_p } => {
                let p = 2f64.powi(log_p.cast_signed());
                (d.sqrt() * p / 2.0, d * p / 2.0, p / q, p, 0.0)
            }
        };
        // A message is half a unit off at most; an answer half a step, and what switching adds to that.
        let step = |bits: u32| window / 2f64.powi(bits.cast_signed());
        let rounding = coded + 0.5 * sum * unit + 0.501 * step(self.answer_bits);
        // Errors and what is cut off meet all codes of a block; the hint's errors, half a step each, the secret.
        let upload = cbd::VARIANCE + cut_off(self.dropped);
        let hint = (0..8)
            .map(|i| (0.501 * step(self.hint_width.of(i))).powi(2))
            .sum::<f64>()
            / 8.0;
        let noise = upload * per * (norm * unit).powi(2) + hint * 2.0 * N as f64 / 3.0;
        WorstError {
            rounding,
            noise: noise.sqrt(),
        }
    }

    /// The standard deviation of a decrypted score's error in `dim` dimensions for vectors and queries without
    /// structure, in the units of the score. For all others there is [`Self::worst_error`].
    ///
    /// Real-valued sets: for vectors of norm one whose coordinates' rounding errors are independent, with the
    /// rounding of the stored codes included. Modular sets: in units of 1 mod `P`, for codes uniform mod `P`;
    /// before the final rounding to an integer.
    #[must_use]
    pub fn statistical_error(&self, dim: usize) -> f64 {
        let step = 1.0 / 12.0;
        let q = self.q as f64;
        // Error of one coefficient of b: sampled, cut off, and the rounding of the message.
        let upload = cbd::VARIANCE + cut_off(self.dropped) + step;
        let rounding = |window: f64| {
            let answer = step * (window / 2f64.powi(self.answer_bits.cast_signed())).powi(2);
            let hint = (0..8)
                .map(|i| step * (window / 2f64.powi(self.hint_width.of(i).cast_signed())).powi(2))
                .sum::<f64>()
                / 8.0;
            answer + hint * 2.0 * N as f64 / 3.0
        };
        let per = (N / self.t) as f64;
        let variance = match self.form {
            Form::Real { scale, window } => {
                step / scale.powi(2)
                    + upload * per * (window * scale / q).powi(2)
                    + rounding(window)
            }
            Form::Modular { log_p } => {
                let p = 2f64.powi(log_p.cast_signed());
                upload * per * dim as f64 * p.powi(2) * step * (p / q).powi(2) + rounding(p)
            }
        };
        variance.sqrt()
    }

    pub(super) const fn id(&self) -> u8 {
        self.id
    }

    pub(super) fn from_id(id: u8) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
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

    pub(super) fn answer_switch(&self) -> Switch {
        self.switch(self.answer_bits)
    }

    /// The width of the numbers of a reply.
    pub(super) const fn answer_width(&self) -> Width {
        Width::bits(self.answer_bits)
    }

    /// Bits of a number of the hint: of the widest ones, where widths alternate.
    pub(super) const fn hint_bits(&self) -> u32 {
        self.hint_width.most()
    }

    /// Switches to residues mod `2^bits`.
    pub(super) fn switch(&self, bits: u32) -> Switch {
        Switch::new(self.plan().modulus(), bits)
    }

    /// Bits of an uploaded coefficient.
    pub(super) const fn upload_bits(&self) -> u32 {
        u64::BITS - self.q.leading_zeros() - self.dropped
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

    /// The codes of real-valued vectors.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most 8008 by the norm bound"
    )]
    pub(super) fn real_codes(&self, vectors: &[f32], dim: usize) -> Result<Vec<i32>, Error> {
        let Form::Real { scale, .. } = self.form else {
            return Err(Error::Form { modular: true });
        };
        self.check_dim(dim)?;
        wire::check_rows(vectors.len(), dim)?;
        check_norms(vectors, dim, NORM)?;
        Ok(vectors
            .iter()
            .map(|&x| nearest(f64::from(x) * scale) as i32)
            .collect())
    }

    /// That `vectors` may be stored under, or a query be made for, a modular set. Not inlined, so that
    /// the constant-time check can name it.
    #[inline(never)]
    pub(super) fn check_modular(&self, vectors: &[i32], dim: usize) -> Result<(), Error> {
        let Form::Modular { log_p } = self.form else {
            return Err(Error::Form { modular: false });
        };
        self.check_dim(dim)?;
        wire::check_rows(vectors.len(), dim)?;
        let half = 1 << (log_p - 1);
        match vectors.iter().position(|x| !(-half..half).contains(x)) {
            Some(index) => Err(Error::Range { index, log_p }),
            None => Ok(()),
        }
    }

    /// `N / t`, the vectors of a block.
    #[must_use]
    pub fn block_vectors(&self) -> usize {
        N / self.t
    }

    /// The shape of `count` vectors of `dim` coordinates, both checked.
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

    /// That two objects belong to the same set.
    pub(super) fn check_same(&self, expected: &Self) -> Result<(), Error> {
        wire::check_same("parameter sets", self.id.into(), expected.id.into())
    }
}

/// The variance of what dropping bits adds, ties to even.
fn cut_off(dropped: u32) -> f64 {
    if dropped == 0 {
        return 0.0;
    }
    4f64.powi(dropped.cast_signed()) / 12.0 + 1.0 / 6.0
}

/// How vectors lie in blocks of polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) dim: usize,
    pub(super) count: usize,
    pub(super) t: usize,
    /// `L`, the polynomials of a query and of a block.
    pub(super) polys: usize,
    /// `N / t`, the vectors of a block.
    pub(super) per: usize,
    pub(super) blocks: usize,
}

impl Shape {
    /// Vectors of block `j`.
    pub(super) fn in_block(&self, j: usize) -> usize {
        self.per.min(self.count - j * self.per)
    }
}
