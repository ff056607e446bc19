//! An index in a directory, which its owner changes. Records are added, replaced and deleted. A crash at any moment leaves
//! the version before or the version after a change.
//!
//! # The cost of a change
//! Added records become a new segment, and the list of deletions is written again. Clients that refresh download the
//! segment's hint or chunks, its ids, and the list. A replaced or deleted record stays in its segment, hidden from
//! results, until the store is compacted. An index has at most 1,024 segments.
//!
//! # Changes to a server
//! A server sees when changes happen, the number of records of each segment, and the length of the lists of ids and
//! deletions. These lists are filled up to powers of two, and grow with the number of runs of consecutive ids. A server
//! does not see which records were replaced or deleted.
//!
//! # Memory
//! A store is written segment by segment. A segment has at most 131,072 records, or a sixteenth of all earlier records if
//! that is more. Writing a segment takes 12 bytes of memory for each coordinate (0.2 GB at 128 dimensions), for a stream
//! of any length. Routed and sealed mode cluster all records together and hold them in memory: about 12 and 18 bytes for
//! each coordinate. If memory is missing, the build returns [an error](Error::Memory) before it uses the memory. If tasks
//! [assign](Clustering) records to clusters, their lists take about 230 more bytes for each record.

mod access;
mod additions;
mod assembly;
mod attribute_columns;
mod blueprint;
mod centroids;
mod clustering;
mod commit;
mod compact;
mod contents;
mod create;
mod draft;
mod edit;
mod moves;
mod nearest;
mod owner_tag;
mod payloads;
mod piece;
mod policy;
mod recent_payloads;
mod records;
mod reread;
mod retraining;
mod row_buffer;
mod stored_part;
mod stream;
mod take_back;
mod update;
mod verify;
mod version_pin;
mod writer_store;

use crate::measurement::Measurement;
use std::path::Path;

pub use access::AccessReport;
pub use assembly::Assembly;
pub use blueprint::Blueprint;
pub use centroids::Centroids;
pub use clustering::Clustering;
pub use contents::{Contents, Stored};
pub use edit::Edit;
pub use nearest::Nearest;
pub use piece::Piece;
pub use policy::Compaction;
pub use update::Added;
pub use verify::Verified;
pub use writer_store::WriterStore;

use sordino_index::digest::Digest;
use sordino_index::disk::Lock;
use sordino_index::folder::Folder;
use sordino_index::{Disk, Error, Files, Id, Pin, SignedManifest};
use sordino_vault::directory::Directory;
use sordino_vault::frame::Frame;
use sordino_vault::keys::OwnerKeys;

use records::Records;

/// The owner's side of an index in a directory.
///
/// While it exists, no other process can open the store. Servers can open the index at any time.
///
/// # Security
/// It holds the owner's keys. A server may see all files that the store writes. In open mode these include the vectors.
///
/// Version numbers grow during the life of the directory, even after crashes. A directory that is restored from an older
/// backup repeats numbers. Even then two contents never share a pad or a nonce, because keys belong to segments and a
/// segment's id is bound to its content. Clients that have seen a newer version refuse the older one, and so does an owner
/// that remembers versions ([`Pins`](crate::Pins)).
pub struct Store<D = Files> {
    folder: Folder<D>,
    keys: OwnerKeys,
    manifest: SignedManifest,
    /// The digest of the version that the next one follows. It is the manifest's, unless additions are being taken back.
    newest: Digest,
    records: Records,
    /// The frame of its vectors.
    frame: Frame,
    /// The highest number of a version whose manifest was ever in this directory.
    highest: u64,
    /// True if the last change may or may not have taken effect.
    unsure: bool,
    /// Measurements of sealed mode's buckets, if this value built them.
    measured: Option<Measurement>,
    /// The state in which the store compacts itself.
    policy: Compaction,
    /// The rights of readers, if the index has readers of its own.
    access: Option<Directory>,
    _lock: Lock,
}

impl Store {
    /// Opens a store for changes. Remains of an interrupted change are removed. Files whose names do not belong to an
    /// index stay.
    ///
    /// # Security
    /// It assumes that the version it finds is the newest. That is right for a folder that only the owner can write. If an
    /// attacker can put an older version back, revocations and deletions would be undone.
    /// [`Pins::open`](crate::Pins::open) remembers versions and prevents that.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has the store open. [`Error::NoIndex`] if the directory has no index. Fails if
    /// a file that this method reads is damaged or does not belong to the owner. [`verify`](Self::verify) reads all files.
    pub fn open(dir: impl AsRef<Path>, keys: &OwnerKeys) -> Result<Self, Error> {
        Self::open_on(Files, dir, keys, None)
    }
}

impl<D: Disk> Store<D> {
    /// Like [`open`](Store::open), on another disk. A pin is the result of [`pin`](Self::pin) after the last change. With
    /// a pin, nothing is changed unless the version found is the pinned one or follows from it.
    ///
    /// # Errors
    /// The errors of `open`. [`OwnerFault::Undone`](sordino_index::OwnerFault::Undone) if the version is older than the
    /// pinned one, does not follow from it, or belongs to another index.
    pub fn open_on(
        disk: D,
        dir: impl AsRef<Path>,
        keys: &OwnerKeys,
        pin: Option<&Pin>,
    ) -> Result<Self, Error> {
        let folder = Folder::new(dir.as_ref(), disk);
        let (lock, manifest) = version_pin::locked(&folder, &keys.public(), pin)?;
        let newest = manifest.digest();
        let store = Self::read(folder, lock, keys, (manifest, newest))?;
        store.folder.collect(&store.manifest.parts()?)?;
        Ok(store)
    }

    /// A store of the version of this manifest. Its next version follows the version with this digest.
    fn read(
        folder: Folder<D>,
        lock: Lock,
        keys: &OwnerKeys,
        (manifest, newest): (SignedManifest, Digest),
    ) -> Result<Self, Error> {
        let contents = keys.keys_of(&manifest);
        let records = Records::read(&folder, &manifest, &contents)?;
        let frame = records::frame(&folder, &manifest, &contents)?;
        let access = access::directory_of(&folder, &manifest, &keys.contents())?;
        let highest = folder.highest()?.max(manifest.version);
        Ok(Self {
            folder,
            keys: keys.clone(),
            manifest,
            newest,
            records,
            frame,
            highest,
            unsure: false,
            measured: None,
            policy: Compaction::default(),
            access,
            _lock: lock,
        })
    }

    /// The newest version's manifest.
    #[must_use]
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// The newest version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.manifest.version
    }

    /// The measurements of sealed mode's buckets, if this value built them.
    #[must_use]
    pub fn measured(&self) -> Option<Measurement> {
        self.measured
    }

    /// The recall of held-out vectors, as the build measured it under the noise of real scores, or `None` if it was not
    /// measured.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        self.frame.recall()
    }

    /// The number of records, without deleted ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Always false, since the last record cannot be deleted. Clippy expects it next to `len`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if a record has this id.
    #[must_use]
    pub fn contains(&self, id: impl Into<Id>) -> bool {
        self.records.find(&id.into()).is_some()
    }

    /// The ids of all records, segment by segment.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.records.ids()
    }
}

/// The time in seconds since 1970, with which the ends of writers' rights are compared.
fn now() -> u64 {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| elapsed.as_secs())
}

impl<D> std::fmt::Debug for Store<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("manifest", &self.manifest)
            .finish_non_exhaustive()
    }
}
