//! An index in a directory, to which a writer adds records. The writer has no key of the owner.
//!
//! A writer appends segments, and what their records carry, under the content key of one of its labels. It signs them
//! as an addition to the version before. It does not replace or delete records, because only the owner writes the
//! sealed lists of these.

mod refusals;

use std::path::Path;

use rand_core::CryptoRng;
use sordino_index::disk::Lock;
use sordino_index::folder::Folder;
use sordino_index::manifest::{
    Addition, ColumnSegment, Columns, MAX_ADDITIONS, MOST_ADDED_BYTES, Manifest, Mode,
};
use sordino_index::payload::Payloads;
use sordino_index::{AccessFault, Disk, Error, Files, Id, Pin, SignedManifest};
use sordino_vault::WriterKeys;
use sordino_vault::content_key::ContentKey;
use sordino_vault::contents::ContentKeys;
use sordino_vault::directory::UNLABELLED;
use sordino_vault::frame::Frame;
use sordino_vault::numbers::Numbers;

use super::access::contents_of;
use super::attribute_columns::AttributeColumns;
use super::draft::Draft;
use super::payloads::Carried;
use super::records::{self, Records};
use super::stream::Stream;
use super::update::Added;
use super::version_pin;
use crate::binding::{Binding, Variant};
use crate::build_context::Build;
use crate::encoded_group::Group;
use crate::laying::Laying;
use crate::payload::Contents;
use crate::recall::Recall;
use crate::segment::SegmentWriter;
use crate::spec::Batch;
use crate::step::Step;
use refusals::number_of;

/// A writer's side of an index in a directory.
///
/// While it exists, no other process can change the index. Servers can open it at any time.
///
/// # Security
/// It holds only the writer's secret, which signs additions. All readers of the version check that the owner names the
/// writer.
pub struct WriterStore<D = Files> {
    folder: Folder<D>,
    keys: WriterKeys,
    manifest: SignedManifest,
    /// The writer's number in the manifest.
    number: u16,
    contents: ContentKeys,
    /// The records that the writer can read.
    records: Records,
    frame: Frame,
    /// The highest number of a version whose manifest was ever in this directory.
    highest: u64,
    /// True if the last change may or may not have taken effect.
    unsure: bool,
    _lock: Lock,
}

impl WriterStore {
    /// Opens an index for additions. Remains of an interrupted change are removed.
    ///
    /// # Errors
    /// The errors of [`open_on`](Self::open_on).
    pub fn open(dir: impl AsRef<Path>, keys: &WriterKeys) -> Result<Self, Error> {
        Self::open_on(Files, dir, keys, None)
    }
}

impl<D: Disk> WriterStore<D> {
    /// Like [`open`](WriterStore::open), on another disk. With a pin nothing is changed unless the version found is the
    /// pinned one or follows from it.
    ///
    /// # Errors
    /// [`Error::Access`] if the owner does not name this writer. [`Error::Locked`] if another process is changing the
    /// directory. [`Error::NoIndex`] if the directory has no index. [`Error::NoReader`] if the keys do not open the
    /// index. The errors of [`Store::open_on`](super::Store::open_on) for a pin. Fails if a file that this method reads
    /// is damaged or does not belong to the owner.
    pub fn open_on(
        disk: D,
        dir: impl AsRef<Path>,
        keys: &WriterKeys,
        pin: Option<&Pin>,
    ) -> Result<Self, Error> {
        let folder = Folder::new(dir.as_ref(), disk);
        let (lock, manifest) = version_pin::locked(&folder, keys.owner(), pin)?;
        let number = number_of(&manifest, keys)?;
        let contents = contents_of(&folder, &manifest, &keys.reader())?;
        let records = Records::read(&folder, &manifest, &contents)?;
        let frame = records::frame(&folder, &manifest, &contents)?;
        let highest = folder.highest()?.max(manifest.version);
        folder.collect(&manifest.parts()?)?;
        Ok(Self {
            folder,
            keys: keys.clone(),
            manifest,
            number,
            contents,
            records,
            frame,
            highest,
            unsure: false,
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

    /// The newest version, for the writer to remember and to pass when the index is opened again.
    #[must_use]
    pub fn pin(&self) -> Pin {
        Pin::of(&self.manifest)
    }

    /// The number of records that the writer can read.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True if it can read no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the writer can read a record with this id.
    #[must_use]
    pub fn contains(&self, id: impl Into<Id>) -> bool {
        self.records.find(&id.into()).is_some()
    }

    /// True if the owner granted the writer to add under this label, or without one. The right may be over.
    #[must_use]
    pub fn may_add(&self, label: Option<&str>) -> bool {
        self.granted(label.unwrap_or(UNLABELLED)).is_some()
    }

    /// The number of additions that may be made before the owner changes the index.
    #[must_use]
    pub fn additions_left(&self) -> usize {
        MAX_ADDITIONS - self.manifest.additions().len()
    }

    /// Adds a stream of records under a label, or without one, as one change. `now` is the time, in seconds since 1970.
    ///
    /// # Errors
    /// With these errors nothing is changed. [`Error::Access`] if the right has ended or does not include this label.
    /// The call also fails if a record exists already, has no id, or does not have the form of the other records. It
    /// fails if the owner has to change the index first. The errors of [`Store::add`](super::Store::add).
    pub fn add<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        now: u64,
        label: Option<&str>,
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Added, Error> {
        if self.unsure {
            let path = self.folder.root().to_owned();
            return Err(Error::Unsure { path });
        }
        let made = self.added(rng, now, label, batches.into_iter(), progress);
        // If a version may have become the newest, its parts must stay.
        match made.is_err() && !self.unsure {
            true => self.folder.discard(),
            false => self.folder.keep(),
        }
        made
    }

    fn added<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        now: u64,
        label: Option<&str>,
        batches: impl Iterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Added, Error> {
        let (number, key) = self.check_right(now, label.unwrap_or(UNLABELLED))?;
        let version = self.highest.saturating_add(1);
        let writer = self.segments(version, number, &key);
        let mut draft = self.draft();
        draft.check_room()?;
        let (look, before) = (self.manifest.second_look(), draft.records.sets.len());
        let k = self.manifest.k as usize;
        draft.recall = Some(Recall::new(k, look.map_or(k, |it| it.candidates as usize)));
        let mut known = AttributeColumns::new(&self.folder, &self.manifest, &self.contents);
        let batches = batches.map(|batch| {
            let mut batch = batch?;
            known.check(&mut batch.attributes)?;
            self.check_batch(&batch)?;
            Ok(batch)
        });
        let mut stream = Stream::new(self.frame.clone(), self.manifest.ids, look);
        let mut build = Build {
            rng,
            folder: &self.folder,
            writer: &writer,
            progress,
        };
        let read = stream.segments(&mut build, &mut draft, batches)?;
        if read == 0 {
            return Err(sordino_vectors::Error::NoVectors.into());
        }
        self.check_added(&draft, before)?;
        let payloads = self.payloads(&mut build, &draft, before, (number, key), stream.carried)?;
        let recall = draft.recall.take().and_then(|it| it.share_of_many());
        let segments = match &draft.mode {
            Mode::Masked(Columns { segments, .. }) => segments[before..].to_vec(),
            Mode::Local(local) => {
                let own = local.segments[before..].iter().cloned();
                own.map(ColumnSegment::sealed_whole).collect()
            }
            _ => return Err(self.other_mode()),
        };
        let previous = self.manifest.digest();
        let addition = Addition::new((version, now), previous, number, segments, payloads);
        self.commit(&addition, draft.records)?;
        Ok(Added {
            records: usize::try_from(read).unwrap_or(usize::MAX),
            recall,
            ..Added::none(version)
        })
    }

    /// Writes what the records of new segments carry, if they carry something.
    fn payloads<R: CryptoRng + ?Sized>(
        &self,
        build: &mut Build<'_, D, R>,
        draft: &Draft,
        before: usize,
        (number, key): (u32, ContentKey),
        carried: Carried,
    ) -> Result<Option<Payloads>, Error> {
        let Some(main) = &self.manifest.payloads else {
            return Ok(None);
        };
        let fresh = before..draft.records.sets.len();
        let places = fresh.clone().flat_map(|at| draft.records.places_of(at));
        let places = Numbers::from_ascending(places).expect("segments follow one another");
        let ids = fresh.flat_map(|at| draft.records.sets[at].iter());
        let group = Group {
            number,
            key,
            places,
            carried: ids.map(|id| carried.over(&id, None)).collect(),
        };
        let written = build.writer.payloads(
            build.rng,
            Contents {
                groups: vec![group],
                own: true,
                payloads: main.form.payloads,
                look: main.form.look,
                k: draft.k,
                laying: Laying::Recent,
            },
        )?;
        if written.content.len() as u64 > MOST_ADDED_BYTES {
            let why = "they have more than 64 MiB: add them in several additions";
            return Err(AccessFault::new("payloads", "of one addition", why).into());
        }
        build.folder.put(&written.content)?;
        build.folder.put(&written.places)?;
        Ok(Some(written.payloads))
    }

    /// Signs an addition, and makes the version that includes it the newest.
    fn commit(&mut self, addition: &Addition, records: Records) -> Result<(), Error> {
        let secret = self.keys.secret();
        let sign = |message: &[u8]| secret.sign_addition(message);
        let bytes = self.manifest.with_addition(self.number, addition, sign);
        // A version that cannot be read must not become the newest.
        let signed = SignedManifest::from_bytes(&bytes, self.keys.owner())?;
        // The number is used up even if a later step fails, because a manifest with this number may have been written.
        self.highest = signed.version;
        self.folder.put_manifest(&signed)?;
        self.folder.prepare(&signed)?;
        self.unsure = true;
        self.folder.switch()?;
        self.unsure = false;
        self.manifest = signed;
        self.records = records;
        self.folder.drop_shown(&self.manifest);
        // Files that cannot be removed now are removed at the next change or opening. The change itself is done.
        drop(self.folder.collect(&self.manifest.parts()?));
        Ok(())
    }

    /// A writer of segments of this version under a content key.
    fn segments(&self, version: u64, number: u32, key: &ContentKey) -> SegmentWriter<'static> {
        let Manifest {
            rotation, dim, ids, ..
        } = &*self.manifest;
        let variant = Variant::from(&self.manifest.mode);
        let metric = self.manifest.metric;
        let index = Binding::of_index(variant, *ids, metric, *dim as usize, rotation);
        let own = self.keys.secret().ids();
        SegmentWriter::without_owner(own, (number, key.clone()), version, index)
    }

    /// The present version, as the start of an addition.
    fn draft(&self) -> Draft {
        let (k, mode) = (self.manifest.k as usize, self.manifest.mode.clone());
        Draft {
            records: self.records.clone(),
            look: self.manifest.second_look(),
            ..Draft::new(k, mode, self.frame.clone())
        }
    }
}

impl<D> std::fmt::Debug for WriterStore<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriterStore")
            .field("manifest", &self.manifest)
            .finish_non_exhaustive()
    }
}
