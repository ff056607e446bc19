//! Databases that are scanned in a mapped file.

#![expect(unsafe_code, reason = "maps files that this test alone writes")]

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use sordino_pir::simple::{Change, Client, Database, Params, Server};
use sordino_pir::{Error, Seed};

#[test]
fn a_mapped_database_answers_is_updated_in_memory_and_notices_that_its_file_shrinks() {
    let params = Params::for_database(5000, 7).unwrap();
    let bytes: Vec<u8> = (0..35_000u32).map(|i| i.to_le_bytes()[1]).collect();
    let path = std::env::temp_dir().join(format!("sordino-pir-mapped-{}", std::process::id()));
    let database = Database::from_slice(&params, &bytes).unwrap();
    database.write_file(&path).unwrap();
    let before = std::fs::read(&path).unwrap();
    let seed = Seed([7; 32]);
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    // SAFETY: only this test uses the file, and changes nothing in it during a scan.
    let mapped = unsafe { Database::map_file(&path).unwrap() };
    let (server, hint) = Server::setup(mapped, &params, &seed).unwrap();
    let client = Client::new(&params, &seed, &hint).unwrap();
    let (secret, query) = client.query(&mut rng, 4321).unwrap();
    let answer = server.answer(&query).unwrap();
    assert_eq!(
        client.recover(secret, &answer).unwrap(),
        bytes[7 * 4321..7 * 4322]
    );
    // SAFETY: as above.
    let mapped = unsafe { Database::map_file(&path).unwrap() };
    let (mut updated, _) = Server::setup(mapped, &params, &seed).unwrap();
    updated.update(&[Change::Delete { index: 0 }]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(before.len() as u64 - 1).unwrap();
    assert!(matches!(server.answer(&query), Err(Error::Length { .. })));
    std::fs::remove_file(&path).unwrap();
}
