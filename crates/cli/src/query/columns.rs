//! The columns of a file of queries.

use crate::Error;
use crate::usual_columns::UsualColumns;
use sordino_search::vectors::{ColumnNames, FileOptions};
use std::path::Path;

/// The named columns, and whether further columns are found by their names.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    pub(super) vectors: Option<&'a str>,
    pub(super) ids: Option<&'a str>,
    /// True if further columns are found by their usual names.
    pub(super) guess: bool,
}

impl Columns<'_> {
    pub(super) fn names(&self, path: &Path, options: &FileOptions) -> Result<ColumnNames, Error> {
        let usual = match self.guess {
            true => UsualColumns::of(path, options).map_err(Error::vectors(path))?,
            false => None,
        };
        let mut names = ColumnNames {
            vectors: self.vectors.map(str::to_owned),
            ids: self.ids.map(str::to_owned),
            ..ColumnNames::default()
        };
        if let Some(usual) = &usual {
            if names.vectors.is_none() {
                names.vectors = usual.vectors()?;
            }
            if names.ids.is_none() {
                names.ids = usual.ids()?;
            }
        }
        Ok(names)
    }
}
