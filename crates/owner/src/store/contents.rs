//! Reads all stored records back with a reader's key.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use sordino_index::folder::Folder;
use sordino_index::{Disk, Error, Files, Id, SignedManifest};
use sordino_vault::ReaderKeys;
use sordino_vault::attributes::Attributes;
use sordino_vault::contents::ContentKeys;
use sordino_vault::directory::Directory;
use sordino_vault::frame::Frame;
use sordino_vectors::Vectors;

use super::access::{contents_of, directory_of, label_of};
use super::attribute_columns::AttributeColumns;
use super::payloads;
use super::records::{self, Records};

/// The records that a reader may read, in one version of an index in a directory.
pub struct Contents<D = Files> {
    folder: Folder<D>,
    keys: ContentKeys,
    manifest: SignedManifest,
    records: Records,
    frame: Frame,
    /// The owner's list, if the keys are the owner's and the index has readers of its own.
    directory: Option<Directory>,
    /// The payloads by place, if records have any.
    payloads: Option<HashMap<u64, Vec<u8>>>,
}

/// Stored records, all fields in the same order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stored {
    /// The ids.
    pub ids: Vec<Id>,
    /// The payloads, if records have any.
    pub payloads: Option<Vec<Vec<u8>>>,
    /// The attributes.
    pub attributes: Attributes,
    /// The label of all of these records, if they have one and the key is the owner's. Only the owner knows the names of
    /// labels.
    pub label: Option<String>,
    /// The vectors as they are stored, with the precision of the mode's codes. For the cosine they are directions.
    pub vectors: Vectors,
}

impl Contents {
    /// Opens the newest version in a directory, with a reader's keys. It locks nothing.
    ///
    /// # Errors
    /// [`Error::NoIndex`] if the directory has no index, and the errors of reading the manifest, the sealed lists and
    /// the payloads.
    pub fn open_dir(dir: impl AsRef<Path>, keys: &ReaderKeys) -> Result<Self, Error> {
        Self::open_on(Files, dir, keys)
    }
}

impl<D: Disk + Clone> Contents<D> {
    /// Like [`open_dir`](Contents::open_dir), on another disk.
    ///
    /// # Errors
    /// The errors of `open_dir`.
    pub fn open_on(disk: D, dir: impl AsRef<Path>, keys: &ReaderKeys) -> Result<Self, Error> {
        let folder = || Folder::new(dir.as_ref(), disk.clone());
        let open = |manifest| Self::of(folder(), manifest, keys);
        folder().newest(keys.owner(), open)
    }

    /// Does `work` with the newest version. If the owner changes the index twice meanwhile, files that the work needs are
    /// removed. The work is then repeated with the version that is the newest by then.
    ///
    /// # Errors
    /// The errors of [`open_dir`](Contents::open_dir), and the errors of `work`.
    pub fn read_on<T>(
        disk: D,
        dir: impl AsRef<Path>,
        keys: &ReaderKeys,
        mut work: impl FnMut(&Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let folder = || Folder::new(dir.as_ref(), disk.clone());
        folder().newest(keys.owner(), |manifest| {
            work(&Self::of(folder(), manifest, keys)?)
        })
    }
}

impl<D: Disk> Contents<D> {
    fn of(folder: Folder<D>, manifest: SignedManifest, keys: &ReaderKeys) -> Result<Self, Error> {
        let directory = match keys.root() {
            Some(root) => directory_of(&folder, &manifest, root)?,
            None => None,
        };
        let keys = contents_of(&folder, &manifest, keys)?;
        let records = Records::read(&folder, &manifest, &keys)?;
        let frame = records::frame(&folder, &manifest, &keys)?;
        let payloads = match manifest.has_payloads() {
            true => payloads::read(&folder, &manifest, &keys)?,
            false => None,
        };
        Ok(Self {
            keys,
            manifest,
            records,
            frame,
            directory,
            payloads: payloads.map(|all| {
                let all = all
                    .into_iter()
                    .map(|(place, carried)| (place, carried.payload));
                all.collect()
            }),
            folder,
        })
    }

    /// The version's manifest.
    #[must_use]
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// The recall of held-out vectors, as the build measured it under the noise of real scores, or `None` if it was not
    /// measured.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        self.frame.recall()
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Always false, since an index keeps at least one record. Clippy expects it next to `len`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of records whose label [`Stored::label`] does not name, because only the owner knows the names of
    /// labels.
    #[must_use]
    pub fn unnamed(&self) -> usize {
        let segments = self.manifest.segments().into_iter().enumerate();
        let labelled =
            segments.filter(|(_, it)| self.keys.is_labelled(&self.manifest, it) == Some(true));
        labelled.map(|(at, _)| self.records.rows(at).count()).sum()
    }

    /// The labels that records have, in the order of their names. Empty if the key is not the owner's.
    #[must_use]
    pub fn labels(&self) -> BTreeSet<&str> {
        let segments = self.manifest.segments().into_iter().enumerate();
        let used = segments.filter(|(at, _)| self.records.rows(*at).next().is_some());
        used.filter_map(|(_, segment)| label_of(self.directory.as_ref(), segment.key))
            .collect()
    }

    /// The existing attributes, as columns without rows.
    ///
    /// # Errors
    /// The errors of [`all`](Self::all), and [`Error::Attribute`] for an attribute of two types.
    pub fn attributes(&self) -> Result<Attributes, Error> {
        AttributeColumns::new(&self.folder, &self.manifest, &self.keys).all()
    }

    /// All records, segment by segment, each in the order of ids.
    ///
    /// # Errors
    /// [`Error`] if a part cannot be read or is damaged.
    pub fn all(&self) -> impl Iterator<Item = Result<Stored, Error>> {
        let segments = 0..self.records.sets.len();
        let segments = segments.map(|at| (at, self.records.rows(at).collect::<Vec<_>>()));
        let segments = segments.filter(|(_, rows)| !rows.is_empty());
        segments.map(|(at, rows)| self.rows(at, &rows))
    }

    /// These records, in no fixed order. Missing ones are left out.
    ///
    /// # Errors
    /// The errors of [`all`](Self::all).
    pub fn get(&self, ids: &[Id]) -> impl Iterator<Item = Result<Stored, Error>> {
        let mut rows = vec![Vec::new(); self.records.sets.len()];
        for (segment, row) in ids.iter().filter_map(|id| self.records.find(id)) {
            rows[segment].push(row);
        }
        let some = rows.into_iter().enumerate();
        let some = some.filter(|(_, rows)| !rows.is_empty());
        some.map(|(segment, rows)| self.rows(segment, &rows))
    }

    fn rows(&self, at: usize, rows: &[u32]) -> Result<Stored, Error> {
        let Self {
            folder,
            keys,
            manifest,
            ..
        } = self;
        let wanted: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
        let attributes = records::attributes(folder, manifest, keys, at)?.select(&wanted);
        let (marks, residuals) = records::residuals(folder, manifest, keys, &self.frame, at)?;
        let dim = manifest.dim as usize;
        let vector = |&row: &usize| {
            let y = self.frame.whole(marks[row].base, residuals.row(row));
            self.frame.restored(&y)
        };
        let first = self.records.first(at);
        let payload = |all: &HashMap<u64, Vec<u8>>| {
            let places = rows.iter().map(|&row| first + u64::from(row));
            let found = places.map(|place| all.get(&place).cloned().unwrap_or_default());
            found.collect()
        };
        let coordinates = wanted.iter().flat_map(vector).collect();
        let key = manifest.segments()[at].key;
        Ok(Stored {
            label: label_of(self.directory.as_ref(), key).map(str::to_owned),
            ids: rows
                .iter()
                .map(|&row| self.records.sets[at].id(row))
                .collect(),
            payloads: self.payloads.as_ref().map(payload),
            attributes,
            vectors: Vectors::new(dim, coordinates)?,
        })
    }
}

impl<D> std::fmt::Debug for Contents<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contents")
            .field("manifest", &self.manifest)
            .finish_non_exhaustive()
    }
}
