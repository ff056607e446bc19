//! The values that all steps of a build share.

use rand_core::CryptoRng;
use sordino_index::folder::Folder;
use sordino_index::{Disk, Error};

use crate::random::random;
use crate::segment::{SegmentWriter, WrittenSegment};
use crate::step::Step;

/// The values that all steps of a build share.
pub(crate) struct Build<'a, D, R: ?Sized> {
    /// The source of ids, seeds and keys.
    pub(crate) rng: &'a mut R,
    /// The folder of the index.
    pub(crate) folder: &'a Folder<D>,
    /// The writer of the version's parts, under one content key.
    pub(crate) writer: &'a SegmentWriter<'a>,
    /// The function that is called for each step.
    pub(crate) progress: &'a mut dyn FnMut(Step),
}

impl<D: Disk, R: CryptoRng + ?Sized> Build<'_, D, R> {
    /// Reports a step.
    pub(crate) fn tell(&mut self, step: Step) {
        (self.progress)(step);
    }

    /// A random seed, which will be public.
    pub(crate) fn seed(&mut self) -> [u8; 32] {
        random(self.rng)
    }

    /// Stores the parts of a segment.
    pub(crate) fn put(&self, written: &WrittenSegment) -> Result<(), Error> {
        for part in written.parts() {
            self.folder.put(part)?;
        }
        Ok(())
    }
}
