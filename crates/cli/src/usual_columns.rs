//! Columns that are found without an option, because most tables use these names.

use crate::Error;
use crate::file_args::path;
use crate::table_source::{TableSource, is_pipe};
use sordino_search::Vectors;
use sordino_search::vectors::{self, ColumnNames, FileOptions, Format};
use std::path::{Path, PathBuf};

const IDS: [&str; 1] = ["id"];
const VECTORS: [&str; 3] = ["vector", "embedding", "embeddings"];
const TEXTS: [&str; 3] = ["text", "content", "document"];

/// The vectors of a whole file. For a table, an option may name their column, or the column has a usual name.
pub(crate) fn vectors(file: &Path, column: Option<&String>) -> Result<Vectors, Error> {
    let named = Error::vectors(file);
    let is_table = Format::of(file).map_err(&named)?.is_table();
    let usual = match column {
        None if is_table => UsualColumns::of(file, &FileOptions::default()).map_err(&named)?,
        _ => None,
    };
    let usual = usual.map(|usual| usual.vectors()).transpose()?.flatten();
    let names = ColumnNames {
        vectors: column.cloned().filter(|_| is_table).or(usual),
        ..ColumnNames::default()
    };
    Vectors::open_columns(file, &names).map_err(named)
}

/// The names of all columns of a table, if the table can be read twice.
pub(crate) struct UsualColumns {
    path: PathBuf,
    source: TableSource,
    options: FileOptions,
    all: Vec<String>,
}

impl UsualColumns {
    /// The columns of a file, which is read as the options say. There are none for a pipe or a file without
    /// columns.
    ///
    /// # Errors
    /// Fails if the file cannot be read as a table.
    pub(crate) fn of(file: &Path, options: &FileOptions) -> Result<Option<Self>, vectors::Error> {
        match is_pipe(&path(file)) {
            true => Ok(None),
            false => Self::of_source(&TableSource::of(file)?, file, options),
        }
    }

    /// The columns of a file or a pipe. There are none if it has no columns.
    ///
    /// # Errors
    /// Fails if it cannot be read as a table.
    pub(crate) fn of_source(
        source: &TableSource,
        file: &Path,
        options: &FileOptions,
    ) -> Result<Option<Self>, vectors::Error> {
        let path = path(file);
        if path.is_dir() || !is_table(&path, options)? {
            return Ok(None);
        }
        let names = ColumnNames {
            vectorless: true,
            ..ColumnNames::default()
        };
        let all = match source.reader(&names, options) {
            Ok(reader) => reader.columns().to_vec(),
            // The lines may be lists of numbers, without names.
            Err(error) => match source.reader(&ColumnNames::default(), options) {
                Ok(reader) if reader.columns().is_empty() => return Ok(None),
                _ => return Err(error),
            },
        };
        Ok(Some(Self {
            path,
            source: source.clone(),
            options: options.clone(),
            all,
        }))
    }

    /// True for a table that cannot be examined before it is read.
    pub(crate) fn are_unseen(file: &Path, options: &FileOptions) -> bool {
        let path = path(file);
        !path.is_dir() && is_pipe(&path) && is_table(&path, options).unwrap_or(false)
    }

    /// The column of vectors. If a column has the usual name and its values cannot be read, this is still the column: a
    /// list under another name would not be the vectors. A file that is not a table of records has no such column.
    ///
    /// # Errors
    /// Fails if the names of several columns differ only in capitals.
    pub(crate) fn vectors(&self) -> Result<Option<String>, Error> {
        let name = self.only(&VECTORS, "--vector-column")?;
        let open = |vectors: Option<&String>| {
            let names = ColumnNames {
                vectors: vectors.cloned(),
                ..ColumnNames::default()
            };
            self.source.reader(&names, &self.options)
        };
        let is_whole = || matches!(open(None), Err(vectors::Error::Table { .. }));
        Ok(name.filter(|name| open(Some(name)).is_ok() || !is_whole()))
    }

    /// The column of ids.
    ///
    /// # Errors
    /// Fails if the names of several columns differ only in capitals.
    pub(crate) fn ids(&self) -> Result<Option<String>, Error> {
        self.only(&IDS, "--id-column")
    }

    /// The column of texts.
    ///
    /// # Errors
    /// Fails if the names of several columns differ only in capitals.
    pub(crate) fn texts(&self) -> Result<Option<String>, Error> {
        self.only(&TEXTS, "--payload-column")
    }

    /// The columns whose names differ from the name of a used column only in capitals.
    pub(crate) fn passed_over<'a>(&self, taken: impl Iterator<Item = &'a String>) -> Vec<String> {
        let others = taken.flat_map(|taken| {
            let same = move |name: &&String| *name != taken && name.eq_ignore_ascii_case(taken);
            self.all.iter().filter(same)
        });
        others.cloned().collect()
    }

    /// The usual names that the first record lacks: of ids, and of texts.
    pub(crate) fn absent(&self, ids: bool, texts: bool) -> Vec<String> {
        let of = |wanted: bool, usual: &[&str]| match wanted && self.named(usual).is_empty() {
            true => usual.iter().map(|name| (*name).to_owned()).collect(),
            false => Vec::new(),
        };
        [of(ids, &IDS), of(texts, &TEXTS)].concat()
    }

    /// The columns that could be the texts, if there are several. In that case, none is used.
    pub(crate) fn several_texts(&self) -> Vec<String> {
        let found = self.named(&TEXTS);
        let same = found.windows(2).all(|pair| pair[0] == pair[1]);
        if same { Vec::new() } else { found }
    }

    /// The only column with one of these names. If there is none, the only one whose name differs from them only
    /// in capitals.
    fn only(&self, usual: &[&str], option: &str) -> Result<Option<String>, Error> {
        let found = self.named(usual);
        let same = |a: &String, b: &String| a != b && a.eq_ignore_ascii_case(b);
        if found.iter().any(|a| found.iter().any(|b| same(a, b))) {
            return Err(Error::Columns {
                path: self.path.clone(),
                why: format!(
                    "the names of columns {} differ in nothing but capitals: name the one that is meant with {option}",
                    found.join(" and ")
                ),
            });
        }
        // The reader refuses two columns with the same name, and names their positions.
        let first = found.first();
        Ok(first
            .filter(|first| found.iter().all(|name| name == *first))
            .cloned())
    }

    /// The columns with one of these names. If there are none, the columns whose names differ from these only in
    /// capitals.
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

fn is_table(path: &Path, options: &FileOptions) -> Result<bool, vectors::Error> {
    let format = options.format.map_or_else(|| Format::of(path), Ok)?;
    Ok(format.is_table())
}
