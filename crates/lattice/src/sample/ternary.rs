//! Uniform ternary secrets.

use super::stream::Stream;

/// Fills `out` with independent uniform values of `-1, 0, 1`.
///
/// A byte of the stream below 243 holds five of them in base three; larger bytes are skipped. What
/// the time depends on is which bytes are skipped, and that is independent of the bytes that are kept.
/// The digits themselves are found by multiplication, not by division.
#[expect(clippy::cast_possible_truncation, reason = "a digit is at most 2")]
pub fn fill(stream: &mut Stream, out: &mut [i8]) {
    let mut digits = out.iter_mut();
    loop {
        for &byte in stream.chunk() {
            if byte >= 243 {
                continue;
            }
            let mut rest = u32::from(byte);
            for _ in 0..5 {
                // floor(rest / 3), exact for rest < 512.
                let third = (rest * 171) >> 9;
                let Some(digit) = digits.next() else { return };
                *digit = (rest - 3 * third) as i8 - 1;
                rest = third;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_are_exact() {
        for rest in 0..243u32 {
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
