//! Makes a server of an index, or of the current version in a directory.

use std::path::Path;
use std::sync::Arc;

use sordino_index::columns::Rows;
use sordino_index::folder::Folder;
use sordino_index::history::KEPT;
use sordino_index::manifest::{Holder, Mode, Part, PartKind};
use sordino_index::payload::Payloads;
use sordino_index::shard::Shard;
use sordino_index::{Bytes, Disk, Error, Files, Index, OwnerPublicKey, SignedManifest, room};

use super::columns::Columns;
use super::encodings::{Encodings, Shelf};
use super::read::{Read, Source, Taken, all};
use super::routed::Routed;
use super::sealed::{self, Sealed};
use super::{Kind, Server, gateway, needed, payloads};
use crate::history::History;

/// Options for opening a server of a version in an owner's folder.
///
/// ```no_run
/// # use sordino_server::{Encodings, Error, OpenOptions, Server, Shard};
/// # fn example(owner: &sordino_index::OwnerPublicKey) -> Result<(), Error> {
/// let options = OpenOptions::new(owner).shard(Shard::new(1, 4));
/// let server = options.open_dir("index")?;
/// // The owner has made a new version.
/// let next = OpenOptions::new(owner).after(&server).open_dir("index")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct OpenOptions<'a> {
    owner: &'a OwnerPublicKey,
    shard: Option<Shard>,
    encodings: Option<&'a Encodings>,
    most_bytes: u64,
    before: Option<&'a Server>,
    version: Option<&'a SignedManifest>,
}

impl<'a> OpenOptions<'a> {
    /// Options for the newest version of this owner's index, without shards.
    pub fn new(owner: &'a OwnerPublicKey) -> Self {
        Self {
            owner,
            shard: None,
            encodings: None,
            most_bytes: u64::MAX,
            before: None,
            version: None,
        }
    }

    /// The same options for a shard: its share of the data, and a share of what clients download. The server answers with
    /// parts of replies, which a server over all shards [joins](Server::gather).
    pub fn shard(self, shard: Option<Shard>) -> Self {
        Self { shard, ..self }
    }

    /// The same options with a folder of encoded databases. The server maps the files it finds there, and keeps what it
    /// encodes.
    pub fn encodings(self, encodings: Option<&'a Encodings>) -> Self {
        Self { encodings, ..self }
    }

    /// The same options with a limit on the bytes of all parts together. If an index is larger, only its manifest is
    /// read.
    pub fn most_bytes(self, most_bytes: u64) -> Self {
        Self { most_bytes, ..self }
    }

    /// The same options, to replace the server of another version. Only parts that it lacks are read, and the others are
    /// shared with it. The shard and the folder of encoded databases are that server's.
    pub fn after(self, before: &'a Server) -> Self {
        Self {
            before: Some(before),
            ..self
        }
    }

    /// The same options for this version instead of the newest. Its parts and the manifests before it must be in the
    /// folder.
    pub fn version(self, version: &'a SignedManifest) -> Self {
        Self {
            version: Some(version),
            ..self
        }
    }

    /// Opens a server of a version in a folder on any disk, part after part. At every moment memory holds only what is
    /// served and one part.
    ///
    /// # Errors
    /// The errors of [`Index::open_dir`]. Fails if parts do not fit the manifest. [`Error::Mode`] for a shard of an index
    /// in a mode that is not cut, or that cannot be cut into this number of shards. [`Error::Room`] if the version is
    /// larger than this server accepts. [`Error::Memory`] if the machine or its container lacks the least memory that the
    /// version needs, for a version that follows no other.
    pub fn open<D: Disk>(&self, folder: &Folder<D>) -> Result<Server, Error> {
        match self.version {
            Some(version) => self.serve(folder, version.clone()),
            None => folder.newest(self.owner, |manifest| self.serve(folder, manifest)),
        }
    }

    /// Like [`open`](Self::open), in a directory.
    ///
    /// # Errors
    /// The errors of `open`.
    pub fn open_dir(&self, dir: impl AsRef<Path>) -> Result<Server, Error> {
        self.open(&Folder::new(dir.as_ref(), Files))
    }

    fn serve<D: Disk>(
        &self,
        folder: &Folder<D>,
        manifest: SignedManifest,
    ) -> Result<Server, Error> {
        manifest.check_room(self.most_bytes)?;
        // The next version shares most of its memory with the one before, so its memory is not checked.
        if self.before.is_none() {
            let shard = self.shard.unwrap_or(Shard::WHOLE);
            let needed = needed::least(&manifest, shard, self.encodings.is_some())?;
            room::check(needed)?;
        }
        let known = self.before.and_then(|before| before.history_of(&manifest));
        let history = known.unwrap_or_else(|| {
            let mut manifests = Vec::new();
            // Searches do not need the history, so its error is ignored.
            drop(folder.history(&manifest, KEPT, self.owner, &mut manifests));
            History::new(&manifest, &manifests)
        });
        let relation = match self.before {
            Some(before) => Relation {
                shard: before.shard,
                before: Some(before),
                encodings: before.encodings.as_ref(),
                owner: Some(self.owner),
            },
            None => Relation {
                shard: self.shard,
                before: None,
                encodings: self.encodings,
                owner: Some(self.owner),
            },
        };
        Server::build(manifest, history, relation, &mut &*folder)
    }
}

/// The values from which a server is made, in addition to its version.
#[derive(Clone, Copy, Default)]
struct Relation<'a> {
    /// The server's share of the data, if it does not have all of it.
    shard: Option<Shard>,
    /// The server of another version, to share with.
    before: Option<&'a Server>,
    /// The folder in which encoded databases are kept.
    encodings: Option<&'a Encodings>,
    /// The owner of the index.
    owner: Option<&'a OwnerPublicKey>,
}

impl Kind {
    /// The data of a version. It shares what the server before also has.
    fn new(
        manifest: &SignedManifest,
        shard: Shard,
        before: Option<&Server>,
        source: Source<'_, '_>,
    ) -> Result<Self, Error> {
        let columns = before.and_then(|before| match &before.kind {
            Self::Columns(columns) => Some(&**columns),
            _ => None,
        });
        Ok(match &manifest.mode {
            Mode::Sealed(mode) => {
                Self::Sealed(match before.and_then(|b| sealed::shared(b, manifest)) {
                    Some(sealed) => sealed,
                    None => Arc::new(Sealed::new(manifest, mode, shard, source.read)?),
                })
            }
            Mode::Local(_) => Self::Local,
            Mode::Open(mode) => {
                let columns = Columns::new(Rows::Open, 0, mode, manifest, shard, columns, source)?;
                Self::Columns(Box::new(columns))
            }
            Mode::Masked(mode) => {
                let columns =
                    Columns::new(Rows::Masked, 0, mode, manifest, shard, columns, source)?;
                Self::Columns(Box::new(columns))
            }
            Mode::Routed(mode) => Self::Routed(Box::new(Routed::new(
                manifest, mode, shard, before, source,
            )?)),
        })
    }

    /// The bytes of a part that this server computed: the hint of a segment's rows.
    fn computed(&self, part: &Part) -> Option<Bytes> {
        match (self, part.kind) {
            (Self::Columns(columns), PartKind::RowsHint) => columns.hint(part.segment?),
            (Self::Routed(routed), PartKind::RowsHint) => routed.hint(part.segment?),
            _ => None,
        }
    }
}

impl Server {
    /// Prepares an index for serving.
    ///
    /// # Errors
    /// [`Error`] if the index's parts do not fit its manifest.
    pub fn new(mut index: Index) -> Result<Self, Error> {
        let history = index.take_history();
        let (manifest, parts) = index.into_parts();
        let history = History::new(&manifest, &history);
        Self::build(manifest, history, Relation::default(), &mut Taken(parts))
    }

    /// Serves the newest version in an owner's directory. [`OpenOptions`] has more choices.
    ///
    /// # Errors
    /// The errors of [`OpenOptions::open`].
    pub fn open_dir(dir: impl AsRef<Path>, owner: &OwnerPublicKey) -> Result<Self, Error> {
        OpenOptions::new(owner).open_dir(dir)
    }

    /// The payloads and the number of them that a search fetches, which determine the layout of their databases.
    fn fetched(&self) -> (&Option<Payloads>, u32) {
        (&self.manifest.payloads, self.manifest.k)
    }

    /// The manifests before `manifest`, if that is this server's version or the next version. Their signatures were
    /// checked when they were read; there are at most 256.
    pub(super) fn history_of(&self, manifest: &SignedManifest) -> Option<History> {
        let own = self.manifest.digest();
        if manifest.digest() == own {
            return Some(self.history.clone());
        }
        let next = manifest.follows(&own);
        next.then(|| self.history.after(&self.manifest, manifest))
    }

    fn build(
        manifest: SignedManifest,
        history: History,
        relation: Relation<'_>,
        read: &mut dyn Read,
    ) -> Result<Self, Error> {
        let Relation {
            shard,
            before,
            encodings,
            owner,
        } = relation;
        if shard.is_some() {
            gateway::check_mode(&manifest)?;
        }
        let own = shard.unwrap_or(Shard::WHOLE);
        let mut shelf = Shelf::new(encodings, owner, &manifest.index, own);
        let source = Source {
            read: &mut *read,
            shelf: &mut shelf,
        };
        let kind = Kind::new(&manifest, own, before, source)?;
        let payloads = match (&manifest.payloads, before) {
            _ if !own.is_first() => None,
            (new, Some(before)) if (new, manifest.k) == before.fetched() => {
                let held = before.payloads.clone();
                held.iter().try_for_each(|it| it.keep(&mut shelf))?;
                held
            }
            (Some(payloads), _) => {
                let source = Source {
                    read: &mut *read,
                    shelf: &mut shelf,
                };
                payloads::server(&manifest, payloads, source)?.map(Arc::new)
            }
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
        // Files in use are removed only after the whole version is ready.
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
