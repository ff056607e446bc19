//! Vectors and scores as integers mod P. This is the arithmetic of masked mode.
//!
//! Coordinates of stored vectors and of queries are `round(S x)` with `S = sqrt(P / 2.05)`. So an inner product of unit
//! vectors is `S^2` times their cosine, and lies in the middle `1 / 1.025` of the numbers mod P. So a client can read
//! the product, although it knows everything only mod P.

use crate::vectors;

/// `log2 P`.
pub(crate) const LOG_P: u32 = 26;

/// The width of the scores' window, which corresponds to P in codes.
const WINDOW: f64 = 2.05;

/// No score of two unit vectors is larger. Rounding both to integers moves a score by `sqrt(d) / S` at most: by 0.01582
/// at the largest dimension of a stored vector, 8194. The encryption has a standard deviation of less than 0.0003
/// there. Half a window is 1.025.
pub const LARGEST: f32 = 1.0175;

/// The scale `S`.
fn scale() -> f64 {
    (f64::from(1u32 << LOG_P) / WINDOW).sqrt()
}

/// `1.5 2^52`. Its sum with a number below `2^51` has that number, rounded to an integer, in its low bits.
const INTEGER: f64 = 6_755_399_441_055_744.0;

/// The integer form of a unit vector, rounded to the nearest, ties to even.
///
/// # Security
/// No branch depends on a coordinate. `f64::round` has one on processors before SSE4.1.
pub fn codes(unit: &[f32]) -> impl Iterator<Item = i32> {
    let scale = scale();
    unit.iter().map(move |&x| nearest(f64::from(x) * scale))
}

/// The integer nearest to a number below `2^31` in absolute value.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low bits are what is wanted"
)]
pub(crate) fn nearest(x: f64) -> i32 {
    let bits = (x + INTEGER).to_bits().wrapping_sub(INTEGER.to_bits());
    bits as i32
}

/// The coordinate of a code. Encoding it again gives the same code.
#[must_use]
pub fn coordinate(code: i32) -> f32 {
    vectors::to_f32(f64::from(code) / scale())
}

/// The score of an inner product mod P.
#[must_use]
pub fn score(product: i32) -> f32 {
    const STEP: f64 = WINDOW / (1u32 << LOG_P) as f64;
    vectors::to_f32(f64::from(centred(product)) * STEP)
}

/// The representative of `x` mod P in `[-P/2, P/2)`.
#[must_use]
pub const fn centred(x: i32) -> i32 {
    const UNUSED: u32 = u32::BITS - LOG_P;
    x << UNUSED >> UNUSED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_unit_vectors_stay_inside_the_window() {
        for dim in [1u16, 2, 3, 128, 384, 4096, 8194] {
            let x = 1.0 / f32::from(dim).sqrt();
            let up: Vec<i32> = codes(&vec![x; dim.into()]).collect();
            let down: Vec<i32> = codes(&vec![-x; dim.into()]).collect();
            let product = |a: &[i32], b: &[i32]| a.iter().zip(b).map(|(a, b)| a * b).sum();
            for (score, expected) in [
                (score(product(&up, &up)), 1.0),
                (score(product(&up, &down)), -1.0),
            ] {
                assert!((score - expected).abs() < 0.0159, "dim {dim}: {score}");
                assert!(score.abs() < LARGEST);
            }
        }
    }

    #[test]
    fn rounding_is_to_the_nearest_integer() {
        for at in -60_000..60_000i32 {
            let x = f64::from(at) / 10.0 + 0.01;
            assert_eq!(f64::from(nearest(x)), x.round(), "{x}");
        }
        for (x, expected) in [
            (0.5, 0),
            (1.5, 2),
            (-0.5, 0),
            (-1.5, -2),
            (-2.5, -2),
            (0.0, 0),
        ] {
            assert_eq!(nearest(x), expected, "{x}");
        }
    }

    #[test]
    fn a_code_survives_its_coordinate() {
        let all: Vec<i32> = (-5722..=5722).collect();
        let coordinates: Vec<f32> = all.iter().map(|&code| coordinate(code)).collect();
        assert!(codes(&coordinates).eq(all));
    }

    #[test]
    fn residues_are_centred() {
        let p: i32 = 1 << LOG_P;
        for x in [0, 1, -1, p / 2 - 1, -p / 2] {
            for wrapped in [x, x + p, x - p, x.wrapping_add(p * 7)] {
                assert_eq!(centred(wrapped), x);
            }
        }
        assert_eq!(centred(p / 2), -p / 2);
    }
}
