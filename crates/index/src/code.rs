//! Quantised vectors: how a bucket stores the vectors in it.

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::vectors::{dot, normalise};

/// A code for vectors. Scores are made from it alone, without the original.
///
/// Measured recall@10 of the codes by themselves (a scan of all codes) on 100,000 rotated image
/// descriptors of 128 dimensions: `Int8` .991, `Residual6` .980, `Residual4` .93.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Codec {
    /// 8 bits a coordinate. The step is each vector's own and is not stored: the reader scales
    /// the decoded vector to length 1, and its direction is all that a cosine needs.
    Int8,
    /// 6 bits a coordinate of the difference to the bucket's centroid.
    Residual6,
    /// 4 bits a coordinate of the difference to the bucket's centroid.
    Residual4,
    /// 12 bits a coordinate, otherwise as `Int8`: for vectors that are downloaded and whose metric needs
    /// more than 8 bits. Buckets do not have it: it would make every fetch half as long again.
    Int12,
}

impl Codec {
    /// The codecs of buckets, widest first.
    pub const ALL: [Self; 3] = [Self::Int8, Self::Residual6, Self::Residual4];

    /// True if vectors may be stored so under this metric. The metrics that lift vectors bring their
    /// scores closer together: with 4 bits the Euclidean recall of image descriptors was .04 lower than
    /// with 8, distances came out 2.4 % wrong for .7 %, inner products with 6 bits up to 5 % for .5 %.
    #[must_use]
    pub fn serves(self, metric: Metric) -> bool {
        metric == Metric::Cosine || matches!(self, Self::Int8 | Self::Int12)
    }

    /// The codec of vectors that every client downloads. The metrics that lift vectors need the finer one:
    /// of 20,000 image descriptors 8 bits found .947 of the ten nearest by distance, 12 bits .9965.
    #[must_use]
    pub fn of_downloads(metric: Metric) -> Self {
        match metric {
            Metric::Cosine => Self::Int8,
            Metric::InnerProduct | Metric::Euclidean => Self::Int12,
        }
    }

    /// Bits of a coordinate.
    #[must_use]
    pub fn bits(self) -> usize {
        match self {
            Self::Int8 => 8,
            Self::Residual6 => 6,
            Self::Residual4 => 4,
            Self::Int12 => 12,
        }
    }

    /// Bytes of one vector.
    #[must_use]
    pub(crate) fn vector_len(self, dim: usize) -> usize {
        (dim * self.bits()).div_ceil(8)
    }

    /// Bytes that a bucket needs beside its vectors: the centroid and the step of residuals.
    #[must_use]
    pub(crate) fn frame_len(self, dim: usize) -> usize {
        match self {
            Self::Int8 | Self::Int12 => 0,
            Self::Residual6 | Self::Residual4 => dim + 4,
        }
    }

    /// The step that loses least on normally distributed values of deviation 1, for a uniform
    /// quantiser of this many levels (Max, 1960, table II and its continuation).
    fn best_step(self) -> f32 {
        match self {
            Self::Int8 | Self::Int12 => 0.0308,
            Self::Residual6 => 0.1041,
            Self::Residual4 => 0.3352,
        }
    }
}

/// The centroid and the step by which a bucket's codes are decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    codec: Codec,
    /// The decoded centroid; empty where vectors are stored as they are.
    centroid: Vec<f32>,
    /// Residual per step.
    step: f32,
}

impl Frame {
    /// The frame of a bucket with this centroid and these vectors, and its bytes.
    pub fn new(codec: Codec, centroid: &[f32], vectors: &[&[f32]], out: &mut Vec<u8>) -> Self {
        if codec.frame_len(centroid.len()) == 0 {
            return Self {
                codec,
                centroid: Vec::new(),
                step: 1.0,
            };
        }
        let start = out.len();
        int8(centroid, out);
        // Residuals are taken to the centroid as the reader will decode it.
        let centroid = unit_from_int8(&out[start..]);
        let squares: f32 = vectors
            .iter()
            .map(|x| {
                x.iter()
                    .zip(&centroid)
                    .map(|(x, c)| (x - c) * (x - c))
                    .sum::<f32>()
            })
            .sum();
        let deviation = (squares / (vectors.len() * centroid.len()).max(1) as f32).sqrt();
        let step = (deviation * codec.best_step()).max(f32::MIN_POSITIVE);
        out.extend(step.to_le_bytes());
        Self {
            codec,
            centroid,
            step,
        }
    }

    /// Reads a frame from exactly `frame_len` bytes that were authenticated.
    #[must_use]
    pub fn read(codec: Codec, bytes: &[u8]) -> Self {
        match bytes.split_last_chunk::<4>() {
            Some((centroid, step)) if codec.frame_len(1) > 0 => Self {
                codec,
                centroid: unit_from_int8(centroid),
                step: f32::from_le_bytes(*step),
            },
            _ => Self {
                codec,
                centroid: Vec::new(),
                step: 1.0,
            },
        }
    }

    /// Appends the code of one unit vector.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "clamped to the code's range"
    )]
    #[expect(clippy::cast_sign_loss, reason = "clamped to the code's range")]
    pub fn encode(&self, vector: &[f32], out: &mut Vec<u8>) {
        match self.codec {
            Codec::Int8 => return int8(vector, out),
            Codec::Int12 => return int12(vector, out),
            Codec::Residual6 | Codec::Residual4 => {}
        }
        let levels = (1u32 << self.codec.bits()) as f32;
        let codes = vector.iter().zip(&self.centroid).map(|(x, c)| {
            // Level l stands for (l + 1/2 - levels/2) steps.
            ((x - c) / self.step + levels / 2.0)
                .floor()
                .clamp(0.0, levels - 1.0) as u8
        });
        pack(codes, self.codec.bits(), out);
    }

    /// The vector that levels of `BITS` bits stand for.
    fn add_residual<const BITS: usize>(&self, code: &[u8], vector: &mut [f32]) {
        let middle = ((1u32 << BITS) - 1) as f32 / 2.0;
        let centroid = self.centroid.chunks(8);
        let groups = vector.chunks_mut(8).zip(centroid).zip(code.chunks(BITS));
        for ((x, c), bytes) in groups {
            let levels = unpack::<BITS>(bytes);
            for ((x, level), c) in x.iter_mut().zip(levels).zip(c) {
                *x = c + (f32::from(level) - middle) * self.step;
            }
        }
    }

    /// Decodes one vector to length 1. A code of all zeros has no direction and stays zero.
    pub fn decode(&self, code: &[u8], unit: &mut [f32]) {
        match self.codec {
            Codec::Int8 => {
                for (x, &b) in unit.iter_mut().zip(code) {
                    *x = f32::from(b.cast_signed());
                }
            }
            Codec::Int12 => from_int12(code, unit),
            Codec::Residual6 => self.add_residual::<6>(code, unit),
            Codec::Residual4 => self.add_residual::<4>(code, unit),
        }
        shorten(unit);
    }
}

/// To length 1, or to zeros if it has no length. Codes are of moderate size: no square overflows.
fn shorten(vector: &mut [f32]) {
    let norm = dot(vector, vector).sqrt();
    if norm == 0.0 || !norm.is_finite() {
        return vector.fill(0.0);
    }
    let scale = 1.0 / norm;
    for x in vector {
        *x *= scale;
    }
}

/// Appends `vector` with its own step, 8 bits a coordinate.
#[expect(clippy::cast_possible_truncation, reason = "clamped to 8 bits")]
pub fn int8(vector: &[f32], out: &mut Vec<u8>) {
    let largest = vector.iter().fold(f32::MIN_POSITIVE, |m, x| m.max(x.abs()));
    let code = |x: &f32| ((x / largest * 127.0).round().clamp(-127.0, 127.0) as i8).cast_unsigned();
    out.extend(vector.iter().map(code));
}

/// Appends `vector` with its own step, 12 bits a coordinate: two's complement, two coordinates in three
/// bytes, the first in the low bits.
#[expect(clippy::cast_possible_truncation, reason = "clamped to 12 bits")]
fn int12(vector: &[f32], out: &mut Vec<u8>) {
    let largest = vector.iter().fold(f32::MIN_POSITIVE, |m, x| m.max(x.abs()));
    let code = |x: &f32| {
        let step = (x / largest * 2047.0).round().clamp(-2047.0, 2047.0) as i32;
        step.cast_unsigned() & 0xfff
    };
    for pair in vector.chunks(2) {
        let word = code(&pair[0]) | pair.get(1).map_or(0, code) << 12;
        let bytes = (12 * pair.len()).div_ceil(8);
        out.extend_from_slice(&word.to_le_bytes()[..bytes]);
    }
}

/// The steps that 12-bit codes stand for.
fn from_int12(code: &[u8], vector: &mut [f32]) {
    for (pair, bytes) in vector.chunks_mut(2).zip(code.chunks(3)) {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u32::from_le_bytes(word);
        for (at, x) in (0..).zip(pair) {
            // To the top of the word and back, so that the sign goes along.
            let step = (word >> (12 * at) << 20).cast_signed() >> 20;
            *x = step as f32;
        }
    }
}

/// The unit vector that 8-bit codes stand for.
#[must_use]
pub fn unit_from_int8(code: &[u8]) -> Vec<f32> {
    let mut unit: Vec<f32> = code.iter().map(|b| f32::from(b.cast_signed())).collect();
    if !normalise(&mut unit) {
        unit.fill(0.0);
    }
    unit
}

/// Packs codes of `bits` bits, the first in the low bits of the first byte.
fn pack(codes: impl Iterator<Item = u8>, bits: usize, out: &mut Vec<u8>) {
    let (mut word, mut held) = (0u32, 0);
    for code in codes {
        word |= u32::from(code) << held;
        held += bits;
        while held >= 8 {
            out.push(word.to_le_bytes()[0]);
            word >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        out.push(word.to_le_bytes()[0]);
    }
}

/// Eight codes of `BITS` bits, or fewer at the end: the first lies in the low bits of the first byte.
fn unpack<const BITS: usize>(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let word = u64::from_le_bytes(word);
    let mask = (1u64 << BITS) - 1;
    std::array::from_fn(|i| (word >> (BITS * i) & mask).to_le_bytes()[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use crate::vectors::dot;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packing_inverts(codes in prop::collection::vec(0u8..16, 0..50), wide in any::<bool>()) {
            let bits = if wide { 6 } else { 4 };
            let mut bytes = Vec::new();
            pack(codes.iter().copied(), bits, &mut bytes);
            prop_assert_eq!(bytes.len(), (codes.len() * bits).div_ceil(8));
            let found = bytes.chunks(bits).flat_map(|bytes| match bits {
                4 => unpack::<4>(bytes),
                _ => unpack::<6>(bytes),
            });
            let found: Vec<u8> = found.take(codes.len()).collect();
            prop_assert_eq!(found, codes);
        }
    }

    #[test]
    fn codes_keep_directions_as_well_as_their_bits_allow() {
        let (base, _) = synthetic::clustered(500, 1, 99, 8);
        let vectors: Vec<&[f32]> = base.rows().collect();
        let mut mean = vec![0.0; 99];
        vectors
            .iter()
            .for_each(|x| mean.iter_mut().zip(*x).for_each(|(m, x)| *m += x));
        normalise(&mut mean);
        for (codec, most) in [
            (Codec::Int12, 2e-7),
            (Codec::Int8, 5e-5),
            (Codec::Residual6, 1.2e-3),
            (Codec::Residual4, 1.2e-2),
        ] {
            let mut bytes = Vec::new();
            let frame = Frame::new(codec, &mean, &vectors, &mut bytes);
            assert_eq!(bytes.len(), codec.frame_len(99));
            assert_eq!(Frame::read(codec, &bytes), frame);
            let mean_loss = vectors.iter().map(|x| loss(&frame, x)).sum::<f32>() / 500.0;
            assert!(mean_loss < most, "{codec:?}: {mean_loss}");
        }
    }

    #[test]
    fn twelve_bits_keep_signs_and_ends_of_every_dimension() {
        for dim in 1..9usize {
            let steps: Vec<f32> = [2047.0, -2047.0, -1.0, 0.0, 1.0, 1024.0, -1024.0, 5.0]
                .into_iter()
                .take(dim)
                .collect();
            let mut code = Vec::new();
            int12(&steps, &mut code);
            assert_eq!(code.len(), Codec::Int12.vector_len(dim));
            let mut read = vec![9.0; dim];
            from_int12(&code, &mut read);
            assert_eq!(read, steps);
        }
    }

    /// The cosine that is lost by coding one unit vector.
    fn loss(frame: &Frame, vector: &[f32]) -> f32 {
        let mut code = Vec::new();
        frame.encode(vector, &mut code);
        assert_eq!(code.len(), frame.codec.vector_len(vector.len()));
        let mut decoded = vec![0.0; vector.len()];
        frame.decode(&code, &mut decoded);
        1.0 - dot(&decoded, vector)
    }
}
