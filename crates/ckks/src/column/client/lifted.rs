//! A hint in the form that clients multiply by a secret.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::ntt::Plan;
use sordino_lattice::threads;

use super::centre;
use crate::column::params::Params;
use crate::dot::{self, N};

/// The polynomials `H_j`, one after the other, in NTT form mod the 50-bit prime for every `q`. The product with a secret is
/// an integer below `2^(h - 1) N`, so it is exact mod that prime.
pub(super) struct Lifted {
    /// Blocks that arrived together share one piece of memory: a system allocates one large piece faster than a thousand
    /// small ones.
    pieces: Vec<Piece>,
}

struct Piece {
    values: Aligned<u64>,
    /// The number of blocks of this piece that are still in use.
    blocks: usize,
}

impl Lifted {
    pub(super) const fn empty() -> Self {
        Self { pieces: Vec::new() }
    }

    /// Adds blocks of a hint.
    pub(super) fn extend<'a>(&mut self, params: Params, blocks: impl Iterator<Item = &'a [u8]>) {
        let blocks: Vec<&[u8]> = blocks.collect();
        let mut values = Aligned::new(blocks.len() * N);
        let each = values.chunks_exact_mut(N).zip(blocks.iter().copied());
        let lift = |(): &mut (), _, (poly, block)| lift(params, block, poly);
        threads::for_each(each.collect(), || (), lift);
        self.pieces.push(Piece {
            values,
            blocks: blocks.len(),
        });
    }

    /// Replaces block `j`, or adds a block behind the last one.
    pub(super) fn replace(&mut self, params: Params, j: usize, block: &[u8]) {
        let mut left = j;
        for piece in &mut self.pieces {
            if left < piece.blocks {
                return lift(params, block, &mut piece.values[left * N..][..N]);
            }
            left -= piece.blocks;
        }
        self.extend(params, std::iter::once(block));
    }

    /// Removes all blocks from number `count` on.
    pub(super) fn truncate(&mut self, count: usize) {
        let mut left = count;
        for piece in &mut self.pieces {
            piece.blocks = piece.blocks.min(left);
            left -= piece.blocks;
        }
        self.pieces.retain(|piece| piece.blocks > 0);
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = &[u64]> {
        let pieces = self.pieces.iter();
        pieces.flat_map(|piece| piece.values.chunks_exact(N).take(piece.blocks))
    }
}

/// The ring in which hints and secrets are multiplied.
pub(super) fn hint_plan() -> &'static Plan {
    dot::plan()
}

/// A block of a hint, centred, in NTT form.
fn lift(params: Params, block: &[u8], poly: &mut [u64]) {
    params.hint_width.read(block, poly);
    for (i, residue) in poly.iter_mut().enumerate() {
        let width = params.hint_width.of(i);
        let centred = centre(residue.cast_signed(), width) << (params.hint_bits() - width);
        *residue = hint_plan().modulus().from_signed(centred);
    }
    hint_plan().forward(poly);
}
