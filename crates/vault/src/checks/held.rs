//! Makes a segment's sums with its key, and checks scores by them.

use rayon::prelude::*;
use sordino_aes::stream::Stream;
use zeroize::Zeroizing;

use crate::checks::run::{Runs, take};
use crate::checks::sum::Sums;
use crate::residue::nearest;
use sordino_index::Error;
use sordino_index::checks::RUN;
use sordino_index::checks::held::{COORDINATE_LEN, COUNT, GROUP, len};

/// The signs of one segment's sums.
pub struct Signs {
    key: Zeroizing<[u8; 32]>,
}

impl Signs {
    /// The signs under a separate key.
    #[must_use]
    pub fn new(key: Zeroizing<[u8; 32]>) -> Self {
        Self { key }
    }

    /// The runs of a group: bit `v` of word `i` is 1 if position `v` of the run counts positively in sum `i`. Run `r`
    /// is read from bytes `256 r` on of the keystream of AES-256 in counter mode, whose nonce is the group.
    fn runs(&self, group: usize) -> Runs<COUNT> {
        Runs {
            stream: Stream::new(&self.key, group as u64),
            len: 4 * COUNT,
            read: |run, words| run.bits = std::array::from_fn(|at| words.at(at)),
        }
    }

    /// The sums of rows of `width` codes each, as bytes: [`COUNT`] sums for each group.
    #[must_use]
    pub fn sums(&self, codes: &[i32], width: usize) -> Zeroizing<Vec<u8>> {
        let groups = codes.par_chunks(GROUP * width).enumerate();
        let sums = groups.map(|(group, codes)| {
            let mut sums = Zeroizing::new(vec![0i32; COUNT * width]);
            let runs = self.runs(group);
            runs.each(codes.chunks(RUN * width), |run, codes| {
                for (at, codes) in codes.chunks_exact(width).enumerate() {
                    for (sums, bits) in sums.chunks_exact_mut(width).zip(run.bits) {
                        let minus = !take(bits, at);
                        for (sum, code) in sums.iter_mut().zip(codes) {
                            *sum += (code ^ minus) - minus;
                        }
                    }
                }
            });
            let bytes = sums.iter().flat_map(|&sum| {
                let [a, b, c, _] = sum.clamp(-(1 << 23), (1 << 23) - 1).to_le_bytes();
                [a, b, c]
            });
            let mut all = Zeroizing::new(Vec::with_capacity(sums.len() * COORDINATE_LEN));
            all.extend(bytes);
            all
        });
        let groups: Vec<Zeroizing<Vec<u8>>> = sums.collect();
        let mut all = Zeroizing::new(Vec::with_capacity(groups.iter().map(|it| it.len()).sum()));
        groups.iter().for_each(|group| all.extend_from_slice(group));
        all
    }
}

/// The sums of a segment, in the form that a reader holds.
pub struct ReaderSums {
    signs: Signs,
    width: usize,
    /// [`COUNT`] sums for each group.
    sums: Zeroizing<Vec<i32>>,
}

impl ReaderSums {
    /// Reads the sums of `n` rows of `width` coordinates.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the bytes do not have the length of these sums.
    pub fn from_bytes(signs: Signs, n: usize, width: usize, bytes: &[u8]) -> Result<Self, Error> {
        let expected = len(n, width);
        if bytes.len() != expected {
            return Err(Error::Malformed {
                what: "sums",
                why: format!("{} bytes, expected {expected}", bytes.len()),
            });
        }
        let (numbers, _) = bytes.as_chunks::<COORDINATE_LEN>();
        let number = |&[a, b, c]: &[u8; 3]| i32::from_le_bytes([0, a, b, c]) >> 8;
        Ok(Self {
            signs,
            width,
            sums: Zeroizing::new(numbers.iter().map(number).collect()),
        })
    }

    /// For each group, the sum of squares of the errors of the sums of a segment's scores. In an honest reply each is
    /// no more than its [`tolerance`](sordino_index::checks::held::tolerance). `steps` are the scores of the rows, and
    /// `query` the integers that encode the query. The score window is `q` in units of their products, and has `2^bits`
    /// steps.
    ///
    /// # Security
    /// Does the same steps for all scores and queries.
    ///
    /// # Panics
    /// Panics if the numbers of groups or coordinates differ from those that the sums have.
    #[must_use]
    pub fn off(&self, steps: &[i32], query: &[i64], (q, bits): (u64, u32)) -> Vec<u64> {
        assert_eq!(query.len(), self.width, "coordinates");
        let sums = self.sums.par_chunks(COUNT * self.width);
        assert_eq!(sums.len(), steps.len().div_ceil(GROUP), "groups");
        let unit = f64::from(1u32 << bits) / q as f64;
        let groups = steps.par_chunks(GROUP).zip(sums).enumerate();
        let off = groups.map(|(group, (steps, sums))| {
            let scored = self.scored(group, steps);
            let sums = sums.chunks_exact(self.width).zip(scored.iter());
            let squares = sums.map(|(sum, scored)| {
                let products = sum.iter().zip(query);
                let product: i64 = products.map(|(&sum, &x)| i64::from(sum) * x).sum();
                let apart = scored.wrapping_sub(nearest(product as f64 * unit));
                u128::from(apart.unsigned_abs()).pow(2)
            });
            u64::try_from(squares.sum::<u128>()).unwrap_or(u64::MAX)
        });
        off.collect()
    }

    /// The sums of a group's scores mod 2^32, each with its sign.
    fn scored(&self, group: usize, steps: &[i32]) -> Zeroizing<[i32; COUNT]> {
        let mut sums = Sums::new(sordino_cpu::Backend::detect());
        let runs = self.signs.runs(group);
        runs.each(steps.chunks(RUN), |run, steps| {
            sums.add(run, steps);
        });
        let all = steps.iter().fold(0i32, |sum, &x| sum.wrapping_add(x));
        let mut sums = sums.whole();
        for sum in sums.iter_mut() {
            *sum = sum.wrapping_add(*sum).wrapping_sub(all);
        }
        sums
    }
}

impl std::fmt::Debug for Signs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signs").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ReaderSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReaderSums").finish_non_exhaustive()
    }
}
