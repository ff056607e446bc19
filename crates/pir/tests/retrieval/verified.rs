//! Verified mode accepts honest answers, and finds any other answer before decryption.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sordino_pir::simple::{Client, RawAnswer, Server};
use sordino_pir::verified::Checker;
use sordino_pir::{Database, Error, Params, Seed};

#[test]
fn honest_answers_pass_and_every_changed_word_is_caught() {
    let params = Params::for_columns(150, 70).unwrap();
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let mut bytes = vec![0; params.database_bytes()];
    rng.fill_bytes(&mut bytes);
    let seed = Seed([1; 32]);
    let database = Database::from_slice(&params, &bytes).unwrap();
    let checker = Checker::new(&mut rng, &database).unwrap();
    let (server, hint) = Server::setup(database, &params, &seed).unwrap();
    let client = Client::new(&params, &seed, &hint).unwrap();
    let (secret, query) = client.query(&mut rng, 149).unwrap();
    let wire = server.answer_raw(&query).unwrap().to_bytes();
    assert_eq!(wire.len(), params.raw_answer_len());
    for word in 0..params.rows() {
        // The smallest change, and a change of the highest bit, which an even factor would hide.
        for bit in [0, 31] {
            let mut wire = wire.clone();
            wire[48 + 4 * word + bit / 8] ^= 1 << (bit % 8);
            let raw = RawAnswer::from_bytes(&params, &wire).unwrap();
            assert!(matches!(
                checker.check(&query, &raw),
                Err(Error::Unverified)
            ));
        }
    }
    let raw = RawAnswer::from_bytes(&params, &wire).unwrap();
    let answer = checker.check(&query, &raw).unwrap();
    assert_eq!(client.recover(secret, &answer).unwrap(), bytes[149 * 70..]);
    // The answer to another query is not the answer to this one.
    let (_, other) = client.query(&mut rng, 149).unwrap();
    assert!(matches!(
        checker.check(&other, &raw),
        Err(Error::Unverified)
    ));
}
