//! Local mode: the whole index is here.

use sordino_vectors::recall::Scored;

use crate::chunks::Chunks;
use crate::question::Wanted;
use crate::stages::{Stages, time};

/// All vectors of an index, decoded.
#[derive(Default)]
pub(crate) struct Client {
    pub(crate) chunks: Chunks,
}

impl Client {
    pub(crate) fn search(
        &self,
        query: &[f32],
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Vec<Scored> {
        time(&mut stages.rank, || self.chunks.nearest(query, wanted))
    }
}
