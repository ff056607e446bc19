//! The centroids of an index. Tasks find the nearest of them for the index's records.

use std::borrow::Cow;

use rayon::prelude::*;
use sordino_index::manifest::MAX_DIM;
use sordino_index::{Error, digest::Digest};
use sordino_vault::frame::Frame;
use sordino_vault::keys::OwnerKeys;
use sordino_vault::mean::Mean;
use sordino_vectors::metric::Metric;
use sordino_vectors::{Vectors, u32_of};

use super::Nearest;
use super::owner_tag::{Fields, Kind, number, opened, tagged};
use super::reread::Vectored;
use crate::cluster;
use crate::lists::Lists;
use crate::spec::Batch;
use crate::step::Step;
use crate::trained_centroids::TrainedCentroids;

/// The name and the form number of centroids.
const KIND: Kind = (b"centroids", 2);

/// The facts with which any process of the owner assigns records to clusters. They are fixed before the index is made.
///
/// The bytes end with a tag under the owner's key, so that no one between two of the owner's processes can change them.
///
/// # Security
/// Like the lists of [`Nearest`], they show where the vectors lie, and are not encrypted. They are only for the owner's
/// machines, and never for a server's folder.
#[derive(Clone, Debug)]
pub struct Centroids {
    /// A random value, so that the lists of another build are not accepted.
    pub(super) build: [u8; 16],
    pub(super) frame: Frame,
    pub(super) rotation: [u8; 32],
    /// The coordinates of vectors in the owner's form.
    pub(super) dim: usize,
    /// The mean relative to which vectors are compared, or `None` to compare them directly.
    pub(super) mean: Option<Mean>,
    pub(super) trained: TrainedCentroids,
}

impl Centroids {
    /// The bytes, for processes that have the owner's keys.
    #[must_use]
    pub fn to_bytes(&self, keys: &OwnerKeys) -> Vec<u8> {
        tagged(keys, KIND, |bytes| {
            bytes.extend(self.build);
            bytes.push(number(&Metric::ALL, &self.metric()));
            bytes.extend(self.rotation);
            bytes.extend(u32_of(self.dim).to_le_bytes());
            let frame = self.frame.to_bytes();
            bytes.extend(u32_of(frame.len()).to_le_bytes());
            bytes.extend(frame);
            bytes.push(self.mean.is_some().into());
            bytes.extend(self.mean.iter().flat_map(Mean::to_bytes));
            bytes.extend(&self.trained.codes);
        })
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written under the same keys.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the form is wrong or these keys did not make the bytes.
    pub fn from_bytes(bytes: &[u8], keys: &OwnerKeys) -> Result<Self, Error> {
        opened(keys, KIND, bytes, Self::read)
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let build = fields.array()?;
        let metric = *Metric::ALL.get(usize::from(fields.u8()?))?;
        let (rotation, dim) = (fields.array()?, fields.u32()?);
        if !(1..=MAX_DIM).contains(&dim) {
            return None;
        }
        let (dim, width) = (dim as usize, dim + metric.added());
        let width = width as usize;
        let len = fields.u32()? as usize;
        let frame = Frame::from_bytes(metric, rotation, dim, fields.bytes(len)?).ok()?;
        let mean = match fields.flag()? {
            true => Some(Mean::from_bytes(fields.bytes(width * size_of::<f32>())?)?),
            false => None,
        };
        let codes = fields.rest();
        if !codes.len().is_multiple_of(width) {
            return None;
        }
        Some(Self {
            build,
            frame,
            rotation,
            dim,
            mean,
            trained: TrainedCentroids::of_codes(width, codes.to_vec()).ok()?,
        })
    }

    /// The measure of nearness.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.frame.metric()
    }

    /// The number of centroids.
    #[must_use]
    pub fn count(&self) -> usize {
        self.trained.centres.len()
    }

    /// Finds the nearest centroids for each record of task number `task`. `first` is the number of its first record
    /// among all records of the build. Ids, attributes and payloads are ignored.
    ///
    /// It may be repeated, here or elsewhere: [`Clustering::take`](super::Clustering::take) takes one result of each
    /// task. On processors of the same kind, a process with all records would find the same lists to the bit. Others
    /// may round scores differently, which does no harm.
    ///
    /// # Errors
    /// [`Error::Dimension`] if vectors have another dimension. [`Error::Vectors`] for no vectors, a zero vector under
    /// the cosine, or a vector beyond the bound of another metric. [`Error::TooLarge`] for more than 2^32 - 1 records.
    /// The errors of the batches.
    pub fn nearest(
        &self,
        (task, first): (u64, u64),
        batches: impl IntoIterator<Item = Result<Batch, Error>>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Nearest, Error> {
        let (mut lists, mut vectored) = (Lists::default(), Vectored::default());
        for batch in batches {
            let Batch { vectors, .. } = batch?;
            let n = lists.len() + vectors.len();
            if u32::try_from(n).is_err() {
                return Err(Error::TooLarge { n, dim: self.dim });
            }
            self.check(&vectors, lists.len())?;
            vectors.rows().for_each(|vector| vectored.add(vector));
            lists.append(&self.lists(vectors, progress)?);
        }
        if lists.len() == 0 {
            return Err(sordino_vectors::Error::NoVectors.into());
        }
        let digest: Digest = vectored.digest();
        Ok(Nearest {
            build: self.build,
            task,
            first,
            digest,
            lists,
        })
    }

    fn check(&self, vectors: &Vectors, first: usize) -> Result<(), Error> {
        let (found, expected) = (vectors.dim(), self.dim);
        if found != expected {
            return Err(Error::Dimension { found, expected });
        }
        Ok(self.metric().check(vectors, first)?)
    }

    fn lists(&self, vectors: Vectors, progress: &mut dyn FnMut(Step)) -> Result<Lists, Error> {
        progress(Step::Rotate);
        let units = lifted(&self.frame, &vectors)?;
        let compared = compared(self.mean.as_ref(), &units)?;
        progress(Step::Assign);
        let mut pulse = || progress(Step::Assign);
        Ok(cluster::lists(
            &*compared,
            &self.trained.centres,
            &mut pulse,
        ))
    }
}

/// The unit vectors to which vectors are lifted, in the same way as the index's rows.
pub(super) fn lifted(frame: &Frame, vectors: &Vectors) -> Result<Vectors, Error> {
    let rows = vectors.as_slice().par_chunks(vectors.dim());
    let lifted = rows.flat_map_iter(|vector| {
        let y = frame.centred(vector);
        let base = frame.nearest_base(&y);
        frame.lifted(&frame.whole(base, &frame.residual(base, &y)))
    });
    Ok(Vectors::new(frame.stored_dim(), lifted.collect())?)
}

/// Unit vectors in the form in which they are compared with centroids.
pub(super) fn compared<'a>(
    mean: Option<&Mean>,
    units: &'a Vectors,
) -> Result<Cow<'a, Vectors>, Error> {
    Ok(match mean {
        None => Cow::Borrowed(units),
        Some(mean) => Cow::Owned(mean.centred_all(units)?),
    })
}
