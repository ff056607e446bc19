//! Sets of numbers, coded as runs. A long run of consecutive numbers takes only a few bytes.
//!
//! ```text
//! runs: varint | for each run, in order: numbers left out since the run before: varint | numbers - 1: varint
//! ```
//!
//! A varint is LEB128. The code is filled up with zeros to a class, 128 bytes times a power of two. The reason is that
//! anyone who sees the sealed code sees its length. The length reveals only the number of runs and the lengths of
//! varints, up to a factor of two.

use std::cmp::Ordering;

use sordino_index::Error;
use sordino_vectors::u32_of;

/// The smallest class.
pub(crate) const CLASS: usize = 128;

/// Distinct numbers, in order: at most 2^32 - 1 of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Runs are not empty and do not touch each other.
    runs: Vec<Run>,
    len: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u64,
    last: u64,
    /// The number of elements in the runs before this run.
    before: u32,
}

impl Numbers {
    /// The set of these numbers, which must strictly ascend.
    ///
    /// # Errors
    /// The first number that is not above the one before it.
    ///
    /// # Panics
    /// Panics if there are 2^32 numbers.
    pub fn from_ascending(numbers: impl IntoIterator<Item = u64>) -> Result<Self, u64> {
        let mut set = Self::default();
        for number in numbers {
            match set.runs.last_mut() {
                Some(run) if run.last >= number => return Err(number),
                Some(run) if run.last + 1 == number => run.last = number,
                _ => set.runs.push(Run {
                    first: number,
                    last: number,
                    before: set.len,
                }),
            }
            set.len = set.len.checked_add(1).expect("fewer than 2^32 numbers");
        }
        Ok(set)
    }

    /// The numbers from 0 on.
    #[must_use]
    pub fn range(len: u32) -> Self {
        let run = len.checked_sub(1).map(|last| Run {
            first: 0,
            last: last.into(),
            before: 0,
        });
        Self {
            runs: run.into_iter().collect(),
            len,
        }
    }

    /// The size of the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().flat_map(|run| run.first..=run.last)
    }

    /// The largest number.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.runs.last().map(|run| run.last)
    }

    /// The number at position `rank`.
    ///
    /// # Panics
    /// Panics if there is no such position.
    #[must_use]
    pub fn number(&self, rank: u32) -> u64 {
        assert!(rank < self.len, "a set of {} has no {rank}", self.len);
        let at = self.runs.partition_point(|run| run.before <= rank) - 1;
        let run = &self.runs[at];
        run.first + u64::from(rank - run.before)
    }

    /// The position of `number`.
    #[must_use]
    pub fn rank(&self, number: u64) -> Option<u32> {
        let at = self.runs.partition_point(|run| run.first <= number);
        let run = self.runs.get(at.checked_sub(1)?)?;
        (number <= run.last).then(|| run.rank(number))
    }

    /// True if this number is in the set.
    #[must_use]
    pub fn contains(&self, number: impl Into<u64>) -> bool {
        self.rank(number.into()).is_some()
    }

    /// The positions of the numbers that `other` also has.
    #[must_use]
    pub fn common(&self, other: &Self) -> Vec<u32> {
        let mut common = Vec::new();
        let (mut own, mut others) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        while let (Some(run), Some(with)) = (own.peek(), others.peek()) {
            let (first, last) = (run.first.max(with.first), run.last.min(with.last));
            if first <= last {
                common.extend(run.rank(first)..=run.rank(last));
            }
            match run.last.cmp(&with.last) {
                Ordering::Less => drop(own.next()),
                _ => drop(others.next()),
            }
        }
        common
    }

    /// Adds numbers, in any order.
    #[expect(
        clippy::missing_panics_doc,
        reason = "a sorted list without repetitions ascends"
    )]
    pub fn insert(&mut self, mut numbers: Vec<u64>) {
        numbers.extend(self.iter());
        numbers.sort_unstable();
        numbers.dedup();
        *self = Self::from_ascending(numbers).expect("sorted and distinct");
    }

    /// Appends the code.
    pub fn write(&self, out: &mut Vec<u8>) {
        varint(self.runs.len() as u64, out);
        let mut before: Option<u64> = None;
        for run in &self.runs {
            varint(run.first - before.map_or(0, |last| last + 1), out);
            varint(run.last - run.first, out);
            before = Some(run.last);
        }
    }

    /// Reads a code off the front of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not the code of a set.
    pub fn read(bytes: &mut &[u8]) -> Result<Self, Error> {
        let malformed = |why: &str| Error::Malformed {
            what: "numbers",
            why: why.to_owned(),
        };
        let truncated = || malformed("truncated");
        let beyond = || malformed("a number beyond 64 bits");
        let count = read_varint(bytes).ok_or_else(truncated)?;
        let (mut set, mut next) = (Self::default(), Some(0u64));
        for at in 0..count {
            let gap = read_varint(bytes).ok_or_else(truncated)?;
            let more = read_varint(bytes).ok_or_else(truncated)?;
            if at > 0 && gap == 0 {
                return Err(malformed("runs that touch"));
            }
            let first = next.and_then(|next| next.checked_add(gap));
            let first = first.ok_or_else(beyond)?;
            let last = first.checked_add(more).ok_or_else(beyond)?;
            let before = set.len;
            let len = u64::from(before)
                .checked_add(more)
                .and_then(|n| n.checked_add(1));
            let len = len.and_then(|len| u32::try_from(len).ok());
            set.len = len.ok_or_else(|| malformed("more than 2^32 - 1 numbers"))?;
            set.runs.push(Run {
                first,
                last,
                before,
            });
            next = last.checked_add(1);
        }
        Ok(set)
    }
}

impl Run {
    /// The position in the whole set of a number of this run.
    fn rank(&self, at: u64) -> u32 {
        // A run is no longer than its set.
        self.before + u32_of(usize::try_from(at - self.first).unwrap_or(usize::MAX))
    }
}

/// Fills a code with zeros to its class.
pub fn fill(code: &mut Vec<u8>) {
    code.resize(code.len().next_power_of_two().max(CLASS), 0);
}

/// Appends a number as a varint.
pub fn varint(mut x: u64, out: &mut Vec<u8>) {
    while x >= 0x80 {
        out.push(x.to_le_bytes()[0] | 0x80);
        x >>= 7;
    }
    out.push(x.to_le_bytes()[0]);
}

/// Reads a number of at most 64 bits off the front of bytes.
pub(crate) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut x = 0;
    for shift in (0..70).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let digit = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift == 63 && digit > 1 {
            return None;
        }
        x |= digit << shift;
        if byte & 0x80 == 0 {
            return Some(x);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_number() -> impl Strategy<Value = u64> {
        prop_oneof![
            0u64..200,
            any::<u32>().prop_map(u64::from),
            any::<u64>(),
            u64::MAX - 20..=u64::MAX,
        ]
    }

    proptest! {
        #[test]
        fn sets_survive_their_code(
            numbers in prop::collection::btree_set(any_number(), 0..100),
            extra in prop::collection::vec(0u64..300, 0..20),
            other in prop::collection::btree_set(any_number(), 0..100),
        ) {
            let set = Numbers::from_ascending(numbers.iter().copied()).unwrap();
            prop_assert_eq!(set.len(), numbers.len());
            prop_assert!(set.iter().eq(numbers.iter().copied()));
            let mut code = Vec::new();
            set.write(&mut code);
            fill(&mut code);
            prop_assert!(code.len() >= CLASS && code.len().is_power_of_two());
            let read = Numbers::read(&mut &code[..]).unwrap();
            prop_assert_eq!(&read, &set);
            for (rank, &number) in (0..).zip(&numbers) {
                prop_assert_eq!((set.number(rank), set.rank(number)), (number, Some(rank)));
            }
            for number in 0..300u64 {
                prop_assert_eq!(set.contains(number), numbers.contains(&number));
            }
            let others = Numbers::from_ascending(other.iter().copied()).unwrap();
            let common: Vec<u64> = set.common(&others).into_iter().map(|at| set.number(at)).collect();
            let expected: Vec<u64> = numbers.intersection(&other).copied().collect();
            prop_assert_eq!(common, expected);
            let mut grown = set;
            grown.insert(extra.clone());
            let mut all = numbers;
            all.extend(extra);
            prop_assert!(grown.iter().eq(all.iter().copied()));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut rest = &bytes[..];
            if let Ok(set) = Numbers::read(&mut rest) {
                let mut code = Vec::new();
                set.write(&mut code);
                prop_assert_eq!(Numbers::read(&mut &code[..]).unwrap(), set);
            }
        }
    }

    #[test]
    fn consecutive_numbers_are_cheap_and_disorder_is_named() {
        let set = Numbers::from_ascending(5..1_000_000).unwrap();
        let mut code = Vec::new();
        set.write(&mut code);
        assert!(code.len() < 8);
        for len in [0, 1, 5] {
            assert_eq!(
                Ok(Numbers::range(len)),
                Numbers::from_ascending(0..len.into())
            );
        }
        assert_eq!(Numbers::from_ascending([1, 3, 3]), Err(3));
        assert_eq!(Numbers::from_ascending([1, 0]), Err(0));
        let ends = Numbers::from_ascending([0, u64::MAX]).unwrap();
        assert_eq!((ends.number(1), ends.rank(u64::MAX)), (u64::MAX, Some(1)));
        assert_eq!(ends.common(&Numbers::range(7)), [0]);
    }

    #[test]
    fn more_than_a_set_holds_is_refused() {
        // The first code has a run of 2^32 numbers. In the others, a run goes beyond the largest number.
        for code in [
            &[1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f][..],
            &[
                1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1,
            ],
            &[
                1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0,
            ],
        ] {
            assert!(Numbers::read(&mut &code[..]).is_err(), "{code:?}");
        }
    }
}
