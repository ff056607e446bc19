//! Making a server of an index, or of the version that a directory has now.

use std::path::Path;
use std::sync::Arc;

use sordino_index::columns::Rows;
use sordino_index::folder::Folder;
use sordino_index::history::KEPT;
use sordino_index::manifest::{Holder, Mode, Part, PartKind};
use sordino_index::payload::Payloads;
use sordino_index::{Bytes, Disk, Error, Files, Index, OwnerPublicKey, SignedManifest};

use super::columns::Columns;
use super::routed::Routed;
use super::sealed::{self, Sealed};
use super::{Kind, Server, payloads};
use crate::history::History;

/// Reads a part that is served, into the memory of one that was let go.
pub(super) type Read<'a> = dyn FnMut(&Part, Vec<u8>) -> Result<Bytes, Error> + 'a;

impl Kind {
    /// The data of a version. As much of it as the server before has too is shared with that.
    fn new(
        manifest: &SignedManifest,
        before: Option<&Server>,
        read: &mut Read<'_>,
    ) -> Result<Self, Error> {
        let columns = before.and_then(|before| match &before.kind {
            Self::Columns(columns) => Some(&**columns),
            _ => None,
        });
        Ok(match &manifest.mode {
            Mode::Sealed(mode) => {
                Self::Sealed(match before.and_then(|b| sealed::shared(b, manifest)) {
                    Some(sealed) => sealed,
                    None => Arc::new(Sealed::new(manifest, mode, read)?),
                })
            }
            Mode::Local(_) => Self::Local,
            Mode::Open(mode) => {
                let columns = Columns::new(Rows::Open, (0, mode), manifest, columns, read)?;
                Self::Columns(Box::new(columns))
            }
            Mode::Masked(mode) => {
                let columns = Columns::new(Rows::Masked, (0, mode), manifest, columns, read)?;
                Self::Columns(Box::new(columns))
            }
            Mode::Routed(mode) => {
                Self::Routed(Box::new(Routed::new(manifest, mode, before, read)?))
            }
        })
    }

    /// The bytes of a part that was computed here: the hint of a segment's rows.
    fn computed(&self, part: &Part) -> Option<Bytes> {
        match (self, part.kind) {
            (Self::Columns(columns), PartKind::RowsHint) => columns.hint(part.segment?),
            (Self::Routed(routed), PartKind::RowsHint) => routed.hint(part.segment?),
            _ => None,
        }
    }
}

impl Server {
    /// Prepares an index to be served.
    ///
    /// # Errors
    /// If the index's parts do not fit its manifest.
    pub fn new(mut index: Index) -> Result<Self, Error> {
        let history = index.take_history();
        let (manifest, mut parts) = index.into_parts();
        Self::build(manifest, History::new(&history), None, &mut |part, _| {
            let here = parts.iter().position(|(here, _)| here == part);
            let here = here.ok_or_else(|| Error::Malformed {
                what: "index",
                why: format!("no {}", part.kind.name()),
            })?;
            Ok(parts.swap_remove(here).1)
        })
    }

    /// Serves the newest version in an owner's directory, as [`Index::open_dir`] opens it: part after part,
    /// so that no more is in memory at a time than what is served and one part.
    ///
    /// # Errors
    /// Those of [`Index::open_dir`], and if parts do not fit the manifest.
    pub fn open_dir(dir: impl AsRef<Path>, owner: &OwnerPublicKey) -> Result<Self, Error> {
        Self::read(dir.as_ref(), owner, None)
    }

    /// Serves the version that the directory has now. Only parts that this server does not have are read; the
    /// others are shared with it.
    ///
    /// # Errors
    /// Those of [`open_dir`](Self::open_dir).
    pub fn follow_dir(&self, dir: impl AsRef<Path>, owner: &OwnerPublicKey) -> Result<Self, Error> {
        Self::read(dir.as_ref(), owner, Some(self))
    }

    /// Serves the next version, whose parts and manifests are in a directory already. Only parts that this
    /// server does not have are read.
    ///
    /// # Errors
    /// If a part cannot be read, or does not fit the manifest.
    pub fn follow<D: Disk>(
        &self,
        folder: &Folder<D>,
        owner: &OwnerPublicKey,
        manifest: SignedManifest,
    ) -> Result<Self, Error> {
        Self::of_version(folder, owner, manifest, Some(self))
    }

    fn read(dir: &Path, owner: &OwnerPublicKey, before: Option<&Self>) -> Result<Self, Error> {
        let folder = Folder::new(dir, Files);
        folder.newest(owner, |manifest| {
            Self::of_version(&folder, owner, manifest, before)
        })
    }

    fn of_version<D: Disk>(
        folder: &Folder<D>,
        owner: &OwnerPublicKey,
        manifest: SignedManifest,
        before: Option<&Self>,
    ) -> Result<Self, Error> {
        let history = match before.and_then(|before| before.history_of(&manifest)) {
            Some(history) => history,
            None => {
                let mut manifests = Vec::new();
                // Searches do not need it.
                drop(folder.history(&manifest, KEPT, owner, &mut manifests));
                History::new(&manifests)
            }
        };
        Self::build(manifest, history, before, &mut |part, room| {
            folder.part_into(part, room)
        })
    }

    /// The payloads and the number of them that a search fetches, by which their databases are laid out.
    fn fetched(&self) -> (&Option<Payloads>, u32) {
        (&self.manifest.payloads, self.manifest.k)
    }

    /// The manifests before this one, if it is this server's or the next: their signatures were checked when
    /// they were read, 256 of them at most.
    fn history_of(&self, manifest: &SignedManifest) -> Option<History> {
        let own = self.manifest.digest();
        if manifest.digest() == own {
            return Some(self.history.clone());
        }
        (manifest.previous == own).then(|| self.history.after(&self.manifest))
    }

    fn build(
        manifest: SignedManifest,
        history: History,
        before: Option<&Self>,
        read: &mut Read<'_>,
    ) -> Result<Self, Error> {
        let kind = Kind::new(&manifest, before, read)?;
        let payloads = match (&manifest.payloads, before) {
            (new, Some(before)) if (new, manifest.k) == before.fetched() => before.payloads.clone(),
            (Some(payloads), _) => payloads::server(&manifest, payloads, read)?.map(Arc::new),
            (None, _) => None,
        };
        let mut given = Vec::new();
        for part in manifest
            .parts()?
            .iter()
            .filter(|part| part.holder.is_given())
        {
            let held = before.and_then(|before| before.given.iter().find(|g| g.0 == part.digest));
            let bytes = match (part.holder, held) {
                (Holder::Clients, _) => kind.computed(part).ok_or_else(|| Error::Digest {
                    what: part.kind.name(),
                })?,
                (_, Some((_, bytes))) => bytes.clone(),
                (_, None) => read(part, Vec::new())?,
            };
            given.push((part.digest, bytes));
        }
        Ok(Self {
            sessions: before.map_or_else(Default::default, |before| before.sessions.clone()),
            edition: manifest.edition(),
            history,
            manifest,
            given,
            kind,
            payloads,
        })
    }
}
