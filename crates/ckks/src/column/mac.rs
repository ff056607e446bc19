//! The multiply-accumulate of a pass: `sum_l P_jl x_kl` in NTT form, for blocks `j` and queries `k`.
//!
//! Both sides are laid out in tiles of 16 values: tile 0 of all `L` polynomials, tile 1 of all, and so
//! on, so that a tile's accumulators stay in registers while both sides stream. Up to four queries
//! take turns within a tile: value `c` of tile `i` of `x_kl` is at `((i L + l) Q + k) 16 + c`. A stored
//! value takes `B = 5` or 7 bytes, since a pass for one query is bound by the bytes it reads.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_lattice::Modulus;

/// Values of a tile.
pub(super) const TILE: usize = 16;

/// The most queries of a pass: what registers hold.
pub(super) const QUERIES: usize = 4;

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

    fn run<const B: usize>(self, pass: &Pass, sums: &mut [u64]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vbmi(token) => avx512::run::<B>(token, pass, sums),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => pass.each_tile(sums, |block, x, sums| {
                avx2::mac::<B>(token, pass.modulus, block, x, pass.queries, sums);
            }),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(token) => pass.each_tile(sums, |block, x, sums| {
                neon::mac::<B>(token, pass.modulus, block, x, pass.queries, sums);
            }),
            Self::Portable => pass.each_tile(sums, |block, x, sums| {
                portable::mac::<B>(pass.modulus, block, x, pass.queries, sums);
            }),
        }
    }
}

/// Blocks that are multiplied with the polynomials of a few queries.
pub(super) struct Pass<'a> {
    modulus: Modulus,
    /// `B`, bytes of a stored value.
    len: usize,
    /// `L`.
    polys: usize,
    /// Block after block, and [`SLACK`] bytes more.
    bytes: &'a [u8],
    /// `Q`.
    queries: usize,
    /// Their polynomials in tiles.
    x: &'a [u64],
}

impl<'a> Pass<'a> {
    /// # Panics
    /// If the lengths do not fit, `len` is not 5 or 7, or there are more than [`QUERIES`].
    pub(super) fn new(
        modulus: Modulus,
        len: usize,
        polys: usize,
        bytes: &'a [u8],
        queries: usize,
        x: &'a [u64],
    ) -> Self {
        assert!(len == 5 || len == 7, "coefficients of {len} bytes");
        assert!((1..=QUERIES).contains(&queries), "{queries} queries");
        assert!(
            (1..=4096).contains(&polys),
            "the vector kernels' sums take 4096 products"
        );
        let tile = polys * queries * TILE;
        assert!(
            !x.is_empty() && x.len().is_multiple_of(tile),
            "values of the queries"
        );
        let pass = Self {
            modulus,
            len,
            polys,
            bytes,
            queries,
            x,
        };
        let blocks = bytes.len().checked_sub(SLACK).expect("slack");
        assert!(
            blocks.is_multiple_of(pass.block_len()),
            "bytes of the blocks"
        );
        pass
    }

    /// Values of a polynomial.
    fn n(&self) -> usize {
        self.x.len() / (self.polys * self.queries)
    }

    fn block_len(&self) -> usize {
        self.len * self.polys * self.n()
    }

    fn blocks(&self) -> usize {
        (self.bytes.len() - SLACK) / self.block_len()
    }

    /// Writes `sum_l P_jl x_kl`, canonical, for each block `j` and each of its queries `k` in turn.
    ///
    /// # Panics
    /// If there is not room for exactly these.
    pub(super) fn run(&self, sums: &mut [u64]) {
        self.run_by(Backend::detect(), sums);
    }

    fn run_by(&self, backend: Backend, sums: &mut [u64]) {
        let expected = self.blocks() * self.queries * self.n();
        assert_eq!(sums.len(), expected, "room for the sums");
        match self.len {
            5 => backend.run::<5>(self, sums),
            _ => backend.run::<7>(self, sums),
        }
    }

    /// Calls `mac` for each tile of each block and query, with the block's part and [`SLACK`] bytes
    /// more, the queries' part from this query's first value on, and where the sums go. Blocks change
    /// faster than tiles, so that the queries' part stays in cache.
    fn each_tile(&self, sums: &mut [u64], mac: impl Fn(&[u8], &[u64], &mut [u64; TILE])) {
        let (n, count) = (self.n(), self.queries);
        let tile_len = self.polys * TILE * self.len;
        for (i, x) in self.x.chunks_exact(self.polys * count * TILE).enumerate() {
            for (j, sums) in sums.chunks_exact_mut(count * n).enumerate() {
                let block = &self.bytes[j * self.block_len() + i * tile_len..];
                for (k, sums) in sums.chunks_exact_mut(n).enumerate() {
                    let sums = &mut sums.as_chunks_mut().0[i];
                    mac(&block[..tile_len + SLACK], &x[k * TILE..], sums);
                }
            }
        }
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
            for (n, polys) in [(16, 1), (32, 2), (48, 31), (2048, 4), (16, 4096)] {
                for extreme in [false, true] {
                    // Counts of blocks and queries for every shape of the kernels.
                    let blocks = 7;
                    let mut p = vec![q - 1; blocks * n * polys];
                    let mut x = vec![q - 1; QUERIES * n * polys];
                    if !extreme {
                        residue::fill_vartime(&[1; 32], 0, modulus, &mut p);
                        residue::fill_vartime(&[2; 32], 0, modulus, &mut x);
                    }
                    let mut bytes = vec![0; len * p.len() + SLACK];
                    for (bytes, value) in bytes.chunks_exact_mut(len).zip(&p) {
                        bytes.copy_from_slice(&value.to_le_bytes()[..len]);
                    }
                    for count in 1..=QUERIES {
                        let x = &x[..count * n * polys];
                        let pass = Pass::new(modulus, len, polys, &bytes, count, x);
                        let expected = defined(&pass, &p);
                        for backend in backends() {
                            let mut found = vec![0; expected.len()];
                            pass.run_by(backend, &mut found);
                            assert!(found == expected, "{q} {n} {polys} {count} {backend:?}");
                        }
                    }
                }
            }
        }
    }

    /// The sums of single products, for the blocks' values `p`.
    fn defined(pass: &Pass, p: &[u64]) -> Vec<u64> {
        let (n, polys, count, modulus) = (pass.n(), pass.polys, pass.queries, pass.modulus);
        let mut sums = Vec::new();
        for p in p.chunks_exact(n * polys) {
            for k in 0..count {
                for (tile, c) in (0..n).map(|i| (i / TILE, i % TILE)) {
                    let product = |l| {
                        let at = tile * polys + l;
                        let x = pass.x[(at * count + k) * TILE + c];
                        modulus.mul(p[at * TILE + c], x)
                    };
                    sums.push((0..polys).fold(0, |sum, l| modulus.add(sum, product(l))));
                }
            }
        }
        sums
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
