//! Open mode: the server holds the vectors and scores all of them under encryption.

use std::time::Instant;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::Stages;
use super::column::{Fresh, View, score};
use super::download::Download;
use crate::Error;
use crate::ids::IdSet;
use crate::keys::ReaderKeys;
use crate::manifest::Columns;
use crate::recall::Scored;
use crate::transport::Transport;
use crate::wire::Edition;

pub(super) struct Client {
    view: View,
}

/// Rows lie in the order of their ids.
fn row(_segment: usize, position: u32) -> u32 {
    position
}

impl Client {
    pub(super) fn new(mode: &Columns, width: usize) -> Result<Self, Error> {
        Ok(Self {
            view: View::new(mode, &mode.packing.open(), width)?,
        })
    }

    pub(super) fn update(
        &mut self,
        mode: &Columns,
        keys: &ReaderKeys,
        kept: usize,
        dead: &[IdSet],
        download: &mut Download,
    ) -> Result<(), Error> {
        let fresh = mode.segments.iter().skip(kept);
        let fresh: Result<Vec<_>, _> = fresh.map(|c| Fresh::new(c, keys, download)).collect();
        self.view.update(kept, fresh?, dead, row)
    }

    pub(super) fn search<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        edition: Edition,
        query: &[f32],
        k: usize,
    ) -> Result<(Vec<Scored>, Stages), Error> {
        let mut stages = Stages::default();
        let start = Instant::now();
        let (secret, query) = self.view.column.encrypt(rng, query)?;
        stages.encrypt = start.elapsed();

        let reply = score(transport, edition, &self.view.column, &query, &mut stages)?;

        let start = Instant::now();
        let scores = self.view.column.decrypt(secret, &reply);
        let scores = Zeroizing::new(scores.map_err(|_| Error::Search)?);
        stages.decrypt = start.elapsed();

        let start = Instant::now();
        let hits = self.view.best(k, |position| scores[position], row)?;
        stages.rank = start.elapsed();
        Ok((hits, stages))
    }
}
