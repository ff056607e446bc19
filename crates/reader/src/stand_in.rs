//! Buckets that stand in for wrong ones.

use sordino_index::bucket::Layout;
use sordino_index::opened::Opened;
use sordino_index::purpose::Purpose;
use sordino_index::seal::Seal;
use sordino_vectors::u32_of;

/// Sealed buckets of no index, one for each that a search fetches: full, of made-up vectors, under a key that serves nothing
/// else. Opening, decoding and ranking one takes as long as that of a full bucket.
pub(crate) struct StandIns {
    layout: Layout,
    seal: Seal,
    buckets: Vec<Vec<u8>>,
}

impl StandIns {
    /// Makes as many as a search fetches, with rows from all over an index of `n`.
    pub(crate) fn new(layout: &Layout, count: usize, n: u32) -> Self {
        let seal = Seal::new(&[0; 32], Purpose::Bucket, [0; 16], 0);
        let mut state = 0;
        let bucket = |number| layout.seal(&seal, number, &content(layout, n, &mut state));
        let buckets = (0..u32_of(count)).map(bucket).collect();
        Self {
            layout: *layout,
            seal,
            buckets,
        }
    }

    /// Opens the one for bucket `at` of a search.
    pub(crate) fn open(&self, at: usize, opened: &mut Opened) {
        let Some(sealed) = self.buckets.get(at) else {
            return;
        };
        let open = self.layout.open(&self.seal, u32_of(at), sealed, opened);
        debug_assert!(open.is_ok(), "sealed here");
    }
}

/// The content of a full bucket.
fn content(layout: &Layout, n: u32, state: &mut u64) -> Vec<u8> {
    let (dim, slots) = (layout.dim as usize, layout.slots as usize);
    let mut vector = || {
        let mut vector: Vec<f32> = (0..dim).map(|_| made_up(state) as f32 - 2e9).collect();
        sordino_vectors::normalise(&mut vector);
        vector
    };
    let (centroid, vectors) = (vector(), (0..slots).map(|_| vector()));
    let vectors: Vec<Vec<f32>> = vectors.collect();
    let entries = vectors
        .iter()
        .map(|vector| (made_up(state) % n.max(1), &vector[..]));
    let entries: Vec<(u32, &[f32])> = entries.collect();
    layout.write(&centroid, &entries)
}

/// The next number of a sequence without a pattern that a vector would show (Steele, Lea, Flood: SplitMix). Nothing about it
/// is secret.
fn made_up(state: &mut u64) -> u32 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    u32_of((mixed >> 32) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::code::Codec;

    #[test]
    fn they_are_full_and_different_and_open_as_others_do() {
        for codec in [Codec::Int8, Codec::Residual6, Codec::Residual4] {
            for dim in [2, 32, 130] {
                let slots = 7;
                let layout = Layout { dim, slots, codec };
                let all = StandIns::new(&layout, 3, 1000);
                let mut opened = Opened::default();
                (0..3).for_each(|at| all.open(at, &mut opened));
                assert_eq!(opened.rows.len(), 21);
                assert!(opened.rows.iter().all(|row| *row < 1000));
                let query = vec![(dim as f32).sqrt().recip(); dim as usize];
                let found = opened.nearest(&query, 100);
                assert!(found.iter().all(|hit| hit.score.is_finite()));
                if dim > 2 {
                    let mut scores: Vec<u32> = found.iter().map(|it| it.score.to_bits()).collect();
                    scores.sort_unstable();
                    scores.dedup();
                    assert!(scores.len() > 15, "{codec:?} {dim}: {}", scores.len());
                }
            }
        }
    }
}
