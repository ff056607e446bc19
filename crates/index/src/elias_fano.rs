//! Ascending numbers in few bits, in the format of Elias and Fano. The number of bits depends only on the count and the
//! range.
//!
//! Each number's low bits are stored unchanged. The rest of number `i` is stored as the position of a one: bit `rest + i` of
//! a row of bits is set. So the numbers `n_0 <= n_1 <= ..` up to `most`, each split at `low` bits, take `count (low + 1) +
//! (most >> low)` bits, which is about `2 + log2(most / count)` a number.

use sordino_vectors::u32_of;

/// Lists of `count` numbers from 0 to `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EliasFano {
    count: usize,
    most: u32,
    low: u32,
}

impl EliasFano {
    /// The format that splits the numbers at the bit with which the list is shortest.
    #[must_use]
    pub fn new(count: usize, most: u32) -> Self {
        let cut = |low| Self { count, most, low };
        let cuts = (1..u32::BITS).map(cut);
        cuts.fold(cut(0), |best, cut| {
            std::cmp::min_by_key(best, cut, |cut| cut.bits())
        })
    }

    /// Bits of the row of ones.
    fn ones(self) -> usize {
        self.count.saturating_add((self.most >> self.low) as usize)
    }

    fn bits(self) -> usize {
        let low = self.count.saturating_mul(self.low as usize);
        self.ones().saturating_add(low)
    }

    /// The size in bytes of a list.
    #[must_use]
    pub fn list_len(self) -> usize {
        self.bits().div_ceil(8)
    }
}

impl EliasFano {
    /// The largest number that a list can have.
    #[must_use]
    pub fn most(self) -> u32 {
        self.most
    }

    /// Appends a list: the row of ones, then the low bits of all numbers, lowest bit first, then zeros up to a whole byte.
    ///
    /// # Panics
    /// Panics if the list has a different length, does not ascend or exceeds the largest number.
    pub fn append(self, numbers: &[u32], bytes: &mut Vec<u8>) {
        assert_eq!(numbers.len(), self.count, "a list of another length");
        assert!(
            numbers.is_sorted() && numbers.last().is_none_or(|&last| last <= self.most),
            "a list that does not ascend to {}",
            self.most
        );
        let first = bytes.len();
        bytes.resize(first + self.list_len(), 0);
        let list = &mut bytes[first..];
        let low = self.low as usize;
        for (at, &number) in numbers.iter().enumerate() {
            set(list, at + (number >> low) as usize, 1);
            set(list, self.ones() + at * low, number & ((1 << low) - 1));
        }
    }

    /// The list in these bytes, or `None` if [`append`](Self::append) does not write such bytes.
    #[must_use]
    pub fn read(self, bytes: &[u8]) -> Option<Vec<u32>> {
        if bytes.len() != self.list_len() {
            return None;
        }
        let mut numbers = Vec::with_capacity(self.count);
        let (ones, low) = (self.ones(), self.low as usize);
        for (word, at) in (0..ones).step_by(64).map(|at| (bits(bytes, at), at)) {
            // The last word also has low bits, behind the row.
            let mut left = word & mask((ones - at).min(64));
            while left != 0 {
                let place = at + left.trailing_zeros() as usize;
                let (number, read) = (numbers.len(), ones + numbers.len() * low);
                let rest = u64::try_from(place.checked_sub(number)?).ok()? << low;
                numbers.push(u32::try_from(rest | bits(bytes, read) & mask(low)).ok()?);
                left &= left - 1;
            }
        }
        let spare = bits(bytes, self.bits()) == 0;
        let whole = numbers.len() == self.count && numbers.is_sorted();
        let within = numbers.last().is_none_or(|&last| last <= self.most);
        (spare && whole && within).then_some(numbers)
    }
}

/// The 64 bits from bit `from` on. Bits behind the last byte count as zeros.
#[expect(clippy::cast_possible_truncation, reason = "the low 64 bits are meant")]
#[must_use]
pub fn bits(bytes: &[u8], from: usize) -> u64 {
    let read = bytes.get(from / 8..).unwrap_or_default();
    let mut nine = [0; 16];
    let pairs = nine.iter_mut().zip(read.iter().take(9));
    pairs.for_each(|(to, from)| *to = *from);
    (u128::from_le_bytes(nine) >> (from % 8)) as u64
}

/// Sets the bits of a number from bit `from` on. They must be zeros before.
pub fn set(bytes: &mut [u8], from: usize, number: u32) {
    let shifted = (u64::from(number) << (from % 8)).to_le_bytes();
    let pairs = bytes[from / 8..].iter_mut().zip(shifted);
    pairs.for_each(|(to, from)| *to |= from);
}

/// A word of `bits` ones, where `bits` is at most 64.
fn mask(bits: usize) -> u64 {
    u64::MAX.checked_shr(64 - u32_of(bits)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_read_back_in_as_many_bytes(
            mut numbers in prop::collection::vec(any::<u32>(), 0..200),
            shift in 0u32..32,
        ) {
            let most = u32::MAX >> shift;
            numbers.iter_mut().for_each(|number| *number >>= shift);
            numbers.sort_unstable();
            let shape = EliasFano::new(numbers.len(), most);
            let mut bytes = vec![7];
            shape.append(&numbers, &mut bytes);
            prop_assert_eq!(bytes.len(), 1 + shape.list_len());
            prop_assert_eq!(shape.read(&bytes[1..]), Some(numbers));
        }

        #[test]
        fn one_list_has_one_encoding(
            count in 0usize..20,
            most in 0u32..500,
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let shape = EliasFano::new(count, most);
            if let Some(numbers) = shape.read(&bytes) {
                let mut again = Vec::new();
                shape.append(&numbers, &mut again);
                prop_assert_eq!(bytes, again);
            }
        }
    }

    /// Tries all bytes of a small shape. The number of accepted ones is the number of lists.
    #[test]
    fn no_list_is_missing_and_none_is_there_twice() {
        let shape = EliasFano::new(3, 4);
        assert_eq!(shape.list_len(), 1);
        let lists = (0..=u8::MAX).filter_map(|byte| shape.read(&[byte]));
        // Three numbers of five that ascend: (5 + 3 - 1) over 3.
        assert_eq!(lists.collect::<std::collections::HashSet<_>>().len(), 35);
        let read = (0..=u8::MAX).filter(|&byte| shape.read(&[byte]).is_some());
        assert_eq!(read.count(), 35);
    }

    #[test]
    fn a_number_takes_two_bits_more_than_its_share_of_the_range() {
        for (count, most, least) in [(8_474, 10_000_000, 11.6), (2_048, 1_000_000, 10.3)] {
            let shape = EliasFano::new(count, most);
            // log2 of the number of lists is about count log2(e most / count).
            let bits = shape.list_len() as f64 * 8.0 / count as f64;
            assert!((least..least + 0.7).contains(&bits), "{bits}");
        }
        // A shape of the widest range is possible, although its list is long.
        assert_eq!(EliasFano::new(0, u32::MAX).list_len(), 1);
        assert_eq!(EliasFano::new(1, u32::MAX).list_len(), 5);
    }
}
