//! A folder with keys and vectors, and the results expected of it.

use crate::binary::{done, json};
use serde_json::Value;
use sordino_search::{Vectors, synthetic};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

const N: usize = 2000;
pub(crate) const DIM: usize = 32;
pub(crate) const QUERIES: usize = 20;

pub(crate) fn npy(vectors: &Vectors) -> Vec<u8> {
    let (rows, dim) = (vectors.len(), vectors.dim());
    let head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dim}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(head.len()).unwrap().to_le_bytes());
    bytes.extend(head.as_bytes());
    bytes.extend(vectors.as_slice().iter().flat_map(|x| x.to_le_bytes()));
    bytes
}

pub(crate) fn part(vectors: &Vectors, rows: std::ops::Range<usize>) -> Vectors {
    let dim = vectors.dim();
    let data = vectors.as_slice()[rows.start * dim..rows.end * dim].to_vec();
    Vectors::new(dim, data).unwrap()
}

/// A folder with keys and vectors.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) base: Vectors,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self::without_keys();
        done(&place.line("keys new owner @owner.key"));
        done(&place.line("keys new reader @reader.key --from @owner.key"));
        done(&place.line("keys new public @owner.pub --from @owner.key"));
        place
    }

    /// The number of files below a folder, at any depth. It is 0 if the folder does not exist.
    pub(crate) fn files(&self, folder: &str) -> usize {
        let Ok(entries) = fs::read_dir(self.path(folder)) else {
            return 0;
        };
        let count = |entry: fs::DirEntry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                self.files(&format!("{folder}/{}", entry.file_name().display()))
            }
            _ => 1,
        };
        entries.flatten().map(count).sum()
    }

    pub(crate) fn without_keys() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (base, _) = synthetic::clustered(N, 1, DIM, 7);
        let place = Self { folder, base };
        fs::write(place.path("base.npy"), npy(&place.base)).unwrap();
        // The queries are vectors of the index, so the nearest vectors are known.
        fs::write(
            place.path("queries.npy"),
            npy(&part(&place.base, 0..QUERIES)),
        )
        .unwrap();
        fs::write(place.path("more.npy"), npy(&part(&place.base, 0..3))).unwrap();
        place
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A command line: its words, in which `@name` becomes the path of that file in this folder.
    pub(crate) fn line(&self, text: &str) -> Vec<String> {
        let word = |word: &str| match word.strip_prefix('@') {
            Some(name) => self.at(name),
            None => word.to_owned(),
        };
        text.split_whitespace().map(word).collect()
    }

    pub(crate) fn build(&self, index: &str, more: &[&str]) -> Value {
        let (base, index, key) = (self.at("base.npy"), self.at(index), self.at("owner.key"));
        json(&[&["index", "build", &base, &index, "--key", &key], more].concat())
    }

    /// Builds an index. For sealed mode, allows the builder what these vectors allow.
    pub(crate) fn build_mode(&self, mode: &str) -> String {
        self.build(mode, &["--mode", mode, "--recall", "0.9"]);
        self.at(mode)
    }

    pub(crate) fn verify(&self, index: &str) -> Value {
        json(&self.line(&format!("index verify @{index} --key @owner.key")))
    }

    pub(crate) fn query(&self, more: &[&str]) -> Value {
        let (key, file) = (self.at("reader.key"), self.at("queries.npy"));
        json(&[&["query", "--key", &key, "--file", &file], more].concat())
    }
}

/// The first hit of each query.
pub(crate) fn nearest(found: &Value) -> Vec<u64> {
    let queries = found["queries"].as_array().unwrap().iter();
    queries
        .map(|query| query["hits"][0]["id"].as_u64().unwrap())
        .collect()
}

/// Asserts that each query found its own vector. Sealed mode may miss a few.
pub(crate) fn assert_found(found: &Value, mode: &str) {
    let right = (0..)
        .zip(nearest(found))
        .filter(|(row, id)| row == id)
        .count();
    let least = if mode == "sealed" || mode == "routed" {
        QUERIES * 8 / 10
    } else {
        QUERIES
    };
    assert!(right >= least, "{mode}: {right} of {QUERIES}");
}
