//! Sets of record ids, coded as runs: consecutive ids cost a few bytes however many they are.
//!
//! ```text
//! runs: varint | for each run, in order: ids left out since the run before: varint | ids - 1: varint
//! ```
//!
//! A varint is LEB128. The code is padded with zeros to a class, 128 bytes times a power of two,
//! because it is stored sealed where its length is seen: the length tells the number of runs, up to a
//! factor of two and the lengths of varints, and nothing else.

use crate::Error;

/// The smallest class.
pub const CLASS: usize = 128;

/// Distinct record ids, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdSet {
    /// First id and the number of ids before this run; runs are not empty and do not touch.
    runs: Vec<Run>,
    len: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    last: u32,
    /// Ids in the runs before.
    before: u64,
}

impl IdSet {
    /// The set of these ids, which ascend strictly; otherwise the first that does not.
    ///
    /// # Errors
    /// The first id that is not above the one before it.
    pub fn from_ascending(ids: impl IntoIterator<Item = u32>) -> Result<Self, u32> {
        let mut set = Self::default();
        for id in ids {
            match set.runs.last_mut() {
                Some(run) if run.last >= id => return Err(id),
                Some(run) if run.last + 1 == id => run.last = id,
                _ => set.runs.push(Run {
                    first: id,
                    last: id,
                    before: set.len,
                }),
            }
            set.len += 1;
        }
        Ok(set)
    }

    /// The ids from 0 on.
    #[must_use]
    pub fn range(len: u32) -> Self {
        let run = len.checked_sub(1).map(|last| Run {
            first: 0,
            last,
            before: 0,
        });
        Self {
            runs: run.into_iter().collect(),
            len: len.into(),
        }
    }

    /// The number of ids.
    #[expect(clippy::missing_panics_doc, reason = "ids are numbers of 32 bits")]
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.len).expect("at most 2^32 ids")
    }

    /// True if there is no id.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ids in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.runs.iter().flat_map(|run| run.first..=run.last)
    }

    /// The id at place `rank` of the order.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn id(&self, rank: u32) -> u32 {
        let rank = u64::from(rank);
        assert!(rank < self.len, "a set of {} ids has no {rank}", self.len);
        let at = self.runs.partition_point(|run| run.before <= rank) - 1;
        let run = &self.runs[at];
        u32::try_from(u64::from(run.first) + rank - run.before).expect("an id of the run")
    }

    /// The place of `id` in the order.
    #[expect(clippy::missing_panics_doc, reason = "ids are numbers of 32 bits")]
    #[must_use]
    pub fn rank(&self, id: u32) -> Option<u32> {
        let at = self.runs.partition_point(|run| run.first <= id);
        let run = self.runs.get(at.checked_sub(1)?)?;
        let rank = run.before + u64::from(id - run.first);
        (id <= run.last).then(|| u32::try_from(rank).expect("below the set's size"))
    }

    /// True if this id is in the set.
    #[must_use]
    pub fn contains(&self, id: u32) -> bool {
        self.rank(id).is_some()
    }

    /// Adds ids, in any order.
    #[expect(
        clippy::missing_panics_doc,
        reason = "a sorted list without repetitions ascends"
    )]
    pub fn insert(&mut self, mut ids: Vec<u32>) {
        ids.extend(self.iter());
        ids.sort_unstable();
        ids.dedup();
        *self = Self::from_ascending(ids).expect("sorted and distinct");
    }

    /// Appends the code.
    pub fn write(&self, out: &mut Vec<u8>) {
        varint(self.runs.len() as u64, out);
        let mut next = 0;
        for run in &self.runs {
            varint(u64::from(run.first) - next, out);
            varint(u64::from(run.last - run.first), out);
            next = u64::from(run.last) + 1;
        }
    }

    /// Reads a code off the front of `bytes`.
    ///
    /// # Errors
    /// If the bytes are not the code of a set.
    pub fn read(bytes: &mut &[u8]) -> Result<Self, Error> {
        let malformed = |why: &str| Error::Malformed {
            what: "record ids",
            why: why.to_owned(),
        };
        let truncated = || malformed("truncated");
        let count = read_varint(bytes).ok_or_else(truncated)?;
        let mut set = Self::default();
        let mut next = 0u64;
        for at in 0..count {
            let gap = read_varint(bytes).ok_or_else(truncated)?;
            let more = read_varint(bytes).ok_or_else(truncated)?;
            let first = next.saturating_add(gap);
            let last = first.saturating_add(more);
            let ids = u32::try_from(first).ok().zip(u32::try_from(last).ok());
            let (first, last) = ids.ok_or_else(|| malformed("an id beyond 32 bits"))?;
            if at > 0 && gap == 0 {
                return Err(malformed("runs that touch"));
            }
            let before = set.len;
            set.len += u64::from(last - first) + 1;
            set.runs.push(Run {
                first,
                last,
                before,
            });
            next = u64::from(last) + 1;
        }
        Ok(set)
    }
}

/// Pads a code to its class.
pub fn fill(code: &mut Vec<u8>) {
    code.resize(code.len().next_power_of_two().max(CLASS), 0);
}

fn varint(mut x: u64, out: &mut Vec<u8>) {
    while x >= 0x80 {
        out.push(x.to_le_bytes()[0] | 0x80);
        x >>= 7;
    }
    out.push(x.to_le_bytes()[0]);
}

/// A number of at most 35 bits.
fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut x = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        x |= u64::from(byte & 0x7f) << shift;
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

    proptest! {
        #[test]
        fn sets_survive_their_code(
            ids in prop::collection::btree_set(prop_oneof![0u32..200, any::<u32>()], 0..100),
            extra in prop::collection::vec(0u32..300, 0..20),
        ) {
            let set = IdSet::from_ascending(ids.iter().copied()).unwrap();
            prop_assert_eq!(set.len(), ids.len());
            prop_assert!(set.iter().eq(ids.iter().copied()));
            let mut code = Vec::new();
            set.write(&mut code);
            fill(&mut code);
            prop_assert!(code.len() >= CLASS && code.len().is_power_of_two());
            let read = IdSet::read(&mut &code[..]).unwrap();
            prop_assert_eq!(&read, &set);
            for (rank, &id) in (0..).zip(&ids) {
                prop_assert_eq!((set.id(rank), set.rank(id)), (id, Some(rank)));
            }
            for id in 0..300 {
                prop_assert_eq!(set.contains(id), ids.contains(&id));
            }
            let mut grown = set;
            grown.insert(extra.clone());
            let mut all = ids;
            all.extend(extra);
            prop_assert!(grown.iter().eq(all.iter().copied()));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut rest = &bytes[..];
            if let Ok(set) = IdSet::read(&mut rest) {
                let mut code = Vec::new();
                set.write(&mut code);
                prop_assert_eq!(IdSet::read(&mut &code[..]).unwrap(), set);
            }
        }
    }

    #[test]
    fn consecutive_ids_are_cheap_and_disorder_is_named() {
        let set = IdSet::from_ascending(5..1_000_000).unwrap();
        let mut code = Vec::new();
        set.write(&mut code);
        assert!(code.len() < 8);
        for len in [0, 1, 5] {
            assert_eq!(Ok(IdSet::range(len)), IdSet::from_ascending(0..len));
        }
        assert_eq!(IdSet::from_ascending([1, 3, 3]), Err(3));
        assert_eq!(IdSet::from_ascending([1, 0]), Err(0));
        let whole = IdSet::from_ascending([0, u32::MAX]).unwrap();
        assert_eq!((whole.id(1), whole.rank(u32::MAX)), (u32::MAX, Some(1)));
    }
}
