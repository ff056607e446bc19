//! Uniform ternary secrets.

use zeroize::Zeroizing;

use super::stream::{CHUNK, Stream};

/// The number of coefficients that one byte gives: `3^5 = 243 <= 256`.
const DIGITS: usize = 5;

/// Fills `out` with independent uniform values of `-1, 0, 1`.
///
/// A byte of the stream below 243 holds five digits in base three; larger bytes are skipped. With `m = ceil(out.len() / 5)`,
/// digit `j` of used byte `i` is value `j m + i`. Skipped bytes decide where the next ones are written, and are independent of
/// the used bytes. If one chunk of the stream is enough, time does not depend on any byte. For 2,048 values, one chunk
/// is too short with probability `2^-49`. The digits are found by multiplication, not by division.
#[expect(clippy::cast_possible_truncation, reason = "bytes and digits")]
pub fn fill(stream: &mut Stream, out: &mut [i8]) {
    let needed = out.len().div_ceil(DIGITS);
    // A twentieth of the bytes is skipped; a chunk has whole blocks.
    let with_skipped = |needed: usize| (needed * 9 / 8 + 16).next_multiple_of(16).min(CHUNK);
    // The digits that are not written yet, byte after byte, in 16 bits for the product by 171. It has room for a whole chunk, so
    // that the chunk is read to its end.
    let mut rest = Zeroizing::new(vec![0u16; needed + with_skipped(needed)]);
    let mut taken = 0;
    while taken < needed {
        for &byte in stream.chunk(with_skipped(needed - taken)) {
            // A skipped byte is written, too, and the next byte overwrites it.
            rest[taken] = u16::from(byte);
            taken += usize::from(byte < 243);
        }
    }
    let rest = &mut rest[..needed];
    for part in out.chunks_mut(needed.max(1)) {
        for (value, rest) in part.iter_mut().zip(rest.iter_mut()) {
            // floor(rest / 3), exact below 384.
            let third = (*rest * 171) >> 9;
            *value = (*rest - 3 * third) as i8 - 1;
            *rest = third;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_are_exact() {
        for rest in 0..243u16 {
            assert_eq!((rest * 171) >> 9, rest / 3);
        }
    }

    #[test]
    fn is_uniform_also_in_pairs() {
        const SAMPLES: usize = 1 << 18;
        let mut samples = vec![0; SAMPLES];
        fill(&mut Stream::new(&[1; 32], 7), &mut samples);
        let mut single = [0u32; 3];
        let mut pairs = [0u32; 9];
        for pair in samples.windows(2) {
            let (x, y) = ((pair[0] + 1).unsigned_abs(), (pair[1] + 1).unsigned_abs());
            single[usize::from(x)] += 1;
            pairs[usize::from(3 * x + y)] += 1;
        }
        let near = |count: u32, share: f64| {
            let expected = SAMPLES as f64 * share;
            (f64::from(count) - expected).abs() < 6.0 * expected.sqrt()
        };
        assert!(
            single.iter().all(|&count| near(count, 1.0 / 3.0)),
            "{single:?}"
        );
        assert!(
            pairs.iter().all(|&count| near(count, 1.0 / 9.0)),
            "{pairs:?}"
        );
    }

    #[test]
    fn any_length_is_filled() {
        for len in [0, 1, 4, 5, 6, 2048] {
            let mut out = vec![9; len];
            fill(&mut Stream::new(&[2; 32], 0), &mut out);
            assert!(out.iter().all(|x| (-1..=1).contains(x)));
        }
    }
}
