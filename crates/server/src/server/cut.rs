//! Divides encrypted scores among shards, and joins them again.

use sordino_ckks::column::{Params, Query, Reply};
use sordino_index::Error;
use sordino_index::columns::{Rows, Scheme};
use sordino_index::manifest::{Columns, Grid, Manifest, Mode};
use sordino_index::shard::Shard;

/// One encrypted reply about blocks of positions. Each shard has some of the blocks.
#[derive(Debug)]
pub(super) struct Cut {
    params: Params,
    dim: usize,
    /// The number of positions of each shard.
    counts: Vec<usize>,
    /// Runs of shards: the index of a shard, and how many consecutive blocks it has.
    runs: Vec<(usize, usize)>,
}

impl Cut {
    /// The replies of a search, in order.
    pub(super) fn all(manifest: &Manifest, of: u16) -> Result<Vec<Self>, Error> {
        let width = manifest.stored_dim() as usize;
        Ok(match &manifest.mode {
            Mode::Open(mode) => vec![Self::of_rows(Rows::Open, mode, width, of)],
            Mode::Masked(mode) => vec![Self::of_rows(Rows::Masked, mode, width, of)],
            Mode::Routed(mode) => {
                let mut cuts = vec![Self::of_groups(&mode.grid, of)];
                if !mode.tail.segments.is_empty() {
                    cuts.push(Self::of_rows(Rows::Masked, &mode.tail, width, of));
                }
                cuts
            }
            // The server scores no vectors in these modes.
            Mode::Sealed(_) | Mode::Local(_) => Vec::new(),
        })
    }

    /// Cuts each segment's blocks separately.
    fn of_rows(rows: Rows, mode: &Columns, width: usize, of: u16) -> Self {
        let scheme = Scheme::new(rows, mode);
        let params = scheme.params();
        let block = params.block_vectors();
        let mut cut = Self::new(params, width, of);
        let mut missing = 0;
        for column in &mode.segments {
            let stored = scheme.stored(column.segment.n as usize, width);
            let blocks = stored.div_ceil(block);
            cut.push(blocks, 1, of);
            missing = blocks * block - stored;
        }
        // Except in the last segment, the last block also has positions without a row.
        if let Some(last) = cut.counts.last_mut() {
            *last -= missing;
        }
        cut
    }

    /// Cuts groups, each of which consists of whole blocks.
    fn of_groups(grid: &Grid, of: u16) -> Self {
        let params = grid.packing.params();
        let blocks = grid.stored().div_ceil(params.block_vectors());
        let mut cut = Self::new(params, Grid::params().n(), of);
        cut.push(grid.groups as usize, blocks, of);
        cut
    }

    fn new(params: Params, dim: usize, of: u16) -> Self {
        Self {
            params,
            dim,
            counts: vec![0; of.into()],
            runs: Vec::new(),
        }
    }

    /// Cuts `count` consecutive items of `blocks` blocks each.
    fn push(&mut self, count: usize, blocks: usize, of: u16) {
        for (at, shard) in Shard::all(of).enumerate() {
            let own = shard.range(count).len() * blocks;
            if own > 0 {
                self.runs.push((at, own));
                self.counts[at] += own * self.params.block_vectors();
            }
        }
    }

    /// The size in bytes of a query.
    pub(super) fn query_len(&self) -> Result<usize, Error> {
        Ok(Query::encoded_len(&self.params, self.dim)?)
    }

    /// The size in bytes of a shard's part.
    pub(super) fn len(&self, shard: Shard) -> Result<usize, Error> {
        let count = self.counts[usize::from(shard.number()) - 1];
        Ok(Reply::encoded_len(&self.params, self.dim, count)?)
    }

    /// Checks that a reply is about the shard's positions.
    pub(super) fn check(&self, shard: Shard, part: &[u8]) -> Result<(), Error> {
        let count = self.counts[usize::from(shard.number()) - 1];
        Ok(Reply::check_bytes(part, &self.params, self.dim, count)?)
    }

    /// Appends the reply about all positions.
    pub(super) fn join(&self, parts: &[&[u8]], whole: &mut Vec<u8>) -> Result<(), Error> {
        Ok(Reply::join(parts, self.runs.iter().copied(), whole)?)
    }
}
