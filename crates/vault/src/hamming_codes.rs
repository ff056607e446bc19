//! The codes that a client makes of the vectors it has downloaded.

use rayon::prelude::*;
use sordino_lsh::{Codes, Kind, Nearest, Scratch, Seed, SimHash};

use crate::decoded_rows::DecodedRows;
use crate::frame::{Frame, FrameQuery};
use sordino_index::sketch::Sketch;

/// A sketch is used if there are at least this number of vectors for each candidate. Otherwise all
/// vectors are scored.
pub const MANY: usize = 8;

/// The codes of all vectors, relative to the frame's centre.
pub struct HammingCodes {
    hash: SimHash,
    codes: Codes,
    /// The number of vectors to score.
    pub candidates: usize,
}

impl HammingCodes {
    /// The codes of these vectors, if there are enough of them for a sketch to help.
    #[must_use]
    pub fn of(sketch: &Sketch, seed: Seed, frame: &Frame, vectors: &DecodedRows) -> Option<Self> {
        let most = MANY * sketch.candidates as usize;
        (vectors.rows.len() >= most).then(|| Self::new(sketch, seed, frame, vectors))
    }

    /// Computes the codes, in parallel on rayon's current pool.
    ///
    /// # Panics
    /// Panics if the sketch is not one that the manifest's check accepts.
    #[must_use]
    pub fn new(sketch: &Sketch, seed: Seed, frame: &Frame, vectors: &DecodedRows) -> Self {
        let dim = frame.stored_dim();
        let hash = SimHash::new(dim, sketch.bits as usize, Kind::Rotation, seed);
        let hash = hash.expect("bits and dimension were checked");
        let words: Vec<u64> = (0..vectors.rows.len())
            .into_par_iter()
            .map_init(
                || (Scratch::default(), vec![0.0; dim]),
                |(scratch, floats), row| {
                    vectors.from_centre(frame, row, floats);
                    let mut code = vec![0; hash.bits() / 64];
                    hash.hash_into(floats, scratch, &mut code)
                        .expect("a vector of the dimension");
                    code
                },
            )
            .flatten_iter()
            .collect();
        Self {
            codes: Codes::from_words(hash.bits(), &words).expect("whole codes"),
            hash,
            candidates: sketch.candidates as usize,
        }
    }

    /// The rows of the vectors to score for this query.
    ///
    /// # Panics
    /// Panics if the query has another dimension.
    #[must_use]
    pub fn candidates(&self, asked: &FrameQuery) -> Vec<u32> {
        let mut nearest = Nearest::default();
        let code = self
            .hash
            .hash(asked.unit())
            .expect("a query of the dimension");
        let nearest = self.codes.nearest(&code, self.candidates, &mut nearest);
        let nearest = nearest.expect("the query's code is one of the hash");
        nearest.iter().map(|near| near.index).collect()
    }
}

impl std::fmt::Debug for HammingCodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sketched").finish_non_exhaustive()
    }
}
