//! Arithmetic of single vectors.

/// Scales `vector` to unit length in place. Returns false, and leaves `vector` unchanged, if that is not
/// possible.
pub fn normalise(vector: &mut [f32]) -> bool {
    // The sum is computed in f64, since the square of an f32 may overflow or vanish.
    let norm = vector
        .iter()
        .map(|&x| f64::from(x) * f64::from(x))
        .sum::<f64>()
        .sqrt();
    if norm == 0.0 || !norm.is_finite() {
        return false;
    }
    for x in vector {
        *x = to_f32(f64::from(*x) / norm);
    }
    true
}

/// The inner product of two vectors of equal length.
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Sixteen partial sums, so that the compiler uses vector instructions.
    let (a16, a_rest) = a.as_chunks::<16>();
    let (b16, b_rest) = b.as_chunks::<16>();
    let mut sums = [0.0f32; 16];
    for (a, b) in a16.iter().zip(b16) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

/// Rounds to the nearest f32.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what it is for"
)]
#[must_use]
pub fn to_f32(x: f64) -> f32 {
    x as f32
}

/// A count or a position (of rows, buckets or bytes of a payload) as the 32-bit number that an index stores.
///
/// # Panics
/// Panics if it does not fit. The code that builds or reads an index refuses larger counts before.
#[must_use]
pub fn u32_of(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32, which was checked before")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_vectors_normalise_too() {
        for scale in [1e-30f32, 1.0, 1e30] {
            let mut vector = [3.0 * scale, 4.0 * scale];
            assert!(normalise(&mut vector));
            assert!((vector[0] - 0.6).abs() < 1e-6 && (vector[1] - 0.8).abs() < 1e-6);
        }
        assert!(!normalise(&mut [0.0, 0.0]));
    }

    #[test]
    fn dot_is_the_sum_of_products_at_every_length() {
        for len in 0..70usize {
            let a: Vec<f32> = (0..len).map(|i| to_f32(i as f64) - 7.0).collect();
            let expected: f32 = a.iter().map(|x| x * 2.0).sum();
            assert_eq!(dot(&a, &vec![2.0; len]), expected, "length {len}");
        }
    }
}
