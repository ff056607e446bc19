//! The multiply-accumulate of a block: `out = sum_l P_l x_l` in NTT form.
//!
//! Both sides are laid out in tiles of 64 values: tile 0 of all `L` polynomials, tile 1 of all, and so
//! on, so that a tile's accumulators stay in registers while both sides stream. A stored value takes
//! `B = 5` or 7 bytes, since the pass is bound by the bytes it reads.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_lattice::Modulus;

/// Values of a tile.
pub(super) const TILE: usize = 64;

/// Bytes that a kernel may read beyond the end of a block.
pub(super) const SLACK: usize = 64;

/// The backends of this build.
#[derive(Clone, Copy, Debug)]
enum Backend {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(sordino_cpu::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi(sordino_cpu::Avx512Vbmi),
    #[cfg(target_arch = "aarch64")]
    Neon(sordino_cpu::Neon),
}

impl Backend {
    #[cfg(target_arch = "x86_64")]
    fn detect() -> Self {
        let fastest = sordino_cpu::Avx512Vbmi::detect().map(Self::Avx512Vbmi);
        fastest
            .or_else(|| sordino_cpu::Avx2::detect().map(Self::Avx2))
            .unwrap_or(Self::Portable)
    }

    #[cfg(target_arch = "aarch64")]
    fn detect() -> Self {
        sordino_cpu::Neon::detect().map_or(Self::Portable, Self::Neon)
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn detect() -> Self {
        Self::Portable
    }

    fn mac<const B: usize>(
        self,
        modulus: Modulus,
        block: &[u8],
        x: &[u64],
        polys: usize,
        out: &mut [u64],
    ) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vbmi(token) => avx512::mac::<B>(token, modulus, block, x, polys, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => avx2::mac::<B>(token, modulus, block, x, polys, out),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(token) => neon::mac::<B>(token, modulus, block, x, polys, out),
            Self::Portable => portable::mac::<B>(modulus, block, x, polys, out),
        }
    }
}

/// Writes `sum_l P_l x_l`, canonical, to `out`.
///
/// `block` holds `out.len()` values of each of `polys` polynomials at `len` bytes each, and [`SLACK`]
/// bytes more; `x` holds as many values.
///
/// # Panics
/// If the lengths do not fit, or `len` is not 5 or 7.
pub(super) fn mac(
    modulus: Modulus,
    len: usize,
    block: &[u8],
    x: &[u64],
    polys: usize,
    out: &mut [u64],
) {
    mac_by(Backend::detect(), modulus, len, block, x, polys, out);
}

fn mac_by(
    backend: Backend,
    modulus: Modulus,
    len: usize,
    block: &[u8],
    x: &[u64],
    polys: usize,
    out: &mut [u64],
) {
    assert!(out.len().is_multiple_of(TILE), "whole tiles");
    assert_eq!(x.len(), polys * out.len(), "values of the query");
    assert_eq!(block.len(), len * x.len() + SLACK, "bytes of the block");
    assert!(polys <= 4096, "the vector kernels' sums take 4096 products");
    match len {
        5 => backend.mac::<5>(modulus, block, x, polys, out),
        7 => backend.mac::<7>(modulus, block, x, polys, out),
        _ => panic!("coefficients of {len} bytes"),
    }
}

/// The sum of `parts[i] 2^(25 i)`, reduced: what kernels with products of 25-bit halves end with.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn join(modulus: Modulus, parts: [u64; 3]) -> u64 {
    let [low, middle, high] = parts.map(u128::from);
    modulus.reduce_wide(low + (middle << HALF) + (high << (2 * HALF)))
}

/// Bits of the lower half of a value, of those that have two: 4096 products of halves fit 62 bits, of
/// pairs of them 63.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const HALF: i32 = 25;

/// Writes polynomial `l` of `polys` into its tiles of `block`, `len` bytes a value.
pub(super) fn store(len: usize, poly: &[u64], l: usize, polys: usize, block: &mut [u8]) {
    let tiles = block.chunks_exact_mut(TILE * len).skip(l).step_by(polys);
    for (values, tile) in poly.chunks_exact(TILE).zip(tiles) {
        for (value, bytes) in values.iter().zip(tile.chunks_exact_mut(len)) {
            bytes.copy_from_slice(&value.to_le_bytes()[..len]);
        }
    }
}

/// Reads polynomial `l` of `polys` back from its tiles of `block`.
pub(super) fn take(len: usize, block: &[u8], l: usize, polys: usize, poly: &mut [u64]) {
    let tiles = block.chunks_exact(TILE * len).skip(l).step_by(polys);
    for (values, tile) in poly.chunks_exact_mut(TILE).zip(tiles) {
        for (value, bytes) in values.iter_mut().zip(tile.chunks_exact(len)) {
            let mut word = [0; 8];
            word[..len].copy_from_slice(bytes);
            *value = u64::from_le_bytes(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_lattice::sample::residue;

    fn backends() -> Vec<Backend> {
        #[cfg(target_arch = "x86_64")]
        let narrower = sordino_cpu::Avx2::detect().map(Backend::Avx2);
        #[cfg(not(target_arch = "x86_64"))]
        let narrower = None;
        let backends = [Backend::Portable, Backend::detect()];
        backends.into_iter().chain(narrower).collect()
    }

    #[test]
    fn kernels_equal_the_definition() {
        for (q, len) in [(1_099_511_590_913, 5), (1_125_899_906_826_241, 7)] {
            let modulus = Modulus::new(q).unwrap();
            for (n, polys) in [(64, 1), (64, 2), (128, 31), (2048, 32), (64, 4096)] {
                for extreme in [false, true] {
                    let mut p = vec![q - 1; n * polys];
                    let mut x = p.clone();
                    if !extreme {
                        residue::fill_vartime(&[1; 32], 0, modulus, &mut p);
                        residue::fill_vartime(&[2; 32], 0, modulus, &mut x);
                    }
                    let mut block = vec![0; len * n * polys + SLACK];
                    for (bytes, value) in block.chunks_exact_mut(len).zip(&p) {
                        bytes.copy_from_slice(&value.to_le_bytes()[..len]);
                    }
                    let mut expected = vec![0; n];
                    for (tile, sums) in expected.chunks_exact_mut(TILE).enumerate() {
                        for l in 0..polys {
                            for (c, sum) in sums.iter_mut().enumerate() {
                                let at = (tile * polys + l) * TILE + c;
                                *sum = modulus.add(*sum, modulus.mul(p[at], x[at]));
                            }
                        }
                    }
                    for backend in backends() {
                        let mut found = vec![0; n];
                        mac_by(backend, modulus, len, &block, &x, polys, &mut found);
                        assert_eq!(found, expected, "{q} {n} {polys} {backend:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn taking_inverts_storing() {
        for len in [5, 7] {
            let polys = 3;
            let mut block = vec![0; len * 128 * polys];
            let poly = |l: u64| -> Vec<u64> { (0..128).map(|i| i << 30 | l << 8 | 1).collect() };
            for l in 0..polys {
                store(len, &poly(l as u64), l, polys, &mut block);
            }
            for l in 0..polys {
                let mut found = vec![0; 128];
                take(len, &block, l, polys, &mut found);
                assert_eq!(found, poly(l as u64));
            }
        }
    }
}
