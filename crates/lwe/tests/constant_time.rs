//! The client runs in a separate process under memcheck. The test marks message, secret and errors as undefined memory,
//! and memcheck reports every branch and every address that depends on them.
//!
//! `scripts/constant_time.sh` runs this test. Outside valgrind the marks do nothing.

#![cfg(all(target_arch = "x86_64", not(miri)))]

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use sordino_lwe::{Client, Params, Query, Seed, Shape, Table, decode_bytes};
use sordino_memcheck::{SecretRng, is_watching, public, secret};

#[test]
fn the_marks_are_seen_when_valgrind_runs() {
    // Fails if the script asked for valgrind and the test does not run under it.
    if !is_watching() {
        println!("not under valgrind: secrets are not tracked");
    }
}

#[test]
fn queries_do_not_branch_on_message_or_secret() {
    let mut rng = SecretRng(ChaCha20Rng::from_seed([1; 32]));
    let (params, shape, seed) = (
        Params::module_1536(),
        Shape::new(2, 2, 600).unwrap(),
        Seed([7; 32]),
    );
    let client = Client::new(&params, shape, &seed);
    let mut message = vec![0i16; shape.words()];
    message[77] = -5;
    secret(&message);
    let (key, query) = client.query(&mut rng, &message).unwrap();
    let sent = query.to_bytes();
    public(&sent);
    let query = Query::from_bytes(&sent).unwrap();
    assert_eq!(
        Table::zeroed(&params, shape, &seed).answer(&query).unwrap(),
        [0; 4]
    );
    let negated = key.into_negated();
    public(&negated);
    assert!(negated.iter().all(|s| (-1..=1).contains(s)));
}

#[test]
fn wanted_columns_and_their_bytes_do_not_decide() {
    let mut rng = SecretRng(ChaCha20Rng::from_seed([2; 32]));
    let params = Params::module_1536_bytes();
    let shape = params.shape(2, 2, 600).unwrap();
    let client = Client::new(&params, shape, &Seed([7; 32]));
    let wanted = [599, 3];
    secret(&wanted);
    let message = client.select(&wanted).unwrap();
    let (_, query) = client.query(&mut rng, &message).unwrap();
    let sent = query.to_bytes();
    public(&sent);
    assert_eq!(sent.len(), Query::encoded_len(shape));
    public(&message);
    assert_eq!((message[599], message[603]), (1, 1));

    let values = [-(128i64 << 18), 127 << 18, 5];
    secret(&values);
    let bytes = decode_bytes(&values);
    public(&bytes);
    assert_eq!(bytes, [0, 255, 128]);
}
