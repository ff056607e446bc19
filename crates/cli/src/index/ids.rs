//! Record ids from a file of their own.

use crate::Error;
use sordino_search::vectors::ids;
use std::path::{Path, PathBuf};

/// The ids of a file, each of them once.
#[derive(Debug)]
pub(super) struct Ids {
    pub(super) path: PathBuf,
    pub(super) list: Vec<u32>,
}

impl Ids {
    /// Reads `.npy` or text, and refuses an id that occurs twice.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let list = ids::open(path).map_err(Error::vectors(path))?;
        let mut ordered = list.clone();
        ordered.sort_unstable();
        let repeated = ordered.windows(2).find(|pair| pair[0] == pair[1]);
        if let Some(&[id, _]) = repeated {
            return Err(twice(path, id, list));
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

/// The error of an id that occurs twice among those of a file, with the first two places.
pub(super) fn twice(path: &Path, id: u32, ids: impl IntoIterator<Item = u32>) -> Error {
    // Text is counted in lines from 1, as editors do; tables and arrays in rows from 0.
    let extension = path.extension().and_then(|extension| extension.to_str());
    let tabular = matches!(
        extension,
        Some("npy" | "parquet" | "arrow" | "arrows" | "feather" | "ipc")
    );
    let (first, noun) = if tabular {
        (0usize, "rows")
    } else {
        (1, "lines")
    };
    let places = (first..).zip(ids).filter(|(_, found)| *found == id);
    let places: Vec<String> = places.take(2).map(|(at, _)| at.to_string()).collect();
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
        let error = Ids::open(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("ids.txt: record 5 is given twice, in lines 2 and 4"),
            "{error}"
        );
        fs::write(&path, "7\n5\n").unwrap();
        let ids = Ids::open(&path).unwrap();
        assert!(ids.check_count(2, Path::new("base.npy")).is_ok());
        let error = ids
            .check_count(3, Path::new("base.npy"))
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("ids.txt: 2 record ids for the 3 vectors of base.npy"),
            "{error}"
        );
    }
}
