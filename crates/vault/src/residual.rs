//! Vectors as integers, relative to the base of their cluster. This is the arithmetic of routed mode.
//!
//! A table's entry has 18 bits. With so few bits, rounding alone would move a cosine by 1e-3. But a client knows the
//! base of each cluster, a direction near its vectors. So stored vectors and queries are split into a part along the
//! base, which a client has in the clear, and a rest at a right angle to it: `v = along base + length rest`. The scores
//! of two vectors are then `along along' + length length' <rest, rest'>`, and codes are `round(R rest)`. Near a base
//! the rests are shorter, so rounding matters less in proportion.
//!
//! `R` is the largest value for which no product wraps. Codes have norm `R + sqrt(d) / 2` at most. So the product and
//! the noise of its encryption stay within half of `P = 2^18`. A larger `P` would reduce rounding and add noise. With
//! 2,048 columns the sum of both would not be smaller.

use crate::residue;
use crate::vectors::{dot, to_f32};
use sordino_index::manifest::{ALONG_BITS, SPREAD_LEN};
use zeroize::{Zeroize, Zeroizing};

/// Half of `P`.
const HALF: f64 = 131_072.0;

/// A margin for the noise of an encrypted score, in steps. For the worst vectors and the most columns, the noise
/// exceeds 1,933 steps only once in 2^40 replies. The error from packing secrets adds less than 5.
const NOISE: f64 = 2048.0;

/// Encrypted scores are in units of 1 mod `P`, where `P = 2^18` is the upper bits of 2^26.
const STEP: i32 = 1 << 8;

/// The norm of the codes of unit vectors.
fn norm(dim: usize) -> f64 {
    (HALF - NOISE).sqrt() - (dim as f64).sqrt() / 2.0
}

/// The integer form of a vector of at most unit length.
///
/// # Security
/// No branch depends on a coordinate.
#[expect(
    clippy::cast_possible_truncation,
    reason = "at most 360 in absolute value"
)]
pub fn codes(vector: &[f32]) -> impl Iterator<Item = i16> {
    let norm = norm(vector.len());
    vector
        .iter()
        .map(move |&x| residue::nearest(f64::from(x) * norm) as i16)
}

/// The product of a row, from the decrypted value and the product of its pad. All are mod `P`. All of them except the
/// pad's product are in 256ths of a step.
#[must_use]
pub fn bare(decrypted: i32, pad: u32) -> i32 {
    decrypted.wrapping_sub(pad.cast_signed().wrapping_mul(STEP))
}

/// Converts products of codes in `dim` dimensions to scores.
#[derive(Clone, Copy, Debug)]
pub struct Scores {
    /// The score of one step.
    step: f32,
}

impl Scores {
    /// The conversion for codes of `dim` coordinates.
    #[must_use]
    pub fn new(dim: usize) -> Self {
        let norm = norm(dim);
        Self {
            step: to_f32(1.0 / (norm * norm)),
        }
    }

    /// The score of two rests whose codes have this product, in steps of `P`.
    #[must_use]
    pub fn of(self, product: i32) -> f32 {
        product as f32 * self.step
    }

    /// The score of two rests whose codes have this product mod `P`, in 256ths of a step.
    #[must_use]
    pub fn of_bare(self, product: i32) -> f32 {
        residue::centred(product) as f32 * (self.step / STEP as f32)
    }
}

/// A unit vector's part along a base, and a bound on the length of its rest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    along: f32,
    length: f32,
}

/// The range of the parts of a cluster's vectors along their base. It is cut into 1023 steps.
///
/// A part is off by half a step: less than 1e-3 in the widest possible range, and usually 2e-4. The length of a unit
/// vector's rest follows from its part, so it is not stored. An error of half a step makes the length a little longer,
/// and the rounding of codes grows in proportion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Zeroize)]
pub struct Spread {
    least: f32,
    step: f32,
}

impl Spread {
    /// The size in bytes of the encoding.
    pub const LEN: usize = SPREAD_LEN;

    /// The largest code.
    const LAST: f32 = ((1 << ALONG_BITS) - 1) as f32;

    /// The range that these parts need.
    #[must_use]
    pub fn of(along: impl IntoIterator<Item = f32>) -> Self {
        let along = along.into_iter().map(|part| part.clamp(-1.0, 1.0));
        let range = along.fold(None, |range: Option<(f32, f32)>, part| {
            let (least, most) = range.unwrap_or((part, part));
            Some((least.min(part), most.max(part)))
        });
        let (least, most) = range.unwrap_or_default();
        let step = (most - least) / Self::LAST;
        Self { least, step }
    }

    /// The code of a part in this range.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped"
    )]
    pub fn code(self, along: f32) -> u16 {
        let steps = (along - self.least) / self.step.max(f32::MIN_POSITIVE);
        steps.round().clamp(0.0, Self::LAST) as u16
    }

    /// The parts of a unit vector that has this code.
    #[must_use]
    pub fn parts(self, code: u16) -> Parts {
        let along = self.least + f32::from(code) * self.step;
        // The true part was at most half a step nearer to zero, apart from earlier rounding errors.
        let nearer = (along.abs() - self.step / 2.0 - 1e-6).clamp(0.0, 1.0);
        let length = (1.0 - nearer * nearer).sqrt();
        Parts { along, length }
    }

    /// The encoding has the smallest part and the step, little-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let words = [self.least, self.step].map(f32::to_bits);
        (u64::from(words[0]) | u64::from(words[1]) << 32).to_le_bytes()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote. `None` if the range exceeds the parts of unit vectors.
    #[must_use]
    pub fn from_bytes([a, b, c, d, e, f, g, h]: [u8; Self::LEN]) -> Option<Self> {
        let [least, step] = [[a, b, c, d], [e, f, g, h]].map(f32::from_le_bytes);
        let possible = (-1.0..=1.0).contains(&least) && (0.0..=2.0 / Self::LAST).contains(&step);
        possible.then_some(Self { least, step })
    }
}

impl Parts {
    /// The part of a vector along a base, a unit vector or zeros.
    #[must_use]
    pub fn along_of(base: &[f32], vector: &[f32]) -> f32 {
        dot(base, vector)
    }

    /// Subtracts the part along the base from a unit vector, and scales the remainder by the bound of these parts. The
    /// result is the rest, of at most unit length.
    pub fn rest(self, base: &[f32], vector: &mut [f32]) {
        let (_, length) = apart(base, vector);
        let scale = 1.0 / self.length.max(length).max(f32::MIN_POSITIVE);
        vector.iter_mut().for_each(|x| *x *= scale);
    }

    /// The part along the base.
    #[must_use]
    pub fn along(self) -> f32 {
        self.along
    }

    /// The bound on the length of the rest.
    #[must_use]
    pub fn length(self) -> f32 {
        self.length
    }
}

/// A query in the form for one cluster: its part along the base, and its rest.
pub struct SplitQuery {
    along: f32,
    length: f32,
    /// A unit vector, or zeros.
    rest: Zeroizing<Vec<f32>>,
}

impl SplitQuery {
    /// A unit vector as a query to the cluster with this base.
    #[must_use]
    pub fn new(base: &[f32], query: &[f32]) -> Self {
        let mut rest = Zeroizing::new(query.to_vec());
        let (along, length) = apart(base, &mut rest);
        let length = length.min(1.0);
        let scale = 1.0 / length.max(f32::MIN_POSITIVE);
        // A length that comes only from rounding gives no direction.
        let scale = scale * f32::from(u8::from(length > 1e-6));
        rest.iter_mut().for_each(|x| *x *= scale);
        Self {
            along,
            length,
            rest,
        }
    }

    /// The codes of the rest.
    pub fn codes(&self) -> impl Iterator<Item = i16> {
        codes(&self.rest)
    }

    /// The score of a stored vector with these parts. `rests` is the score of its rest with the query's.
    #[must_use]
    pub fn score(&self, parts: Parts, rests: f32) -> f32 {
        self.along * parts.along() + self.lengths(parts) * rests
    }

    /// The product of the lengths of both rests.
    fn lengths(&self, parts: Parts) -> f32 {
        self.length * parts.length()
    }
}

impl std::fmt::Debug for SplitQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SplitQuery").finish_non_exhaustive()
    }
}

/// Subtracts a vector's part along a base from it. Returns that part, and the length of the rest.
fn apart(base: &[f32], vector: &mut [f32]) -> (f32, f32) {
    let along = dot(base, vector);
    for (x, base) in vector.iter_mut().zip(base) {
        *x -= along * base;
    }
    (along, dot(vector, vector).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_product_of_codes_wraps_with_its_noise() {
        for dim in [1u16, 2, 3, 128, 384, 1536, 4096, 8194] {
            let x = 1.0 / f32::from(dim).sqrt();
            // The worst rounding: every coordinate is just above half a step, and the vector's length is at most 1.
            let up = (norm(dim.into()) * f64::from(x) - 0.501).floor() + 0.501;
            let worst = vec![to_f32(up / norm(dim.into())); dim.into()];
            for vector in [vec![x; dim.into()], worst] {
                let length: f64 = vector.iter().map(|x| f64::from(*x).powi(2)).sum();
                let codes: Vec<i64> = codes(&vector).map(i64::from).collect();
                let product: i64 = codes.iter().map(|x| x * x).sum();
                let product = product as f64;
                assert!(length < 1.0001, "dim {dim}: {length}");
                assert!(product + NOISE < HALF, "dim {dim}: {product}");
                let score = Scores::new(dim.into()).step * to_f32(product);
                // The largest amount by which rounding and noise move a score of two rests of length 1.
                let (dim, norm) = (f64::from(dim), norm(dim.into()));
                let error = to_f32(dim.sqrt() / norm + (dim / 4.0 + NOISE) / (norm * norm));
                assert!(
                    (score - to_f32(length)).abs() <= error,
                    "dim {dim}: {score}"
                );
            }
        }
    }

    #[test]
    fn a_vector_is_its_parts() {
        let base = [0.6, 0.8, 0.0];
        let vectors = [
            [0.6, 0.8, 0.0],
            [-0.8, 0.6, 0.0],
            [0.0, 0.0, -1.0],
            [0.36, 0.48, 0.8],
            [-0.6, -0.8, 1e-9],
            [0.0, 0.0, 0.0],
        ];
        // The test has all vectors in one range first, and then each vector in its own range.
        let whole = vectors
            .iter()
            .map(|vector| (Spread::of(vectors.map(|v| dot(&base, &v))), vector));
        let own = vectors
            .iter()
            .map(|vector| (Spread::of([dot(&base, vector)]), vector));
        for (spread, vector) in whole.chain(own) {
            assert_eq!(Spread::from_bytes(spread.to_bytes()), Some(spread));
            let mut rest = *vector;
            let parts = spread.parts(spread.code(Parts::along_of(&base, vector)));
            parts.rest(&base, &mut rest);
            assert!(dot(&rest, &rest) <= 1.0 + 1e-6);
            let back = base.iter().zip(rest);
            let back = back.map(|(base, rest)| parts.along() * base + parts.length() * rest);
            for (x, back) in vector.iter().zip(back) {
                let off = spread.step / 2.0 + 1e-6;
                assert!((x - back).abs() <= off, "{vector:?}: {back} for {x}");
            }
        }
        // A vector that is not a unit vector keeps its rest within bounds.
        let mut long = [3.0, 0.0, 4.0];
        Spread::of([0.0]).parts(0).rest(&[0.0, 1.0, 0.0], &mut long);
        assert_eq!(long, [0.6, 0.0, 0.8]);
    }

    #[test]
    fn the_bound_is_above_the_length_of_all_unit_vectors() {
        for (least, most) in [
            (-1.0, 1.0),
            (0.31, 0.97),
            (0.999, 1.0),
            (-0.2, 0.1),
            (0.5, 0.5),
        ] {
            let spread = Spread::of([least, most]);
            for at in 0..=20_000u16 {
                let along = least + (most - least) * f32::from(at) / 20_000.0;
                let parts = spread.parts(spread.code(along));
                let length = (1.0 - f64::from(along).powi(2)).max(0.0).sqrt();
                assert!(f64::from(parts.length()) >= length - 1e-7, "{along}");
                assert!((parts.along() - along).abs() <= spread.step / 2.0 + 1e-6);
                // The bound exceeds the length by half a step and rounding at most.
                let looser = f64::from(parts.length()).powi(2) - length.powi(2);
                assert!(
                    looser <= 2.0 * f64::from(spread.step) + 1e-5,
                    "{along}: {looser}"
                );
            }
        }
    }

    #[test]
    fn ranges_that_no_parts_have_are_refused() {
        for (least, step) in [
            (f32::NAN, 0.0),
            (0.0, f32::NAN),
            (1.1, 0.0),
            (0.0, -1e-3),
            (0.0, 0.1),
        ] {
            assert_eq!(Spread::from_bytes(Spread { least, step }.to_bytes()), None);
        }
        assert_eq!(Spread::of([]), Spread::default());
        assert_eq!(
            Spread::of([3.0, -7.0]).to_bytes(),
            Spread::of([1.0, -1.0]).to_bytes()
        );
    }

    #[test]
    fn a_pad_comes_off_its_product() {
        let scores = Scores::new(128);
        for (product, pad) in [(0, 0), (120_000, 7), (-120_000, 0x7_ffff), (12, u32::MAX)] {
            let sum = (product + pad.cast_signed().wrapping_mul(1)).wrapping_mul(STEP);
            let found = scores.of_bare(bare(residue::centred(sum), pad));
            assert!((found - scores.of(product)).abs() < 1e-6);
        }
    }
}
