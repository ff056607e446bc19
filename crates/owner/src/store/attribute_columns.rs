//! The columns of attributes that an index has.

use sordino_index::folder::Folder;
use sordino_index::manifest::Manifest;
use sordino_index::{Disk, Error};
use sordino_vault::attributes::Attributes;
use sordino_vault::contents::ContentKeys;

use super::records;

/// The columns of attributes that an index has. This type reads only the segments that it needs.
///
/// Names and types are sealed with the values, so finding them means reading a segment's attributes. A column has the
/// same type in all segments. So reading starts at the newest segment, and ends at a segment with the wanted columns.
pub(super) struct AttributeColumns<'a, D> {
    folder: &'a Folder<D>,
    manifest: &'a Manifest,
    keys: &'a ContentKeys,
    /// The number of segments that were not read, from the oldest on.
    unread: usize,
    /// The columns, without rows.
    columns: Attributes,
}

impl<'a, D: Disk> AttributeColumns<'a, D> {
    pub(super) fn new(
        folder: &'a Folder<D>,
        manifest: &'a Manifest,
        keys: &'a ContentKeys,
    ) -> Self {
        Self {
            folder,
            manifest,
            keys,
            unread: manifest.segments().len(),
            columns: Attributes::default(),
        }
    }

    /// Converts numbers to the types of existing columns, if these types hold the numbers exactly. Then checks that
    /// columns have the same types as existing columns of the same names, and that there are not too many.
    pub(super) fn check(&mut self, new: &mut Attributes) -> Result<(), Error> {
        let lacks =
            |known: &Attributes| new.columns().any(|(name, _)| known.column(name).is_none());
        while self.unread > 0 && lacks(&self.columns) {
            self.read_one()?;
        }
        new.fit(&self.columns);
        self.columns.check_beside(new)
    }

    /// All columns, without rows.
    pub(super) fn all(mut self) -> Result<Attributes, Error> {
        while self.unread > 0 {
            self.read_one()?;
        }
        Ok(self.columns)
    }

    fn read_one(&mut self) -> Result<(), Error> {
        self.unread -= 1;
        let segment = self.manifest.segments()[self.unread];
        if self.keys.of(segment).is_none() {
            return Ok(());
        }
        let read = records::attributes(self.folder, self.manifest, self.keys, self.unread)?;
        self.columns.append(read.select(&[]))
    }
}
