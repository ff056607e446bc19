//! Record ids from a separate file.

use super::list::{List, Part};
use crate::Error;
use clap::ValueEnum;
use sordino_search::vectors::id::MAX_TEXT;
use sordino_search::vectors::ids;
use sordino_search::{Id, IdKind};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The kind of record ids, as an argument.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum KindName {
    /// Whole numbers from 0 to 2^64 - 1.
    Number,
    /// Texts of 1 to 512 bytes.
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

    /// Warns if ids contain tabs or line ends, which the file's writer may have meant as
    /// backslashes.
    pub(super) fn warning(&self) -> Option<String> {
        let odd = |id: &Id| matches!(id, Id::Text(text) if text.contains(['\t', '\n', '\r']));
        let line = self.list.iter().position(odd)? + 1;
        let path = self.path.display();
        Some(format!(
            "warning: {path}: ids have tabs or line ends, first in line {line}; a backslash of an id's own is written \\\\"
        ))
    }

    /// Refuses a number of ids that differs from the number of vectors.
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

/// Ids of this kind from arguments. If neighbouring parts of a list, joined by their commas, are an existing id, the
/// user may mean that id.
pub(super) fn parsed(
    lists: &[List<Part>],
    kind: IdKind,
    is_there: impl Fn(&Id) -> bool,
) -> Result<Vec<Id>, Error> {
    if kind == IdKind::Text {
        for list in lists {
            let found = joined(&list.0).find(|text| is_there(&Id::Text(text.as_str().into())));
            if let Some(text) = found {
                return Err(Error::Arguments(format!(
                    "{text} may be one record, which is there, or several: write '\"{text}\"' for the one, or --ids before \
                     each of several"
                )));
            }
        }
    }
    let ids = List::all(lists).map(|part| Ok(kind.parse(&part.text)?));
    ids.collect()
}

/// The texts of neighbouring unquoted parts of a list, as far as they may be one id.
fn joined(parts: &[Part]) -> impl Iterator<Item = String> {
    (0..parts.len()).flat_map(|first| {
        let mut text = String::new();
        let bare = parts[first..].iter().take_while(|part| !part.quoted);
        let all = bare.map_while(move |part| {
            let comma = if text.is_empty() { "" } else { "," };
            text = format!("{text}{comma}{}", part.text);
            (text.len() <= MAX_TEXT).then(|| text.clone())
        });
        all.skip(1)
    })
}

/// A place in a file. In texts, lines count from 1, as in editors. In arrays and tables, rows count from 0, as
/// in their libraries.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Line(u64),
    Row(u64),
}

/// The error of an id that occurs twice in a file, with the first two places.
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
    fn parts_that_are_an_id_together_are_not_taken_for_several() {
        let lists = |text: &str| vec![text.parse::<List<Part>>().unwrap()];
        let read = |text: &str, there: &str| {
            let there = Id::Text(there.into());
            parsed(&lists(text), IdKind::Text, |id| *id == there)
        };
        let texts =
            |texts: &[&str]| -> Vec<Id> { texts.iter().map(|&x| Id::Text(x.into())).collect() };
        for text in ["doc,7", "x,doc,7", "doc,7,x"] {
            let error = read(text, "doc,7").unwrap_err().to_string();
            assert!(error.starts_with("doc,7 may be one record"), "{error}");
        }
        assert_eq!(read("doc,7", "7").unwrap(), texts(&["doc", "7"]));
        assert_eq!(
            read("\"doc,7\",8", "doc,7").unwrap(),
            texts(&["doc,7", "8"])
        );
        assert_eq!(read("doc,\"7\"", "doc,7").unwrap(), texts(&["doc", "7"]));
        let long = "a,".repeat(1 << 12) + "a";
        assert_eq!(read(&long, "b").unwrap().len(), (1 << 12) + 1);
        let one = parsed(&lists("7,9"), IdKind::Number, |_| true).unwrap();
        assert_eq!(one, [7, 9].map(Id::Number));
    }

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
        assert!(ids.warning().is_none());
        fs::write(&path, "C:\\docs\n").unwrap();
        assert!(Ids::open(&path, IdKind::Text).is_err());
        fs::write(&path, "a\nC:\\new\n").unwrap();
        let warning = Ids::open(&path, IdKind::Text).unwrap().warning().unwrap();
        assert!(
            warning.ends_with(r"first in line 2; a backslash of an id's own is written \\"),
            "{warning}"
        );
        fs::write(&path, "7\n5\n").unwrap();
        let error = Ids::open(&path, IdKind::Uuid).unwrap_err().to_string();
        assert!(
            error.contains("line 1 is not an id: \"7\", expected a UUID"),
            "{error}"
        );
    }
}
