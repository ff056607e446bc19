//! The selectors of all columns, in the order in which products read them.

use std::ops::Range;

use sordino_lattice::aligned::Aligned;
use sordino_lattice::pages::Pages;
use sordino_lattice::products::LANES;

use super::expand::{TOGETHER, expand};
use super::keys::Evaluation;
use super::params::Params;
use super::ring::N;

/// The number of values of a selector that are neighbours in memory. They fill two vector registers.
const PAIR: usize = 2 * LANES;

/// Selectors in tiles of eight values, 16 words for each: the values of `c_0`, then of `c_1`.
///
/// Selectors that are expanded together lie in one piece: tile after tile, and in each tile, selector after selector.
/// So a tile of all selectors stays in the cache while the records pass by.
#[derive(Debug)]
pub(crate) struct Selectors {
    pages: Pages,
    count: usize,
    /// The logarithm of the number of selectors in a piece; the last piece may have fewer.
    log_held: u32,
}

impl Selectors {
    /// Allocates memory for the selectors of a request.
    pub(crate) fn new(params: &Params) -> Self {
        let count = params.selectors();
        Self {
            pages: Pages::zeroed_words(2 * N * count),
            count,
            log_held: params.depth.min(TOGETHER),
        }
    }

    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.pages.len()
    }

    /// Fills the memory with the selectors in a query's ciphertexts, expanded to this depth.
    pub(crate) fn fill(&mut self, keys: &Evaluation, depth: u32, ciphertexts: &[Aligned<u64>]) {
        let pieces = self.pages.words_mut().chunks_mut((2 * N) << self.log_held);
        let put = |piece: &mut &mut [u64], n: usize, ciphertext: &[u64]| {
            let (first, second) = ciphertext.split_at(N);
            let (first, second) = (first.as_chunks::<LANES>().0, second.as_chunks::<LANES>().0);
            let tiles = piece.chunks_exact_mut(piece.len() / (N / LANES));
            for (tile, (first, second)) in tiles.zip(first.iter().zip(second)) {
                let to = &mut tile[PAIR * n..][..PAIR];
                to[..LANES].copy_from_slice(first);
                to[LANES..].copy_from_slice(second);
            }
        };
        expand(
            (keys, depth),
            ciphertexts,
            self.count,
            pieces.collect(),
            put,
        );
    }

    /// Tile `i` of the selectors `numbers`, one slice for each piece that holds some of them.
    pub(crate) fn tile(&self, i: usize, numbers: Range<usize>) -> impl Iterator<Item = &[u64]> {
        let words = self.pages.words();
        let pieces = (numbers.start >> self.log_held)..numbers.end.div_ceil(1 << self.log_held);
        pieces.map(move |piece| {
            let before = piece << self.log_held;
            let held = (self.count - before).min(1 << self.log_held);
            let from = numbers.start.saturating_sub(before);
            let to = (numbers.end - before).min(held);
            let tile = &words[2 * N * before + PAIR * held * i..][..PAIR * held];
            &tile[PAIR * from..PAIR * to]
        })
    }
}
