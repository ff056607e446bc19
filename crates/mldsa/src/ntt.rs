//! The number-theoretic transform, and products in its domain.
//!
//! Transformed polynomials are kept in *column order*: the value that FIPS 204 numbers `i` is at `16 (i mod 16) + i div
//! 16`. So the last four layers, which act inside groups of 16 neighbours, act across whole vectors. Products do not
//! depend on the order, and the vector kernels save half of their shuffles. Expanding a key brings `A` into this order.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod portable;

use crate::field::{Q, Q_INV};

/// FIPS 204, Appendix B: `ZETAS[m] = 2^32 * 1753^(bit-reversed m) mod q`, centred.
pub(crate) const ZETAS: [i32; 256] = zetas();

/// `ZETAS[m] / q` modulo 2^32. It saves the vector kernels a multiplication.
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(dead_code, reason = "only vector kernels use it")
)]
pub(crate) const ZETAS_Q_INV: [i32; 256] = over_q(&ZETAS);

/// `2^64 / 256 mod q`: undoes both the factor 256 of the inverse transform and the factor
/// `2^-32` that a product in the domain leaves.
pub(crate) const INVERSE_SCALE: i32 = 41_978;

#[expect(clippy::cast_possible_truncation, reason = "values are below q")]
const fn zetas() -> [i32; 256] {
    let q = Q as i64;
    let mut powers = [0_i64; 256];
    let mut power = (1 << 32) % q;
    let mut i = 0;
    while i < 256 {
        powers[i] = power;
        power = power * 1753 % q;
        i += 1;
    }
    let mut table = [0; 256];
    let mut m = 0;
    while m < 256 {
        let value = powers[(m as u8).reverse_bits() as usize];
        table[m] = (if value > q / 2 { value - q } else { value }) as i32;
        m += 1;
    }
    table
}

const fn over_q<const N: usize>(values: &[i32; N]) -> [i32; N] {
    let mut table = [0; N];
    let mut i = 0;
    while i < N {
        table[i] = values[i].wrapping_mul(Q_INV);
        i += 1;
    }
    table
}

/// The zetas of the four layers that act inside groups of 16, one vector of 16 groups each. Layer `t` (of length `8 >>
/// t`) has `1 << t` vectors, from index `(1 << t) - 1` on.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[repr(C, align(64))]
pub(crate) struct Columns(pub(crate) [[i32; 16]; 15]);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod columns {
    use super::{Columns, ZETAS, over_q};

    /// For block `b` of layer `t` in group `g`, the zeta that Algorithm 41 uses, or Algorithm 42 if `inverse`.
    const fn columns(inverse: bool) -> Columns {
        let mut table = [[0; 16]; 15];
        let mut t = 0;
        while t < 4 {
            let mut b = 0;
            while b < 1 << t {
                let mut g = 0;
                while g < 16 {
                    let forward = (16 << t) + (g << t) + b;
                    let index = if inverse {
                        (48 << t) - 1 - forward
                    } else {
                        forward
                    };
                    table[(1 << t) - 1 + b][g] = ZETAS[index];
                    g += 1;
                }
                b += 1;
            }
            t += 1;
        }
        Columns(table)
    }

    const fn columns_over_q(columns: &Columns) -> Columns {
        let mut table = [[0; 16]; 15];
        let mut i = 0;
        while i < 15 {
            table[i] = over_q(&columns.0[i]);
            i += 1;
        }
        Columns(table)
    }

    pub(crate) static FORWARD: Columns = columns(false);
    pub(crate) static FORWARD_Q_INV: Columns = columns_over_q(&FORWARD);
    pub(crate) static INVERSE: Columns = columns(true);
    pub(crate) static INVERSE_Q_INV: Columns = columns_over_q(&INVERSE);
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use columns::{FORWARD, FORWARD_Q_INV, INVERSE, INVERSE_Q_INV};

#[cfg(test)]
mod tests {
    use super::portable;
    use crate::field::{Poly, Q};
    use crate::kernels::Kernels;

    /// The number of random inputs.
    const TIMES: u32 = if cfg!(miri) { 1 } else { 50 };

    /// A polynomial with values in [-limit, limit], including both bounds.
    fn poly(seed: u32, limit: i32) -> Poly {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        Poly(core::array::from_fn(|i| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match i & 63 {
                1 => limit,
                2 => -limit,
                _ => (state >> 1).cast_signed() % (limit + 1) * (1 - 2 * (state & 1).cast_signed()),
            }
        }))
    }

    /// The polynomials with the largest sums: all coefficients are at one bound.
    fn extremes(limit: i32) -> [Poly; 2] {
        [Poly([limit; 256]), Poly([-limit; 256])]
    }

    #[test]
    fn the_transform_multiplies_polynomials() {
        let (a, b) = (poly(1, 1 << 19), poly(2, Q - 1));
        let mut expected = [0_i64; 256];
        for i in 0..256 {
            for j in 0..256 {
                let product = i64::from(a.0[i]) * i64::from(b.0[j]) % i64::from(Q);
                let sign = if i + j < 256 { 1 } else { -1 };
                expected[(i + j) % 256] += sign * product;
            }
        }
        let (mut a, mut b, mut c) = (a, b, Poly::ZERO);
        portable::ntt(&mut a);
        portable::ntt(&mut b);
        portable::product(&mut c, &[b], &[a]);
        portable::inverse_ntt(&mut c);
        for (c, expected) in c.0.iter().zip(expected) {
            assert_eq!(
                i64::from(*c).rem_euclid(i64::from(Q)),
                expected.rem_euclid(i64::from(Q))
            );
        }
    }

    #[test]
    fn every_backend_computes_the_same() {
        for kernels in Kernels::all() {
            let name = kernels.name();
            let inputs = (0..TIMES)
                .map(|seed| poly(seed, (1 << 23) - 1))
                .chain(extremes((1 << 23) - 1));
            for input in inputs {
                let (mut expected, mut found) = (input, input);
                portable::ntt(&mut expected);
                kernels.ntt(&mut found);
                assert!(expected == found, "ntt on {name}");
                portable::transpose(&mut expected);
                kernels.transpose(&mut found);
                assert!(expected == found, "transpose on {name}");
            }
            for input in (0..TIMES)
                .map(|seed| poly(seed, Q - 1))
                .chain(extremes(Q - 1))
            {
                let (mut expected, mut found) = (input, input);
                portable::inverse_ntt(&mut expected);
                kernels.inverse_ntt(&mut found);
                assert!(expected == found, "inverse_ntt on {name}");
                assert!(expected.0.iter().all(|c| c.abs() < Q));
            }
            for columns in [5, 6, 8] {
                let limit = (1 << 23) + 8 * Q;
                for seed in 0..TIMES.min(20) {
                    let row: Vec<_> = (0..columns).map(|j| poly(seed + j, Q - 1)).collect();
                    let vector: Vec<_> = (0..columns).map(|j| poly(seed * j, limit)).collect();
                    let (mut expected, mut found) = (Poly::ZERO, Poly::ZERO);
                    portable::product(&mut expected, &row, &vector);
                    kernels.product(&mut found, &row, &vector);
                    assert!(expected == found, "product on {name}");
                }
                for (a, b) in extremes(Q - 1).into_iter().zip(extremes((1 << 19) + 8 * Q)) {
                    let (mut row, vector) = (vec![a; columns as usize], vec![b; columns as usize]);
                    row[columns as usize - 1] = Poly([limit * a.0[0].signum(); 256]);
                    let (mut expected, mut found) = (Poly::ZERO, Poly::ZERO);
                    portable::product(&mut expected, &row, &vector);
                    kernels.product(&mut found, &row, &vector);
                    assert!(expected == found, "product on {name}");
                    assert!(expected.0.iter().all(|c| c.abs() < Q));
                }
            }
        }
    }
}
