//! Makes a segment's check rows with its key, and checks products by them.

use rayon::prelude::*;
use sordino_aes::stream::Stream;
use zeroize::Zeroizing;

use super::run::{Runs, take};
use super::sum::Sums;
use crate::residue::centred;
use sordino_index::checks::{COUNT, RUN, group};

/// The size in bytes of the stream for each run: 41 words, rounded up to whole blocks.
const LEN: usize = 176;

/// The check rows of one segment.
pub struct Checks {
    key: Zeroizing<[u8; 32]>,
    group: usize,
}

impl Checks {
    /// The check rows of a segment under a separate key, for rows of `width` coordinates.
    #[must_use]
    pub fn new(key: Zeroizing<[u8; 32]>, width: usize) -> Self {
        Self {
            key,
            group: group(width),
        }
    }

    /// The runs of a group. Run `r` is read from bytes `176 r` on of the keystream of AES-256 in counter mode, whose
    /// nonce is the group. Word 0 has the signs, and each further word has the bits of one check row.
    fn runs(&self, group: usize) -> Runs<COUNT> {
        Runs {
            stream: Stream::new(&self.key, group as u64),
            len: LEN,
            read: |run, words| {
                run.signs = words.at(0);
                run.bits = std::array::from_fn(|check| words.at(1 + check));
            },
        }
    }

    /// The check rows of `n` rows of codes, in their order. `row` gives the codes of a position.
    pub fn rows<'a>(
        &self,
        n: usize,
        width: usize,
        row: impl Fn(usize) -> &'a [i32] + Sync,
    ) -> Vec<i32> {
        let groups = (0..n.div_ceil(self.group)).into_par_iter();
        let rows = groups.flat_map_iter(|group| {
            let mut sums = vec![0i32; COUNT * width];
            let first = group * self.group;
            let firsts = (first..n.min(first + self.group)).step_by(RUN);
            self.runs(group).each(firsts, |run, first| {
                for (at, position) in (first..n.min(first + RUN)).enumerate() {
                    let minus = take(run.signs, at);
                    for (sums, bits) in sums.chunks_exact_mut(width).zip(run.bits) {
                        let counts = take(bits, at);
                        for (sum, code) in sums.iter_mut().zip(row(position)) {
                            *sum = sum.wrapping_add(((code ^ minus).wrapping_sub(minus)) & counts);
                        }
                    }
                }
            });
            sums.into_iter().map(centred)
        });
        rows.collect()
    }

    /// The largest difference between a check row's product and the sum of its group's products. `products` are the
    /// products of a segment's rows and check rows with one query, mod P, without pads. If the reply is honest, the
    /// difference is no more than the [`tolerance`](sordino_index::checks::tolerance).
    ///
    /// # Security
    /// Does the same steps for all products.
    ///
    /// # Panics
    /// Panics if the products do not belong to `n` rows and their check rows.
    #[must_use]
    pub fn off(&self, n: usize, products: &[i32]) -> u32 {
        let (rows, checks) = products.split_at(n);
        assert_eq!(
            checks.len(),
            COUNT * n.div_ceil(self.group),
            "the check rows of {n} rows"
        );
        let groups = rows.par_chunks(self.group).zip(checks.par_chunks(COUNT));
        let off = groups.enumerate().map(|(group, (rows, checks))| {
            let sums = self.sums(group, rows);
            let off = sums.iter().zip(checks);
            let off = off.map(|(sum, check)| centred(check.wrapping_sub(*sum)).unsigned_abs());
            off.fold(0, u32::max)
        });
        off.reduce(|| 0, u32::max)
    }

    /// The sums of a group's products.
    fn sums(&self, group: usize, products: &[i32]) -> Zeroizing<[i32; COUNT]> {
        let mut sums = Sums::new(sordino_cpu::Backend::detect());
        let runs = self.runs(group);
        runs.each(products.chunks(RUN), |run, products| {
            sums.add(run, products);
        });
        sums.whole()
    }
}

impl std::fmt::Debug for Checks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checks").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::Aes256;
    use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
    use proptest::prelude::*;
    use sordino_index::checks::count;

    /// A bit of the stream by its definition: bit `position` of word `word` of the run that has it.
    fn bit(key: u8, group: usize, word: usize, position: usize) -> bool {
        let run = position % group / RUN;
        let block = 11 * run as u64 + word as u64 / 4;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&block.to_le_bytes());
        bytes[8..].copy_from_slice(&((position / group) as u64).to_le_bytes());
        let mut bytes = Array(bytes);
        Aes256::new(&Array([key; 32])).encrypt_block(&mut bytes);
        let words: [[u8; 4]; 4] = bytes.0.as_chunks().0.try_into().expect("four words");
        u32::from_le_bytes(words[word % 4]) >> (position % RUN) & 1 == 1
    }

    /// The check rows by their definition.
    fn expected(key: u8, width: usize, rows: &[i32]) -> Vec<i32> {
        let (n, group) = (rows.len() / width, group(width));
        let mut checks = vec![0i64; width * count(n, width)];
        for position in 0..n {
            let sign = if bit(key, group, 0, position) { -1 } else { 1 };
            for check in 0..COUNT {
                if bit(key, group, 1 + check, position) {
                    let at = position / group * COUNT + check;
                    let sums = checks[at * width..][..width].iter_mut();
                    for (sum, code) in sums.zip(&rows[position * width..][..width]) {
                        *sum += sign * i64::from(*code);
                    }
                }
            }
        }
        let residue = |sum: i64| centred(i32::try_from(sum).expect("some thousand codes"));
        checks.into_iter().map(residue).collect()
    }

    fn checks(key: u8, width: usize) -> Checks {
        Checks::new(Zeroizing::new([key; 32]), width)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn check_rows_are_the_sums_of_their_definition_and_hold(
            key in any::<u8>(),
            n in 1usize..3000,
            width in 1usize..4,
            seed in any::<u32>(),
        ) {
            let code = |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 19).cast_signed() - 4096;
            let rows: Vec<i32> = (0..).take(n * width).map(code).collect();
            let checks = checks(key, width);
            let found = checks.rows(n, width, |position| &rows[position * width..][..width]);
            prop_assert_eq!(&found, &expected(key, width, &rows));
            // Inner products with a query are sums of the rows' products.
            let product = |row: &[i32]| row.iter().fold(0i32, |sum, x| sum.wrapping_add(x.wrapping_mul(8191)));
            let all = rows.chunks(width).chain(found.chunks(width));
            let mut products: Vec<i32> = all.map(product).collect();
            prop_assert_eq!(checks.off(n, &products), 0);
            let at = seed as usize % n;
            for error in [1, -1, 1 << 25, 4097, 1 - (1 << 25)] {
                products[at] = products[at].wrapping_add(error);
                prop_assert_eq!(checks.off(n, &products), error.unsigned_abs());
                products[at] = products[at].wrapping_sub(error);
            }
            // Adds half of P to a row and to all check rows of its group. Signs alone would not detect that.
            products[at] ^= 1 << 25;
            let group = at / group(width) * COUNT;
            for check in &mut products[n + group..][..COUNT] {
                *check ^= 1 << 25;
            }
            prop_assert_eq!(checks.off(n, &products), 1 << 25);
        }
    }
}
