//! The nearest centroids of each vector.

/// For each vector its nearest centroids with their scores, best first. All lists have the same length.
///
/// They lie in one piece of memory. The allocator would keep the memory of millions of small pieces after their end.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lists {
    /// The length of a list.
    each: usize,
    entries: Vec<(u32, f32)>,
}

impl Lists {
    /// Lists of `each` entries.
    ///
    /// # Panics
    /// Panics if the last list is not whole.
    pub(crate) fn new(each: usize, entries: Vec<(u32, f32)>) -> Self {
        assert!(
            entries.is_empty() || entries.len().is_multiple_of(each),
            "whole lists of {each}"
        );
        Self { each, entries }
    }

    /// No lists yet, with memory for `lists` lists of `each` entries.
    pub(crate) fn with_capacity(each: usize, lists: usize) -> Self {
        Self::new(each, Vec::with_capacity(each.saturating_mul(lists)))
    }

    /// The number of lists.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() / self.each.max(1)
    }

    /// The length of a list.
    pub(crate) fn each(&self) -> usize {
        self.each
    }

    /// The list of a vector.
    pub(crate) fn list(&self, row: usize) -> &[(u32, f32)] {
        &self.entries[row * self.each..][..self.each]
    }

    /// All lists.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[(u32, f32)]> {
        self.entries.chunks_exact(self.each.max(1))
    }

    /// All entries, list after list.
    pub(crate) fn entries(&self) -> &[(u32, f32)] {
        &self.entries
    }

    /// All entries, to be changed in place.
    pub(crate) fn entries_mut(&mut self) -> &mut [(u32, f32)] {
        &mut self.entries
    }

    /// Appends a list.
    ///
    /// # Panics
    /// Panics if the list has another length.
    pub(crate) fn push(&mut self, list: &[(u32, f32)]) {
        assert_eq!(self.each, list.len(), "lists of one length");
        self.entries.extend_from_slice(list);
    }

    /// Appends other lists.
    ///
    /// # Panics
    /// Panics if the other lists have another length.
    pub(crate) fn append(&mut self, other: &Self) {
        if self.entries.is_empty() {
            self.each = other.each;
        }
        assert_eq!(self.each, other.each, "lists of one length");
        self.entries.extend_from_slice(&other.entries);
    }
}

#[cfg(test)]
impl From<Vec<Vec<(u32, f32)>>> for Lists {
    fn from(lists: Vec<Vec<(u32, f32)>>) -> Self {
        let each = lists.first().map_or(0, Vec::len);
        Self::new(each, lists.concat())
    }
}
