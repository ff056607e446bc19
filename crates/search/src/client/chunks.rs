//! Segments that are here whole: all of local mode, and what was added to a sealed index.

use std::collections::HashSet;

use rayon::prelude::*;

use super::download::Download;
use crate::Error;
use crate::bucket::Opened;
use crate::ids::IdSet;
use crate::keys::{ReaderKeys, RecordIds};
use crate::manifest::Segment;
use crate::recall::{Scored, TopK, number};

/// Decoded segments.
#[derive(Default)]
pub(super) struct Chunks {
    segments: Vec<Decoded>,
}

/// The vectors of a segment, without deleted ones.
struct Decoded {
    records: RecordIds,
    chunks: Vec<Opened>,
}

impl Chunks {
    /// Keeps the first `kept` segments and adds the others of these from the download. `dead` are the
    /// deleted records of each.
    pub(super) fn update(
        &mut self,
        segments: &[Segment],
        width: usize,
        keys: &ReaderKeys,
        kept: usize,
        dead: &[IdSet],
        download: &mut Download,
    ) -> Result<(), Error> {
        let fresh = segments.iter().skip(kept).map(|segment| {
            let bytes = download.take(&segment.rows)?;
            Decoded::new(segment, number(width), keys, &bytes)
        });
        let fresh: Result<Vec<Decoded>, Error> = fresh.collect();
        let fresh = fresh?;
        self.segments.truncate(kept);
        self.segments.extend(fresh);
        for (segment, dead) in self.segments.iter_mut().zip(dead) {
            let dead = hidden(&segment.records, dead);
            if !dead.is_empty() {
                let chunks = segment.chunks.par_iter_mut();
                chunks.for_each(|chunk| chunk.remove(&dead));
            }
        }
        Ok(())
    }

    /// The `k` vectors nearest to the unit vector `query`, best first, as record ids.
    pub(super) fn nearest(&self, query: &[f32], k: usize) -> Vec<Scored> {
        let mut best = TopK::new(k);
        for Decoded { records, chunks } in &self.segments {
            let hits: Vec<Vec<Scored>> = chunks
                .par_iter()
                .map(|chunk| chunk.nearest(query, k))
                .collect();
            let mut nearest = TopK::new(k);
            hits.into_iter()
                .flatten()
                .for_each(|hit| nearest.offer(hit));
            for hit in nearest.into_ranked() {
                best.offer(Scored {
                    id: records.reveal(hit.id),
                    ..hit
                });
            }
        }
        best.into_ranked()
    }
}

impl Decoded {
    fn new(segment: &Segment, width: u32, keys: &ReaderKeys, bytes: &[u8]) -> Result<Self, Error> {
        let layout = segment.layout(width);
        let seal = keys.seal("chunk", &segment.id, segment.version);
        let chunks = bytes.par_chunks_exact(layout.sealed_len()).enumerate();
        let chunks: Result<Vec<Opened>, Error> = chunks
            .map(|(at, sealed)| {
                let mut opened = Opened::default();
                layout.open(&seal, number(at), sealed, &mut opened)?;
                Ok(opened)
            })
            .collect();
        Ok(Self {
            records: keys.ids(&segment.id),
            chunks: chunks?,
        })
    }
}

/// The hidden forms of deleted records.
pub(super) fn hidden(records: &RecordIds, dead: &IdSet) -> HashSet<u32> {
    dead.iter().map(|id| records.hide(id)).collect()
}
