//! Segments that are here whole: all of local mode, and what was added to a sealed index.

use std::collections::HashSet;

use rayon::prelude::*;
use sordino_index::Error;
use sordino_index::bucket::Layout;
use sordino_index::code::Codec;
use sordino_index::ids::IdSet;
use sordino_index::keys::ReaderKeys;
use sordino_index::manifest::Segment;
use sordino_index::opened::Opened;
use sordino_index::purpose::Purpose;
use sordino_index::record_ids::RecordIds;
use sordino_index::sketch::Sketch;
use sordino_index::sketched::Sketched;
use sordino_lsh::Seed;
use sordino_vectors::recall::{Scored, TopK, number};

use crate::download::Download;

/// Decoded segments.
#[derive(Default)]
pub(crate) struct Chunks {
    segments: Vec<Decoded>,
    /// The first stage that chooses the vectors to score, where that is worth it.
    pub(crate) sketch: Option<Sketch>,
}

/// The vectors of a segment, without deleted ones.
struct Decoded {
    records: RecordIds,
    vectors: Opened,
    seed: Seed,
    sketched: Option<Sketched>,
}

impl Chunks {
    /// Keeps the first `kept` segments and adds the others of these from the download. `dead` are the
    /// deleted records of each.
    pub(crate) fn update(
        &mut self,
        segments: &[Segment],
        (width, codec): (usize, Codec),
        keys: &ReaderKeys,
        kept: usize,
        dead: &[IdSet],
        download: &mut Download,
    ) -> Result<(), Error> {
        let fresh = segments.iter().skip(kept).map(|segment| {
            let bytes = download.take(&segment.rows)?;
            Decoded::new(segment.layout(number(width), codec), segment, keys, &bytes)
        });
        let fresh: Result<Vec<Decoded>, Error> = fresh.collect();
        let fresh = fresh?;
        self.segments.truncate(kept);
        self.segments.extend(fresh);
        for (segment, dead) in self.segments.iter_mut().zip(dead) {
            let before = segment.vectors.ids.len();
            segment.vectors.remove(&hidden(&segment.records, dead));
            if segment.sketched.is_none() || segment.vectors.ids.len() != before {
                segment.sketched = self
                    .sketch
                    .and_then(|sketch| sketch.of(segment.seed, width, &segment.vectors));
            }
        }
        Ok(())
    }

    /// The `k` vectors nearest to the unit vector `query`, best first, as record ids.
    pub(crate) fn nearest(&self, query: &[f32], k: usize) -> Vec<Scored> {
        let mut best = TopK::new(k);
        for segment in &self.segments {
            let Decoded {
                records, vectors, ..
            } = segment;
            let record = |hidden| records.reveal(hidden);
            let nearest = match &segment.sketched {
                None => vectors.nearest_of_all(query, k, record),
                Some(sketched) => {
                    vectors.nearest_among(query, &sketched.candidates(query), k, record)
                }
            };
            nearest.into_iter().for_each(|hit| best.offer(hit));
        }
        best.into_ranked()
    }
}

impl Decoded {
    fn new(
        layout: Layout,
        segment: &Segment,
        keys: &ReaderKeys,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let seal = keys.seal(Purpose::Chunk, &segment.id, segment.version);
        let chunks = bytes.par_chunks_exact(layout.sealed_len()).enumerate();
        let chunks: Result<Vec<Opened>, Error> = chunks
            .map(|(at, sealed)| {
                let mut opened = Opened::default();
                layout.open(&seal, number(at), sealed, &mut opened)?;
                Ok(opened)
            })
            .collect();
        let mut vectors = Opened::default();
        chunks?.into_iter().for_each(|chunk| vectors.append(chunk));
        Ok(Self {
            records: keys.ids(&segment.id),
            vectors,
            seed: keys.sketch_seed(&segment.id),
            sketched: None,
        })
    }
}

/// The hidden forms of deleted records.
pub(crate) fn hidden(records: &RecordIds, dead: &IdSet) -> HashSet<u32> {
    dead.iter().map(|id| records.hide(id)).collect()
}
