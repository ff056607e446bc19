//! The second look: a client fetches the exact vectors of a search's candidates together with their payloads.
//!
//! Scores that a server makes under encryption are off by about 1e-4 of a cosine, and in routed mode by 1e-3. A client
//! of an index with a second look always takes the best `SecondLook::candidates`. It fetches their slots in one
//! request, and ranks them by the vectors in these slots. A slot has a vector's base in the index's frame and its
//! residual to the base. The residual has two bytes for each coordinate, in steps of a 32,767th of its largest. For a
//! residual of length 1 and 128 coordinates a step is about 7e-6, so that a score is off by 2e-6.
//!
//! ```text
//! base: 8 bits | largest coordinate: 32 bits | steps: 16 bits each, all little-endian
//! ```

use serde::{Deserialize, Serialize};

/// The number of bytes before the steps: the base, and the largest coordinate in single precision.
const HEAD_LEN: usize = 1 + size_of::<f32>();

/// The number of steps from zero to the largest coordinate.
const LARGEST: f32 = 32_767.0;

/// The second look of an index's searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondLook {
    /// The number of records that every search fetches, of which it returns the best.
    pub candidates: u32,
    /// The number of coordinates of a vector in its stored form: `Manifest::stored_dim`.
    pub width: u32,
}

impl SecondLook {
    /// The default number of candidates.
    pub const CANDIDATES: u32 = 32;

    /// The largest number of candidates: the number that retrieval without a hint fetches in one request.
    pub const MOST: u32 = 64;

    /// The size in bytes of a vector.
    #[must_use]
    pub fn vector_len(self) -> usize {
        HEAD_LEN + 2 * self.width as usize
    }
}

/// The code of a residual to a base.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "clamped to 16 bits")]
pub fn code(base: u8, residual: &[f32]) -> Vec<u8> {
    let largest = residual.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    let over = largest.max(f32::MIN_POSITIVE);
    let steps = residual
        .iter()
        .map(|x| (x / over * LARGEST).round().clamp(-LARGEST, LARGEST) as i16);
    let mut code = vec![base];
    code.extend(largest.to_le_bytes());
    code.extend(steps.flat_map(i16::to_le_bytes));
    code
}

/// The base and the residual of a code, or `None` if the code is damaged.
#[must_use]
pub fn residual(code: &[u8]) -> Option<(u8, Vec<f32>)> {
    let (&[base, a, b, c, d], steps) = code.split_first_chunk::<HEAD_LEN>()?;
    let largest = f32::from_le_bytes([a, b, c, d]);
    let (steps, rest) = steps.as_chunks();
    let steps = steps.iter().copied().map(i16::from_le_bytes);
    let residual = steps.map(|step| f32::from(step) / LARGEST * largest);
    (rest.is_empty() && largest.is_finite()).then(|| (base, residual.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use crate::vectors::dot;

    #[test]
    fn a_score_is_off_by_as_little_as_is_said() {
        let all = synthetic::uniform(400, 128, 3);
        let mut squares = 0.0;
        for pair in all.as_slice().chunks_exact(256) {
            let (vector, query) = pair.split_at(128);
            let (base, read) = residual(&code(7, vector)).unwrap();
            assert_eq!(base, 7);
            let off = f64::from(dot(&read, query)) - f64::from(dot(vector, query));
            squares += off * off;
        }
        let deviation = (squares / 200.0).sqrt();
        assert!(deviation < 3e-6, "{deviation}");
    }

    #[test]
    fn signs_and_ends_come_back_and_other_bytes_are_refused() {
        for vector in [&[-0.8, 0.6, 0.0][..], &[0.0; 3], &[1e-30, 1e20], &[-1e-20]] {
            let (base, read) = residual(&code(200, vector)).unwrap();
            assert_eq!((base, read.len()), (200, vector.len()));
            let largest = vector.iter().fold(0.0f32, |m, x| m.max(x.abs()));
            for (found, x) in read.iter().zip(vector) {
                assert!((found - x).abs() <= largest * 2e-5, "{found} for {x}");
            }
        }
        let whole = code(1, &[0.5, 0.25]);
        for wrong in [
            &[][..],
            &whole[..4],
            &whole[..8],
            &[&whole[..1], &[0xff; 8]].concat(),
        ] {
            assert_eq!(residual(wrong), None);
        }
    }
}
