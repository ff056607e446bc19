//! The columns of attributes that an index has.

use sordino_index::folder::Folder;
use sordino_index::manifest::Manifest;
use sordino_index::{Disk, Error};
use sordino_vault::attributes::Attributes;
use sordino_vault::contents::ContentKeys;

use super::records;

/// The columns of attributes that an index has. Only the needed ones are read.
///
/// Names and types are sealed with the values, so knowing them takes reading a segment's attributes. A column has one
/// type in all segments. So it is enough to read from the newest segment back to one with the columns wanted.
pub(super) struct AttributeColumns<'a, D> {
    folder: &'a Folder<D>,
    manifest: &'a Manifest,
    keys: &'a ContentKeys,
    /// Segments that were not read: the oldest.
    unread: usize,
    /// Without rows.
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

    /// Refuses columns whose type differs from the existing column of the same name, and more columns than there may
    /// be.
    pub(super) fn check(&mut self, new: &Attributes) -> Result<(), Error> {
        let lacks =
            |known: &Attributes| new.columns().any(|(name, _)| known.column(name).is_none());
        while self.unread > 0 && lacks(&self.columns) {
            self.read_one()?;
        }
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
