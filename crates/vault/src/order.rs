//! The order in which masked mode stores rows: a permutation that readers know and the server does not. So the order of
//! insertion, which often reveals something, stays hidden from the server.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::{Zeroize, Zeroizing};

use crate::select::mask;
use crate::walk::Walk;

/// FF1 is only for domains of at least a million (SP 800-38G, revision 1).
const FF1_ROWS: u32 = 1_000_000;

/// A keyed permutation of the rows of an index.
pub enum RowOrder {
    /// The row at each position, shuffled by ChaCha20.
    Shuffled(Zeroizing<Vec<u32>>),
    /// FF1 decrypts a position to its row, so that clients need no table of millions of rows.
    Ff1(Box<Walk>),
}

impl RowOrder {
    /// The order that this key gives `n` rows.
    #[must_use]
    pub fn new(key: &[u8; 32], n: u32) -> Self {
        if n >= FF1_ROWS {
            return Self::Ff1(Box::new(Walk::new(key, n)));
        }
        let mut rng = ChaCha20Rng::from_seed(*key);
        let mut rows = Zeroizing::new((0..n).collect::<Vec<u32>>());
        for last in (1..rows.len()).rev() {
            rows.swap(last, below(&mut rng, last + 1));
        }
        Self::Shuffled(rows)
    }

    /// The owner's row that is stored at `position`.
    ///
    /// # Panics
    /// Panics if there is no such position.
    #[must_use]
    pub fn row(&self, position: u32) -> u32 {
        match self {
            Self::Shuffled(rows) => rows[position as usize],
            Self::Ff1(walk) => walk.back(position),
        }
    }
}

impl RowOrder {
    /// The position of each row, for callers that ask no server meanwhile: memory accesses to this table show which rows are
    /// looked up. `None` for millions of rows, whose positions are computed one by one.
    #[must_use]
    pub fn table(&self) -> Option<Zeroizing<Vec<u32>>> {
        let Self::Shuffled(order) = self else {
            return None;
        };
        let mut table = Zeroizing::new(vec![0; order.len()]);
        for (position, &row) in (0..).zip(order.iter()) {
            table[row as usize] = position;
        }
        Some(table)
    }

    /// The positions of these rows. No memory access depends on the rows. Time does not depend on them either, except in one of
    /// `2^40` calls of 64 rows.
    ///
    /// # Panics
    /// Panics if a number is not the row of a record.
    #[must_use]
    pub fn positions(&self, rows: &[u32]) -> Vec<u32> {
        match self {
            Self::Shuffled(order) => {
                let mut positions = vec![0; rows.len()];
                for (position, row) in (0..).zip(order.iter()) {
                    for (found, wanted) in positions.iter_mut().zip(rows) {
                        *found |= mask(row == wanted) & position;
                    }
                }
                positions
            }
            Self::Ff1(walk) => walk.positions(rows),
        }
    }
}

/// A number below `bound` from 128 random bits, without rejection and without division. It is at most `bound / 2^128` from
/// uniform.
fn below(rng: &mut ChaCha20Rng, bound: usize) -> usize {
    let bound = bound as u128;
    let [mut high, mut low] = [(); 2].map(|()| rng.next_u64());
    let carried = (u128::from(low) * bound) >> 64;
    let index = (u128::from(high) * bound + carried) >> 64;
    high.zeroize();
    low.zeroize();
    usize::try_from(index).expect("below a usize")
}

impl std::fmt::Debug for RowOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowOrder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_position_and_the_key_says_which() {
        for n in [1u32, 2, 3, 1000, FF1_ROWS] {
            let order = RowOrder::new(&[1; 32], n);
            assert_eq!(matches!(order, RowOrder::Ff1(_)), n == FF1_ROWS);
            // Tests all positions of a small order, and some of a large one.
            let step = (n / 1000).max(1) as usize;
            let mut rows: Vec<u32> = (0..n).step_by(step).map(|at| order.row(at)).collect();
            let all: Vec<u32> = (0..n).step_by(step).collect();
            assert_eq!(order.positions(&rows), all);
            if let Some(table) = order.table() {
                let found: Vec<u32> = rows.iter().map(|&row| table[row as usize]).collect();
                assert_eq!(found, all);
            }
            let other = RowOrder::new(&[2; 32], n);
            let same = (0..n)
                .step_by(step)
                .zip(&rows)
                .filter(|&(at, &row)| other.row(at) == row);
            assert!(n < 1000 || same.count() < 10);
            let fixed = (0..n)
                .step_by(step)
                .zip(&rows)
                .filter(|&(at, &row)| at == row);
            assert!(n < 1000 || fixed.count() < 10);
            rows.sort_unstable();
            rows.dedup();
            assert!(rows.iter().all(|&row| row < n));
            assert_eq!(rows.len(), (n as usize).div_ceil(step));
        }
    }

    #[test]
    fn a_shuffle_is_uniform() {
        // 12,000 keys give each of the 24 orders of four rows 500 times, within six standard deviations.
        let mut counts = std::collections::HashMap::new();
        for seed in 0..12_000u32 {
            let mut key = [0; 32];
            key[..4].copy_from_slice(&seed.to_le_bytes());
            let order = RowOrder::new(&key, 4);
            *counts
                .entry([0, 1, 2, 3].map(|at| order.row(at)))
                .or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        assert!(
            counts.values().all(|count| count.abs_diff(500) < 132),
            "{counts:?}"
        );
    }
}
