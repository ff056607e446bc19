//! Records whose label has changed.

use std::collections::BTreeSet;

use sordino_index::Disk;
use sordino_vault::directory::UNLABELLED;
use sordino_vault::ids::Ids;

use super::Store;
use super::access::label_of;

impl<D: Disk> Store<D> {
    /// The label of a segment. Records without a label have the label without a name.
    pub(super) fn label_at(&self, at: usize) -> &str {
        let key = self.manifest.segments()[at].key;
        label_of(self.access.as_ref(), key).unwrap_or(UNLABELLED)
    }

    /// The number of records with these ids whose label is not this one.
    pub(super) fn labelled_otherwise(&self, ids: &Ids, label: &str) -> usize {
        if self.access.is_none() {
            return 0;
        }
        let others = (0..self.records.sets.len()).filter(|&at| self.label_at(at) != label);
        let counts = others.map(|at| {
            let dead = &self.records.dead[at];
            let rows = self.records.sets[at].common(ids).into_iter();
            rows.filter(|row| !dead.contains(*row)).count()
        });
        counts.sum()
    }

    /// The labels that a record has left for another label, even if the record was deleted there. The record's
    /// old row, or its old slot, is under a key of such a label. A reader who is granted the label later would
    /// get this key.
    pub(super) fn left(&self) -> BTreeSet<String> {
        let mut left = BTreeSet::new();
        if self.access.is_none() {
            return left;
        }
        let sets = &self.records.sets;
        for (at, ids) in sets.iter().enumerate() {
            let label = self.label_at(at);
            // A replaced row also has its record in a later segment.
            let mut later = (at + 1..sets.len()).filter(|&other| self.label_at(other) != label);
            let lost = !self.records.dead[at].is_empty() && !left.contains(label);
            if lost && later.any(|other| !sets[other].common(ids).is_empty()) {
                left.insert(label.to_owned());
            }
        }
        left
    }
}
