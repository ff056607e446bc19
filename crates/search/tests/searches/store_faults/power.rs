//! A file system that loses power: the names and contents that are left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::disk::Op;

/// What survives a loss of power.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Survives {
    /// All operations survive.
    All,
    /// All names survive, but only synced content: other files are empty.
    Names,
    /// Only synced names and synced content survive.
    Synced,
}

/// A folder's files as a file system keeps them. A name refers to a file, and name and content
/// become durable separately.
#[derive(Clone, Default)]
pub(crate) struct Model {
    /// The contents in memory and on the medium.
    pub(crate) files: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) names: BTreeMap<PathBuf, usize>,
    pub(crate) durable: BTreeMap<PathBuf, usize>,
}

impl Model {
    /// Reads a folder of the real disk. All of it is durable.
    pub(crate) fn read(root: &Path) -> Self {
        let mut model = Self::default();
        for (path, bytes) in files(root) {
            model.names.insert(path, model.files.len());
            model.files.push((bytes.clone(), bytes));
        }
        model.durable = model.names.clone();
        model
    }

    pub(crate) fn apply(&mut self, op: &Op) {
        match op {
            Op::CreateDir => {}
            Op::Write(path, bytes) => match self.names.get(path) {
                Some(&file) => self.files[file].0.clone_from(bytes),
                None => {
                    self.names.insert(path.clone(), self.files.len());
                    self.files.push((bytes.clone(), Vec::new()));
                }
            },
            Op::Sync(path) => {
                let file = &mut self.files[self.names[path]];
                file.1.clone_from(&file.0);
            }
            Op::Rename(from, to) => {
                let file = self.names.remove(from).unwrap();
                self.names.insert(to.clone(), file);
            }
            Op::SyncDir(dir) => {
                let within = |path: &PathBuf| path.parent() == Some(dir);
                self.durable.retain(|path, _| !within(path));
                let names = self.names.iter().filter(|(path, _)| within(path));
                self.durable.extend(names.map(|(p, &f)| (p.clone(), f)));
            }
            Op::Remove(path) => {
                self.names.remove(path);
            }
        }
    }

    pub(crate) fn restore(&self, root: &Path, survives: Survives) {
        for dir in ["", "manifests", "parts"] {
            std::fs::create_dir_all(root.join(dir)).unwrap();
        }
        let names = match survives {
            Survives::Synced => &self.durable,
            _ => &self.names,
        };
        for (path, &file) in names {
            let (volatile, durable) = &self.files[file];
            let bytes = match survives {
                Survives::All => volatile,
                _ => durable,
            };
            std::fs::write(root.join(path), bytes).unwrap();
        }
    }
}

/// All files below a folder.
pub(crate) fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path.strip_prefix(root).unwrap().to_owned(), bytes);
            }
        }
    }
    found
}

pub(crate) fn write_all(root: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    for (path, bytes) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}
