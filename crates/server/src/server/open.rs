//! Making a server of an index, or of the version that a directory has now.

use std::path::Path;
use std::sync::Arc;

use sordino_index::columns::Rows;
use sordino_index::folder::Folder;
use sordino_index::history::KEPT;
use sordino_index::manifest::{Holder, Mode, Part, PartKind};
use sordino_index::payload::Payloads;
use sordino_index::shard::Shard;
use sordino_index::{Bytes, Disk, Error, Files, Index, OwnerPublicKey, SignedManifest};

use super::columns::Columns;
use super::encodings::{Encodings, Shelf};
use super::read::{Read, Taken, all};
use super::routed::Routed;
use super::sealed::{self, Sealed};
use super::{Kind, Server, gateway, payloads};
use crate::history::History;

/// A server is made beside these.
#[derive(Clone, Copy, Default)]
struct Beside<'a> {
    /// The share of the data that it has, if it is not all.
    shard: Option<Shard>,
    /// The server of another version, to share with.
    before: Option<&'a Server>,
    /// The folder in which encoded databases are kept.
    encodings: Option<&'a Encodings>,
    /// The owner of the index.
    owner: Option<&'a OwnerPublicKey>,
}

impl<'a> Beside<'a> {
    /// A server that comes after another one.
    fn after(before: &'a Server) -> Self {
        Self {
            shard: before.shard,
            before: Some(before),
            encodings: before.encodings.as_ref(),
            owner: None,
        }
    }
}

impl Kind {
    /// The data of a version. As much of it as the server before has too is shared with that.
    fn new(
        manifest: &SignedManifest,
        shard: Shard,
        before: Option<&Server>,
        (read, shelf): (&mut dyn Read, &mut Shelf<'_>),
    ) -> Result<Self, Error> {
        let from = (read, shelf);
        let columns = before.and_then(|before| match &before.kind {
            Self::Columns(columns) => Some(&**columns),
            _ => None,
        });
        Ok(match &manifest.mode {
            Mode::Sealed(mode) => {
                Self::Sealed(match before.and_then(|b| sealed::shared(b, manifest)) {
                    Some(sealed) => sealed,
                    None => Arc::new(Sealed::new(manifest, mode, shard, from.0)?),
                })
            }
            Mode::Local(_) => Self::Local,
            Mode::Open(mode) => {
                let columns = Columns::new(Rows::Open, (0, mode), manifest, shard, columns, from)?;
                Self::Columns(Box::new(columns))
            }
            Mode::Masked(mode) => {
                let columns =
                    Columns::new(Rows::Masked, (0, mode), manifest, shard, columns, from)?;
                Self::Columns(Box::new(columns))
            }
            Mode::Routed(mode) => {
                Self::Routed(Box::new(Routed::new(manifest, mode, shard, before, from)?))
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
        let (manifest, parts) = index.into_parts();
        let history = History::new(&history);
        Self::build(manifest, history, Beside::default(), &mut Taken(parts))
    }

    /// Serves the newest version in an owner's directory, as [`Index::open_dir`] opens it: part after part,
    /// so that no more is in memory at a time than what is served and one part.
    ///
    /// # Errors
    /// Those of [`Index::open_dir`], and if parts do not fit the manifest.
    pub fn open_dir(dir: impl AsRef<Path>, owner: &OwnerPublicKey) -> Result<Self, Error> {
        Self::read(dir.as_ref(), owner, Beside::default(), u64::MAX)
    }

    /// Serves a shard of the newest version in an owner's directory: the shard's share of the data, and a share of what
    /// clients download. It answers with parts of replies, which a server over all shards [joins](Self::gather).
    /// [`follow_dir`](Self::follow_dir) stays with the shard.
    ///
    /// # Errors
    /// Those of [`open_dir`](Self::open_dir), and [`Error::Mode`] for an index in a mode that is not cut, or cannot be cut
    /// into so many shards.
    pub fn open_shard(
        dir: impl AsRef<Path>,
        owner: &OwnerPublicKey,
        shard: Shard,
    ) -> Result<Self, Error> {
        Self::open_folder(&Folder::new(dir.as_ref(), Files), owner, Some(shard), None)
    }

    /// [`open_dir`](Self::open_dir), or of a shard [`open_shard`](Self::open_shard), on another disk. With `encodings` what
    /// is encoded of vectors is mapped from there, or kept there; servers that follow this one do the same.
    ///
    /// # Errors
    /// Those of these.
    pub fn open_folder<D: Disk>(
        folder: &Folder<D>,
        owner: &OwnerPublicKey,
        shard: Option<Shard>,
        encodings: Option<&Encodings>,
    ) -> Result<Self, Error> {
        let beside = Beside {
            shard,
            encodings,
            ..Beside::default()
        };
        folder.newest(owner, |manifest| {
            Self::of_version(folder, owner, manifest, beside)
        })
    }

    /// [`follow_dir`](Self::follow_dir) on another disk.
    ///
    /// # Errors
    /// Those of `follow_dir`.
    pub fn follow_folder<D: Disk>(
        &self,
        folder: &Folder<D>,
        owner: &OwnerPublicKey,
    ) -> Result<Self, Error> {
        folder.newest(owner, |manifest| {
            Self::of_version(folder, owner, manifest, Beside::after(self))
        })
    }

    /// Serves the version that the directory has now. Only parts that this server does not have are read; the
    /// others are shared with it.
    ///
    /// # Errors
    /// Those of [`open_dir`](Self::open_dir).
    pub fn follow_dir(&self, dir: impl AsRef<Path>, owner: &OwnerPublicKey) -> Result<Self, Error> {
        Self::read(dir.as_ref(), owner, Beside::after(self), u64::MAX)
    }

    /// [`open_dir`](Self::open_dir), with the folder of `encodings` as [`open_folder`](Self::open_folder), of an index whose
    /// parts have no more than `most` bytes together: of another nothing but its manifest is read.
    ///
    /// # Errors
    /// Those of [`open_dir`](Self::open_dir), and [`Error::Room`].
    pub fn open_within(
        dir: impl AsRef<Path>,
        owner: &OwnerPublicKey,
        most: u64,
        encodings: Option<&Encodings>,
    ) -> Result<Self, Error> {
        let beside = Beside {
            encodings,
            ..Beside::default()
        };
        Self::read(dir.as_ref(), owner, beside, most)
    }

    /// [`follow_dir`](Self::follow_dir), unless the version's parts have more than `most` bytes together: then nothing but
    /// its manifest is read.
    ///
    /// # Errors
    /// Those of [`open_dir`](Self::open_dir), and [`Error::Room`].
    pub fn follow_within(
        &self,
        dir: impl AsRef<Path>,
        owner: &OwnerPublicKey,
        most: u64,
    ) -> Result<Self, Error> {
        Self::read(dir.as_ref(), owner, Beside::after(self), most)
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
        Self::of_version(folder, owner, manifest, Beside::after(self))
    }

    fn read(
        dir: &Path,
        owner: &OwnerPublicKey,
        beside: Beside<'_>,
        most: u64,
    ) -> Result<Self, Error> {
        let folder = Folder::new(dir, Files);
        folder.newest(owner, |manifest| {
            manifest.check_room(most)?;
            Self::of_version(&folder, owner, manifest, beside)
        })
    }

    fn of_version<D: Disk>(
        folder: &Folder<D>,
        owner: &OwnerPublicKey,
        manifest: SignedManifest,
        beside: Beside<'_>,
    ) -> Result<Self, Error> {
        let history = match beside
            .before
            .and_then(|before| before.history_of(&manifest))
        {
            Some(history) => history,
            None => {
                let mut manifests = Vec::new();
                // Searches do not need it.
                drop(folder.history(&manifest, KEPT, owner, &mut manifests));
                History::new(&manifests)
            }
        };
        Self::build(
            manifest,
            history,
            Beside {
                owner: Some(owner),
                ..beside
            },
            &mut &*folder,
        )
    }

    /// The payloads and the number of them that a search fetches, by which their databases are laid out.
    fn fetched(&self) -> (&Option<Payloads>, u32) {
        (&self.manifest.payloads, self.manifest.k)
    }

    /// The manifests before this one, if it is this server's or the next: their signatures were checked when
    /// they were read, 256 of them at most.
    pub(super) fn history_of(&self, manifest: &SignedManifest) -> Option<History> {
        let own = self.manifest.digest();
        if manifest.digest() == own {
            return Some(self.history.clone());
        }
        (manifest.previous == own).then(|| self.history.after(&self.manifest))
    }

    fn build(
        manifest: SignedManifest,
        history: History,
        beside: Beside<'_>,
        read: &mut dyn Read,
    ) -> Result<Self, Error> {
        let Beside {
            shard,
            before,
            encodings,
            owner,
        } = beside;
        if shard.is_some() {
            gateway::check_mode(&manifest)?;
        }
        let own = shard.unwrap_or(Shard::WHOLE);
        let mut shelf = Shelf::new(encodings, (owner, &manifest.index), own);
        let kind = Kind::new(&manifest, own, before, (&mut *read, &mut shelf))?;
        let payloads = match (&manifest.payloads, before) {
            _ if !own.is_first() => None,
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
                (_, None) if !own.gives(&part.digest) => Bytes::from(Vec::new()),
                (_, None) => all(read, part)?,
            };
            given.push((part.digest, bytes));
        }
        // Nothing that is served goes before all of this version is there.
        shelf.clear();
        Ok(Self {
            shard,
            encodings: encodings.cloned(),
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
