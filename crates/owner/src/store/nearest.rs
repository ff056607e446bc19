//! The nearest centroids of a task's records, in the form that the task reports.

use sordino_index::Error;
use sordino_index::digest::Digest;
use sordino_vault::keys::OwnerKeys;
use sordino_vectors::u32_of;

use super::owner_tag::{Fields, Kind, opened, tagged};
use crate::cluster::NEAREST;
use crate::lists::Lists;

/// The name and the form number of a task's lists.
const KIND: Kind = (b"nearest", 1);

/// A centroid's number and its score.
const ENTRY_LEN: usize = 8;

/// The nearest centroids of some records with their scores, for the [`Clustering`](super::Clustering) that makes the index. They
/// take up to 192 bytes a record. Like [`Centroids`](super::Centroids), they show where the vectors lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    pub(super) build: [u8; 16],
    pub(super) task: u64,
    /// The number of the first record among all records.
    pub(super) first: u64,
    /// The digest of the records' vectors.
    pub(super) digest: Digest,
    /// One list for each record, all of the same length.
    pub(super) lists: Lists,
}

impl Nearest {
    /// The number of the task.
    #[must_use]
    pub fn task(&self) -> u64 {
        self.task
    }

    /// The number of the task's records.
    #[must_use]
    pub fn records(&self) -> u32 {
        u32_of(self.lists.len())
    }

    /// The bytes, which end with a tag under the owner's key.
    #[must_use]
    pub fn to_bytes(&self, keys: &OwnerKeys) -> Vec<u8> {
        let near = self.lists.each();
        tagged(keys, KIND, |bytes| {
            bytes.extend(self.build);
            bytes.extend(self.task.to_le_bytes());
            bytes.extend(self.first.to_le_bytes());
            bytes.extend(self.digest);
            bytes.extend(u32_of(near).to_le_bytes());
            bytes.reserve(self.lists.len() * near * ENTRY_LEN);
            for (centroid, score) in self.lists.entries() {
                bytes.extend(centroid.to_le_bytes());
                bytes.extend(score.to_le_bytes());
            }
        })
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written under the same keys.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the form is wrong or these keys did not make the bytes.
    pub fn from_bytes(bytes: &[u8], keys: &OwnerKeys) -> Result<Self, Error> {
        opened(keys, KIND, bytes, Self::read)
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let (build, task, first) = (fields.array()?, fields.u64()?, fields.u64()?);
        let (digest, near) = (fields.array()?, fields.u32()? as usize);
        if !(1..=NEAREST).contains(&near) {
            return None;
        }
        let entries = fields.rest();
        let whole = !entries.is_empty() && entries.len().is_multiple_of(near * ENTRY_LEN);
        if !whole || u32::try_from(entries.len().div_ceil(near * ENTRY_LEN)).is_err() {
            return None;
        }
        let mut lists = Vec::with_capacity(entries.len() / ENTRY_LEN);
        for list in entries.chunks_exact(near * ENTRY_LEN) {
            read_list(list, &mut lists)?;
        }
        Some(Self {
            build,
            task,
            first,
            digest,
            lists: Lists::new(near, lists),
        })
    }
}

/// Reads a list of different centroids, best first, and appends it.
fn read_list(entries: &[u8], lists: &mut Vec<(u32, f32)>) -> Option<()> {
    let (entries, _) = entries.as_chunks::<ENTRY_LEN>();
    let start = lists.len();
    for &[a, b, c, d, rest @ ..] in entries {
        let (centroid, score) = (u32::from_le_bytes([a, b, c, d]), f32::from_le_bytes(rest));
        let list = &lists[start..];
        let falls = list.last().is_none_or(|(_, before)| score <= *before);
        let new = list.iter().all(|(other, _)| *other != centroid);
        if !(score.is_finite() && falls && new) {
            return None;
        }
        lists.push((centroid, score));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(lists: Vec<Vec<(u32, f32)>>) -> Nearest {
        Nearest {
            build: [7; 16],
            task: 8,
            first: 9,
            digest: [6; 32],
            lists: lists.into(),
        }
    }

    #[test]
    fn lists_read_back_under_their_key_alone() {
        let keys = OwnerKeys::from_master([1; 32]);
        let good = nearest(vec![vec![(5, 0.5), (1, 0.25)], vec![(0, 0.5), (2, -0.5)]]);
        let bytes = good.to_bytes(&keys);
        assert_eq!(Nearest::from_bytes(&bytes, &keys).unwrap(), good);
        assert!(Nearest::from_bytes(&bytes, &OwnerKeys::from_master([2; 32])).is_err());
        for len in 0..bytes.len() {
            assert!(Nearest::from_bytes(&bytes[..len], &keys).is_err());
            // Cut bytes are refused even under a valid tag, unless a list ends there.
            let cut = tagged(&keys, KIND, |own| own.extend(&bytes[2..len.max(2)]));
            let whole = [86, 102].contains(&len);
            assert_eq!(Nearest::from_bytes(&cut, &keys).is_ok(), whole, "{len}");
        }
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert!(Nearest::from_bytes(&wrong, &keys).is_err(), "byte {at}");
        }
    }

    #[test]
    fn lists_that_no_task_finds_are_refused() {
        let keys = OwnerKeys::from_master([1; 32]);
        for wrong in [
            vec![],
            vec![vec![]],
            vec![vec![(0, f32::NAN)]],
            vec![vec![(0, f32::INFINITY), (1, 0.0)]],
            vec![vec![(0, 0.5), (1, 0.75)]],
            vec![vec![(0, 0.5), (0, 0.25)]],
            vec![(0..25).map(|centroid| (centroid, 0.0)).collect()],
        ] {
            let bytes = nearest(wrong).to_bytes(&keys);
            let refused = Nearest::from_bytes(&bytes, &keys);
            assert!(matches!(refused, Err(Error::Malformed { .. })));
        }
    }
}
