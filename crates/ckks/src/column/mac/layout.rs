//! Both sides of a pass in tiles: the queries' values as words, a block's as bytes.

use sordino_lattice::aligned::Aligned;

use super::TILE;

/// The largest number of queries of a group, limited by the number of registers.
pub(in crate::column) const GROUP: usize = 4;

/// Up to [`GROUP`] queries in tiles.
pub(in crate::column) struct Group {
    /// `Q`.
    pub(super) queries: usize,
    pub(super) x: Aligned<u64>,
}

impl Group {
    /// Memory for `queries` queries of `values` values each.
    pub(in crate::column) fn new(queries: usize, values: usize) -> Self {
        assert!((1..=GROUP).contains(&queries), "{queries} queries");
        Self {
            queries,
            x: Aligned::new(queries * values),
        }
    }

    /// Writes polynomial `l` of query `k`, in NTT form, into its `t` rows.
    pub(in crate::column) fn store(&mut self, poly: &[u64], l: usize, t: usize, k: usize) {
        let tile = self.x.len() / poly.len() * TILE * t;
        let tiles = self.x.chunks_exact_mut(tile);
        for (values, tile) in poly.chunks_exact(TILE * t).zip(tiles) {
            let rows = tile.chunks_exact_mut(TILE * self.queries);
            for (u, row) in rows.skip(l * t).take(t).enumerate() {
                for (c, x) in row[k * TILE..][..TILE].iter_mut().enumerate() {
                    *x = values[c * t + u];
                }
            }
        }
    }

    /// The rows of a tile.
    pub(super) fn tile(&self, i: usize, rows: usize) -> &[u64] {
        let len = rows * self.queries * TILE;
        &self.x[i * len..][..len]
    }
}

/// Writes polynomial `l`, in NTT form, into its `t` rows of `block`, with `len` bytes a value.
pub(in crate::column) fn store(len: usize, poly: &[u64], l: usize, t: usize, block: &mut [u8]) {
    // With a constant length the compiler copies a value by two moves, otherwise by a call.
    match len {
        5 => store_values::<5>(poly, l, t, block),
        7 => store_values::<7>(poly, l, t, block),
        _ => unreachable!("{len} bytes a value"),
    }
}

fn store_values<const LEN: usize>(poly: &[u64], l: usize, t: usize, block: &mut [u8]) {
    let tiles = block.chunks_exact_mut(block.len() / poly.len() * TILE * t);
    for (values, tile) in poly.chunks_exact(TILE * t).zip(tiles) {
        let rows = tile.chunks_exact_mut(TILE * LEN).skip(l * t).take(t);
        for (u, row) in rows.enumerate() {
            for c in 0..TILE {
                let (bytes, to) = (values[c * t + u].to_le_bytes(), &mut row[c * LEN..]);
                // The bytes above a value are zero, and the next value overwrites them, so one move is enough
                // instead of two.
                match to.first_chunk_mut() {
                    Some(word) => *word = bytes,
                    None => to[..LEN].copy_from_slice(&bytes[..LEN]),
                }
            }
        }
    }
}

/// Reads polynomial `l` back from its rows of `block`.
pub(in crate::column) fn take(len: usize, block: &[u8], l: usize, t: usize, poly: &mut [u64]) {
    // With constants the compiler turns each step into one move, which takes a third less time for the sets with t
    // = 4 and 8.
    match (len, t) {
        (5, 4) => take_values::<5>(block, l, 4, poly),
        (5, 8) => take_values::<5>(block, l, 8, poly),
        (5, _) => take_values::<5>(block, l, t, poly),
        (7, 4) => take_values::<7>(block, l, 4, poly),
        (7, 8) => take_values::<7>(block, l, 8, poly),
        (7, _) => take_values::<7>(block, l, t, poly),
        _ => unreachable!("{len} bytes a value"),
    }
}

#[inline(always)]
fn take_values<const LEN: usize>(block: &[u8], l: usize, t: usize, poly: &mut [u64]) {
    let tiles = block.chunks_exact(block.len() / poly.len() * TILE * t);
    for (values, tile) in poly.chunks_exact_mut(TILE * t).zip(tiles) {
        let rows = tile.chunks_exact(TILE * LEN).skip(l * t).take(t);
        for (u, row) in rows.enumerate() {
            for c in 0..TILE {
                // One move reads a word. For the last value of a row it starts earlier, so that it ends with the
                // row.
                let at = (c * LEN).min(TILE * LEN - 8);
                let word = row[at..]
                    .first_chunk()
                    .map_or(0, |word| u64::from_le_bytes(*word));
                values[c * t + u] = word >> (8 * (c * LEN - at)) & (u64::MAX >> (64 - 8 * LEN));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_inverts_storing_and_queries_lie_alike() {
        let (polys, n, queries) = (3, 128, 3);
        for (len, t) in [(5, 4), (5, 8), (7, 4), (7, 8), (7, 1), (5, 16)] {
            let poly = |k: usize, l: usize| -> Vec<u64> {
                (0..n)
                    .map(|i| (i << 24 | k << 16 | l << 8 | 1) as u64)
                    .collect()
            };
            let mut group = Group::new(queries, n * polys);
            let mut blocks = vec![vec![0; len * n * polys]; queries];
            for (k, l) in (0..queries * polys).map(|i| (i / polys, i % polys)) {
                group.store(&poly(k, l), l, t, k);
                store(len, &poly(k, l), l, t, &mut blocks[k]);
            }
            for (k, l) in (0..queries * polys).map(|i| (i / polys, i % polys)) {
                let mut found = vec![0; n];
                take(len, &blocks[k], l, t, &mut found);
                assert_eq!(found, poly(k, l));
            }
            let rows = group.x.chunks_exact(queries * TILE).enumerate();
            for (row, k, x) in rows.flat_map(|(row, x)| {
                x.chunks_exact(TILE)
                    .enumerate()
                    .map(move |(k, x)| (row, k, x))
            }) {
                let stored = blocks[k][row * TILE * len..].chunks_exact(len);
                assert!(
                    x.iter()
                        .zip(stored)
                        .all(|(x, bytes)| x.to_le_bytes()[..len] == *bytes)
                );
            }
        }
    }
}
