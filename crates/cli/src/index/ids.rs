//! Record ids from a file of their own.

use crate::Error;
use clap::ValueEnum;
use sordino_search::vectors::ids;
use sordino_search::{Id, IdKind};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The kind of record ids, as an argument.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum KindName {
    /// Whole numbers of 64 bits.
    Number,
    /// Texts of 1 to 64 bytes.
    Text,
    /// UUIDs.
    Uuid,
}

impl From<KindName> for IdKind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Number => Self::Number,
            KindName::Text => Self::Text,
            KindName::Uuid => Self::Uuid,
        }
    }
}

/// The ids of a file, each of them once.
#[derive(Debug)]
pub(super) struct Ids {
    pub(super) path: PathBuf,
    pub(super) list: Vec<Id>,
}

impl Ids {
    /// Reads `.npy` or text, and refuses an id that occurs twice.
    pub(super) fn open(path: &Path, kind: IdKind) -> Result<Self, Error> {
        let list = ids::open(path, kind).map_err(Error::vectors(path))?;
        let mut seen = HashSet::with_capacity(list.len());
        if let Some(repeated) = list.iter().find(|id| !seen.insert(*id)) {
            let array = path.extension().is_some_and(|extension| extension == "npy");
            let places = (0..).map(|row| match array {
                true => Place::Row(row),
                false => Place::Line(row + 1),
            });
            return Err(twice(path, repeated, places.zip(list.iter().cloned())));
        }
        let path = path.to_owned();
        Ok(Self { path, list })
    }

    /// Refuses another number of ids than of vectors.
    pub(super) fn check_count(&self, vectors: u64, file: &Path) -> Result<(), Error> {
        if self.list.len() as u64 == vectors {
            return Ok(());
        }
        let (found, file) = (self.list.len(), file.display());
        Err(Error::Ids {
            path: self.path.clone(),
            why: format!("{found} record ids for the {vectors} vectors of {file}"),
        })
    }
}

/// Ids of this kind from arguments.
pub(super) fn parsed(texts: &[String], kind: IdKind) -> Result<Vec<Id>, Error> {
    let ids = texts.iter().map(|text| Ok(kind.parse(text)?));
    ids.collect()
}

/// A place in a file: text has lines from 1, as editors count them; arrays and tables have rows from 0, as their
/// libraries do.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Line(u64),
    Row(u64),
}

/// The error of an id that occurs twice among those of a file, with the first two places.
pub(super) fn twice(path: &Path, id: &Id, places: impl IntoIterator<Item = (Place, Id)>) -> Error {
    let mut noun = "rows";
    let places = places.into_iter().filter(|(_, found)| found == id);
    let places: Vec<String> = places
        .take(2)
        .map(|(place, _)| match place {
            Place::Row(row) => row.to_string(),
            Place::Line(line) => {
                noun = "lines";
                line.to_string()
            }
        })
        .collect();
    Error::Ids {
        path: path.to_owned(),
        why: format!(
            "record {id} is given twice, in {noun} {}",
            places.join(" and ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_id_that_occurs_twice_is_found_with_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids.txt");
        fs::write(&path, "7\n5\n1\n5\n").unwrap();
        for kind in [IdKind::Number, IdKind::Text] {
            let error = Ids::open(&path, kind).unwrap_err().to_string();
            assert!(
                error.ends_with("ids.txt: record 5 is given twice, in lines 2 and 4"),
                "{error}"
            );
        }
        fs::write(&path, "7\n5\n").unwrap();
        let ids = Ids::open(&path, IdKind::Number).unwrap();
        assert!(ids.check_count(2, Path::new("base.npy")).is_ok());
        let error = ids
            .check_count(3, Path::new("base.npy"))
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("ids.txt: 2 record ids for the 3 vectors of base.npy"),
            "{error}"
        );
        let error = Ids::open(&path, IdKind::Uuid).unwrap_err().to_string();
        assert!(
            error.contains("line 1 is not an id: expected a UUID"),
            "{error}"
        );
    }
}
