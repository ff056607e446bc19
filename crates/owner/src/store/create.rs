//! Makes a new store from a stream of records.

use std::path::Path;

use rand_core::CryptoRng;
use sordino_index::digest::Coded;
use sordino_index::folder::Folder;
use sordino_index::manifest::{FramePart, Manifest, SHARED, SignedManifest};
use sordino_index::{Disk, Error, Files};
use sordino_vault::directory::{Directory, UNLABELLED};
use sordino_vault::frame::Frame;
use sordino_vault::keys::OwnerKeys;
use sordino_vectors::metric::Metric;
use sordino_vectors::{Vectors, u32_of};

use super::access::salts;
use super::draft::Draft;
use super::stream::Stream;
use super::{Compaction, Store};
use crate::binding::{Binding, Variant};
use crate::build_context::Build;
use crate::frame;
use crate::measurement::Measurement;
use crate::random::random;
use crate::segment::SegmentWriter;
use crate::spec::{Batch, Form, Spec};
use crate::step::Step;
use crate::trained_centroids::Assignment;

/// The facts of an index whose records were assigned to clusters in advance.
pub(super) struct Given {
    pub(super) frame: Frame,
    pub(super) rotation: [u8; 32],
    /// The assignment, with the lists of all records in the order of the stream.
    pub(super) assigned: Assignment,
}

impl Store {
    /// Makes a new index in a directory, from a stream of records. It creates the directory if there is none. The
    /// stream has [`Batch`]es of any size: [`Vectors`], or vectors with ids. It is read once and, except in sealed
    /// mode, never held as a whole. `progress` is called for each step of each segment. It may stop the build by
    /// unwinding ([`std::panic::resume_unwind`]); the directory is then as it was before.
    ///
    /// # Errors
    /// [`Error::Exists`] if the directory has an index. [`Error::Occupied`] if it holds anything except the remains of
    /// an interrupted `create`; nothing is changed then. [`Error::K`] if no search can have the spec's `k` results.
    /// [`Error::Candidates`] and [`Error::Mode`] for a second look that the index cannot have. [`Error::Dimension`] if
    /// vectors have different dimensions. [`Error::RepeatedId`] if an id occurs twice. [`Error::Vectors`] for no
    /// vectors, for a zero vector under the cosine, or for a vector beyond the bound of another metric.
    /// [`Error::IdKind`] and [`Error::NoIds`] for ids whose kind is not the spec's. [`Error::Attribute`] for a column
    /// that changes its type. [`Error::TooLarge`] for a stream of more than 2^32 - 1 records. The stream's own errors.
    /// After an error the directory is as it was before.
    pub fn create<R: CryptoRng + ?Sized>(
        dir: impl AsRef<Path>,
        rng: &mut R,
        keys: &OwnerKeys,
        spec: &Spec,
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        Self::create_on(Files, dir, rng, keys, spec, batches, progress)
    }
}

impl<D: Disk> Store<D> {
    /// Like [`create`](Store::create), on another disk.
    ///
    /// # Errors
    /// The errors of `create`.
    pub fn create_on<R: CryptoRng + ?Sized>(
        disk: D,
        dir: impl AsRef<Path>,
        rng: &mut R,
        keys: &OwnerKeys,
        spec: &Spec,
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        let folder = Folder::new(dir.as_ref(), disk);
        Self::create_in(folder, rng, keys, spec, None, batches, progress)
    }

    /// Makes the index in a folder. Its clusters may be given.
    pub(super) fn create_in<R: CryptoRng + ?Sized>(
        folder: Folder<D>,
        rng: &mut R,
        keys: &OwnerKeys,
        spec: &Spec,
        given: Option<Given>,
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        folder.check_free()?;
        let fresh = folder.create_root()?;
        let lock = folder.lock()?;
        // From here on the lock keeps other programs from creating an index.
        folder.check_free()?;
        let unwound = Unwound(&folder, fresh);
        let batches = batches.into_iter();
        let made = folder
            .create()
            .and_then(|()| First::write(&folder, rng, keys, spec, given, batches, progress));
        let First {
            manifest,
            draft,
            measured,
        } = made.inspect_err(|_| folder.abandon(fresh))?;
        drop(unwound);
        // From here on it may be the newest version, even if a later step fails.
        folder.keep();
        folder.switch()?;
        drop(folder.collect(&manifest.parts()?));
        Ok(Self {
            highest: manifest.version,
            newest: manifest.digest(),
            folder,
            keys: keys.clone(),
            manifest,
            records: draft.records,
            frame: draft.frame,
            unsure: false,
            measured,
            policy: Compaction::default(),
            access: draft.access,
            _lock: lock,
        })
    }
}

/// Removes the written files when a build is unwound. Also removes the directory if it did not exist before.
struct Unwound<'a, D: Disk>(&'a Folder<D>, bool);

impl<D: Disk> Drop for Unwound<'_, D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon(self.1);
        }
    }
}

/// At most [`frame::SAMPLE`] of the first vectors of a stream, evenly spread, on which a frame is trained. Their batches are kept.
fn sample(
    head: &mut Vec<Batch>,
    batches: &mut impl Iterator<Item = Result<Batch, Error>>,
    metric: Metric,
) -> Result<Vectors, Error> {
    let dim = head.first().map_or(0, |batch| batch.vectors.dim());
    let mut n: usize = head.iter().map(Batch::len).sum();
    while n < frame::SAMPLE {
        let Some(batch) = batches.next() else { break };
        let batch = batch?;
        let (found, expected) = (batch.vectors.dim(), dim);
        if found != expected {
            return Err(Error::Dimension { found, expected });
        }
        n += batch.len();
        head.push(batch);
    }
    let mut first = 0;
    for batch in head.iter() {
        metric.check(&batch.vectors, first)?;
        first += batch.len();
    }
    let rows = head.iter().flat_map(|batch| batch.vectors.rows());
    let rows = rows.step_by(n.div_ceil(frame::SAMPLE));
    Ok(Vectors::new(dim, rows.flatten().copied().collect())?)
}

/// The first version of an index, written and prepared but not yet made the newest.
struct First {
    manifest: SignedManifest,
    draft: Draft,
    measured: Option<Measurement>,
}

impl First {
    fn write<D: Disk, R: CryptoRng + ?Sized>(
        folder: &Folder<D>,
        rng: &mut R,
        keys: &OwnerKeys,
        spec: &Spec,
        given: Option<Given>,
        mut batches: impl Iterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Error> {
        let version = folder.highest()? + 1;
        let first = batches.next().ok_or(sordino_vectors::Error::NoVectors)??;
        let dim = first.vectors.dim();
        let look = spec.check(first.vectors.len(), dim)?;
        let (mut head, mut training) = (vec![first], None);
        let (frame, rotation, assigned) = match given {
            Some(given) => (given.frame, given.rotation, Some(given.assigned)),
            None => {
                let rotation = random(rng);
                let (seed, hidden) = (random(rng), spec.own_readers);
                let frame = match spec.form {
                    // This frame depends on all records, so it is made after all have arrived.
                    Form::Sealed { .. } | Form::Routed { .. } => {
                        training = Some((rotation, seed, hidden));
                        Frame::origin(spec.metric, rotation, dim)
                    }
                    Form::Masked(_) | Form::Open(_) | Form::Local => {
                        let sample = sample(&mut head, &mut batches, spec.metric)?;
                        let n = frame::SAMPLE;
                        frame::trained(spec.metric, rotation, &sample, n, seed, hidden)?
                    }
                };
                (frame, rotation, None)
            }
        };
        let variant = Variant::new(&spec.form, spec.checking);
        let index = Binding::of_index(variant, spec.ids, spec.metric, dim, &rotation);
        let access = match spec.own_readers {
            true => {
                let mut directory = Directory::unsalted();
                directory.salt(salts(rng, keys, index.as_bytes()))?;
                Some(directory)
            }
            false => None,
        };
        let writer = SegmentWriter::new(keys, version, index);
        let writer = writer.of_label(access.as_ref(), UNLABELLED);
        let batches = head.into_iter().map(Ok).chain(batches);
        let stream = Stream::new(frame, spec.ids, look);
        let stream = stream.read_by(access).assigned(assigned).trained(training);
        let mut build = Build {
            rng,
            folder,
            writer: &writer,
            progress,
        };
        let (mut draft, measured) = stream.write(&mut build, spec, batches)?;
        let (dim, k) = (u32_of(dim), u32_of(spec.k));
        // The frame gets its id when it is written.
        let unnamed = FramePart::new([0; 16], 0, SHARED, Coded::default());
        let frame = Manifest::new(
            dim,
            k,
            spec.ids,
            spec.metric,
            rotation,
            unnamed,
            draft.mode.clone(),
        );
        let manifest = draft.finish(&mut build, frame, None)?;
        folder.put_manifest(&manifest)?;
        folder.prepare(&manifest)?;
        Ok(Self {
            manifest,
            draft,
            measured,
        })
    }
}
