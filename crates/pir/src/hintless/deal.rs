//! Units are dealt into slots: in each of several groups of slots every unit has one place.
//!
//! A **run** is as many units that follow each other as a group has slots. Run `r` has place `r` of every slot of the
//! group, in an order of its own: unit `j` of a run has the slot that is the rank of its number among the `g` numbers that
//! the public seed gives to the run and the group. So neighbours never share a slot, units of different runs do so by
//! chance alone, and places that follow each other hold units that do, whatever the group.

#![expect(
    clippy::cast_possible_truncation,
    reason = "places and units are below 2^32"
)]

use sordino_lattice::sample::stream::Stream;
use zeroize::Zeroize;

use super::params::Params;
use crate::Seed;

/// Groups of slots at most, and places of a unit.
pub(crate) const MOST_GROUPS: usize = 8;

/// The number of the stream of a database's seed that the orders are drawn from; units have the others.
const STREAM: u64 = u64::MAX;

/// The places of units. Finding one takes the same time for all of them.
pub(crate) struct Deal {
    group: Divisor,
    columns: Divisor,
    /// Keys of the orders, two for each group.
    keys: Vec<[u64; 2]>,
}

/// A slot, and a row and a column of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Zeroize)]
pub(crate) struct Place {
    pub(crate) slot: usize,
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl Deal {
    pub(crate) fn new(params: &Params, seed: &Seed) -> Self {
        Self::of(params.groups, params.group, params.columns(), seed)
    }

    /// For so many groups of so many slots, with so many columns each.
    pub(crate) fn of(groups: usize, group: usize, columns: usize, seed: &Seed) -> Self {
        let mut stream = Stream::new(&seed.0, STREAM);
        let (words, _) = stream.chunk(8 * 2 * MOST_GROUPS).as_chunks::<8>();
        let word = |i: usize| u64::from_le_bytes(words[i]);
        Self {
            group: Divisor::new(group),
            columns: Divisor::new(columns),
            keys: (0..groups)
                .map(|h| [word(2 * h), word(2 * h + 1)])
                .collect(),
        }
    }

    /// The groups that there are.
    pub(crate) fn groups(&self) -> usize {
        self.keys.len()
    }

    /// The place of `unit` in group `h`.
    pub(crate) fn place(&self, h: usize, unit: usize) -> Place {
        let (run, within) = self.group.divide(unit as u64);
        let number = |j: u64| self.number(h, run, j);
        let own = number(within);
        let rank: u64 = (0..self.group.by).map(|j| below(number(j), own)).sum();
        let (row, column) = self.columns.divide(run);
        Place {
            slot: h * self.group.by as usize + rank as usize,
            row: row as usize,
            column: column as usize,
        }
    }

    /// Number `j` of a run in group `h`. It ends with `j`, so that no two are equal.
    fn number(&self, h: usize, run: u64, j: u64) -> u64 {
        let [first, second] = self.keys[h];
        mixed(mixed((run << 8 | j) ^ first) ^ second) & !0xff | j
    }
}

/// A public number that secret ones are divided by.
struct Divisor {
    by: u64,
    /// `ceil(2^64 / by)`.
    reciprocal: u128,
}

impl Divisor {
    fn new(by: usize) -> Self {
        Self {
            by: by as u64,
            reciprocal: (1u128 << 64).div_ceil(by as u128),
        }
    }

    /// Quotient and rest of a number below `2^32`. Exact: the reciprocal is too large by less than 1, and the
    /// quotient by less than `2^32 / 2^64`.
    fn divide(&self, x: u64) -> (u64, u64) {
        let quotient = ((u128::from(x) * self.reciprocal) >> 64) as u64;
        (quotient, x - quotient * self.by)
    }
}

/// 1 if `a < b`, else 0, without a branch.
const fn below(a: u64, b: u64) -> u64 {
    // The borrow of the difference (Warren, Hacker's Delight, 2-13).
    ((!a & b) | ((!a | b) & a.wrapping_sub(b))) >> 63
}

/// The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
const fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_has_one_place_in_each_group() {
        for (records, batch) in [(1, 2), (5, 2), (100, 3), (1000, 24), (997, 64), (3000, 1)] {
            let params = Params::new(records, 1500, batch).unwrap();
            let deal = Deal::new(&params, &Seed([3; 32]));
            let held = params.rows() * params.columns();
            for h in 0..deal.groups() {
                let mut taken = vec![false; params.slots() * held];
                for unit in 0..params.units() {
                    let place = deal.place(h, unit);
                    assert!(place.column < params.columns() && place.row < params.rows());
                    assert_eq!(place.slot / params.group, h);
                    let at = place.row * params.columns() + place.column;
                    assert!(at < params.places());
                    let taken = &mut taken[place.slot * held + at];
                    assert!(!std::mem::replace(taken, true), "{records} {batch} {unit}");
                }
            }
        }
    }

    #[test]
    fn units_share_slots_as_often_as_chance_makes_them_and_neighbours_never() {
        let (groups, group, runs) = (5, 11, 2700);
        let deal = Deal::of(groups, group, 1, &Seed([4; 32]));
        let slot = |h: usize, unit: usize| deal.place(h, unit).slot;
        for h in 0..groups {
            for run in 0..runs {
                let of_run = run * group..(run + 1) * group;
                let mut slots: Vec<_> = of_run.map(|unit| slot(h, unit)).collect();
                slots.sort_unstable();
                slots.dedup();
                assert_eq!(slots.len(), group);
            }
            // One in 11 of 2,700 pairs should meet, 245, and one in 121 in two groups, 22.
            let meet = |h: usize, run: usize| slot(h, run * group) == slot(h, (run + 10) * group);
            // Where the first units of two runs meet, the second ones do as chance has it: one in 10 times 24.
            let both = |run: &usize| {
                meet(h, *run) && slot(h, run * group + 1) == slot(h, (run + 10) * group + 1)
            };
            assert!((8..50).contains(&(0..runs).filter(both).count()));
            let once = (0..runs).filter(|run| meet(h, *run)).count();
            let next = (h + 1) % groups;
            let twice = (0..runs).filter(|run| meet(h, *run) && meet(next, *run));
            let twice = twice.count();
            assert!((180..310).contains(&once), "{h}: {once} of {runs}");
            assert!((5..45).contains(&twice), "{h}: {twice} of {runs}");
        }
    }
}
