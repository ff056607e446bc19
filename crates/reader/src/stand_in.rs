//! The bucket that replaces wrong ones.

use sordino_index::bucket::Layout;
use sordino_vault::bucket_codec::BucketCodec;
use sordino_vault::decoded_rows::DecodedRows;
use sordino_vault::frame::Frame;
use sordino_vault::purpose::Purpose;
use sordino_vault::quantiser::Entry;
use sordino_vault::seal::Seal;
use sordino_vectors::u32_of;

/// A sealed bucket that belongs to no index. It is full of made-up vectors, and sealed with a key that has no other use.
/// Opening, decoding and ranking it takes the time of a full bucket. Like the vectors of real buckets, its vectors have rows
/// from all over the index, different ones in each place.
pub(crate) struct StandIn {
    layout: Layout,
    seal: Seal,
    sealed: Vec<u8>,
    /// The number of rows of the index.
    n: u32,
}

impl StandIn {
    /// Makes a bucket for an index of `n` rows.
    pub(crate) fn new(layout: &Layout, n: u32) -> Self {
        let seal = Seal::new(&[0; 32], Purpose::Bucket, [0; 16], 0);
        let sealed = BucketCodec(*layout).seal(&seal, 0, &content(layout));
        Self {
            layout: *layout,
            seal,
            sealed,
            n: n.max(1),
        }
    }

    /// Opens the made-up bucket instead of a search's bucket `at`.
    pub(crate) fn open(&self, at: usize, frame: &Frame, opened: &mut DecodedRows) {
        let before = opened.rows.len();
        let open = BucketCodec(self.layout).open(&self.seal, 0, &self.sealed, frame, opened);
        debug_assert!(open.is_ok(), "sealed here");
        let mut state = at as u64;
        for row in &mut opened.rows[before..] {
            *row = made_up(&mut state) % self.n;
        }
    }
}

/// The content of a full bucket.
fn content(layout: &Layout) -> Vec<u8> {
    let mut state = 0;
    let (dim, slots) = (layout.dim as usize, layout.slots as usize);
    let mut vector = || {
        let mut vector: Vec<f32> = (0..dim).map(|_| made_up(&mut state) as f32 - 2e9).collect();
        sordino_vectors::normalise(&mut vector);
        vector
    };
    let (centroid, vectors) = (vector(), (0..slots).map(|_| vector()));
    let vectors: Vec<Vec<f32>> = vectors.collect();
    let entries = (0..).zip(&vectors).map(|(row, vector)| Entry {
        row,
        base: 0,
        scale: 0.0,
        residual: vector,
        unit: vector,
    });
    let entries: Vec<Entry<'_>> = entries.collect();
    BucketCodec(*layout).write(&centroid, &entries)
}

/// The next number of a sequence without a visible pattern (Steele, Lea, Flood: SplitMix). Nothing about it is secret.
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
    use sordino_vectors::Metric;

    #[test]
    fn it_is_full_and_its_vectors_and_rows_differ() {
        for codec in Codec::ALL {
            for dim in [2, 32, 130] {
                let slots = 7;
                let layout = Layout { dim, slots, codec };
                let stand_in = StandIn::new(&layout, 1_000_000);
                let mut opened = DecodedRows::default();
                let frame = Frame::origin(Metric::Cosine, [1; 32], dim as usize);
                (0..3).for_each(|at| stand_in.open(at, &frame, &mut opened));
                let mut rows = opened.rows.clone();
                assert!(rows.iter().all(|row| *row < 1_000_000));
                rows.sort_unstable();
                rows.dedup();
                assert_eq!(rows.len(), 21);
                let query = vec![(dim as f32).sqrt().recip(); dim as usize];
                let asked = frame.ask(&query).unwrap();
                let found = opened.nearest(&asked, |_| true, 100);
                assert!(found.iter().all(|hit| hit.score.is_finite()));
                if dim > 2 {
                    let mut scores: Vec<u32> = found.iter().map(|it| it.score.to_bits()).collect();
                    scores.sort_unstable();
                    scores.dedup();
                    assert!(scores.len() > 5, "{codec:?} {dim}: {}", scores.len());
                }
            }
        }
    }
}
