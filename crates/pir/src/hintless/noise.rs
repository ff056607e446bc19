//! Tests that compare the steps with their definitions, and their noise with the terms of the failure bound.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::sample::residue;

use super::digits::Digits;
use super::expand::{Expansion, coefficient, expand};
use super::fold::{Bits, fold};
use super::keys::Evaluation;
use super::params::failure::{of_bit, of_external, of_selector, of_switch};
use super::ring::{DEPTH, GADGETS, N, OF_C0, OF_C1, modulus, plan};
use super::{Client, Database, Params, Server, Session};
use crate::Seed;
use crate::bits::unpack;

fn session(seed: u8) -> (Session, Evaluation) {
    let (session, keys) = Session::new(&mut ChaCha20Rng::from_seed([seed; 32]));
    let evaluation = Evaluation::from(&keys);
    (session, evaluation)
}

/// `c_0 + c_1 s`, as coefficients.
fn phase(session: &Session, ciphertext: &[u64]) -> Vec<u64> {
    let (first, second) = ciphertext.split_at(N);
    let mut sum = Aligned::from(second);
    plan().multiply(&mut sum, session.secret());
    for (sum, first) in sum.iter_mut().zip(first) {
        *sum = modulus().add(*sum, *first);
    }
    plan().inverse(&mut sum);
    sum.to_vec()
}

/// A ciphertext of `message` without an error, and with a uniform second half.
fn exact(session: &Session, message: &[u64], nonce: u64) -> Vec<u64> {
    let q = modulus();
    let mut ciphertext = Aligned::new(2 * N);
    let (first, second) = ciphertext.split_at_mut(N);
    residue::fill_vartime(&[8; 32], nonce, q, second);
    let mut product = Aligned::from(&*second);
    plan().multiply(&mut product, session.secret());
    first.copy_from_slice(message);
    plan().forward(first);
    for (first, product) in first.iter_mut().zip(product.iter()) {
        *first = q.sub(*first, *product);
    }
    ciphertext.to_vec()
}

/// `a(X^g)`, times `X^by`.
fn image(a: &[u64], g: usize, by: usize) -> Vec<u64> {
    let mut out = vec![0; N];
    for (j, &x) in a.iter().enumerate() {
        let to = (j * g + by) % (2 * N);
        out[to % N] = if to < N { x } else { modulus().sub(0, x) };
    }
    out
}

fn energy(noise: impl Iterator<Item = u64>) -> f64 {
    noise.map(|x| (modulus().centred(x) as f64).powi(2)).sum()
}

fn difference(a: &[u64], b: &[u64]) -> impl Iterator<Item = u64> {
    a.iter().zip(b).map(|(a, b)| modulus().sub(*a, *b))
}

#[test]
fn a_step_is_the_sum_and_the_shifted_difference_and_adds_the_noise_of_a_switch() {
    let q = modulus();
    for (i, gadget) in GADGETS[..DEPTH].iter().enumerate() {
        let (mut found, mut count) = (0.0, 0.0);
        for seed in 0..3 {
            let (session, keys) = session(seed);
            let mut expansion = Expansion::new(&keys, 11);
            for nonce in 0..8 {
                let mut message = vec![0; N];
                residue::fill_vartime(&[seed; 32], nonce, q, &mut message);
                let ciphertext = exact(&session, &message, nonce);
                let mut halves = Aligned::new(4 * N);
                let (even, odd) = halves.split_at_mut(2 * N);
                expansion.split(i, &ciphertext, even, odd);
                let g = N / (1 << i) + 1;
                let image_of = image(&message, g, 0);
                let sum: Vec<_> = message
                    .iter()
                    .zip(&image_of)
                    .map(|(a, b)| q.add(*a, *b))
                    .collect();
                let less: Vec<_> = difference(&message, &image_of).collect();
                let shifted = image(&less, 1, 2 * N - (1 << i));
                found += energy(difference(&phase(&session, even), &sum));
                found += energy(difference(&phase(&session, odd), &shifted));
                count += 2.0 * N as f64;
            }
        }
        let ratio = found / count / of_switch(*gadget, 2.0 / 3.0);
        println!("step {i}: {ratio:.3} of the variance expected");
        // The same errors occur in 8 switches, for 3 secrets: `3 l N` errors.
        assert!((ratio - 1.0).abs() < 0.08, "step {i}: {ratio}");
    }
}

#[test]
fn selectors_are_what_was_packed_and_have_the_noise_expected() {
    let q = modulus();
    for depth in [1, 4, 9, 11] {
        let (mut found, mut count) = (0.0, 0.0);
        let seeds = if depth > 9 { 2 } else { 6 };
        for seed in 0..seeds {
            let (session, keys) = session(seed);
            let leaves = 1usize << depth;
            let per = q.inverse_vartime(leaves as u64);
            let mut message = vec![0; N];
            for j in 0..leaves {
                message[coefficient(j, depth)] = q.mul(per, (j as u64) << 40);
            }
            let ciphertext = exact(&session, &message, 0);
            let mut seen = vec![false; leaves];
            let mut leaf = |j: usize, selector: &[u64]| {
                let mut expected = vec![0; N];
                expected[0] = q.reduce((j as u64) << 40);
                let noise: Vec<_> = difference(&phase(&session, selector), &expected).collect();
                found += energy(noise.into_iter());
                count += 1.0;
                assert!(!std::mem::replace(&mut seen[j], true));
            };
            Expansion::new(&keys, depth).descend(0, (0, leaves), &ciphertext, &mut leaf);
            assert!(seen.iter().all(|seen| *seen));
        }
        let ratio = found / count / without_error(depth);
        println!("depth {depth}: {ratio:.3} of the energy expected");
        assert!((ratio - 1.0).abs() < 0.15, "depth {depth}: {ratio}");
    }
}

/// This error is so large that all other noise is negligible.
#[test]
fn an_error_of_a_query_has_twice_its_energy_after_each_step() {
    let q = modulus();
    for depth in [0, 1, 4, 9, 11] {
        let (mut found, mut count, mut put) = (0.0, 0.0, 0.0);
        for seed in 0..4 {
            let (session, keys) = session(seed);
            let mut error = vec![0; N];
            residue::fill_vartime(&[seed; 32], 9, q, &mut error);
            for x in &mut error {
                *x = q.sub(*x % (1 << 24), 1 << 23);
            }
            put += energy(error.iter().copied()) / 4.0;
            let ciphertext = exact(&session, &error, 0);
            let mut leaf = |_: usize, selector: &[u64]| {
                found += energy(phase(&session, selector).into_iter());
                count += 1.0;
            };
            let leaves = 1 << depth;
            Expansion::new(&keys, depth).descend(0, (0, leaves), &ciphertext, &mut leaf);
        }
        let ratio = found / count / put / f64::from(depth).exp2();
        println!("depth {depth}: {ratio:.4} of the energy expected");
        assert!((ratio - 1.0).abs() < 0.02, "depth {depth}: {ratio}");
    }
}

#[test]
fn expansion_is_the_same_whatever_is_expanded_together() {
    let (session, keys) = session(1);
    let ciphertexts: Vec<Aligned<u64>> = (0..3)
        .map(|nonce| Aligned::from(&exact(&session, &vec![1; N], nonce)[..]))
        .collect();
    for (depth, count) in [(0u32, 3usize), (3, 17), (8, 600), (8, 129), (9, 513)] {
        let put = |out: &mut &mut Vec<_>, n, ciphertext: &[u64]| {
            assert_eq!(n, out.len());
            out.push(ciphertext.to_vec());
        };
        let ciphertexts = &ciphertexts[..count.div_ceil(1 << depth)];
        let mut pieces = vec![Vec::new(); count.div_ceil(1 << depth.min(7))];
        expand(
            (&keys, depth),
            ciphertexts,
            count,
            pieces.iter_mut().collect(),
            put,
        );
        let found = pieces.concat();
        assert_eq!(found.len(), count);
        let mut expected = Vec::new();
        for ciphertext in ciphertexts {
            let all = (0, 1 << depth);
            let mut leaf = |_: usize, ciphertext: &[u64]| expected.push(ciphertext.to_vec());
            Expansion::new(&keys, depth).descend(0, all, ciphertext, &mut leaf);
        }
        assert!(found == expected[..count], "{count} at depth {depth}");
    }
}

/// Encrypted bits, as a client and a server make them, from ciphertexts without an error.
fn bits(session: &Session, keys: &Evaluation, depth: u32, set: &[bool]) -> Bits {
    let q = modulus();
    let per = q.inverse_vartime(1 << depth);
    let count = set.len() * OF_C1.digits();
    let mut messages = vec![vec![0; N]; count.div_ceil(1 << depth)];
    for n in 0..count {
        let (number, t) = (n / OF_C1.digits(), n % OF_C1.digits());
        let factor = q.mul(q.reduce(OF_C1.factor(t)), per);
        let message = &mut messages[n >> depth][coefficient(n % (1 << depth), depth)];
        *message = u64::from(set[number]) * factor;
    }
    let ciphertexts: Vec<Aligned<u64>> = (0..)
        .zip(&messages)
        .map(|(nonce, message)| Aligned::from(&exact(session, message, 100 + nonce)[..]))
        .collect();
    let mut bits = Bits::new(set.len());
    bits.fill(keys, depth, &ciphertexts);
    bits
}

/// The energy of an expansion's own noise, without the error of the query.
fn without_error(depth: u32) -> f64 {
    let fresh = 10.5 + f64::from(2 * 14).exp2() / 12.0 + 1.0 / 6.0;
    of_selector(depth) - N as f64 * f64::from(depth).exp2() * fresh
}

#[test]
fn encryptions_of_bits_have_the_noise_expected() {
    for depth in [6, 9] {
        let mut found = [0.0, 0.0];
        let set = [true, false, true, false];
        for seed in 0..3 {
            let (session, keys) = session(seed);
            let bits = bits(&session, &keys, depth, &set);
            for (bit, set) in set.into_iter().enumerate() {
                let (of_c0, of_c1) = bits.of(bit, 1).split_at(2 * N * OF_C0.digits());
                for (t, pair) in of_c0.chunks_exact(2 * N).enumerate() {
                    let mut expected = vec![0; N];
                    expected[0] = u64::from(set) * OF_C0.factor(t);
                    found[0] += energy(difference(&phase(&session, pair), &expected));
                }
                for (t, pair) in of_c1.chunks_exact(2 * N).enumerate() {
                    let mut expected = Aligned::from(&**session.secret());
                    plan().inverse(&mut expected);
                    let factor = u64::from(set) * OF_C1.factor(t);
                    for x in expected.iter_mut() {
                        *x = modulus().mul(*x, factor);
                    }
                    found[1] += energy(difference(&phase(&session, pair), &expected));
                }
            }
        }
        let bits = 3.0 * set.len() as f64;
        let ratios = [
            found[0] / (bits * OF_C0.digits() as f64) / without_error(depth),
            found[1] / (bits * OF_C1.digits() as f64) / of_bit(depth),
        ];
        println!("depth {depth}: bits, and bits times s: {ratios:.3?} of the energy expected");
        assert!(ratios.iter().all(|ratio| (ratio - 1.0).abs() < 0.15));
    }
}

#[test]
fn rows_are_folded_as_the_bits_tell_and_each_external_product_adds_the_noise_expected() {
    // Few rows, where the last row has no partner; and the number of rows in a request for ten records of a
    // gigabyte.
    for (depth, fold_bits, rows, trials) in [(6, 3, 7, 12u8), (9, 8, 256, 3)] {
        let (mut found, mut count) = (0.0, 0.0);
        for trial in 0..trials {
            let (session, keys) = session(trial % 3);
            let number = (usize::from(trial) * 89 + 6) % rows;
            let set: Vec<bool> = (0..fold_bits).map(|i| number >> i & 1 == 1).collect();
            let bits = bits(&session, &keys, depth, &set);
            let row = |row: usize| {
                let mut message = vec![0; N];
                residue::fill_vartime(&[1; 32], row as u64, modulus(), &mut message);
                message
            };
            let all = (0..rows).flat_map(|i| exact(&session, &row(i), i as u64));
            let mut all = Aligned::from(&all.collect::<Vec<_>>()[..]);
            fold(&mut Digits::new(), bits.of(0, fold_bits), &mut all);
            found += energy(difference(&phase(&session, &all[..2 * N]), &row(number)));
            // The last of seven rows is multiplied by one bit fewer.
            let met = fold_bits - usize::from(rows == 7 && number == 6);
            count += (met * N) as f64;
        }
        let ratio = found / count / of_external(depth);
        println!("{rows} rows, depth {depth}: {ratio:.3} of the variance expected");
        assert!((ratio - 1.0).abs() < 0.15, "{rows} rows: {ratio}");
    }
}

/// Noise that a test found, and how often.
#[derive(Default)]
struct Found {
    whole: f64,
    rounded: f64,
    count: f64,
    /// The largest noise, as a fraction of the radius.
    worst: f64,
}

impl Found {
    /// Adds the noise of one answer, before and after its sums are rounded.
    fn add(&mut self, server: &Server, client: &Client, wanted: usize, seed: u8, byte: u8) {
        let (params, q) = (*client.params(), modulus());
        let len = params.record_len();
        let (session, keys) = session(seed);
        let mut rng = ChaCha20Rng::from_seed([seed + 20; 32]);
        let (asked, query) = client.query(&mut rng, &session, &[wanted]).unwrap();
        let mut room = server.room();
        server.expand(&keys, &query, &mut room);
        server.multiply(&mut room);
        let sums = server.fold(&room);
        // The coefficients of the record are those that its unit has there.
        let mut bytes = vec![0; params.poly_bytes()];
        bytes[..params.per_unit() * len].fill(byte);
        let unit = wanted / params.per_unit();
        super::database::whiten(server.database().seed(), unit, &mut bytes);
        let half = 1i64 << (params.log_p - 1);
        let expected: Vec<u64> = unpack(&bytes, N, params.log_p)
            .map(|word| q.mul(params.scale(), q.from_signed(i64::from(word) - half)))
            .collect();
        let found = phase(&session, &sums[0]);
        self.whole += energy(difference(&found, &expected));
        let answer = server.answer(&keys, &query).unwrap();
        let [k0, k1] = params.answer_bits;
        let [first, second] = answer.ciphertext(0);
        let as_residues = |word: u32, bits: u32| {
            let nearest = (u128::from(word) * u128::from(q.q()) + (1 << (bits - 1))) >> bits;
            q.reduce(u64::try_from(nearest).unwrap())
        };
        let pair: Vec<u64> = first
            .map(|x| as_residues(x, k0))
            .chain(second.map(|x| as_residues(x, k1)))
            .collect();
        let mut pair = Aligned::from(&pair[..]);
        for half in pair.chunks_exact_mut(N) {
            plan().forward(half);
        }
        let noise: Vec<u64> = difference(&phase(&session, &pair), &expected).collect();
        let radius = q.q() as f64 / f64::from(params.log_p + 1).exp2();
        let worst = noise.iter().map(|x| (q.centred(*x) as f64).abs() / radius);
        self.worst = worst.fold(self.worst, f64::max);
        self.rounded += energy(noise.into_iter());
        self.count += N as f64;
        let record = client.recover(&session, asked, &answer).unwrap();
        assert_eq!(record, [Some(vec![byte; len])]);
    }

    fn check(&self, params: &Params) {
        let ratio = self.whole / self.count / params.of_sum();
        let expected = params.of_sum() + params.of_rounding();
        let ratio_rounded = self.rounded / self.count / expected;
        println!(
            "{} rows of {} columns, p = {}, depths {} and {}: sums {ratio:.3}, rounded {ratio_rounded:.3} of the \
             variance expected; worst {:.3} of the radius",
            params.rows(),
            params.columns(),
            params.log_p,
            params.depth,
            params.fold_depth,
            self.worst
        );
        assert!((ratio - 1.0).abs() < 0.15, "{ratio}");
        assert!((ratio_rounded - 1.0).abs() < 0.15, "{ratio_rounded}");
        assert!(self.worst < 0.85, "{}", self.worst);
    }
}

#[test]
fn the_noise_of_answers_is_that_of_the_bound_for_the_worst_records() {
    // Records that would give the most noise without their public streams. They are the most units of one polynomial
    // that each modulus serves, up to 2,000.
    let layouts = [(7, 0), (8, 0xff), (9, 0), (10, 0xff)].map(|(log_p, byte)| {
        let len = N / 8 * log_p as usize;
        let layout = |i: usize| Params::new(64 * i, len, 1).ok();
        let serves = |params: &Params| params.log_p == log_p;
        let params = (1..32).rev().filter_map(layout).find(serves);
        (params.unwrap(), byte)
    });
    // One row of the layouts for a gigabyte, with records of 32 KB and of 1 KB.
    let of_row = |records, log_p: u32, depth, answer_bits| {
        let mut params = Params::new(records, N / 8 * log_p as usize, 1).unwrap();
        (params.log_p, params.fold, params.fold_depth) = (log_p, 0, 0);
        (params.depth, params.answer_bits) = (depth, answer_bits);
        (params, 0xff)
    };
    let rows = [(512, 9, 8, [15, 20]), (410, 8, 11, [12, 18])];
    let rows = rows.map(|(columns, p, depth, bits)| of_row(columns, p, depth, bits));
    for (params, byte) in layouts.into_iter().chain(rows) {
        let (records, len) = (params.records(), params.record_len());
        let seed = Seed([4; 32]);
        let all = vec![vec![byte; len]; records];
        let database = Database::from_records(&params, &seed, all).unwrap();
        let (server, client) = (Server::from(database), Client::new(&params, &seed));
        let mut found = Found::default();
        for seed in 0..4u8 {
            let wanted = (records - 1) * usize::from(seed) / 3;
            found.add(&server, &client, wanted, seed, byte);
        }
        found.check(&params);
    }
}
