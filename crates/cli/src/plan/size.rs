//! The number of vectors and their dimension, as given or of a file.

use super::Args;
use crate::usual_columns::UsualColumns;
use crate::{Error, file_args};
use sordino_search::vectors::{ColumnNames, Reader};

impl Args {
    pub(super) fn size(&self) -> Result<(usize, usize), Error> {
        let Some(path) = &self.data else {
            // clap has seen to it that both are there.
            return Ok((self.n.unwrap_or(0), self.dim.unwrap_or(0)));
        };
        let at = Error::vectors(path);
        let options = self.file_args.options();
        let usual = match self.vector_column {
            None => UsualColumns::of(path, &options).map_err(&at)?,
            Some(_) => None,
        };
        let names = ColumnNames {
            vectors: self.vector_column.clone().or_else(|| usual?.vectors()),
            ..ColumnNames::default()
        };
        let reader = Reader::open_with(file_args::path(path), &names, &options).map_err(&at)?;
        let dim = reader.dim();
        let len = match reader.len_hint() {
            Some(len) => len,
            None => {
                let mut len = 0;
                for chunk in reader {
                    len += chunk.map_err(&at)?.vectors.len() as u64;
                }
                len
            }
        };
        Ok((usize::try_from(len).unwrap_or(usize::MAX), dim))
    }
}
