//! Columns of tables that are taken without an option, since most tables call them so.

use sordino_search::vectors::{ColumnNames, Format, Reader};
use std::path::{Path, PathBuf};

const IDS: [&str; 1] = ["id"];
const VECTORS: [&str; 3] = ["vector", "embedding", "embeddings"];
const TEXTS: [&str; 3] = ["text", "content", "document"];

/// The names of all columns of a table that can be read more than once.
pub(crate) struct UsualColumns {
    path: PathBuf,
    all: Vec<String>,
}

impl UsualColumns {
    /// Those of a file; none of a pipe, of a file without columns, and of one that cannot be read, which the reader says.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let is_file = path.metadata().is_ok_and(|data| data.is_file());
        if !is_file || !Format::of(path).is_ok_and(Format::is_table) {
            return None;
        }
        let names = ColumnNames {
            vectorless: true,
            ..ColumnNames::default()
        };
        let reader = Reader::open_columns(path, &names).ok()?;
        Some(Self {
            path: path.to_owned(),
            all: reader.columns().to_vec(),
        })
    }

    /// The column of vectors, if the reader takes it.
    pub(crate) fn vectors(&self) -> Option<String> {
        let vectors = |name: &str| ColumnNames {
            vectors: Some(name.to_owned()),
            ..ColumnNames::default()
        };
        self.only(&VECTORS, vectors)
    }

    /// The column of ids, if the reader takes it.
    pub(crate) fn ids(&self) -> Option<String> {
        let ids = |name: &str| ColumnNames {
            vectorless: true,
            ids: Some(name.to_owned()),
            ..ColumnNames::default()
        };
        self.only(&IDS, ids)
    }

    /// The column of texts, if the reader takes it.
    pub(crate) fn texts(&self) -> Option<String> {
        let texts = |name: &str| ColumnNames {
            vectorless: true,
            values: vec![name.to_owned()],
            ..ColumnNames::default()
        };
        self.only(&TEXTS, texts)
    }

    /// The only column with one of these names, if it opens as what it is to be.
    fn only(&self, usual: &[&str], names: impl Fn(&str) -> ColumnNames) -> Option<String> {
        let mut found = self
            .all
            .iter()
            .filter(|name| usual.contains(&name.as_str()));
        let name = found.next().filter(|_| found.next().is_none())?;
        let opens = Reader::open_columns(&self.path, &names(name)).is_ok();
        opens.then(|| name.clone())
    }
}
