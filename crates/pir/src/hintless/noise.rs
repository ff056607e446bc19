//! Steps and noise, against their definitions and against what the failure bound is made of.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::sample::residue;

use super::expand::Expansion;
use super::keys::Evaluation;
use super::params::failure::{of_selector, of_switch};
use super::ring::{GADGETS, N, modulus, plan};
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

/// A ciphertext of `message` without an error: its second half is uniform.
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
    for (i, gadget) in GADGETS.iter().enumerate() {
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
        let ratio = found / count / of_switch(*gadget);
        println!("step {i}: {ratio:.3} of the variance expected");
        // 3 secrets, whose errors are all the same in 8 switches: 3 l N of them.
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
            for (j, m) in message[..leaves].iter_mut().enumerate() {
                *m = q.mul(per, (j as u64) << 40);
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
        // Without an error of its own the ciphertext leaves that of the switches alone.
        let fresh =
            f64::from(2 * depth).exp2() * (10.5 + f64::from(2 * 14).exp2() / 12.0 + 1.0 / 6.0);
        let ratio = found / count / (of_selector(depth) - fresh);
        println!("depth {depth}: {ratio:.3} of the energy expected");
        assert!((ratio - 1.0).abs() < 0.15, "depth {depth}: {ratio}");
    }
}

#[test]
fn the_noise_of_answers_is_that_of_the_bound_for_the_worst_records() {
    // The most columns of a polynomial that each modulus serves, up to 2,000; and records that would be the worst
    // without their pads.
    for (log_p, byte) in [(7, 0), (8, 0xff), (9, 0)] {
        let len = N / 8 * log_p as usize;
        let serves = |records: &usize| {
            Params::new(*records, len, 1).is_ok_and(|params| params.log_p == log_p)
        };
        let records = (1..32).map(|i| 64 * i).rfind(serves).unwrap();
        let params = Params::new(records, len, 1).unwrap();
        let seed = Seed([4; 32]);
        let database =
            Database::from_records(&params, &seed, vec![vec![byte; len]; records]).unwrap();
        let server = Server::from(database);
        let client = Client::new(&params, &seed);
        let (mut whole, mut rounded, mut count) = (0.0, 0.0, 0.0);
        let (mut worst, q) = (0f64, modulus());
        for seed in 0..4u8 {
            let (session, keys) = session(seed);
            let mut rng = ChaCha20Rng::from_seed([seed + 20; 32]);
            let wanted = (records - 1) * usize::from(seed) / 3;
            let (asked, query) = client.query(&mut rng, &session, &[wanted]).unwrap();
            let selectors = server.expand(&keys, &query);
            let sums = server.multiply(&selectors);
            // The record's coefficients are those of its unit.
            let mut bytes = vec![0; params.poly_bytes()];
            bytes[..len].fill(byte);
            super::database::add_pad(&Seed([4; 32]), wanted / params.per_unit(), &mut bytes);
            let half = 1i64 << (params.log_p - 1);
            let expected: Vec<u64> = unpack(&bytes, N, params.log_p)
                .map(|word| q.mul(params.scale(), q.from_signed(i64::from(word) - half)))
                .collect();
            let found = phase(&session, &sums[0]);
            whole += energy(difference(&found, &expected));
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
            worst = noise
                .iter()
                .map(|x| (q.centred(*x) as f64).abs())
                .fold(worst, f64::max);
            rounded += energy(noise.into_iter());
            count += N as f64;
            let record = client.recover(&session, asked, &answer).unwrap();
            assert_eq!(record, [Some(vec![byte; len])]);
        }
        let ratio = whole / count / params.of_sum();
        let ratio_rounded = rounded / count / (params.of_sum() + params.of_rounding());
        let radius = q.q() as f64 / f64::from(params.log_p + 1).exp2();
        println!(
            "{records} columns, p = {}, d = {}: sums {ratio:.3}, rounded {ratio_rounded:.3} of the variance expected; worst {:.3} of the radius",
            params.log_p,
            params.depth,
            worst / radius
        );
        assert!((ratio - 1.0).abs() < 0.15, "{ratio}");
        assert!((ratio_rounded - 1.0).abs() < 0.15, "{ratio_rounded}");
        assert!(worst < 0.8 * radius, "{}", worst / radius);
    }
}
