//! The columns of a file of queries.

use crate::usual_columns::UsualColumns;
use sordino_search::vectors::{ColumnNames, Error, FileOptions};
use std::path::Path;

/// The columns that are named, and whether others are taken.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    pub(super) vectors: Option<&'a str>,
    pub(super) ids: Option<&'a str>,
    /// True if others are taken by their usual names.
    pub(super) guess: bool,
}

impl Columns<'_> {
    pub(super) fn names(&self, path: &Path, options: &FileOptions) -> Result<ColumnNames, Error> {
        let usual = match self.guess {
            true => UsualColumns::of(path, options)?,
            false => None,
        };
        let usual = usual.as_ref();
        let (vectors, ids) = (self.vectors.map(str::to_owned), self.ids.map(str::to_owned));
        Ok(ColumnNames {
            vectors: vectors.or_else(|| usual?.vectors()),
            ids: ids.or_else(|| usual?.ids()),
            ..ColumnNames::default()
        })
    }
}
