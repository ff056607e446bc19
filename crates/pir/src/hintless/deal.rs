//! Units are dealt into slots: in each of three groups of slots every unit has one place.

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

/// Rounds of the permutations.
const ROUNDS: usize = 6;

/// The number of the stream of a database's seed that the permutations are drawn from; units have the others.
const STREAM: u64 = u64::MAX;

/// The places of units. Finding one takes the same time for all of them.
pub(crate) struct Deal {
    /// `B / 3`, or 1.
    group: u64,
    /// `C`.
    columns: u64,
    /// `ceil(2^64 / C)`.
    per_column: u128,
    keys: [[u64; ROUNDS]; GROUPS],
    single: bool,
}

/// A slot, and a column of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Zeroize)]
pub(crate) struct Place {
    pub(crate) slot: usize,
    pub(crate) column: usize,
}

impl Deal {
    pub(crate) fn new(params: &Params, seed: &Seed) -> Self {
        let columns = params.columns() as u64;
        let mut stream = Stream::new(&seed.0, STREAM);
        let (words, _) = stream.chunk(8 * ROUNDS * GROUPS).as_chunks::<8>();
        let word = |i: usize| u64::from_le_bytes(words[i]);
        Self {
            group: params.group() as u64,
            columns,
            per_column: (1u128 << 64).div_ceil(u128::from(columns)),
            keys: std::array::from_fn(|h| std::array::from_fn(|r| word(h * ROUNDS + r))),
            single: params.batch() == 1,
        }
    }

    /// The groups that there are.
    pub(crate) const fn groups(&self) -> usize {
        if self.single { 1 } else { GROUPS }
    }

    /// The place of `unit` in group `h`.
    pub(crate) fn place(&self, h: usize, unit: usize) -> Place {
        let unit = unit as u64;
        if self.single {
            return Place {
                slot: 0,
                column: unit as usize,
            };
        }
        // Exact: the reciprocal is too large by less than 1, and the quotient by less than 2^32 / 2^64.
        let mut slot = ((u128::from(unit) * self.per_column) >> 64) as u64;
        let mut column = unit - slot * self.columns;
        for (r, key) in self.keys[h].iter().enumerate() {
            if r % 2 == 0 {
                slot = add(slot, mixed(column ^ key), self.group);
            } else {
                column = add(column, mixed(slot ^ key), self.columns);
            }
        }
        Place {
            slot: h * self.group as usize + slot as usize,
            column: column as usize,
        }
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
        for (records, batch) in [(1, 2), (5, 2), (100, 3), (1000, 24), (997, 64), (300, 1)] {
            let params = Params::new(records, 1500, batch).unwrap();
            let deal = Deal::new(&params, &Seed([3; 32]));
            for h in 0..deal.groups() {
                let mut taken = vec![false; params.selectors()];
                for unit in 0..params.units() {
                    let Place { slot, column } = deal.place(h, unit);
                    assert!(column < params.columns());
                    assert_eq!(slot / params.group(), if batch == 1 { 0 } else { h });
                    let taken = &mut taken[slot * params.columns() + column];
                    assert!(!std::mem::replace(taken, true), "{records} {batch} {unit}");
                }
            }
        }
    }

    #[test]
    fn places_of_neighbours_look_independent() {
        let params = Params::new(3000, 1700, 24).unwrap();
        let deal = Deal::new(&params, &Seed([4; 32]));
        // Neighbours that meet in a group should be as many as chance makes of 3000 by 11 slots, 273.
        for h in 0..GROUPS {
            let meet = |unit: &usize| deal.place(h, *unit).slot == deal.place(h, *unit + 1).slot;
            let found = (0..2999).filter(meet).count();
            assert!((200..350).contains(&found), "{h}: {found}");
        }
    }
}
