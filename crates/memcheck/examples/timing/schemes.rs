//! Whole steps of clients: encryption and decryption of scores, of routed queries, of retrieval, and FF1.

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use sordino_ckks::column;
use sordino_fpe::{AesKey, AesSize, Ff1, NumeralCipher};
use sordino_lwe as lwe;
use sordino_memcheck::timing::Class;
use sordino_pir::{Database, Params, Seed, simple};

use crate::kernels::bytes;
use crate::{Bench, Expected};

pub(crate) fn all(bench: &mut Bench) {
    scores(bench);
    clusters(bench);
    retrieval(bench);
    format_preserving(bench);
}

/// A fresh generator for an encryption of either class, so that bytes which samplers skip do not tell the classes
/// apart.
fn fresh(rng: &mut StdRng) -> StdRng {
    StdRng::seed_from_u64(rng.next_u64())
}

/// Random numbers up to a bound in absolute value, or the bound itself.
fn codes(rng: &mut StdRng, class: Class, count: usize, most: i16) -> Vec<i16> {
    let fixed = class == Class::Fixed;
    let one = |_| {
        let random = rng.random_range(-most..=most);
        if fixed { most } else { random }
    };
    (0..count).map(one).collect()
}

/// Masked mode's encryption of a query, and decryption of its scores.
fn scores(bench: &mut Bench) {
    let (params, seed, width, rows) = (column::Params::modular_26_t8(), [7; 32], 16, 64);
    let stored: Vec<i32> = (0..rows * width)
        .map(|_| bench.rng.random_range(-1 << 25..1 << 25))
        .collect();
    let (database, hint) =
        column::Database::encode_modular(&params, seed, &stored, width).expect("rows");
    let client = column::Client::new(&params, seed, width, rows, &hint).expect("rows");
    let query = |rng: &mut StdRng, class| {
        let codes = codes(rng, class, width, 1400);
        let codes: Vec<i32> = codes.into_iter().map(i32::from).collect();
        (fresh(rng), codes)
    };
    bench.time(
        "encryption of a query, 16 coordinates",
        Expected::Constant,
        query,
        |(rng, query)| client.encrypt_modular(rng, query).expect("a query"),
    );
    let reply = |rng: &mut StdRng, class| {
        let (mut fresh, query) = query(rng, class);
        let (secret, query) = client.encrypt_modular(&mut fresh, &query).expect("a query");
        Some((secret, database.score(&query).expect("scores")))
    };
    bench.time("decryption of 64 scores", Expected::Constant, reply, |it| {
        let (secret, reply) = it.take().expect("one use");
        client.decrypt_modular(secret, &reply).expect("scores")
    });
}

/// Routed mode's message for some clusters.
fn clusters(bench: &mut Bench) {
    let shape = lwe::Shape::new(1, 32, 1024).expect("a shape");
    let client = lwe::Client::new(&lwe::Params::module_1536(), shape, &Seed([5; 32]));
    let message = |rng: &mut StdRng, class| (fresh(rng), codes(rng, class, 1024, 300));
    bench.time(
        "words of a routed query, 1,024",
        Expected::Constant,
        message,
        |(rng, message)| client.query(rng, message).expect("a query"),
    );
}

/// Retrieval of one record of 300.
fn retrieval(bench: &mut Bench) {
    let params = Params::for_database(300, 64).expect("parameters");
    let records: Vec<u8> = (0..300 * 64u32).map(|i| i.to_le_bytes()[0]).collect();
    let database = Database::from_slice(&params, &records).expect("records");
    let seed = Seed([1; 32]);
    let (server, hint) = simple::Server::setup(database, &params, &seed).expect("a server");
    let client = simple::Client::new(&params, &seed, &hint).expect("a client");
    let index = |rng: &mut StdRng, class| {
        let random = rng.random_range(0..300);
        let index = if class == Class::Fixed { 299 } else { random };
        (fresh(rng), index)
    };
    bench.time(
        "retrieval, query",
        Expected::Constant,
        index,
        |(rng, index)| client.query(rng, *index).expect("a query"),
    );
    let answer = |rng: &mut StdRng, class| {
        let (mut fresh, index) = index(rng, class);
        let (secret, query) = client.query(&mut fresh, index).expect("a query");
        Some((secret, server.answer(&query).expect("an answer")))
    };
    bench.time("retrieval, record", Expected::Constant, answer, |it| {
        let (secret, answer) = it.take().expect("one use");
        client.recover(secret, &answer).expect("a record")
    });
}

/// FF1 of 16 digits, by the key and by the digits.
fn format_preserving(bench: &mut Bench) {
    let cipher = |key: &[u8; 32]| {
        let key = AesKey::from_slice(AesSize::Aes256, key).expect("32 bytes");
        let plan = Ff1::new(&key, 10).and_then(|ff1| ff1.plan(16, 8));
        plan.expect("16 digits")
    };
    let keyed = |rng: &mut StdRng, class| cipher(&bytes(rng, class));
    bench.time("FF1 of 16 digits, key", Expected::Constant, keyed, |plan| {
        let mut digits = [7; 16];
        plan.encrypt_numerals(b"a tweak.", &mut digits)
            .expect("digits");
        digits
    });
    let plan = cipher(&[9; 32]);
    let digits = |rng: &mut StdRng, class| {
        let fixed = class == Class::Fixed;
        let digit = |_: usize| {
            let random = rng.random_range(0..10u16);
            if fixed { 0 } else { random }
        };
        std::array::from_fn::<u16, 16, _>(digit)
    };
    bench.time(
        "FF1 of 16 digits, digits",
        Expected::Constant,
        digits,
        |digits| {
            plan.encrypt_numerals(b"a tweak.", digits).expect("digits");
            *digits
        },
    );
}
