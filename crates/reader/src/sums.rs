//! Sums of open rows, by which a reader checks the scores of a reply.

use sordino_ckks::column::Params;
use sordino_index::Error;
use sordino_index::checks::held::{GROUP, tolerance};
use sordino_index::manifest::{Checking, Columns};
use sordino_vault::checks::held::ReaderSums;
use sordino_vault::contents::ContentKeys;

use crate::column::Positions;
use crate::download::Download;

/// The sums of all segments, if an index's scores are checked by sums.
pub(crate) struct SumCheck {
    /// The sums of each segment, or `None` if its key is not known. A search then finds nothing in it.
    segments: Vec<Option<ReaderSums>>,
    /// For each segment, the largest error of the sums of each of its groups, in squares of a step.
    most: Vec<Vec<u64>>,
}

/// The sums of each segment of the next version, or `None` if they stay unchanged.
pub(crate) type FreshSums = Vec<Option<Option<ReaderSums>>>;

impl SumCheck {
    pub(crate) fn new(mode: &Columns) -> Option<Self> {
        (mode.checking == Checking::Sums).then(|| Self {
            segments: Vec::new(),
            most: Vec::new(),
        })
    }

    /// The downloaded sums: of new segments or, if keys of other segments may be known now, of all.
    pub(crate) fn fresh(
        mode: &Columns,
        width: usize,
        keys: &ContentKeys,
        download: &mut Download,
    ) -> Result<FreshSums, Error> {
        let fresh = mode.segments.iter().map(|column| {
            let digest = column.sums.ok_or(Error::BadReply)?;
            if !download.has(&digest) {
                return Ok(None);
            }
            let sealed = download.take(&digest)?;
            let key = keys.of(&column.segment);
            let held = key.map(|key| key.open_sums(&column.segment, width, &sealed));
            Ok(Some(held.transpose()?))
        });
        fresh.collect()
    }

    /// Makes these the sums of these segments. The first `kept` segments keep their sums, unless `fresh` has new ones.
    ///
    /// # Errors
    /// [`Error`] if scores are not real numbers, or sums are missing.
    pub(crate) fn follow(
        &mut self,
        params: &Params,
        width: usize,
        kept: usize,
        fresh: FreshSums,
        segments: &[Positions],
    ) -> Result<(), Error> {
        let rows = || segments.iter().map(|it| it.segment.n as usize);
        let groups = rows().map(|n| n.div_ceil(GROUP)).sum();
        let most = |rows| tolerance(params, width, rows, groups);
        let whole = most(GROUP)?;
        let of_segment = |n: usize| {
            let mut all = vec![whole; n / GROUP];
            if !n.is_multiple_of(GROUP) {
                all.push(most(n % GROUP)?);
            }
            Ok(all)
        };
        self.most = rows().map(of_segment).collect::<Result<_, Error>>()?;
        self.segments.truncate(kept);
        for (at, fresh) in fresh.into_iter().enumerate() {
            match (self.segments.get_mut(at), fresh) {
                (Some(held), Some(fresh)) => *held = fresh,
                (Some(_), None) => {}
                (None, Some(fresh)) => self.segments.push(fresh),
                (None, None) => return Err(Error::BadReply),
            }
        }
        Ok(())
    }

    /// True if no sum of scores has too large an error. `steps` are the scores of all positions, and `query` the
    /// integers that encode the query.
    pub(crate) fn hold(
        &self,
        params: &Params,
        steps: &[i32],
        query: &[i64],
        segments: &[Positions],
    ) -> Result<bool, Error> {
        let unit = (params.modulus(), params.step_bits()?);
        let mut held = true;
        for ((at, sums), most) in segments.iter().zip(&self.segments).zip(&self.most) {
            let Some(sums) = sums else { continue };
            let steps = &steps[at.first..at.first + at.segment.n as usize];
            let off = sums.off(steps, query, unit);
            held &= off
                .iter()
                .zip(most)
                .fold(true, |held, (off, most)| held & (off <= most));
        }
        Ok(held)
    }
}
