//! The lengths of rows as codes of 16 bits.

use sordino_index::Error;
use sordino_index::code::SCALES_HEAD_LEN;

/// The lengths that a list of rows can have: short floating-point numbers. Bits that the exponents do not need serve the
/// fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// The exponent of code 1.
    least: i16,
    /// The number of bits of the fraction.
    bits: u8,
}

/// Numbers of exponents, each with the fraction bits that leave codes for them. There are few choices, so that joined
/// segments seldom differ.
const OCTAVES: [(i16, u8); 4] = [(3, 14), (15, 12), (63, 10), (255, 8)];

/// The exponents of normal numbers in single precision that no sum of lengths exceeds.
const EXPONENTS: std::ops::RangeInclusive<i16> = -120..=120;

impl Lengths {
    /// The size in bytes of the encoding.
    pub const LEN: usize = SCALES_HEAD_LEN;

    /// Codes for rows of these lengths. Rows without a length have code 0.
    #[must_use]
    pub fn of(lengths: impl IntoIterator<Item = f64>) -> Self {
        let some = lengths.into_iter().filter(|&length| length > 0.0);
        let range = some.fold(None, |range: Option<(i16, i16)>, length| {
            let at = exponent(length);
            let (least, most) = range.unwrap_or((at, at));
            Some((least.min(at), most.max(at)))
        });
        let (least, most) = range.unwrap_or((0, 0));
        // The largest may be rounded up to the first number beyond these exponents, which has a code.
        let octaves = most - least + 1;
        let fits = OCTAVES.iter().find(|(room, _)| octaves <= *room);
        let bits = fits.map_or(8, |(_, bits)| *bits);
        Self { least, bits }
    }

    /// The code of the smallest of these numbers that is not less than a length.
    #[must_use]
    pub fn code(self, length: f64) -> u16 {
        if length <= 0.0 {
            return 0;
        }
        let least = f64::from(i32::from(self.least)).exp2();
        // Both are normal doubles, whose bits sort like the numbers. `unit` is the position of the last bit that is
        // kept.
        let unit = 52 - u32::from(self.bits);
        let above = length.max(least).to_bits() - least.to_bits();
        let steps = above.div_ceil(1 << unit);
        u16::try_from(steps.saturating_add(1)).unwrap_or(u16::MAX)
    }

    /// The number of a code.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is a number of single precision"
    )]
    pub fn length(self, code: u16) -> f32 {
        let Some(steps) = code.checked_sub(1) else {
            return 0.0;
        };
        let least = f64::from(i32::from(self.least)).exp2();
        let unit = 52 - u32::from(self.bits);
        f64::from_bits(least.to_bits() + (u64::from(steps) << unit)) as f32
    }

    /// The encoding, little-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let [low, high] = self.least.to_le_bytes();
        [low, high, self.bits]
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that encode no lengths.
    pub fn from_bytes([low, high, bits]: [u8; Self::LEN]) -> Result<Self, Error> {
        let least = i16::from_le_bytes([low, high]);
        let known = OCTAVES.iter().any(|(_, known)| *known == bits);
        if !EXPONENTS.contains(&least) || !known {
            return Err(Error::Malformed {
                what: "scales",
                why: format!("from 2^{least} on with {bits} bits behind the point"),
            });
        }
        Ok(Self { least, bits })
    }
}

/// The exponent of a length.
fn exponent(length: f64) -> i16 {
    let biased = i16::try_from(length.to_bits() >> 52 & 0x7ff).unwrap_or(0);
    (biased - 1023).clamp(*EXPONENTS.start(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RowScale;

    #[test]
    fn a_length_is_off_by_a_part_of_itself() {
        for (least, most, bits) in [
            (0.3, 1.2, 14),
            (0.01, 1.9, 12),
            (1e-9, 1.0, 10),
            (1e-30, 1.0, 8),
        ] {
            let lengths: Vec<f64> = (0..2000)
                .map(|at| least * f64::powf(most / least, f64::from(at) / 2000.0))
                .collect();
            let coder = Lengths::of(lengths.iter().copied().chain([0.0]));
            assert_eq!(coder.bits, bits);
            assert_eq!(Lengths::from_bytes(coder.to_bytes()).unwrap(), coder);
            let step = f64::exp2(-f64::from(bits));
            for length in lengths {
                let code = coder.code(length);
                let row = RowScale::of_length(coder, code);
                let over = f64::from(row.scale) / length;
                assert!(
                    (1.0..1.0 + step * 1.001).contains(&over),
                    "{length}: {over}"
                );
                // Encoding the decoded number gives the same code.
                assert_eq!(coder.code(f64::from(row.scale)), code);
                let square = f64::from(row.constant) * f64::from(row.scale);
                let off = square / (length * length) - 1.0;
                assert!(off.abs() < 1.1 * step, "{length}: {off}");
            }
            assert_eq!(
                RowScale::of_length(coder, coder.code(0.0)),
                RowScale::default()
            );
        }
    }

    #[test]
    fn every_code_is_a_number_and_they_ascend() {
        for (least, bits) in [(-120, 14), (120, 14), (-120, 8), (0, 12), (120, 10)] {
            let coder = Lengths { least, bits };
            let all = (0..=u16::MAX).map(|code| RowScale::of_length(coder, code));
            let all: Vec<RowScale> = all.collect();
            let usable = all.iter().filter(|row| row.scale < 1e36);
            assert!(usable.clone().all(|row| row.constant.is_finite()));
            assert!(all.is_sorted_by(|a, b| a.scale <= b.scale));
        }
        for wrong in [[0, 0, 0], [0, 0, 15], [121, 0, 14], [0, 0x80, 14]] {
            assert!(Lengths::from_bytes(wrong).is_err());
        }
    }
}
