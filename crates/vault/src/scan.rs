//! Scores of unit vectors in 16-bit fixed point. Sums are exact integers, the same on every machine.
//!
//! A coordinate x of a unit vector is stored as round(32767 x). By Cauchy-Schwarz the inner product of two such rows
//! stays below 2^30, so 32 bits hold it. Rounding two unit vectors moves a score by about 1.2e-5 (standard deviation),
//! a tenth of the error from 8-bit codes.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

/// The number of fixed-point steps in 1.
const ONE: f32 = 32767.0;

/// `1.5 2^23`. Its sum with a number below `2^22` has that number, rounded, in its low bits. Without SSE4.1,
/// `f32::round` would be a call for each coordinate.
const INTEGER: f32 = 12_582_912.0;

/// The fixed-point form of a vector whose length is at most 1, apart from rounding. It rounds to nearest, ties to
/// even.
#[expect(clippy::cast_possible_truncation, reason = "clamped to 16 bits")]
pub fn fixed(unit: &[f32]) -> impl Iterator<Item = i16> {
    unit.iter().map(|x| {
        let integer = (x * ONE).clamp(-ONE, ONE) + INTEGER;
        (integer.to_bits().wrapping_sub(INTEGER.to_bits())) as i16
    })
}

/// The coordinate that a fixed-point number stands for.
#[must_use]
pub fn coordinate(fixed: i16) -> f32 {
    f32::from(fixed) / ONE
}

/// The score of a fixed-point inner product.
#[must_use]
pub fn score(product: i32) -> f32 {
    product as f32 / (ONE * ONE)
}

/// The inner product of `query` with each row of `rows`.
///
/// # Panics
/// Panics if `rows` is not `products.len()` rows of the query's length.
pub fn products(rows: &[i16], query: &[i16], products: &mut [i32]) {
    assert_eq!(
        rows.len(),
        products.len() * query.len(),
        "rows of the query's length"
    );
    if query.is_empty() {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = sordino_cpu::Avx2::detect() {
        return avx2::products(token, rows, query, products);
    }
    portable::products(rows, query, products);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn backends_equal_the_definition(
            dim in 1usize..200,
            count in usize::from(cfg!(miri))..9,
            values in prop::collection::vec(any::<i16>(), 200 * 10),
        ) {
            let rows = &values[..dim * count];
            let query = &values[dim * count..][..dim];
            let expected: Vec<i32> = rows
                .chunks_exact(dim)
                .map(|row| {
                    row.iter().zip(query).fold(0i32, |sum, (&a, &b)| {
                        sum.wrapping_add(i32::from(a) * i32::from(b))
                    })
                })
                .collect();
            let mut found = vec![0; count];
            portable::products(rows, query, &mut found);
            prop_assert_eq!(&found, &expected);
            found.fill(0);
            products(rows, query, &mut found);
            prop_assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn the_largest_product_of_unit_vectors_does_not_wrap() {
        for dim in [1, 2, 128, 4096, 8194] {
            let x = 1.0 / crate::vectors::to_f32((dim as f64).sqrt());
            let row: Vec<i16> = fixed(&vec![x; dim]).collect();
            let mut product = [0];
            products(&row, &row, &mut product);
            assert!(
                (score(product[0]) - 1.0).abs() < 0.02,
                "dim {dim}: {}",
                score(product[0])
            );
        }
    }
}
