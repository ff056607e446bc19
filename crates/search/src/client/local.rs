//! Local mode: the whole index is here.

use std::time::Instant;

use rayon::prelude::*;

use super::Stages;
use crate::Error;
use crate::bucket::Opened;
use crate::index;
use crate::keys::ReaderKeys;
use crate::manifest::{Local, Manifest};
use crate::recall::{Scored, number};
use crate::sketch::Sketched;
use crate::wire::Message;

/// All vectors of an index, decoded, and their codes where those are worth having.
pub(super) struct Client {
    vectors: Opened,
    sketched: Option<Sketched>,
}

impl Client {
    pub(super) fn new(
        manifest: &Manifest,
        mode: &Local,
        keys: &ReaderKeys,
        setup: &[u8],
    ) -> Result<Self, Error> {
        let count = mode.count(manifest.n) as usize;
        let body = Message::Setup.expect(setup, Some(count * mode.layout.sealed_len()))?;
        index::check_digest("chunks", body, &mode.chunks)?;
        let seal = keys.seal("chunk", &manifest.index, manifest.version);
        let chunks = body.par_chunks_exact(mode.layout.sealed_len()).enumerate();
        let chunks: Result<Vec<Opened>, Error> = chunks
            .map(|(at, sealed)| {
                let mut opened = Opened::default();
                mode.layout.open(&seal, number(at), sealed, &mut opened)?;
                Ok(opened)
            })
            .collect();
        let mut vectors = Opened::default();
        chunks?.into_iter().for_each(|chunk| vectors.append(chunk));
        let sketched = mode.sketch.map(|sketch| {
            let seed = keys.sketch_seed(&manifest.index);
            Sketched::new(&sketch, seed, manifest.dim as usize, &vectors)
        });
        Ok(Self { vectors, sketched })
    }

    pub(super) fn search(&self, query: &[f32], k: usize) -> (Vec<Scored>, Stages) {
        let start = Instant::now();
        let mut stages = Stages::default();
        let hits = match &self.sketched {
            None => self.vectors.nearest_of_all(query, k),
            Some(sketched) => {
                let candidates = sketched.candidates(query);
                stages.scores = start.elapsed();
                self.vectors.nearest_among(query, &candidates, k)
            }
        };
        stages.rank = start.elapsed() - stages.scores;
        (hits, stages)
    }
}
