//! Chooses the best records by scores that a server sent.

use zeroize::Zeroizing;

/// The numbers of the `count` best scores, in ascending order. Among equal scores, the function takes the first. If
/// there are fewer scores, it returns all numbers.
///
/// # Security
/// The executed instructions and the read addresses depend only on the lengths, not on the scores. Otherwise a server
/// that chooses the scored vectors could learn from the time of the next message how scores are ordered. The written
/// addresses in the result do depend on the scores. Only a program that shares this processor's cache can see these,
/// not a server.
pub(crate) fn best(scores: &[f32], count: usize) -> Zeroizing<Vec<usize>> {
    let count = count.min(scores.len());
    let keys = scores.iter().map(|score| key(*score));
    let keys = Zeroizing::new(keys.collect::<Vec<u32>>());
    let from = |least: u32| {
        keys.iter()
            .map(|&key| usize::from(key >= least))
            .sum::<usize>()
    };
    // Finds the smallest chosen key, bit by bit. It is the largest number that at least `count` keys reach.
    let mut least = 0;
    for bit in (0..u32::BITS).rev() {
        let more = least | 1 << bit;
        let reached = u32::from(from(more) >= count);
        least |= reached << bit;
    }
    let above: usize = keys.iter().map(|&key| usize::from(key > least)).sum();
    let mut equal = count - above.min(count);
    // One additional place takes the numbers that are written but not kept.
    let mut chosen = Zeroizing::new(vec![0; count + 1]);
    let mut held = 0;
    for (number, &key) in keys.iter().enumerate() {
        let is_equal = usize::from(key == least) & usize::from(equal > 0);
        chosen[held] = number;
        held += usize::from(key > least) | is_equal;
        equal -= is_equal;
    }
    chosen.truncate(count);
    chosen
}

/// A number that is larger for a larger score, in the order of [`f32::total_cmp`].
fn key(score: f32) -> u32 {
    let bits = score.to_bits();
    // All ones for a negative score.
    let negative = (bits.cast_signed() >> 31).cast_unsigned();
    bits ^ (negative | 1 << 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_scores_and_fewer_than_wanted() {
        assert_eq!(*best(&[1.0; 5], 3), [0, 1, 2]);
        assert_eq!(*best(&[0.0, -0.0, f32::MIN, f32::MAX], 2), [0, 3]);
        assert_eq!(*best(&[2.0, 1.0], 7), [0, 1]);
        assert!(best(&[], 3).is_empty());
        assert!(best(&[1.0], 0).is_empty());
    }

    proptest! {
        #[test]
        fn they_are_the_best(few in prop::collection::vec(-3i8..4, 0..80), bits in prop::collection::vec(any::<u32>(), 0..40), count in 0usize..20) {
            let few = few.into_iter().map(|x| f32::from(x) / 7.0);
            // The scores include infinities and NaNs, which are in the order of `total_cmp`.
            let scores: Vec<f32> = few.chain(bits.into_iter().map(f32::from_bits)).collect();
            let mut expected: Vec<usize> = (0..scores.len()).collect();
            expected.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            expected.truncate(count);
            expected.sort_unstable();
            prop_assert_eq!(&**best(&scores, count), &expected[..]);
        }
    }
}
