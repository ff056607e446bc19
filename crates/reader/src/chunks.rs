//! Segments that the client has downloaded as a whole: all of local mode, and additions to a sealed index.

use rayon::prelude::*;
use sordino_index::Error;
use sordino_index::bucket::Layout;
use sordino_index::code::Codec;
use sordino_index::manifest::Segment;
use sordino_index::sketch::Sketch;
use sordino_lsh::Seed;
use sordino_vault::bucket_codec::BucketCodec;
use sordino_vault::content_key::ContentKey;
use sordino_vault::decoded_rows::DecodedRows;
use sordino_vault::frame::{Frame, FrameQuery};
use sordino_vault::hamming_codes::HammingCodes;
use sordino_vault::purpose::Purpose;
use sordino_vectors::recall::{Scored, TopK};
use sordino_vectors::u32_of;

use crate::question::Wanted;
use crate::update::Update;

/// Decoded segments.
pub(crate) struct Chunks {
    frame: Frame,
    codec: Codec,
    segments: Vec<Decoded>,
}

/// The vectors of a segment, without deleted ones.
struct Decoded {
    /// The number of all its records.
    n: u32,
    vectors: DecodedRows,
    seed: Seed,
    sketched: Option<HammingCodes>,
}

impl Chunks {
    /// No segments, of vectors in this frame.
    pub(crate) fn new(frame: &Frame, codec: Codec) -> Self {
        Self {
            frame: frame.clone(),
            codec,
            segments: Vec::new(),
        }
    }

    /// Updates the client to these segments. `sketch` is the first stage that chooses the vectors to score, if that is
    /// worthwhile. After an error nothing has changed.
    pub(crate) fn update(
        &mut self,
        segments: &[Segment],
        sketch: Option<Sketch>,
        update: Update<'_>,
    ) -> Result<(), Error> {
        let Update {
            keys,
            kept,
            dead,
            download,
            ..
        } = update;
        let width = self.frame.stored_dim();
        let fresh = segments.iter().skip(kept).map(|segment| {
            let bytes = download.take(&segment.rows)?;
            let layout = segment.layout(u32_of(width), self.codec);
            match keys.of(segment) {
                Some(key) => Decoded::new(layout, &self.frame, segment, key, &bytes),
                None => Ok(Decoded::hidden(segment)),
            }
        });
        let fresh: Result<Vec<Decoded>, Error> = fresh.collect();
        let fresh = fresh?;
        self.segments.truncate(kept);
        self.segments.extend(fresh);
        for (segment, dead) in self.segments.iter_mut().zip(dead) {
            let before = segment.vectors.rows.len();
            segment.vectors.retain(|row| !dead.contains(row));
            let same = segment.vectors.rows.len() == before;
            let known = segment.sketched.take().filter(|_| same);
            segment.sketched = sketch.and_then(|sketch| {
                known.or_else(|| {
                    HammingCodes::of(&sketch, segment.seed, &self.frame, &segment.vectors)
                })
            });
        }
        Ok(())
    }

    /// The vectors nearest to the query, best first, as places with their keys. Places count from the first of these
    /// segments on. If keys are equal, there may be more than `k` results. Vectors of one segment with equal keys are
    /// in the order of the segment's ids. Vectors of different segments with equal keys have no fixed order.
    pub(crate) fn nearest(
        &self,
        query: &FrameQuery,
        Wanted { k, chosen }: Wanted<'_>,
    ) -> Vec<Scored> {
        let mut best = TopK::with_equal(k);
        let mut first = 0;
        for (at, segment) in self.segments.iter().enumerate() {
            let vectors = &segment.vectors;
            let nearest = match (chosen, &segment.sketched) {
                // All chosen rows are scored, because a first stage would look among all rows. If there is a first
                // stage, no message follows.
                (Some(chosen), Some(_)) => {
                    let rows = (0..).zip(&vectors.rows);
                    let rows = rows.filter(|(_, row)| chosen[at][**row as usize]);
                    vectors.nearest_among(query, rows.map(|(place, _)| place), k)
                }
                // A message may follow, and its time must not reveal how many are chosen.
                (_, None) => {
                    let counts = |row: u32| chosen.is_none_or(|chosen| chosen[at][row as usize]);
                    vectors.nearest_of_all(query, counts, k)
                }
                (None, Some(sketched)) => {
                    vectors.nearest_among(query, sketched.candidates(query), k)
                }
            };
            for Scored { id, score } in nearest {
                let id = first + id;
                best.offer(Scored { id, score });
            }
            first += segment.n;
        }
        best.into_ranked()
    }
}

impl Decoded {
    /// A segment whose key is not known. A search finds nothing in it.
    fn hidden(segment: &Segment) -> Self {
        Self {
            n: segment.n,
            vectors: DecodedRows::default(),
            seed: Seed([0; 32]),
            sketched: None,
        }
    }

    fn new(
        layout: Layout,
        frame: &Frame,
        segment: &Segment,
        key: &ContentKey,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let seal = key.seal(Purpose::Chunk, &segment.id, segment.version);
        let chunks = bytes.par_chunks_exact(layout.sealed_len()).enumerate();
        let chunks: Result<Vec<DecodedRows>, Error> = chunks
            .map(|(at, sealed)| {
                let mut opened = DecodedRows::default();
                BucketCodec(layout).open(&seal, u32_of(at), sealed, frame, &mut opened)?;
                Ok(opened)
            })
            .collect();
        let mut vectors = DecodedRows::default();
        chunks?.into_iter().for_each(|chunk| vectors.append(chunk));
        // A row beyond the segment would be a record that does not exist. A row that occurs twice would be found twice.
        if !vectors.rows.iter().copied().eq(0..segment.n) {
            return Err(Error::BadReply);
        }
        Ok(Self {
            n: segment.n,
            vectors,
            seed: key.sketch_seed(&segment.id),
            sketched: None,
        })
    }
}
