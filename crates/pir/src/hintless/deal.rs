//! Deals units into slots: every unit has one place in each of several groups of slots.
//!
//! A **run** is a list of consecutive units, one for each slot of a group. Run `r` has place `r` of every slot of the
//! group, in an order of its own. To order a run, the public seed gives its units `g` numbers. Unit `j` of the run has
//! the slot that is the rank of its number among them. So neighbours never share a slot, and units of different runs
//! share one only by chance. Consecutive places hold consecutive units, in every group.
//!
//! A client assigns to each wanted unit a slot of its own. It asks every slot for one place, or for no place.

#![expect(
    clippy::cast_possible_truncation,
    reason = "places and units are below 2^32"
)]

use sordino_lattice::sample::stream::Stream;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::place::{Assignment, MOST_SLOTS, mask, select, slot};
use crate::Seed;

/// The largest number of units of one request.
pub(crate) const MOST_BATCH: usize = 64;

/// The largest number of units of a request for which groups of 1, 2, 3, ... slots find a place, for all but one
/// request of `2^40`. The rows are for five, six, seven and eight groups. The module's documentation derives them.
pub(crate) const LARGEST: [&[usize]; 4] = [
    &[5, 5, 5, 10, 15, 20, 24, 29, 34, 38, 43, 47, 52, 57, 61, 64],
    &[6, 6, 12, 17, 23, 29, 34, 40, 46, 51, 57, 63, 64],
    &[7, 9, 16, 23, 29, 36, 43, 50, 57, 63, 64],
    &[8, 13, 20, 28, 36, 43, 51, 59, 64],
];

/// The largest number of groups of slots, and so of places of a unit.
const MOST_GROUPS: usize = 8;

/// The smallest number of groups of slots, unless there are fewer units than that.
const LEAST_GROUPS: usize = 5;

/// The number of the stream of a database's seed from which the orders are drawn. Units use the other streams.
const STREAM: u64 = u64::MAX;

/// The places of units. Finding one takes the same time for all of them.
#[derive(Debug)]
pub struct Deal {
    group: Divisor,
    columns: Divisor,
    /// Keys of the orders, two for each group.
    keys: Vec<[u64; 2]>,
}

/// A place: a slot, and a row and a column in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Zeroize)]
pub struct Place {
    /// The number of the slot.
    pub slot: usize,
    /// The row in the slot.
    pub row: usize,
    /// The column in the slot.
    pub column: usize,
}

/// Slots for the wanted units, and a place for each slot to ask for. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Assigned {
    /// For each wanted unit, 1 plus the number of the slot that asks for it, or 0 if no slot does.
    slots: Vec<usize>,
    /// The place that each slot asks for.
    places: Vec<Place>,
}

impl std::fmt::Debug for Assigned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assigned").finish_non_exhaustive()
    }
}

impl Assigned {
    /// For each wanted unit, 1 plus the number of the slot that asks for it, or 0 if none does.
    #[must_use]
    pub fn slots(&self) -> &[usize] {
        &self.slots
    }

    /// For each slot the place that it asks for. A slot that asks for nothing has a column number behind the last
    /// column.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Picks the wanted units from the answers of all slots, which have one length. The value is `None` for a unit
    /// without a slot.
    ///
    /// # Security
    /// Every answer is read for every unit, so that memory accesses do not depend on the units.
    #[must_use]
    pub fn pick(&self, answers: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
        let len = answers.first().map_or(0, Vec::len);
        let mut without = 0;
        let pick = |slot: &usize| {
            without |= mask(*slot, 0);
            let mut own = vec![0; len];
            for (number, answer) in answers.iter().enumerate() {
                let [here, ..] = mask(number + 1, *slot).to_le_bytes();
                for (own, byte) in own.iter_mut().zip(answer) {
                    *own |= byte & here;
                }
            }
            own
        };
        let picked = self.slots.iter().map(pick).collect();
        (without == 0).then_some(picked)
    }
}

impl Deal {
    /// The number of slots that each of `groups` groups needs, so that each of `batch` units finds a slot. One request
    /// of `2^40` may fail. `None` if the module does not derive such a number: for fewer than five or more than eight
    /// groups, or for more than 64 units.
    #[must_use]
    pub fn group(groups: usize, batch: usize) -> Option<usize> {
        let largest = LARGEST.get(groups.checked_sub(LEAST_GROUPS)?)?;
        let possible = (1..=MOST_BATCH).contains(&batch);
        possible.then(|| 1 + largest.partition_point(|most| *most < batch))
    }

    /// The deal of `seed` for `groups` groups of `group` slots, with `columns` columns each.
    ///
    /// # Panics
    /// Panics if there are no groups, slots or columns, or more than eight groups or 128 slots.
    #[must_use]
    pub fn new(groups: usize, group: usize, columns: usize, seed: &Seed) -> Self {
        let slots = groups * group;
        assert!(
            groups <= MOST_GROUPS && (1..=MOST_SLOTS).contains(&slots) && columns > 0,
            "groups, slots and columns"
        );
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

    /// The number of groups of slots, which is also the number of places of a unit.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.keys.len()
    }

    /// The number of slots of all groups together.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.keys.len() * self.group.by as usize
    }

    /// Assigns to each wanted unit a slot of its own, as long as slots are left. If several requests name the same
    /// unit, the first gets the slot, and all share its answer.
    ///
    /// # Security
    /// Time and memory accesses depend on how many units are wanted, and not on which.
    #[must_use]
    pub fn assign(&self, units: &[usize]) -> Assigned {
        let slots = self.slots();
        let mut all = Zeroizing::new(Vec::with_capacity(units.len()));
        let mut sets = Zeroizing::new(Vec::with_capacity(units.len()));
        for (i, &unit) in units.iter().enumerate() {
            let before = units[..i].iter();
            let repeated = before.fold(0, |repeated, other| repeated | mask(*other, unit));
            let mut of = [Place::default(); MOST_GROUPS];
            for (h, place) in of.iter_mut().take(self.groups()).enumerate() {
                *place = self.place(h, unit);
            }
            let of_unit = of.iter().take(self.groups());
            let set = of_unit.fold(0, |set, place| set | slot(place.slot, slots));
            sets.push(set & !u128::from(repeated as u64 & 1).wrapping_neg());
            all.push(of);
        }
        let nothing = |slot| Place {
            slot,
            row: 0,
            column: self.columns.by as usize,
        };
        let mut assigned = Assigned {
            slots: vec![0; units.len()],
            places: (0..slots).map(nothing).collect(),
        };
        let assignment = Assignment::new(&sets);
        for (i, of) in all.iter().enumerate() {
            let slot = assignment.slot_of(i);
            for (own, other) in assigned.slots.iter_mut().zip(units) {
                *own |= slot & mask(*other, units[i]);
            }
            for place in of.iter().take(self.groups()) {
                for target in &mut assigned.places {
                    let here = mask(target.slot + 1, slot) & mask(target.slot, place.slot);
                    target.column = select(here, place.column, target.column);
                    target.row = select(here, place.row, target.row);
                }
            }
        }
        assigned
    }

    /// The place of `unit` in group `h`.
    ///
    /// # Panics
    /// Panics if there is no such group.
    #[must_use]
    pub fn place(&self, h: usize, unit: usize) -> Place {
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

    /// Number `j` of a run in group `h`. Its low bits are `j`, so that no two numbers are equal.
    fn number(&self, h: usize, run: u64, j: u64) -> u64 {
        let [first, second] = self.keys[h];
        mixed(mixed((run << 8 | j) ^ first) ^ second) & !0xff | j
    }
}

/// A public divisor for secret numbers.
#[derive(Debug)]
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

    /// Quotient and remainder of a number below `2^32`. The result is exact: the reciprocal is too large by less than
    /// 1, and so the quotient by less than `2^32 / 2^64`.
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
    use crate::hintless::params::Params;

    #[test]
    fn wanted_units_have_slots_of_their_own_and_equal_ones_share() {
        let deal = Deal::new(5, 4, 30, &Seed([9; 32]));
        for units in [
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9][..],
            &[7; 10],
            &[3, 99, 3, 50, 99],
            &[],
        ] {
            let assigned = deal.assign(units);
            assert_eq!(assigned.places().len(), 20);
            let mut asked = 0;
            for (at, place) in assigned.places().iter().enumerate() {
                assert_eq!(place.slot, at);
                asked += usize::from(place.column < 30);
            }
            for (unit, slot) in units.iter().zip(assigned.slots()) {
                let place = assigned.places()[slot - 1];
                assert!((0..5).any(|h| deal.place(h, *unit) == place), "{unit}");
            }
            let answers: Vec<Vec<u8>> = (0..20).map(|at| vec![at, 7 * at]).collect();
            let expected = assigned
                .slots()
                .iter()
                .map(|slot| answers[slot - 1].clone());
            assert_eq!(
                assigned.pick(&answers).unwrap(),
                expected.collect::<Vec<_>>()
            );
            let mut different = units.to_vec();
            different.sort_unstable();
            different.dedup();
            assert_eq!(asked, different.len());
        }
    }

    #[test]
    fn what_found_no_slot_is_not_picked() {
        let deal = Deal::new(5, 1, 30, &Seed([9; 32]));
        let answers = vec![vec![1, 2]; 5];
        assert_eq!(
            deal.assign(&[1, 2, 3, 4, 5]).pick(&answers),
            Some(answers.clone())
        );
        assert_eq!(deal.assign(&[1, 2, 3, 4, 5, 6]).pick(&answers), None);
    }

    #[test]
    fn groups_have_the_slots_that_were_derived() {
        assert_eq!(Deal::group(5, 32), Some(9));
        assert_eq!(Deal::group(8, 64), Some(9));
        assert_eq!([Deal::group(5, 5), Deal::group(5, 6)], [Some(1), Some(4)]);
        for none in [(4, 10), (9, 10), (0, 10), (5, 0), (5, 65)] {
            assert_eq!(Deal::group(none.0, none.1), None);
        }
    }

    #[test]
    fn every_unit_has_one_place_in_each_group() {
        for (records, batch) in [(1, 2), (5, 2), (100, 3), (1000, 24), (997, 64), (3000, 1)] {
            let params = Params::new(records, 1500, batch).unwrap();
            let deal = params.deal(&Seed([3; 32]));
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
        let deal = Deal::new(groups, group, 1, &Seed([4; 32]));
        let slot = |h: usize, unit: usize| deal.place(h, unit).slot;
        for h in 0..groups {
            for run in 0..runs {
                let of_run = run * group..(run + 1) * group;
                let mut slots: Vec<_> = of_run.map(|unit| slot(h, unit)).collect();
                slots.sort_unstable();
                slots.dedup();
                assert_eq!(slots.len(), group);
            }
            // One in 11 of 2,700 pairs should meet in a group, which is 245. One in 121 should meet in two groups,
            // which is 22.
            let meet = |h: usize, run: usize| slot(h, run * group) == slot(h, (run + 10) * group);
            // Where the first units of two runs meet, the second units meet only by chance: one in 10, times 24.
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
