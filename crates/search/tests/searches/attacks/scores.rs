//! Shown scores would let the server compute a query's secret by linear algebra. No code here shows scores.
//!
//! A client computes `z - (H s)[m]` with the rounded hint `H`, which the server knows. So each shown score is an equation
//! without noise, which gives `(H s)[m]` mod `2^20`. If there is a score for each entry of the secret, the lowest bits give
//! its support by elimination over two elements. The next bits give its signs.

use rand::RngExt;
use sordino_ckks::column::{Client, Database, Params};
use sordino_testkit::rng;

use super::answers::{Answers, BITS};

/// The ring's degree, which is the number of entries of a secret; the number of coordinates in a
/// polynomial; the number of vectors in a block.
const N: usize = 2048;
const T: usize = 4;
const BLOCK: usize = N / T;
/// The number of blocks that the server solves with. It reads one more block afterwards.
const BLOCKS: usize = 10;
/// The number of bytes before the numbers of a hint or a reply.
const HEAD: usize = 32;
/// The number of bits by which the hint's unit is below a unit of P.
const BELOW: u32 = 6;

/// The hint's numbers of all blocks, centred, in units of `2^-20`. Eight numbers share 159 bits, so every eighth
/// number has 19 bits.
fn hint(bytes: &[u8]) -> Vec<i64> {
    let bit = |at: usize| i64::from(bytes[at / 8] >> (at % 8) & 1);
    let block = (N * 159 / 64) * 8;
    let number = |i: usize| {
        let start = |i: usize| i / N * block + i % N * 159 / 8;
        let (first, width) = (start(i), (i % N + 1) * 159 / 8 - i % N * 159 / 8);
        let number: i64 = (0..width).map(|at| bit(first + at) << at).sum();
        let centred = number - ((number >> (width - 1)) << width);
        centred << (20 - width)
    };
    (0..bytes.len() * 8 / block * N).map(number).collect()
}

/// What a server knows of a query without its scores.
struct Known {
    hint: Vec<i64>,
    answers: Answers,
}

impl Known {
    /// The coefficients of the secret in vector `v`'s score.
    fn row(&self, v: usize) -> Vec<i64> {
        let (block, at) = (&self.hint[v / BLOCK * N..][..N], v % BLOCK * T + T - 1);
        // X^N is -1.
        let coefficient = |k: usize| match at.checked_sub(k) {
            Some(i) => block[i],
            None => -block[N + at - k],
        };
        (0..N).map(coefficient).collect()
    }

    /// `(H s)[m]` mod 2^20, computed from a shown score.
    fn mask(&self, v: usize, score: i64) -> i64 {
        let answer = i64::from(self.answers.0[v]) << (26 - BITS);
        ((answer - score) >> BELOW).rem_euclid(1 << 20)
    }

    fn score(&self, v: usize, secret: &[i64]) -> i64 {
        let mask: i64 = self.row(v).iter().zip(secret).map(|(h, s)| h * s).sum();
        let answer = i64::from(self.answers.0[v]) << (26 - BITS);
        let score = (answer - (mask << BELOW)).rem_euclid(1 << 26);
        score - (score >> 25 << 26)
    }

    /// The secret, computed from the scores of some vectors, if they suffice.
    fn secret(&self, shown: &[(usize, i64)]) -> Option<Vec<i64>> {
        let rows: Vec<Vec<i64>> = shown.iter().map(|&(v, _)| self.row(v)).collect();
        let masks: Vec<i64> = shown.iter().map(|&(v, x)| self.mask(v, x)).collect();
        let support = solve(&rows, |at| masks[at] & 1)?;
        let negative = solve(&rows, |at| {
            let whole: i64 = rows[at].iter().zip(&support).map(|(h, s)| h * s).sum();
            (whole - masks[at]) >> 1 & 1
        })?;
        let entries = support.iter().zip(negative);
        Some(entries.map(|(s, minus)| s * (1 - 2 * minus)).collect())
    }
}

/// Solves for `N` bits by elimination: the product of each row's lowest bits with these bits is
/// `right`.
fn solve(rows: &[Vec<i64>], right: impl Fn(usize) -> i64) -> Option<Vec<i64>> {
    const WORDS: usize = N / 64 + 1;
    let mut system: Vec<[u64; WORDS]> = vec![[0; WORDS]; rows.len()];
    for (at, (row, out)) in rows.iter().zip(&mut system).enumerate() {
        for (k, x) in row.iter().chain([&right(at)]).enumerate() {
            out[k / 64] |= u64::from(x & 1 == 1) << (k % 64);
        }
    }
    let bit = |row: &[u64; WORDS], k: usize| row[k / 64] >> (k % 64) & 1;
    for k in 0..N {
        let pivot = (k..system.len()).find(|&at| bit(&system[at], k) == 1)?;
        system.swap(k, pivot);
        let row = system[k];
        for (at, other) in system.iter_mut().enumerate() {
            if at != k && bit(other, k) == 1 {
                other.iter_mut().zip(row).for_each(|(x, y)| *x ^= y);
            }
        }
    }
    Some((0..N).map(|k| i64::from(bit(&system[k], N) == 1)).collect())
}

/// A query of masked mode, its scores, and the server's knowledge.
fn query() -> (Known, Vec<i64>) {
    let (params, rng, dim) = (Params::modular_26_t4(), &mut rng(3), T);
    let count = (BLOCKS + 1) * BLOCK;
    let mut numbers = |n: usize| -> Vec<i32> {
        let half = 1 << 25;
        (0..n).map(|_| rng.random_range(-half..half)).collect()
    };
    let (rows, asked) = (numbers(count * dim), [4000, -3000, 1000, 2000]);
    let (database, hinted) = Database::encode_modular(&params, [1; 32], &rows, dim).unwrap();
    let client = Client::new(&params, [1; 32], dim, count, &hinted).unwrap();
    let (secret, query) = client.encrypt_modular(rng, &asked).unwrap();
    let reply = database.score(&query).unwrap();
    let known = Known {
        hint: hint(&hinted.to_bytes()[HEAD..]),
        answers: Answers::read(&reply.to_bytes(), count),
    };
    (known, client.decrypt_modular(secret, &reply).unwrap())
}

#[test]
fn scores_that_are_shown_give_the_secret_away_and_a_few_do_not() {
    let (known, scores) = query();
    let shown: Vec<(usize, i64)> = scores.into_iter().enumerate().collect();
    let (shown, kept) = shown.split_at(BLOCKS * BLOCK);
    let secret = known.secret(shown).expect("more equations than entries");
    // With the secret, the server computes the scores that it was not shown.
    for &(v, score) in kept {
        assert_eq!(known.score(v, &secret), score, "{v}");
    }
    // A search has far fewer results than the secret has entries, so results alone do not determine
    // the secret.
    assert!(known.secret(&shown[..10]).is_none());
    assert!(known.secret(&shown[..N - 1]).is_none());
}
