//! The order of probes: sets of changes to a key, cheapest first (Lv, Josephson, Wang, Charikar, Li,
//! "Multi-probe LSH", 2007).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A change of one function's value, and how unlikely the change is for a near vector.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The function. A probe changes each function at most once.
    pub function: usize,
    /// The number to add to the key.
    pub change: u64,
    /// The squared distance to the point where the function's value changes.
    pub cost: f32,
}

/// The largest number of steps. A word has one bit for each step, and its bits say which steps are in a set.
const MOST: usize = u64::BITS as usize;

/// Appends the key itself and the cheapest changed keys to `keys`: `probes` in total, or fewer if there are no
/// more.
pub(crate) fn probe(key: u64, steps: &mut Vec<Step>, probes: usize, keys: &mut Vec<u64>) {
    if probes == 0 {
        return;
    }
    keys.push(key);
    steps.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    steps.truncate(MOST);
    if probes == 1 || steps.is_empty() {
        return;
    }
    // Costs are not negative, so their bits as integers sort like the costs.
    let mut sets = BinaryHeap::from([Reverse((cost(steps, 1), 1_u64))]);
    let mut left = probes - 1;
    // The loop skips sets that change a function twice. This counter bounds the number of skipped sets.
    let mut tries = 16 * probes + 1024;
    while let Some(Reverse((_, set))) = sets.pop() {
        let last = set.ilog2();
        let valid = is_valid(steps, set);
        if (last as usize) + 1 < steps.len() {
            let next = 1_u64 << (last + 1);
            let shifted = set ^ (1 << last) | next;
            sets.push(Reverse((cost(steps, shifted), shifted)));
            if valid {
                sets.push(Reverse((cost(steps, set | next), set | next)));
            }
        }
        tries -= 1;
        if valid {
            keys.push(members(steps, set).fold(key, |key, step| key.wrapping_add(step.change)));
            left -= 1;
        }
        if left == 0 || tries == 0 {
            return;
        }
    }
}

fn members(steps: &[Step], set: u64) -> impl Iterator<Item = &Step> {
    steps
        .iter()
        .enumerate()
        .filter(move |(i, _)| set >> i & 1 == 1)
        .map(|(_, step)| step)
}

/// The cost of a set, as bits that sort like the cost. A NaN counts as 0.
fn cost(steps: &[Step], set: u64) -> u32 {
    members(steps, set)
        .fold(0.0_f32, |sum, step| sum + step.cost.max(0.0))
        .to_bits()
}

/// True if the set changes no function twice. There are fewer than 1025 functions.
fn is_valid(steps: &[Step], set: u64) -> bool {
    let distinct = |(i, step): (usize, &Step)| {
        members(steps, set)
            .take(i)
            .all(|other| other.function != step.function)
    };
    members(steps, set).enumerate().all(distinct)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All valid sets in the order of their cost, by trying every set.
    fn by_force(steps: &[Step], probes: usize) -> Vec<f32> {
        let valid = (0..1_u64 << steps.len()).filter(|set| is_valid(steps, *set));
        let mut costs: Vec<f32> = valid.map(|set| f32::from_bits(cost(steps, set))).collect();
        costs.sort_by(f32::total_cmp);
        costs.truncate(probes);
        costs
    }

    #[test]
    fn probes_come_cheapest_first_and_none_is_left_out() {
        // The changes are powers of two, so the key shows the set. The costs are exact in binary.
        for functions in [1, 3, 5, 12] {
            let step = |i: usize| Step {
                function: i % functions,
                change: 1 << i,
                cost: [
                    0.5, 0.125, 3.0, 0.25, 1.0, 2.0, 0.0625, 0.75, 5.0, 1.5, 0.375, 4.0,
                ][i],
            };
            let mut steps: Vec<Step> = (0..12).map(step).collect();
            let mut keys = vec![];
            probe(0, &mut steps, 200, &mut keys);
            let cost = |key: u64| {
                steps
                    .iter()
                    .filter(|s| key & s.change != 0)
                    .map(|s| s.cost)
                    .sum()
            };
            let costs: Vec<f32> = keys.iter().map(|key| cost(*key)).collect();
            assert_eq!(costs, by_force(&steps, 200), "{functions} functions");
            keys.sort_unstable();
            assert!(keys.is_sorted_by(|a, b| a < b), "every probe once");
        }
    }

    #[test]
    fn costs_that_are_no_numbers_do_no_harm() {
        let step = |function, cost| Step {
            function,
            change: 1 << function,
            cost,
        };
        let mut steps = vec![step(0, f32::NAN), step(1, f32::INFINITY), step(2, -1.0)];
        let mut keys = vec![];
        probe(7, &mut steps, 100, &mut keys);
        assert_eq!(keys.len(), 8);
        probe(7, &mut vec![], 5, &mut keys);
        assert_eq!(keys.len(), 9);
    }
}
