//! Finds the cheapest way to write integers below a product as digits of mixed radix.

use super::MAX_RIFFPE_RADIX;
use crate::Error;
use alloc::{collections::BTreeMap, vec, vec::Vec};

/// The largest number of divisors that the search visits.
const MAX_DIVISORS: usize = 1 << 16;

/// The list of bases of [`super::RiffpeX`] for the integers below `x`, in ascending order. Of all lists of factors of
/// at least `threshold` with product `x`, this list has the smallest `sum b log2 b`.
///
/// ```
/// assert_eq!(sordino_fpe::find_best_bases(1_000_000, 25)?, [25, 25, 40, 40]);
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
///
/// # Errors
/// [`Error::Domain`] if there is no such list, or if `x` has more than 65,536 divisors.
pub fn find_best_bases(x: u128, threshold: u32) -> Result<Vec<u32>, Error> {
    let none = Error::Domain {
        found: x,
        min: u128::from(threshold.max(2)),
        max: u128::MAX,
    };
    let threshold = threshold.max(2);
    let divisors = divisors(x).ok_or(none)?;
    // For each product, the cost and the first base of the best list. Products are visited in ascending order, so that
    // the cofactor's list is known.
    let mut best: BTreeMap<u128, (u128, u32)> = BTreeMap::from([(1, (0, 1))]);
    let small = |&d: &u128| {
        u32::try_from(d)
            .ok()
            .filter(|b| (threshold..=MAX_RIFFPE_RADIX).contains(b))
    };
    let mut bases: Vec<(u32, u128)> = Vec::new();
    for &d in &divisors[1..] {
        let list = bases
            .iter()
            .filter(|(b, _)| d.is_multiple_of(u128::from(*b)))
            .filter_map(|&(b, cost)| Some((best.get(&(d / u128::from(b)))?.0 + cost, b)))
            .min();
        if let Some(list) = list {
            // d log d is more than the sum for any two factors of d, so d itself is never a base then.
            best.insert(d, list);
        } else if let Some(b) = small(&d) {
            let cost = u128::from(b) * u128::from(log2(b));
            bases.push((b, cost));
            best.insert(d, (cost, b));
        }
    }
    let mut list = Vec::new();
    let mut rest = x;
    while rest > 1 {
        let &(_, base) = best.get(&rest).ok_or(none)?;
        list.push(base);
        rest /= u128::from(base);
    }
    if list.is_empty() {
        return Err(none);
    }
    list.sort_unstable();
    Ok(list)
}

/// All divisors, ascending. `None` if a prime factor is not a base, or if there are too many divisors.
fn divisors(mut x: u128) -> Option<Vec<u128>> {
    let mut divisors = vec![1];
    let mut p = 2u128;
    while x > 1 {
        if p > u128::from(MAX_RIFFPE_RADIX) {
            return None;
        }
        let before = divisors.len();
        let mut power = 1;
        while x > 0 && x.is_multiple_of(p) {
            x /= p;
            power *= p;
            if divisors.len() + before > MAX_DIVISORS {
                return None;
            }
            divisors.extend_from_within(..before);
            let new = divisors.len() - before;
            divisors[new..].iter_mut().for_each(|d| *d *= power);
        }
        p += 1;
    }
    divisors.sort_unstable();
    (x == 1).then_some(divisors)
}

/// `2^40 log2 b`, rounded down.
fn log2(b: u32) -> u64 {
    let whole = b.ilog2();
    let mut log = u64::from(whole);
    // A number in [1, 2) with 63 bits after the point; its square is in [1, 4).
    let mut mantissa = u64::from(b) << (63 - whole);
    for _ in 0..40 {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 63;
        let bit = square >> 64;
        mantissa = u64::try_from(square >> bit).unwrap_or(u64::MAX);
        log = (log << 1) | u64::from(bit == 1);
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every list of factors in ascending order.
    fn all(x: u32, least: u32, list: &mut Vec<u32>, out: &mut Vec<Vec<u32>>) {
        if x == 1 && !list.is_empty() {
            out.push(list.clone());
        }
        for b in (least..=x).filter(|b| x.is_multiple_of(*b)) {
            list.push(b);
            all(x / b, b, list, out);
            list.pop();
        }
    }

    #[test]
    fn equals_a_search_of_all_lists() {
        for x in [
            2u32, 36, 97, 360, 1000, 1024, 5040, 65536, 100_000, 720_720, 999_983,
        ] {
            for threshold in [2, 3, 7, 10, 16, 36, 100] {
                let mut lists = Vec::new();
                all(x, threshold, &mut Vec::new(), &mut lists);
                let cost = |list: &[u32]| -> f64 {
                    list.iter()
                        .map(|&b| f64::from(b) * f64::from(b).log2())
                        .sum()
                };
                let best = lists.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
                assert_eq!(
                    find_best_bases(x.into(), threshold).ok(),
                    best,
                    "{x} {threshold}"
                );
            }
        }
    }

    #[test]
    fn logarithms_are_close() {
        for b in [2, 3, 10, 36, 1000, 65535, 1 << 20] {
            let log = f64::from(b).log2() * 2f64.powi(40);
            #[expect(clippy::cast_precision_loss, reason = "below 2^46")]
            let found = log2(b) as f64;
            assert!((found - log).abs() < 2.0, "{b}");
        }
    }
}
