//! The multiply-accumulate kernels of a pass: `sum_lu P_jl(z_cu) x_kl(z_cu)` for blocks `j`, queries `k` and points `c
//! < N / t`.
//!
//! Value `c t + u` of a polynomial in NTT form is the one at `z_cu`. The `t` points `z_c0, z_c1, ...` are the roots of
//! one `X^t = y_c`. A reply has only every `t`-th coefficient of a product, and needs only the sum over these points.
//! So row `r = l t + u` of `D = L t` rows has value `c t + u` of polynomial `l`. A sum of all rows gives one number for
//! each vector of a block.
//!
//! Both sides are laid out in tiles of 8 points: tile 0 of all rows, then tile 1 of all rows, and so on. So a tile's
//! accumulators stay in registers while both sides stream by. Up to four queries form a group and take turns within a
//! tile. Point `c` of tile `i` of query `k` of `Q` is at `((i D + r) Q + k) 8 + c`. A stored value takes only `B = 5`
//! or 7 bytes, since a pass for one query is as fast as memory is read.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod kernels;
mod layout;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_lattice::Modulus;

use self::kernels::Kernels;
pub(super) use self::layout::{GROUP, Group, store, take};

/// The number of points of a tile.
pub(super) const TILE: usize = 8;

/// The largest number of products that a kernel's accumulators can hold.
const MOST: usize = 4096;

/// The number of bytes that a kernel may read beyond the end of a block.
pub(super) const SLACK: usize = 64;

/// Blocks, and the polynomials of the queries to multiply them with.
pub(super) struct Pass<'a> {
    modulus: Modulus,
    /// `B`, the bytes of a stored value.
    len: usize,
    /// `D`, the number of rows.
    rows: usize,
    /// `N / t`, the number of points.
    points: usize,
    /// Block after block, followed by [`SLACK`] bytes.
    bytes: &'a [u8],
    groups: &'a [Group],
}

impl<'a> Pass<'a> {
    /// # Panics
    /// Panics if the lengths do not fit, or `len` is not 5 or 7.
    pub(super) fn new(
        modulus: Modulus,
        len: usize,
        (rows, points): (usize, usize),
        bytes: &'a [u8],
        groups: &'a [Group],
    ) -> Self {
        assert!(len == 5 || len == 7, "coefficients of {len} bytes");
        assert!(rows > 0 && points > 0 && points.is_multiple_of(TILE));
        let fits = |group: &Group| group.x.len() == group.queries * rows * points;
        assert!(groups.iter().all(fits), "values of the queries");
        let pass = Self {
            modulus,
            len,
            rows,
            points,
            bytes,
            groups,
        };
        let blocks = bytes.len().checked_sub(SLACK).expect("slack");
        assert!(
            blocks.is_multiple_of(pass.block_len()),
            "bytes of the blocks"
        );
        pass
    }

    fn block_len(&self) -> usize {
        self.len * self.rows * self.points
    }

    fn blocks(&self) -> usize {
        (self.bytes.len() - SLACK) / self.block_len()
    }

    fn queries(&self) -> usize {
        self.groups.iter().map(|group| group.queries).sum()
    }

    /// The groups, each with the number of its first query.
    fn numbered(&self) -> impl Iterator<Item = (usize, &Group)> {
        self.groups.iter().scan(0, |next, group| {
            let first = *next;
            *next += group.queries;
            Some((first, group))
        })
    }

    /// Writes the sums of all points, canonical, for each block `j` and within it for each query `k`.
    ///
    /// # Panics
    /// Panics if `sums` does not have exactly the length of these sums.
    pub(super) fn run(&self, sums: &mut [u64]) {
        self.run_by(Kernels::detect(), sums);
    }

    fn run_by(&self, kernels: Kernels, sums: &mut [u64]) {
        let expected = self.blocks() * self.queries() * self.points;
        assert_eq!(sums.len(), expected, "room for the sums");
        match self.len {
            5 => kernels.run::<5>(self, sums),
            _ => kernels.run::<7>(self, sums),
        }
    }

    /// Calls `mac` for each tile of each block and query, with at most [`MOST`] rows at a time. The arguments of `mac`
    /// are the rows of the block with [`SLACK`] more bytes, the group's rows from this query's first row on, the step
    /// between the query's rows, and the place for the sums. The inner loop goes over blocks and the outer one over
    /// tiles, so that the queries' part stays in the cache.
    fn each_tile(&self, sums: &mut [u64], mac: impl Fn(&[u8], &[u64], usize, &mut [u64; TILE])) {
        let row = TILE * self.len;
        for i in 0..self.points / TILE {
            let sums = sums.chunks_exact_mut(self.queries() * self.points);
            for (j, sums) in sums.enumerate() {
                let block = &self.bytes[j * self.block_len() + i * self.rows * row..];
                for (start, group) in self.numbered() {
                    let x = group.tile(i, self.rows);
                    let sums = sums.chunks_exact_mut(self.points).skip(start);
                    for (k, sums) in sums.take(group.queries).enumerate() {
                        let sums = &mut sums.as_chunks_mut().0[i];
                        *sums = [0; TILE];
                        for first in (0..self.rows).step_by(MOST) {
                            let last = self.rows.min(first + MOST);
                            let mut part = [0; TILE];
                            let block = &block[first * row..last * row + SLACK];
                            let x = &x[(first * group.queries + k) * TILE..];
                            mac(block, x, group.queries, &mut part);
                            for (sum, part) in sums.iter_mut().zip(part) {
                                *sum = self.modulus.add(*sum, part);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The sum of `parts[i] 2^(25 i)`, reduced. Kernels with products of 25-bit halves end with it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn join(modulus: Modulus, parts: [u64; 3]) -> u64 {
    let [low, middle, high] = parts.map(u128::from);
    modulus.reduce_wide(low + (middle << HALF) + (high << (2 * HALF)))
}

/// Bits of the lower half of a value that has two halves. A sum of 4096 products of halves has at most 62 bits, and a
/// sum of 4096 pairs of such products has 63.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const HALF: i32 = 25;

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_cpu::Backend;
    use sordino_lattice::sample::residue;

    #[test]
    fn kernels_equal_the_definition() {
        for (q, len) in [(1_099_511_590_913, 5), (1_125_899_906_826_241, 7)] {
            let modulus = Modulus::new(q).unwrap();
            let shapes = [(8, 1), (16, 2), (24, 31), (256, 40), (8, 4096), (16, 4099)];
            let shapes = shapes.into_iter().take(if cfg!(miri) { 2 } else { 6 });
            for (points, rows) in shapes {
                for extreme in [false, true].into_iter().skip(usize::from(cfg!(miri))) {
                    // Numbers of blocks and queries that reach every shape of the kernels.
                    let blocks = 9;
                    let values = points * rows;
                    let mut p = vec![q - 1; blocks * values];
                    let mut x = vec![q - 1; 9 * values];
                    if !extreme {
                        residue::fill_vartime(&[1; 32], 0, modulus, &mut p);
                        residue::fill_vartime(&[2; 32], 0, modulus, &mut x);
                    }
                    let mut bytes = vec![0; len * p.len() + SLACK];
                    for (bytes, value) in bytes.chunks_exact_mut(len).zip(&p) {
                        bytes.copy_from_slice(&value.to_le_bytes()[..len]);
                    }
                    for groups in [&[1][..], &[2], &[3], &[4], &[4, 4, 1]] {
                        let mut rest = &x[..];
                        let group = |&queries: &usize| {
                            let mut group = Group::new(queries, values);
                            let (x, later) = rest.split_at(queries * values);
                            group.x.copy_from_slice(x);
                            rest = later;
                            group
                        };
                        let groups: Vec<Group> = groups.iter().map(group).collect();
                        let pass = Pass::new(modulus, len, (rows, points), &bytes, &groups);
                        let expected = defined(&pass, &p);
                        for backend in Backend::available() {
                            let mut found = vec![0; expected.len()];
                            pass.run_by(Kernels::of(backend), &mut found);
                            let queries = pass.queries();
                            assert!(
                                found == expected,
                                "{q} {points} {rows} {queries} {backend:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// Computes the sums from the definition, one product at a time. `p` has the blocks' values.
    fn defined(pass: &Pass, p: &[u64]) -> Vec<u64> {
        let (rows, modulus) = (pass.rows, pass.modulus);
        let mut sums = Vec::new();
        for p in p.chunks_exact(pass.points * rows) {
            for (k, group) in pass
                .groups
                .iter()
                .flat_map(|g| (0..g.queries).map(move |k| (k, g)))
            {
                for (tile, c) in (0..pass.points).map(|i| (i / TILE, i % TILE)) {
                    let product = |row| {
                        let at = tile * rows + row;
                        let x = group.x[(at * group.queries + k) * TILE + c];
                        modulus.mul(p[at * TILE + c], x)
                    };
                    sums.push((0..rows).fold(0, |sum, row| modulus.add(sum, product(row))));
                }
            }
        }
        sums
    }
}
