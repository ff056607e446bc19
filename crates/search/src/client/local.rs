//! Local mode: the whole index is here.

use std::time::Instant;

use rayon::prelude::*;

use super::Stages;
use crate::Error;
use crate::bucket::Opened;
use crate::index;
use crate::keys::ReaderKeys;
use crate::manifest::{Local, Manifest};
use crate::recall::{Scored, TopK, number};
use crate::wire::Message;

/// All vectors of an index, decoded.
pub(super) struct Client {
    chunks: Vec<Opened>,
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
        Ok(Self { chunks: chunks? })
    }

    pub(super) fn search(&self, query: &[f32], k: usize) -> (Vec<Scored>, Stages) {
        let start = Instant::now();
        let hits = self.chunks.par_iter().map(|chunk| chunk.nearest(query, k));
        let mut best = TopK::new(k);
        hits.collect::<Vec<_>>()
            .into_iter()
            .flatten()
            .for_each(|hit| best.offer(hit));
        let stages = Stages {
            rank: start.elapsed(),
            ..Stages::default()
        };
        (best.into_ranked(), stages)
    }
}
