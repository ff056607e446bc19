//! Makes the check rows of clusters with their key, and checks products by them.

use sordino_aes::stream::Stream;
use sordino_cpu::Backend;
use zeroize::Zeroizing;

use super::run::{Run, Runs, take};
use super::sum::Sums;
use crate::residue::centred;
use sordino_index::checks::RUN;
use sordino_index::checks::balance::{COUNT, PLACES, count};

/// The check rows of all clusters of a base.
pub struct ClusterChecks {
    key: Zeroizing<[u8; 32]>,
}

impl ClusterChecks {
    /// The check rows of clusters under a separate key.
    #[must_use]
    pub fn new(key: Zeroizing<[u8; 32]>) -> Self {
        Self { key }
    }

    /// The runs of a part of a group's clusters. Run `r` is read from bytes `256 r` on of the keystream of AES-256 in counter
    /// mode. The lower half of the nonce is the part, and the upper half is the group. Word 0 has the signs, and word `i` has
    /// the bits of check row `i`. Row 0 sums up all positions.
    fn runs(&self, group: usize, part: usize) -> Runs<COUNT> {
        Runs {
            stream: Stream::new(&self.key, (group as u64) << 32 | part as u64),
            len: 4 * COUNT,
            read: |run, words| {
                run.signs = words.at(0);
                run.bits = std::array::from_fn(|check| words.at(check));
                run.bits[0] = u32::MAX;
            },
        }
    }

    /// The check rows of a cluster of this group. `codes` are the codes of its places, `width` each.
    #[must_use]
    pub fn rows(&self, group: usize, codes: &[i16], width: usize) -> Vec<i32> {
        let parts = codes.chunks(PLACES * width).enumerate();
        let rows = parts.flat_map(|(part, codes)| {
            let mut sums = vec![0i32; COUNT * width];
            let runs = self.runs(group, part);
            runs.each(codes.chunks(RUN * width), |run, codes| {
                for (at, codes) in codes.chunks_exact(width).enumerate() {
                    add(&mut sums, run, at, codes);
                }
            });
            sums.into_iter().map(centred)
        });
        rows.collect()
    }

    /// The largest sum of squares of the errors of a part's check rows. `products` are the products of a cluster's
    /// places with one query, and `checks` the products of its check rows, mod `P`, without pads. If the reply is
    /// honest, the sum is no more than the [`tolerance`](sordino_index::manifest::Grid::tolerance).
    ///
    /// # Security
    /// Does the same steps for all products. The result must not depend on which cluster of the group was chosen. The server
    /// chooses what it changes, and would otherwise learn the cluster from refusals.
    ///
    /// # Panics
    /// Panics if the number of check rows is not a cluster's.
    #[must_use]
    pub fn off(&self, group: usize, products: &[i32], checks: &[i32]) -> u64 {
        let expected = count(products.len());
        assert_eq!(checks.len(), expected, "the check rows of a cluster");
        let parts = products.chunks(PLACES).zip(checks.chunks(COUNT));
        let off = parts.enumerate().map(|(part, (products, checks))| {
            let mut sums = Sums::new(Backend::detect());
            let runs = self.runs(group, part);
            runs.each(products.chunks(RUN), |run, products| {
                sums.add(run, products);
            });
            squares(&sums.whole(), checks)
        });
        off.fold(0, u64::max)
    }
}

/// Adds the codes of a run's position to the check rows that its bits select.
fn add(sums: &mut [i32], run: &Run<COUNT>, at: usize, codes: &[i16]) {
    let minus = take(run.signs, at);
    for (sums, bits) in sums.chunks_exact_mut(codes.len()).zip(run.bits) {
        let counts = take(bits, at);
        for (sum, &code) in sums.iter_mut().zip(codes) {
            let signed = (i32::from(code) ^ minus).wrapping_sub(minus);
            *sum = sum.wrapping_add(signed & counts);
        }
    }
}

/// Subtracts half of the first difference between sums and check rows from each later difference. Returns the sum of the
/// squares of the results. The first check row has every place once. So an error of a place then counts half, with one of two
/// signs, in each later difference: see `docs/security/routed.md`.
fn squares(sums: &[i32; COUNT], checks: &[i32]) -> u64 {
    let off = |at: usize| centred(sums[at].wrapping_sub(checks[at]));
    let half = off(0) >> 1;
    let squares = (1..COUNT).map(|at| {
        let balanced = centred(off(at).wrapping_sub(half)).unsigned_abs();
        u64::from(balanced) * u64::from(balanced)
    });
    squares.sum()
}

impl std::fmt::Debug for ClusterChecks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterChecks").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::Aes256;
    use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
    use proptest::prelude::*;

    /// A bit of the stream by its definition: bit `place` of word `word` of the run that has it.
    fn bit(key: u8, cluster: usize, word: usize, place: usize) -> bool {
        let block = 16 * (place % PLACES / RUN) as u64 + word as u64 / 4;
        let nonce = (cluster as u64) << 32 | (place / PLACES) as u64;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&block.to_le_bytes());
        bytes[8..].copy_from_slice(&nonce.to_le_bytes());
        let mut bytes = Array(bytes);
        Aes256::new(&Array([key; 32])).encrypt_block(&mut bytes);
        let words: [[u8; 4]; 4] = bytes.0.as_chunks().0.try_into().expect("four words");
        u32::from_le_bytes(words[word % 4]) >> (place % RUN) & 1 == 1
    }

    /// The check rows by their definition.
    fn expected(key: u8, cluster: usize, width: usize, codes: &[i16]) -> Vec<i32> {
        let mut checks = vec![0i32; count(codes.len() / width) * width];
        for (place, codes) in codes.chunks_exact(width).enumerate() {
            let first = place / PLACES * COUNT;
            let sign = if bit(key, cluster, 0, place) { -1 } else { 1 };
            for check in 0..COUNT {
                if check == 0 || bit(key, cluster, check, place) {
                    let sums = checks[(first + check) * width..][..width].iter_mut();
                    for (sum, code) in sums.zip(codes) {
                        *sum += sign * i32::from(*code);
                    }
                }
            }
        }
        checks
    }

    /// The sum of squares in the check rows if an error is added to a place.
    fn squares(key: u8, cluster: usize, place: usize, error: i64) -> u64 {
        let of = |check| {
            let counts = i64::from(bit(key, cluster, check, place));
            let minus = bit(key, cluster, 0, place);
            let signed = if minus { -error } else { error };
            // Halves are rounded down.
            (counts * signed - (signed >> 1)).unsigned_abs().pow(2)
        };
        (1..COUNT).map(of).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn check_rows_are_the_sums_of_their_definition_and_hold(
            key in any::<u8>(),
            cluster in 0usize..3000,
            n in 1usize..1300,
            width in 1usize..4,
            seed in any::<u32>(),
        ) {
            let code = |i: u32| {
                let code = i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 23;
                i16::try_from(code.cast_signed() - 256).expect("nine bits")
            };
            let codes: Vec<i16> = (0..).take(n * width).map(code).collect();
            let checks = ClusterChecks::new(Zeroizing::new([key; 32]));
            let found = checks.rows(cluster, &codes, width);
            prop_assert_eq!(&found, &expected(key, cluster, width, &codes));
            // Inner products with a query are sums of the rows' products.
            let product = |row: &[i32]| row.iter().fold(0i32, |sum, x| sum.wrapping_add(x.wrapping_mul(8191)));
            let codes: Vec<i32> = codes.into_iter().map(i32::from).collect();
            let mut products: Vec<i32> = codes.chunks(width).map(product).collect();
            let mut held: Vec<i32> = found.chunks(width).map(product).collect();
            prop_assert_eq!(checks.off(cluster, &products, &held), 0);
            let at = seed as usize % n;
            for error in [1, -1, 4097, 1 << 24, -70_001] {
                products[at] = products[at].wrapping_add(error);
                let expected = squares(key, cluster, at, error.into());
                prop_assert_eq!(checks.off(cluster, &products, &held), expected);
                products[at] = products[at].wrapping_sub(error);
            }
            // Adds half of P to a place and to all check rows. Each check row that does not include the place is then wrong by
            // half of P.
            products[at] ^= 1 << 25;
            for check in &mut held[at / PLACES * COUNT..][..COUNT] {
                *check ^= 1 << 25;
            }
            let off = checks.off(cluster, &products, &held);
            prop_assert!(off > 20 << 48, "{}", off);
        }
    }
}
