//! The update of a client from one version of an index to the next.

use sordino_index::Error;
use sordino_vault::contents::ContentKeys;
use sordino_vault::numbers::Numbers;
use sordino_vectors::Metric;

use crate::download::Download;

/// The difference between two versions, for a client of the first.
pub(crate) struct Update<'a> {
    pub(crate) keys: &'a ContentKeys,
    /// The number of segments that stay, from the first on.
    pub(crate) kept: usize,
    /// The deleted rows of every segment.
    pub(crate) dead: &'a [Numbers],
    pub(crate) metric: Metric,
    /// The parts of the other segments.
    pub(crate) download: &'a mut Download,
}

impl<'a> Update<'a> {
    /// The deleted rows of the base, and the update of the added segments.
    ///
    /// # Errors
    /// [`Error::BadReply`] if there is no base.
    pub(crate) fn split_base(self) -> Result<(&'a Numbers, Self), Error> {
        let (base, dead) = self.dead.split_first().ok_or(Error::BadReply)?;
        let kept = self.kept.saturating_sub(1);
        Ok((base, Self { kept, dead, ..self }))
    }
}
