//! Uniform residues mod `q`, from a public seed.

use super::stream::Stream;
use crate::Modulus;

/// Fills `out` with uniform values in `[0, q)`. Each 8 bytes of the stream `nonce` of `seed` are a little-endian
/// integer, cut to the bits of `q`. The integer is used if it is below `q`, and skipped otherwise.
///
/// The time depends on the stream, so use this function only for public values.
pub fn fill_vartime(seed: &[u8; 32], nonce: u64, modulus: Modulus, out: &mut [u64]) {
    let mask = (1 << modulus.bits()) - 1;
    let candidate = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes) & mask;
    let mut stream = Stream::new(seed, nonce);
    let mut filled = 0;
    while filled < out.len() {
        let (words, _) = stream.chunk(8 * (out.len() - filled)).as_chunks::<8>();
        let rest = &mut out[filled..];
        // Takes all of a chunk at once, because with a prime just below a power of two, values are rarely
        // skipped.
        let mut skipped = 0;
        for (residue, bytes) in rest.iter_mut().zip(words) {
            *residue = candidate(bytes);
            skipped |= (modulus.q() - 1).wrapping_sub(*residue);
        }
        if skipped.cast_signed() >= 0 {
            filled += rest.len().min(words.len());
            continue;
        }
        let taken = words.iter().map(candidate).filter(|&x| x < modulus.q());
        filled += rest
            .iter_mut()
            .zip(taken)
            .map(|(residue, x)| *residue = x)
            .count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_in_range_and_uniform_in_the_mean() {
        // A prime just above a power of two, so that almost half of the candidates are skipped.
        let modulus = Modulus::new((1 << 21) + 17).expect("a prime");
        let mut values = vec![0; 40_000];
        fill_vartime(&[5; 32], 0, modulus, &mut values);
        assert!(values.iter().all(|&x| x < modulus.q()));
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64 / modulus.q() as f64;
        // The standard deviation of the mean is 1 / sqrt(12 * 40000) = 0.00144.
        assert!((mean - 0.5).abs() < 0.0075, "{mean}");

        let mut again = vec![0; 100];
        fill_vartime(&[5; 32], 0, modulus, &mut again);
        assert_eq!(values[..100], again);
        fill_vartime(&[5; 32], 1, modulus, &mut again);
        assert_ne!(values[..100], again);
    }
}
