//! Local mode: the whole index is here.

use std::time::Instant;

use super::Stages;
use super::chunks::Chunks;
use crate::recall::Scored;

/// All vectors of an index, decoded.
#[derive(Default)]
pub(super) struct Client {
    pub(super) chunks: Chunks,
}

impl Client {
    pub(super) fn search(&self, query: &[f32], k: usize) -> (Vec<Scored>, Stages) {
        let start = Instant::now();
        let hits = self.chunks.nearest(query, k);
        let stages = Stages {
            rank: start.elapsed(),
            ..Stages::default()
        };
        (hits, stages)
    }
}
