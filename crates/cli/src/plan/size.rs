//! The number of vectors and their dimension, from arguments or from a file.

use super::Args;
use crate::usual_columns::UsualColumns;
use crate::{Error, Output, file_args};
use sordino_search::vectors::{ColumnNames, Reader};

impl Args {
    /// The number of results of a search among this number of vectors. Except in sealed mode, an index may begin with fewer
    /// vectors than `--k`.
    pub(super) fn results(&self, n: usize, output: Output) -> usize {
        let k = self.k.min(n.max(1));
        if k < self.k {
            output.note(&format!(
                "planned for {k} results of a search, the number of vectors: sealed mode refuses --k {} until there are more",
                self.k
            ));
        }
        k
    }

    pub(super) fn size(&self) -> Result<(usize, usize), Error> {
        let Some(path) = &self.data else {
            // clap ensures that both numbers are given.
            return Ok((self.n.unwrap_or(0), self.dim.unwrap_or(0)));
        };
        let at = Error::vectors(path);
        let options = self.file_args.options();
        let vectors = match &self.vector_column {
            Some(name) => Some(name.clone()),
            None => match UsualColumns::of(path, &options).map_err(&at)? {
                Some(usual) => usual.vectors()?,
                None => None,
            },
        };
        let names = ColumnNames {
            vectors,
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
