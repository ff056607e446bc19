//! The columns of a file of queries.

use crate::Error;
use crate::table_source::TableSource;
use crate::usual_columns::UsualColumns;
use sordino_search::vectors::{ColumnNames, FileOptions, Reader};
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
    /// Opens a file, or a pipe.
    pub(super) fn open(&self, path: &Path, options: &FileOptions) -> Result<Reader, Error> {
        let named = Error::vectors(path);
        let source = TableSource::of(path).map_err(&named)?;
        let usual = match self.guess {
            true => UsualColumns::of_source(&source, path, options).map_err(&named)?,
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
        source.last_reader(&names, options).map_err(named)
    }
}
