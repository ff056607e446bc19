//! Units are dealt into slots: in each of three groups of slots every unit has one place.
//!
//! A **run** is as many units that follow each other as a group has slots. Run `r` has place `r` of every slot of the
//! group, turned by a random number of slots: so neighbours never share a slot, units of different runs do so by chance
//! alone, and places that follow each other hold units that do, whatever the group.

#![expect(
    clippy::cast_possible_truncation,
    reason = "places and units are below 2^32"
)]

use sordino_lattice::sample::stream::Stream;
use zeroize::Zeroize;

use super::params::Params;
use crate::Seed;

/// Groups of slots, and places of a unit.
pub(crate) const GROUPS: usize = 3;

/// The number of the stream of a database's seed that the turns are drawn from; units have the others.
const STREAM: u64 = u64::MAX;

/// The places of units. Finding one takes the same time for all of them.
pub(crate) struct Deal {
    group: Divisor,
    columns: Divisor,
    /// Keys of the turns, two for each group.
    keys: [[u64; 2]; GROUPS],
    single: bool,
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
        let mut stream = Stream::new(&seed.0, STREAM);
        let (words, _) = stream.chunk(8 * 2 * GROUPS).as_chunks::<8>();
        let word = |i: usize| u64::from_le_bytes(words[i]);
        Self {
            group: Divisor::new(params.group()),
            columns: Divisor::new(params.columns()),
            keys: std::array::from_fn(|h| [word(2 * h), word(2 * h + 1)]),
            single: params.batch() == 1,
        }
    }

    /// The groups that there are.
    pub(crate) const fn groups(&self) -> usize {
        if self.single { 1 } else { GROUPS }
    }

    /// The place of `unit` in group `h`.
    pub(crate) fn place(&self, h: usize, unit: usize) -> Place {
        let (run, within) = self.group.divide(unit as u64);
        let [first, second] = self.keys[h];
        let slot = add(within, mixed(mixed(run ^ first) ^ second), self.group.by);
        let (row, column) = self.columns.divide(run);
        Place {
            slot: h * self.group.by as usize + slot as usize,
            row: row as usize,
            column: column as usize,
        }
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

/// `x + (random multiple) mod m`, for `x < m`.
fn add(x: u64, random: u64, m: u64) -> u64 {
    let sum = x + ((u128::from(random) * u128::from(m)) >> 64) as u64;
    let reduced = sum.wrapping_sub(m);
    // All ones if the sum was below m.
    let below = (reduced.cast_signed() >> 63).cast_unsigned();
    reduced.wrapping_add(m & below)
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
                    assert_eq!(place.slot / params.group(), h);
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
        let params = Params::new(30_000, 1700, 24).unwrap();
        let deal = Deal::new(&params, &Seed([4; 32]));
        let group = params.group();
        let slot = |h: usize, unit: usize| deal.place(h, unit).slot;
        let runs = params.units() / group - 10;
        for h in 0..GROUPS {
            for run in 0..runs {
                let of_run = run * group..(run + 1) * group;
                let mut slots: Vec<_> = of_run.map(|unit| slot(h, unit)).collect();
                slots.sort_unstable();
                slots.dedup();
                assert_eq!(slots.len(), group);
            }
            // One in 11 of 2,700 pairs should meet, 245, and one in 121 in two groups, 22.
            let meet = |h: usize, run: usize| slot(h, run * group) == slot(h, (run + 10) * group);
            let once = (0..runs).filter(|run| meet(h, *run)).count();
            let next = (h + 1) % GROUPS;
            let twice = (0..runs).filter(|run| meet(h, *run) && meet(next, *run));
            let twice = twice.count();
            assert!((2600..2800).contains(&runs) && group == 11);
            assert!((180..310).contains(&once), "{h}: {once} of {runs}");
            assert!((5..45).contains(&twice), "{h}: {twice} of {runs}");
        }
    }
}
