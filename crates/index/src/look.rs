//! The second look: the exact vectors of a search's candidates, which are fetched with their payloads.
//!
//! Scores that a server makes under encryption are off by about 1e-4 of a cosine, those of routed mode by 1e-3. A
//! client of an index with a second look takes as many of the best as `SecondLook::candidates` says, whatever was
//! asked for, fetches their slots in one request, and ranks them by the vectors in these. A vector has two bytes for each
//! coordinate, in steps of a 32,767th of its largest, and length 1: of a rotated vector of 128 coordinates a step is
//! about 7e-6, so that a score is off by 2e-6.

use serde::{Deserialize, Serialize};

use crate::vectors::normalise;

/// Steps from zero to the largest coordinate.
const LARGEST: f32 = 32_767.0;

/// The second look of an index's searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondLook {
    /// Records that every search fetches, of which it returns the best.
    pub candidates: u32,
    /// Coordinates of a vector as it is stored: the manifest's width.
    pub width: u32,
}

impl SecondLook {
    /// Candidates, unless an owner says otherwise.
    pub const CANDIDATES: u32 = 32;

    /// The most candidates: as many as retrieval without a hint fetches at once.
    pub const MOST: u32 = 64;

    /// Bytes of a vector.
    #[must_use]
    pub(crate) fn vector_len(self) -> usize {
        2 * self.width as usize
    }
}

/// The code of a unit vector.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "clamped to 16 bits")]
pub fn code(unit: &[f32]) -> Vec<u8> {
    let largest = unit.iter().fold(f32::MIN_POSITIVE, |m, x| m.max(x.abs()));
    let steps = unit
        .iter()
        .map(|x| (x / largest * LARGEST).round().clamp(-LARGEST, LARGEST) as i16);
    steps.flat_map(i16::to_le_bytes).collect()
}

/// The unit vector of a code; zeros if it has no direction.
#[must_use]
pub fn unit(code: &[u8]) -> Vec<f32> {
    let (steps, _) = code.as_chunks();
    let steps = steps.iter().copied().map(i16::from_le_bytes);
    let mut unit: Vec<f32> = steps.map(f32::from).collect();
    if !normalise(&mut unit) {
        unit.fill(0.0);
    }
    unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use crate::vectors::dot;

    #[test]
    fn a_score_is_off_by_as_little_as_is_said() {
        let base = synthetic::uniform(400, 128, 3);
        let mut squares = 0.0;
        for pair in base.as_slice().chunks_exact(256) {
            let (vector, query) = pair.split_at(128);
            let read = unit(&code(vector));
            assert!((dot(&read, &read) - 1.0).abs() < 1e-6);
            let off = f64::from(dot(&read, query)) - f64::from(dot(vector, query));
            squares += off * off;
        }
        let deviation = (squares / 200.0).sqrt();
        assert!(deviation < 3e-6, "{deviation}");
    }

    #[test]
    fn signs_and_ends_come_back_and_nothing_has_no_direction() {
        let steps = |code: &[u8]| -> Vec<i16> {
            let (steps, _) = code.as_chunks();
            steps.iter().copied().map(i16::from_le_bytes).collect()
        };
        assert_eq!(steps(&code(&[-0.8, 0.6, 0.0])), [-32_767, 24_575, 0]);
        assert_eq!(steps(&code(&[0.0; 3])), [0; 3]);
        assert_eq!(unit(&[0; 6]), [0.0; 3]);
        assert_eq!(unit(&code(&[0.0, -1.0])), [0.0, -1.0]);
    }
}
