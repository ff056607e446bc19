//! Decides which slot asks for which wanted unit: a largest matching, in constant time.
//!
//! The units find their slots one after the other, by augmenting paths. A breadth-first search finds the slots that a
//! unit can reach: its own, then the slots of the units that hold these, and so on. The path ends at a free slot
//! among the first that are reached, and every unit on the path moves up to the next slot. Every search has a layer
//! for each unit and looks at all units in each layer, even after it has found a path. Sets of slots are words with
//! one bit for each slot.

use sordino_lattice::choice::equal;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The largest number of slots of a request, which is the number of bits of a set.
pub(crate) const MOST_SLOTS: usize = 128;

/// All ones if two numbers are equal, else 0.
pub(crate) fn mask(a: usize, b: usize) -> usize {
    (equal(a, b) as usize).wrapping_neg()
}

/// Returns `a` where the mask is all ones, and `b` where it is zero.
pub(crate) const fn select(mask: usize, a: usize, b: usize) -> usize {
    (a & mask) | (b & !mask)
}

/// All ones if the set has a slot, else 0.
const fn any(set: u128) -> u128 {
    ((set | set.wrapping_neg()) >> (MOST_SLOTS - 1)).wrapping_neg()
}

/// The lowest slot of a set, if it has one.
const fn lowest(set: u128) -> u128 {
    set & set.wrapping_neg()
}

/// The set with this slot alone, or the empty set if the number is not below `slots`.
pub(crate) fn slot(number: usize, slots: usize) -> u128 {
    let all = (0..slots).map(|at| (mask(at, number) as u128 & 1) << at);
    all.fold(0, |set, bit| set | bit)
}

/// The slots that were found for the wanted units. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Assignment {
    /// For each wanted unit the slot that asks for it, or the empty set.
    of: Vec<u128>,
    /// For each number of steps, the slots that the current search first reaches with it.
    layers: Vec<u128>,
    /// For each layer the free slot where the path ends; only one layer has one.
    ends: Vec<u128>,
}

impl Assignment {
    /// Assigns to each wanted unit one of its slots; a unit without slots gets none.
    pub(crate) fn new(wanted: &[u128]) -> Self {
        let mut assignment = Self {
            of: vec![0; wanted.len()],
            layers: vec![0; wanted.len()],
            ends: vec![0; wanted.len()],
        };
        for i in 0..wanted.len() {
            assignment.search(wanted, wanted[i]);
            assignment.move_up(wanted, i);
        }
        assignment
    }

    /// Finds the layers, starting from the slots in `first`, and the end of the path.
    fn search(&mut self, wanted: &[u128], first: u128) {
        let free = !self.of.iter().fold(0, |taken, of| taken | of);
        let (mut next, mut reached, mut ended) = (first, 0, 0);
        for (layer, end) in self.layers.iter_mut().zip(&mut self.ends) {
            *layer = next & !reached;
            reached |= next;
            *end = lowest(*layer & free) & !ended;
            ended |= any(*end);
            let held = wanted.iter().zip(&self.of);
            next = held.fold(0, |next, (slots, of)| next | (slots & any(of & *layer)));
        }
    }

    /// Walks the path backwards, from its end to unit `root`.
    fn move_up(&mut self, wanted: &[u128], root: usize) {
        let mut slot = 0;
        for l in (0..wanted.len()).rev() {
            slot |= self.ends[l];
            let mut left = 0;
            // The first unit of the layer before that may have this slot. The loop looks at all units, and takes none
            // after it has found one.
            let mut open = any(slot);
            for (i, slots) in wanted.iter().enumerate() {
                let before = match l {
                    0 => u128::from(i == root).wrapping_neg(),
                    _ => any(self.of[i] & self.layers[l - 1]),
                };
                let this = open & before & any(slots & slot);
                open &= !this;
                left |= self.of[i] & this;
                self.of[i] = (slot & this) | (self.of[i] & !this);
            }
            slot = left;
        }
    }

    /// 1 plus the number of the slot that asks for wanted unit `i`, or 0 if no slot does.
    pub(crate) fn slot_of(&self, i: usize) -> usize {
        (0..MOST_SLOTS).fold(0, |found, slot| {
            let [bit, ..] = (self.of[i] >> slot & 1).to_le_bytes();
            found | (usize::from(bit).wrapping_neg() & (slot + 1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::hintless::deal::{Deal, LARGEST, MOST_BATCH};

    /// The largest number of units that can have slots at once, by augmenting paths found depth first.
    fn largest(wanted: &[u128]) -> usize {
        fn augment(i: usize, wanted: &[u128], seen: &mut u128, of: &mut [Option<usize>]) -> bool {
            (0..MOST_SLOTS).any(|slot| {
                let bit = 1 << slot;
                let new = wanted[i] & bit & !*seen != 0;
                *seen |= wanted[i] & bit;
                new && of[slot].is_none_or(|other| augment(other, wanted, seen, of)) && {
                    of[slot] = Some(i);
                    true
                }
            })
        }
        let mut of = [None; MOST_SLOTS];
        let placed = (0..wanted.len()).filter(|i| augment(*i, wanted, &mut 0, &mut of));
        placed.count()
    }

    /// The number of units that got a slot of their own.
    fn placed(wanted: &[u128]) -> usize {
        let assignment = Assignment::new(wanted);
        let mut taken = 0;
        for (i, slots) in wanted.iter().enumerate() {
            let Some(slot) = assignment.slot_of(i).checked_sub(1) else {
                continue;
            };
            assert!(slots >> slot & 1 == 1 && taken >> slot & 1 == 0);
            taken |= 1u128 << slot;
        }
        usize::try_from(taken.count_ones()).expect("few")
    }

    fn seed(number: u32) -> Seed {
        let mut bytes = [7; 32];
        bytes[..4].copy_from_slice(&number.to_le_bytes());
        Seed(bytes)
    }

    /// The slots of units in a deal of `groups` groups of `group` slots.
    fn dealt(groups: usize, group: usize, seed: &Seed, units: &[usize]) -> Vec<u128> {
        let deal = Deal::new(groups, group, 1, seed);
        let of = |unit: &usize| (0..groups).map(|h| 1 << deal.place(h, *unit).slot).sum();
        units.iter().map(of).collect()
    }

    #[test]
    fn as_many_units_have_slots_as_can() {
        // With so few slots, not all units find one.
        for (groups, group, batch) in [(1, 3, 3), (2, 3, 6), (2, 10, 20), (3, 4, 12), (3, 21, 63)] {
            let mut short = 0;
            for number in 0..200 {
                let units: Vec<_> = (0..batch).map(|i| i * i * 31 + number as usize).collect();
                let wanted = dealt(groups, group, &seed(number), &units);
                let found = placed(&wanted);
                assert_eq!(found, largest(&wanted), "{groups} groups of {group}");
                short += usize::from(found < batch);
            }
            assert!(short > 0, "{groups} groups of {group}: {batch} always fit");
        }
    }

    #[test]
    fn requests_fail_as_often_as_they_are_said_to() {
        // scripts/hintless_failure.py counts all cases of five units in two groups of three slots.
        const FAIL: f64 = 487.0 / 2187.0;
        const TRIALS: u32 = 40_000;
        // Units from three runs; from five runs; at powers of two; and at random.
        for units in [[0, 1, 8, 9, 10], [3, 6, 12, 24, 48], [300, 0, 30, 3000, 3]] {
            let failed = (0..TRIALS).filter(|number| {
                let wanted = dealt(2, 3, &seed(*number), &units);
                placed(&wanted) < units.len()
            });
            let found = failed.count() as f64 / f64::from(TRIALS);
            // Allows five standard deviations. Units of one run never share a slot, so they fail less often.
            let sigma = (FAIL * (1.0 - FAIL) / f64::from(TRIALS)).sqrt();
            assert!(found < FAIL + 5.0 * sigma, "{found} of {units:?}");
            let apart = units != [0, 1, 8, 9, 10];
            assert!(!apart || found > FAIL - 5.0 * sigma, "{found} of {units:?}");
        }
    }

    #[test]
    fn every_request_finds_its_slots() {
        for (groups, largest) in (5..).zip(LARGEST) {
            for (group, &batch) in (1..).zip(largest) {
                let batch = batch.min(MOST_BATCH);
                assert!(groups * group <= MOST_SLOTS);
                for number in 0..20 {
                    // Neighbours, and units a fixed number of runs apart.
                    let step = [1, group, 7 * group + 1][number as usize % 3];
                    let units: Vec<_> = (0..batch).map(|i| 11 + i * step).collect();
                    let wanted = dealt(groups, group, &seed(number), &units);
                    assert_eq!(placed(&wanted), batch, "{groups} groups of {group}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_slots_takes_none() {
        let wanted = [0, 6, 0, 6, 1, 0];
        let assignment = Assignment::new(&wanted);
        let mut found = [0, 1, 2, 3, 4, 5].map(|i| assignment.slot_of(i));
        assert_eq!([found[0], found[2], found[5]], [0; 3]);
        found.sort_unstable();
        assert_eq!(found, [0, 0, 0, 1, 2, 3]);
        assert_eq!(slot(5, 6), 32);
        assert_eq!(slot(6, 6), 0);
    }
}
