//! Trains a frame again, on the present records.

use rand_core::CryptoRng;
use sordino_index::manifest::Mode;
use sordino_index::{Disk, Error};
use sordino_vault::directory::UNLABELLED;
use sordino_vault::frame::Frame;
use sordino_vectors::Vectors;
use sordino_vectors::metric::length;

use super::Store;
use super::draft::Draft;
use crate::frame;
use crate::random::random;
use crate::rows::Rows;

/// The number of powers of two by which residuals must be shorter in a new frame.
const CLEARLY: f64 = 0.125;

impl<D: Disk> Store<D> {
    /// Rows in the frame of a draft.
    pub(super) fn in_frame(&self, draft: &Draft, rows: Rows) -> Result<Rows, Error> {
        match draft.framed.is_some() {
            true => Ok(rows),
            false => rows.reframed(&self.frame, &draft.frame),
        }
    }

    /// A frame trained on the first records that all readers may read, if it is better for them than the present one.
    pub(super) fn retrained_on_first<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
    ) -> Result<Option<Frame>, Error> {
        let (mut first, mut n) = (Vec::new(), 0);
        let segments = 0..self.records.sets.len();
        for at in segments.filter(|&at| self.label_at(at) == UNLABELLED) {
            let mut waiting = self.waiting();
            self.read_live(at, &mut waiting)?;
            if waiting.len() > 0 && n < frame::SAMPLE {
                n += waiting.len();
                first.push(waiting.take(usize::MAX)?);
            }
        }
        let first: Vec<&Rows> = first.iter().collect();
        self.retrained(rng, &first, frame::SAMPLE)
    }

    /// A frame trained on these rows, if it makes their residuals clearly shorter. Otherwise the present frame with a
    /// larger bound, if some rows exceed its bound. Otherwise `None`, so the stored form stays the same.
    pub(super) fn retrained<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        rows: &[&Rows],
        n: usize,
    ) -> Result<Option<Frame>, Error> {
        let old = &self.frame;
        let of = |rows: &Rows, row: usize| old.whole(rows.marks[row].base, rows.vectors.row(row));
        let all = rows.iter().copied();
        let all = all.flat_map(|rows| (0..rows.ids.len()).map(move |row| (rows, row)));
        // A frame is nearer to its training vectors than to others, so it is tested on the others.
        let (teach, held) = frame::parted(all);
        let step = teach.len().div_ceil(frame::SAMPLE).max(1);
        let teach = teach.into_iter().step_by(step);
        let teach = teach.flat_map(|(rows, row)| old.restored(&of(rows, row)));
        let Ok(sample) = Vectors::new(old.dim(), teach.collect()) else {
            return Ok(None);
        };
        let (rotation, hidden) = (self.manifest.rotation, self.access.is_some());
        let new = frame::trained(old.metric(), rotation, &sample, n, random(rng), hidden)?;
        let lengths = held.into_iter().map(|(rows, row)| {
            let y = new.centred(&old.restored(&of(rows, row)));
            let after = length(&new.residual(new.nearest_base(&y), &y));
            (length(rows.vectors.row(row)), after)
        });
        if frame::gain(lengths) > CLEARLY {
            return Ok(Some(new));
        }
        let lifted = matches!(self.manifest.mode, Mode::Routed(_) | Mode::Sealed(_));
        if !lifted || rows.iter().all(|rows| rows.beyond(old).is_empty()) {
            return Ok(None);
        }
        let lengths = rows.iter().flat_map(|rows| rows.lengths(old));
        let longer = frame::rebound(old, lengths.collect());
        Ok((longer.longest() > old.longest()).then_some(longer))
    }
}
