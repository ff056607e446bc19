//! A permutation of a million rows or more, by cycle walking with FF1 on numbers of the necessary bits.
//!
//! A number is encrypted repeatedly until the result is the number of a row. The number of steps depends on the row. So
//! [`Walk::positions`] takes the same number of steps for every row, and keeps the first result that is a row.

use std::ops::RangeInclusive;

use sordino_fpe::{AesKey, Ff1, Ff1Range};
use sordino_vectors::u32_of;
use zeroize::Zeroizing;

use crate::select::mask;

/// At most one in `2^SURE` walks is longer than the steps that are taken together.
const SURE: f64 = 46.0;

/// FF1 over the rows `0..n`.
pub struct Walk {
    /// The whole walk.
    rows: Ff1Range,
    /// One step of the walk, over all numbers with the bit length of the last row.
    step: Ff1Range,
    n: u32,
}

impl Walk {
    /// The permutation that this key gives `n` rows.
    ///
    /// # Panics
    /// Panics if there are fewer than a million.
    #[must_use]
    pub fn new(key: &[u8; 32], n: u32) -> Self {
        let of = |range: RangeInclusive<u128>| {
            let ff1 = Ff1::new(&AesKey::new_256(key), 2).and_then(|ff1| ff1.range(range));
            ff1.expect("a 256-bit key and a domain of a million")
        };
        let last = u128::from(n - 1);
        Self {
            rows: of(0..=last),
            step: of(0..=u128::from(all(n) - 1)),
            n,
        }
    }

    /// The row at a position.
    ///
    /// # Panics
    /// Panics if there is no such position.
    #[must_use]
    pub fn back(&self, position: u32) -> u32 {
        let row = self.rows.decrypt_u64(&[], position.into()).ok();
        let row = row.and_then(|row| row.try_into().ok());
        u32_of(row.expect("a position"))
    }

    /// The positions of rows, in the same number of steps for all rows. A row whose walk is longer takes further steps
    /// by itself.
    ///
    /// # Panics
    /// Panics if a number is not the row of a record.
    #[must_use]
    pub fn positions(&self, rows: &[u32]) -> Vec<u32> {
        assert!(rows.iter().all(|&row| row < self.n), "rows of records");
        let mut walked: Zeroizing<Vec<u64>> =
            Zeroizing::new(rows.iter().map(|&row| row.into()).collect());
        let mut found = vec![(0, u32::MAX); rows.len()];
        for _ in 0..steps(self.n) {
            let step = self.step.encrypt_batch(&[], &mut walked);
            step.expect("numbers of this bit length");
            for ((position, open), &number) in found.iter_mut().zip(walked.iter()) {
                let here = mask(number < u64::from(self.n)) & *open;
                *position |= u32::try_from(number).unwrap_or(u32::MAX) & here;
                *open &= !here;
            }
        }
        let walk = |(&row, &(position, open)): (&u32, &(u32, u32))| match open {
            0 => position,
            _ => {
                let position = self.rows.encrypt_u64(&[], row.into()).ok();
                u32_of(position.and_then(|it| it.try_into().ok()).expect("a row"))
            }
        };
        rows.iter().zip(&found).map(walk).collect()
    }
}

/// The number of all numbers that have at most the bit length of `n - 1`.
fn all(n: u32) -> u64 {
    u64::from(n).next_power_of_two()
}

/// The number of steps after which a walk has ended, except for one walk in `2^SURE`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most 46 steps, for at most half of all numbers are no rows"
)]
fn steps(n: u32) -> usize {
    let outside = 1.0 - f64::from(n) / all(n) as f64;
    match outside > 0.0 {
        true => (SURE / -outside.log2()).ceil() as usize,
        false => 1,
    }
}

impl std::fmt::Debug for Walk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_that_lead_back() {
        for n in [1_000_000, 1 << 20, (1 << 20) + 1, 1_500_000, u32::MAX] {
            let walk = Walk::new(&[3; 32], n);
            let rows: Vec<u32> = (0..64).map(|i| i * (n / 64)).chain([n - 1]).collect();
            let positions = walk.positions(&rows);
            let back: Vec<u32> = positions.iter().map(|&it| walk.back(it)).collect();
            assert_eq!(back, rows, "{n}");
        }
    }

    #[test]
    fn a_walk_that_is_longer_goes_on_alone() {
        // Half of all numbers are rows. So of 4,096 walks about a thousand have not ended after two steps, and each step
        // halves their number. One walk in 2^46 takes more than 46 steps.
        let n = (1 << 20) + 1;
        assert_eq!((steps(n), steps(1 << 20), steps(u32::MAX)), (46, 1, 2));
        let walk = Walk::new(&[5; 32], n);
        let mut numbers: Vec<u64> = (0..4096).collect();
        let mut open = Vec::new();
        for _ in 0..8 {
            walk.step.encrypt_batch(&[], &mut numbers).unwrap();
            numbers.retain(|&number| number >= u64::from(n));
            open.push(numbers.len());
        }
        for (step, &left) in (1..).zip(&open) {
            let expected = 4096.0 / f64::from(1 << step);
            let six = 6.0 * expected.sqrt();
            assert!((left as f64 - expected).abs() < six, "{open:?}");
        }
    }
}
