//! Columns of tables that are taken without an option, since most tables call them so.

use crate::file_args::path;
use sordino_search::vectors::{ColumnNames, Error, FileOptions, Format, Reader};
use std::path::{Path, PathBuf};

const IDS: [&str; 1] = ["id"];
const VECTORS: [&str; 3] = ["vector", "embedding", "embeddings"];
const TEXTS: [&str; 3] = ["text", "content", "document"];

/// The names of all columns of a table that can be read more than once.
pub(crate) struct UsualColumns {
    path: PathBuf,
    options: FileOptions,
    all: Vec<String>,
}

impl UsualColumns {
    /// The usual columns of a file, which is read as the options say; none for a pipe or a file without columns.
    ///
    /// # Errors
    /// If the file cannot be read as a table.
    pub(crate) fn of(file: &Path, options: &FileOptions) -> Result<Option<Self>, Error> {
        let path = path(file);
        if is_pipe(&path) || !is_table(&path, options)? {
            return Ok(None);
        }
        let names = ColumnNames {
            vectorless: true,
            ..ColumnNames::default()
        };
        let all = match Reader::open_with(&path, &names, options) {
            Ok(reader) => reader.columns().to_vec(),
            // Lines may be lists of numbers, without names.
            Err(error) => match Reader::open_with(&path, &ColumnNames::default(), options) {
                Ok(reader) if reader.columns().is_empty() => return Ok(None),
                _ => return Err(error),
            },
        };
        Ok(Some(Self {
            path,
            options: options.clone(),
            all,
        }))
    }

    /// True for a table that cannot be looked at before it is read.
    pub(crate) fn are_unseen(file: &Path, options: &FileOptions) -> bool {
        let path = path(file);
        !path.is_dir() && is_pipe(&path) && is_table(&path, options).unwrap_or(false)
    }

    /// The column of vectors, if the reader takes it.
    pub(crate) fn vectors(&self) -> Option<String> {
        let name = self.only(&VECTORS)?;
        let names = ColumnNames {
            vectors: Some(name.clone()),
            ..ColumnNames::default()
        };
        let opens = Reader::open_with(&self.path, &names, &self.options).is_ok();
        opens.then_some(name)
    }

    /// The column of ids.
    pub(crate) fn ids(&self) -> Option<String> {
        self.only(&IDS)
    }

    /// The column of texts.
    pub(crate) fn texts(&self) -> Option<String> {
        self.only(&TEXTS)
    }

    /// The usual names that the first record lacks: of ids, and of texts.
    pub(crate) fn absent(&self, ids: bool, texts: bool) -> Vec<String> {
        let of = |wanted: bool, usual: &[&str]| match wanted && self.named(usual).is_empty() {
            true => usual.iter().map(|name| (*name).to_owned()).collect(),
            false => Vec::new(),
        };
        [of(ids, &IDS), of(texts, &TEXTS)].concat()
    }

    /// The columns that could be the texts, if there are several: then none is taken.
    pub(crate) fn several_texts(&self) -> Vec<String> {
        match self.texts() {
            Some(_) => Vec::new(),
            None => self.named(&TEXTS),
        }
    }

    /// The only name of columns that is one of these; if there is none, the only one that is so in other capitals.
    fn only(&self, usual: &[&str]) -> Option<String> {
        let found = self.named(usual);
        // The reader refuses two columns of one name, with their places.
        let first = found.first()?;
        found
            .iter()
            .all(|name| name == first)
            .then(|| first.clone())
    }

    /// The names of columns that are one of these; if there is none, those that are so in other capitals.
    fn named(&self, usual: &[&str]) -> Vec<String> {
        let named = |is: &dyn Fn(&str, &str) -> bool| {
            let found = self.all.iter();
            let found = found.filter(|name| usual.iter().any(|usual| is(name, usual)));
            found.cloned().collect::<Vec<_>>()
        };
        let mut found = named(&|name, usual| name == usual);
        if found.is_empty() {
            found = named(&|name, usual| name.eq_ignore_ascii_case(usual));
        }
        found
    }
}

fn is_pipe(path: &Path) -> bool {
    !path.metadata().is_ok_and(|data| data.is_file())
}

fn is_table(path: &Path, options: &FileOptions) -> Result<bool, Error> {
    let format = options.format.map_or_else(|| Format::of(path), Ok)?;
    Ok(format.is_table())
}
