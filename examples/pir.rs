//! Fetches records without telling the server which, and prints what it costs. It fetches one record by SimplePIR,
//! several in one scan, a checked answer, and one record by DoublePIR, and changes the database.
//!
//! `cargo run --example pir`

use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};
use sordino_pir::plan::Plan;
use sordino_pir::simple::{Change, Client, Server};
use sordino_pir::verified::Checker;
use sordino_pir::{Database, Params, Seed, double};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = StdRng::try_from_rng(&mut SysRng)?;
    let (records, record_len) = (200_000, 32);
    let record = |i: usize| format!("record {i:>8} of {records:>8} ....");
    println!("{}", Plan::new(records, record_len, 1000)?);

    // The server lays the records out as a matrix and computes the hint.
    let start = Instant::now();
    let params = Params::for_database(records, record_len)?;
    let database = Database::from_records(&params, (0..records).map(record))?;
    let mut checker = Checker::new(&mut rng, &database)?;
    let seed = Seed::random(&mut rng);
    let (mut server, hint) = Server::setup(database, &params, &seed)?;
    println!(
        "setup: {} rows x {} columns in {:.1?}; a record is wrong with probability 2^{:.0}",
        params.rows(),
        params.columns(),
        start.elapsed(),
        params.log2_failure()
    );

    // The client gets parameters, seed and hint, once.
    let mut client = Client::new(&params, &seed, &hint)?;
    println!("once: hint of {} bytes", hint.to_bytes().len());

    let start = Instant::now();
    let (secret, query) = client.query(&mut rng, 123_456)?;
    let asked = start.elapsed();
    let answer = server.answer(&query)?;
    let answered = start.elapsed() - asked;
    let found = client.recover(secret, &answer)?;
    println!(
        "one record: {:?} (query {} bytes in {asked:.1?}, answer {} bytes in {answered:.1?}, all {:.1?})",
        String::from_utf8_lossy(&found),
        query.to_bytes().len(),
        answer.to_bytes().len(),
        start.elapsed()
    );

    // Queries that were prepared before their indices were known, and are answered in one scan.
    let prepared = client.prepare(&mut rng, 16);
    let start = Instant::now();
    let (secrets, queries) = prepared
        .into_iter()
        .enumerate()
        .map(|(i, prepared)| client.query_prepared(prepared, 11_111 * i))
        .collect::<Result<(Vec<_>, Vec<_>), _>>()?;
    let answers = server.answer_batch(&queries)?;
    let found = client.recover_batch(secrets, &answers)?;
    println!("16 prepared records in one scan: {:.1?}", start.elapsed());
    for (i, found) in found.iter().enumerate() {
        assert_eq!(found[..], *record(11_111 * i).as_bytes());
    }

    // The database changes, and a message of a few bytes updates the client.
    let changed = Change::Replace {
        index: 7,
        record: b"something else".to_vec(),
    };
    let update = server.update(&[changed])?;
    client.apply(&update)?;
    checker.apply(&update)?;
    let (secret, query) = client.query(&mut rng, 7)?;
    // The answer is checked before it is decrypted, so a change by the server would be found here.
    let answer = checker.check(&query, &server.answer_raw(&query)?)?;
    let found = client.recover(secret, &answer)?;
    println!(
        "after an update of {} bytes, verified: {:?}",
        update.to_bytes().len(),
        String::from_utf8_lossy(&found[..14])
    );

    double_pir(&mut rng, &seed, records)
}

/// DoublePIR: the size of a client's download depends only on the record's length.
fn double_pir(
    rng: &mut StdRng,
    seed: &Seed,
    records: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let params = Params::for_double(records, 2)?;
    let database =
        Database::from_records(&params, (0..records).map(|i| i.to_le_bytes()[..2].to_vec()))?;
    let start = Instant::now();
    let (server, hint) = double::Server::setup(database, &params, seed)?;
    println!("DoublePIR: setup in {:.1?}", start.elapsed());
    let client = double::Client::new(&params, seed, &hint)?;
    let prepared = client.prepare(rng, 1).pop().ok_or("one was asked for")?;
    let start = Instant::now();
    let (secret, query) = client.query_prepared(prepared, 54_321)?;
    let answer = server.answer(&query)?;
    let found = client.recover(secret, &answer)?;
    assert_eq!(found, 54_321u32.to_le_bytes()[..2]);
    println!(
        "DoublePIR: 2 bytes of 54321 in {:.1?} (hint {} bytes, query {}, answer {})",
        start.elapsed(),
        params.hint_len(),
        params.query_len(),
        params.answer_len()
    );
    Ok(())
}
