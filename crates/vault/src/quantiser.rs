//! Vectors as buckets and chunks store them.

use crate::frame::{Frame, Scales};
use crate::vectors::{dot, to_f32};
use sordino_index::Error;
use sordino_index::code::{Codec, int8, unit_from_int8};

/// A vector that is about to be written into a bucket or chunk.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// Its row in its segment.
    pub row: u32,
    /// The frame's base to which the vector is near.
    pub base: u8,
    /// The vector's scale if it was stored before, otherwise 0.
    pub scale: f32,
    /// The difference between the vector and the base.
    pub residual: &'a [f32],
    /// The unit vector to which it is lifted, if the bucket stores lifted vectors.
    pub unit: &'a [f32],
}

/// Leaves out the vectors.
impl core::fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Entry")
            .field("row", &self.row)
            .field("dim", &self.residual.len())
            .finish_non_exhaustive()
    }
}

/// How a bucket's vectors are coded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Quantiser {
    /// Residuals to a base, each at a scale of its own.
    Scaled(Codec, Scales),
    /// Differences of unit vectors to a centroid.
    Centred {
        codec: Codec,
        /// The decoded centroid.
        centroid: Vec<f32>,
        /// Residual per step.
        step: f32,
    },
}

impl Quantiser {
    /// The quantiser of a bucket with this centroid and these vectors. Its bytes are appended to `out`.
    pub(crate) fn new(
        codec: Codec,
        centroid: &[f32],
        entries: &[Entry<'_>],
        out: &mut Vec<u8>,
    ) -> Self {
        if matches!(codec, Codec::Int8 | Codec::Int12) {
            let scales = Scales::of(entries.iter().map(Entry::least_scale));
            out.extend(scales.to_bytes());
            return Self::Scaled(codec, scales);
        }
        let start = out.len();
        int8(centroid, out);
        // Residuals are relative to the centroid that the reader will decode.
        let centroid = unit_from_int8(&out[start..]);
        let squares = entries.iter().map(|entry| {
            let differences = entry.unit.iter().zip(&centroid);
            differences.map(|(x, c)| (x - c) * (x - c)).sum::<f32>()
        });
        let squares: f32 = squares.sum();
        let deviation = (squares / (entries.len() * centroid.len()).max(1) as f32).sqrt();
        let step = (deviation * codec.best_step()).max(f32::MIN_POSITIVE);
        out.extend(step.to_le_bytes());
        Self::Centred {
            codec,
            centroid,
            step,
        }
    }

    /// Reads a quantiser from exactly `head_len` authenticated bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that encode no scales.
    pub(crate) fn read(codec: Codec, bytes: &[u8]) -> Result<Self, Error> {
        if let (Codec::Int8 | Codec::Int12, Ok(scales)) = (codec, bytes.try_into()) {
            return Ok(Self::Scaled(codec, Scales::from_bytes(scales)?));
        }
        let (centroid, step) = bytes.split_last_chunk::<4>().ok_or(Error::BadReply)?;
        Ok(Self::Centred {
            codec,
            centroid: unit_from_int8(centroid),
            step: f32::from_le_bytes(*step),
        })
    }

    /// Appends the code of one vector.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "clamped to the code's range"
    )]
    #[expect(clippy::cast_sign_loss, reason = "clamped to the code's range")]
    pub(crate) fn encode(&self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Scaled(codec, scales) => {
                let stored = scales.code_of(entry.scale).filter(|_| entry.scale > 0.0);
                let code = stored.unwrap_or_else(|| scales.code(entry.least_scale()));
                out.extend([entry.base, code]);
                let over = f64::from(scales.scale(code)).max(f64::MIN_POSITIVE);
                let scaled = entry.residual.iter().map(|&x| f64::from(x) / over);
                match codec {
                    Codec::Int12 => int12(scaled, out),
                    _ => {
                        out.extend(scaled.map(|x| {
                            ((x * 127.0).round().clamp(-127.0, 127.0) as i8).cast_unsigned()
                        }));
                    }
                }
            }
            Self::Centred {
                codec,
                centroid,
                step,
            } => {
                let levels = (1u32 << codec.bits()) as f32;
                let codes = entry.unit.iter().zip(centroid).map(|(x, c)| {
                    // Level l stands for (l + 1/2 - levels/2) steps.
                    ((x - c) / step + levels / 2.0)
                        .floor()
                        .clamp(0.0, levels - 1.0) as u8
                });
                pack(codes, codec.bits(), out);
            }
        }
    }

    /// Decodes the mark and the code of one vector to its base, its residual and its stored scale.
    pub(crate) fn decode(&self, frame: &Frame, coded: &[u8], residual: &mut [f32]) -> (u8, f32) {
        match self {
            Self::Scaled(codec, scales) => {
                let Some((&[base, scale], code)) = coded.split_first_chunk() else {
                    return (0, 0.0);
                };
                let scale = scales.scale(scale);
                let steps = match codec {
                    Codec::Int12 => {
                        from_int12(code, residual);
                        2047.0
                    }
                    _ => {
                        for (x, &b) in residual.iter_mut().zip(code) {
                            *x = f32::from(b.cast_signed());
                        }
                        127.0
                    }
                };
                for x in residual {
                    *x = to_f32(f64::from(*x) / steps * f64::from(scale));
                }
                (base, scale)
            }
            Self::Centred {
                codec,
                centroid,
                step,
            } => {
                match codec {
                    Codec::Residual6 => add_residual::<6>(centroid, *step, coded, residual),
                    _ => add_residual::<4>(centroid, *step, coded, residual),
                }
                shorten(residual);
                let y = frame.of_turned(residual);
                let base = frame.nearest_base(&y);
                residual.copy_from_slice(&frame.residual(base, &y));
                (base, 0.0)
            }
        }
    }
}

impl Entry<'_> {
    /// The vector's stored scale or, if it has none, the smallest scale that fits its coordinates.
    fn least_scale(&self) -> f64 {
        let largest = self.residual.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        f64::from(largest).max(f64::from(self.scale))
    }
}

/// Decodes a vector of levels of `BITS` bits, and adds it to the centroid.
fn add_residual<const BITS: usize>(centroid: &[f32], step: f32, code: &[u8], vector: &mut [f32]) {
    let middle = ((1u32 << BITS) - 1) as f32 / 2.0;
    let groups = vector
        .chunks_mut(8)
        .zip(centroid.chunks(8))
        .zip(code.chunks(BITS));
    for ((x, c), bytes) in groups {
        let levels = unpack::<BITS>(bytes);
        for ((x, level), c) in x.iter_mut().zip(levels).zip(c) {
            *x = c + (f32::from(level) - middle) * step;
        }
    }
}

/// Scales a vector to length 1, or sets it to zeros if it has no length. Codes are of moderate size, so no square
/// overflows.
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

/// Appends numbers from -1 to 1 as codes of 12 bits, in two's complement. Three bytes hold two codes, the first
/// code in the low bits.
#[expect(clippy::cast_possible_truncation, reason = "clamped to 12 bits")]
fn int12(numbers: impl Iterator<Item = f64>, out: &mut Vec<u8>) {
    let code = |x: f64| {
        let step = (x * 2047.0).round().clamp(-2047.0, 2047.0) as i32;
        step.cast_unsigned() & 0xfff
    };
    let mut held: Option<u32> = None;
    for x in numbers {
        match held.take() {
            None => held = Some(code(x)),
            Some(low) => out.extend_from_slice(&(low | code(x) << 12).to_le_bytes()[..3]),
        }
    }
    if let Some(low) = held {
        out.extend_from_slice(&low.to_le_bytes()[..2]);
    }
}

/// Decodes 12-bit codes to steps.
fn from_int12(code: &[u8], vector: &mut [f32]) {
    for (pair, bytes) in vector.chunks_mut(2).zip(code.chunks(3)) {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u32::from_le_bytes(word);
        for (at, x) in (0..).zip(pair) {
            // Shifts to the top of the word and back, which extends the sign.
            let step = (word >> (12 * at) << 20).cast_signed() >> 20;
            *x = step as f32;
        }
    }
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

/// Unpacks eight codes of `BITS` bits, or fewer at the end. The first lies in the low bits of the first byte.
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
    use crate::metric::Metric;
    use crate::synthetic;
    use crate::vectors::normalise;
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

    /// Unit vectors of 99 coordinates, in a frame about the origin.
    #[test]
    fn codes_keep_vectors_as_well_as_their_bits_allow() {
        let (base, _) = synthetic::clustered(500, 1, 99, 8);
        let frame = Frame::origin(Metric::Cosine, [3; 32], 99);
        let entry = |(row, unit)| Entry {
            row,
            base: 0,
            scale: 0.0,
            residual: unit,
            unit,
        };
        let entries: Vec<Entry<'_>> = (0..).zip(base.rows()).map(entry).collect();
        let mut mean = vec![0.0; 99];
        base.rows()
            .for_each(|x| mean.iter_mut().zip(x).for_each(|(m, x)| *m += x));
        normalise(&mut mean);
        for (codec, most) in [
            (Codec::Int12, 2e-7),
            (Codec::Int8, 6e-5),
            (Codec::Residual6, 1.2e-3),
            (Codec::Residual4, 1.2e-2),
        ] {
            let mut bytes = Vec::new();
            let quantiser = Quantiser::new(codec, &mean, &entries, &mut bytes);
            assert_eq!(bytes.len(), codec.head_len(99));
            assert_eq!(Quantiser::read(codec, &bytes).unwrap(), quantiser);
            let loss = |entry: &Entry<'_>| {
                let mut code = Vec::new();
                quantiser.encode(entry, &mut code);
                assert_eq!(code.len(), codec.mark_len() + codec.vector_len(99));
                let mut decoded = vec![0.0; 99];
                let (base, scale) = quantiser.decode(&frame, &code, &mut decoded);
                // A decoded vector that is stored again has the same code.
                if codec.mark_len() > 0 {
                    let (residual, mut again) = (&decoded[..], Vec::new());
                    let read = Entry {
                        base,
                        scale,
                        residual,
                        ..*entry
                    };
                    quantiser.encode(&read, &mut again);
                    assert_eq!(again, code);
                }
                let differences = decoded.iter().zip(entry.unit);
                differences.map(|(a, b)| (a - b) * (a - b)).sum::<f32>() / 2.0
            };
            let mean_loss = entries.iter().map(loss).sum::<f32>() / 500.0;
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
            int12(steps.iter().map(|&x| f64::from(x) / 2047.0), &mut code);
            assert_eq!(code.len(), Codec::Int12.vector_len(dim));
            let mut read = vec![9.0; dim];
            from_int12(&code, &mut read);
            assert_eq!(read, steps);
        }
    }
}
