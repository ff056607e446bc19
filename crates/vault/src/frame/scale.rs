//! The scales of rows as codes of 8 bits.

use sordino_index::Error;
use sordino_index::code::SCALES_HEAD_LEN;

/// The scales that a list of rows can have. They grow by a fixed ratio, a multiple of 2^(1/8). So a scale is larger
/// than necessary by at most this ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scales {
    /// The scale of code 1, in eighths of a logarithm to base 2.
    least: i16,
    /// Eighths from a code to the next.
    step: u8,
}

/// Eighths of a power of two.
const EIGHTHS: [f64; 8] = [
    1.0,
    1.090_507_732_665_257_7,
    1.189_207_115_002_721,
    1.296_839_554_651_009_6,
    std::f64::consts::SQRT_2,
    1.542_210_825_407_940_7,
    1.681_792_830_507_429,
    1.834_008_086_409_342_4,
];

/// The smallest and the largest scale, in eighths. They are normal numbers in single precision.
const RANGE: std::ops::RangeInclusive<i16> = -1000..=720;

impl Scales {
    /// The size in bytes of the encoding.
    pub const LEN: usize = SCALES_HEAD_LEN;

    /// Scales for rows of these lengths. Rows without a length have code 0.
    #[must_use]
    pub fn of(lengths: impl IntoIterator<Item = f64>) -> Self {
        let eighths = lengths.into_iter().filter(|&length| length > 0.0);
        let range = eighths.fold(None, |range: Option<(i16, i16)>, length| {
            let at = eighth(length);
            let (least, most) = range.unwrap_or((at, at));
            Some((least.min(at), most.max(at)))
        });
        let (least, most) = range.unwrap_or((0, 0));
        let step = u16::try_from(most - least).unwrap_or(0).div_ceil(254);
        Self {
            least,
            step: u8::try_from(step.max(1)).unwrap_or(u8::MAX),
        }
    }

    /// The code of the smallest scale that is not less than a length.
    #[must_use]
    pub fn code(self, length: f64) -> u8 {
        if length <= 0.0 {
            return 0;
        }
        let steps = (eighth(length) - self.least).max(0).cast_unsigned();
        let code = 1 + steps.div_ceil(u16::from(self.step));
        u8::try_from(code).unwrap_or(u8::MAX)
    }

    /// The code of exactly this scale, if there is one.
    #[must_use]
    pub fn code_of(self, scale: f32) -> Option<u8> {
        let code = self.code(f64::from(scale));
        let found = code.checked_sub(1).map(|before| before.max(1));
        let near = [Some(code), found].into_iter().flatten();
        let mut near = near.filter(|&code| self.scale(code).to_bits() == scale.to_bits());
        near.next()
    }

    /// The scale of a code.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the nearest")]
    pub fn scale(self, code: u8) -> f32 {
        let Some(steps) = code.checked_sub(1) else {
            return 0.0;
        };
        let at = i32::from(self.least) + i32::from(steps) * i32::from(self.step);
        let at = at.min(i32::from(*RANGE.end()) + 8);
        let eighth = EIGHTHS[usize::try_from(at.rem_euclid(8)).unwrap_or(0)];
        // The result is exact, because the exponent belongs to a normal number.
        let exponent = u64::try_from(1023 + at.div_euclid(8)).unwrap_or(1);
        (eighth * f64::from_bits(exponent << 52)) as f32
    }

    /// The encoding, little-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let [low, high] = self.least.to_le_bytes();
        [low, high, self.step]
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that encode no scales.
    pub fn from_bytes([low, high, step]: [u8; Self::LEN]) -> Result<Self, Error> {
        let least = i16::from_le_bytes([low, high]);
        if !RANGE.contains(&least) || step == 0 {
            return Err(Error::Malformed {
                what: "scales",
                why: format!("from {least} on by {step} eighths"),
            });
        }
        Ok(Self { least, step })
    }
}

/// The smallest such scale that is not less than a length, in eighths of a logarithm.
#[expect(clippy::cast_possible_truncation, reason = "clamped to the range")]
fn eighth(length: f64) -> i16 {
    let (low, high) = (f64::from(*RANGE.start()), f64::from(*RANGE.end()));
    let at = (8.0 * length.log2()).ceil().clamp(low, high) as i16;
    let scale = |least| f64::from(Scales { least, step: 1 }.scale(1));
    // Compares the scales themselves, because logarithms are rounded differently on other machines.
    match at {
        at if at < *RANGE.end() && scale(at) < length => at + 1,
        at if at > *RANGE.start() && scale(at - 1) >= length => at - 1,
        at => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_no_less_than_its_length_and_little_more() {
        for range in [1e-3, 1.0, 30.0, 1e3, 1e20] {
            let lengths: Vec<f64> = (0..500)
                .map(|at| range * f64::from(at * 37 % 501) / 501.0)
                .collect();
            let scales = Scales::of(lengths.iter().copied());
            assert_eq!(Scales::from_bytes(scales.to_bytes()).unwrap(), scales);
            for length in lengths {
                let scale = scales.scale(scales.code(length));
                let ratio = f64::from(scale) / length;
                assert!(length == 0.0 || (1.0..1.0906).contains(&ratio), "{length}");
                assert_eq!(scales.code_of(scale), Some(scales.code(length)));
            }
        }
        // Forty orders of magnitude need steps of more than an eighth of an octave.
        let lengths: Vec<f64> = (-20..=20).map(|at| 10f64.powi(at)).collect();
        let scales = Scales::of(lengths.iter().copied());
        for length in lengths {
            let ratio = f64::from(scales.scale(scales.code(length))) / length;
            assert!((1.0..2.0).contains(&ratio), "{length}: {ratio}");
        }
        assert_eq!(scales.scale(scales.code(0.0)), 0.0);
    }

    #[test]
    fn every_code_is_a_normal_number_and_they_ascend() {
        for (least, step) in [(-1000, 1), (-1000, 7), (720, 1), (0, 255), (720, 255)] {
            let scales = Scales { least, step };
            let all: Vec<f32> = (0..=u8::MAX).map(|code| scales.scale(code)).collect();
            assert!(all[1..].iter().all(|scale| scale.is_normal()));
            assert!(all.is_sorted());
        }
        assert!(Scales::from_bytes([0, 0, 0]).is_err());
        assert!(Scales::from_bytes([0xff, 0x7f, 1]).is_err());
    }
}
