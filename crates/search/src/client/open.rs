//! Open mode: the server holds the vectors and scores all of them under encryption.

use std::time::Instant;

use rand_core::CryptoRng;
use sordino_ckks::column;

use super::Stages;
use super::column::{best, client, score};
use crate::Error;
use crate::manifest::{Columns, Manifest};
use crate::recall::Scored;
use crate::transport::Transport;

pub(super) struct Client {
    column: column::Client,
}

impl Client {
    pub(super) fn new(manifest: &Manifest, mode: &Columns, setup: &[u8]) -> Result<Self, Error> {
        let column = client(manifest, mode, &mode.packing.open(), setup)?;
        Ok(Self { column })
    }

    pub(super) fn search<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        query: &[f32],
        k: usize,
    ) -> Result<(Vec<Scored>, Stages), Error> {
        let mut stages = Stages::default();
        let start = Instant::now();
        let (secret, query) = self.column.encrypt(rng, query)?;
        stages.encrypt = start.elapsed();

        let reply = score(transport, &self.column, &query, &mut stages)?;

        let start = Instant::now();
        let scores = self
            .column
            .decrypt(secret, &reply)
            .map_err(|_| Error::Search)?;
        stages.decrypt = start.elapsed();

        let start = Instant::now();
        let hits = best(scores.into_iter(), k)?;
        stages.rank = start.elapsed();
        Ok((hits, stages))
    }
}
