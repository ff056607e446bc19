//! The databases that are worst for the noise: a row of zeros, whose digits are all -128, and a row of
//! 0xff, all 127. Every error of a query meets the same factor there, so that an error whose mean is not
//! zero adds up over the columns. Such rows are common: records that are padded, or deleted, are zeros.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use sordino_pir::{Database, Params, Seed, double, simple};

const QUERIES: usize = 8;

fn indices(records: usize) -> Vec<usize> {
    (0..QUERIES).map(|k| (k * 7919 + 7) % records).collect()
}

#[test]
fn rows_of_zeros_and_of_ones_are_right_at_every_width_of_simplepir() {
    for columns in [60_000, 150_000, 185_000] {
        let params = Params::for_columns(columns, 2).unwrap();
        assert!(params.log2_failure() <= -40.0 && params.query_bits() < 32);
        // One record shows that the fetched column is the right one.
        let mut records = vec![[0x00, 0xff]; columns];
        records[7] = [0x5a, 0xa5];
        let seed = Seed([9; 32]);
        let database = Database::from_records(&params, &records).unwrap();
        let (server, hint) = simple::Server::setup(database, &params, &seed).unwrap();
        let client = simple::Client::new(&params, &seed, &hint).unwrap();
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        let indices = indices(columns);
        let (secrets, queries) = client.query_batch(&mut rng, &indices).unwrap();
        let answers = server.answer_batch(&queries).unwrap();
        let found = client.recover_batch(secrets, &answers).unwrap();
        for (found, index) in found.iter().zip(indices) {
            assert_eq!(found, &records[index], "{columns} columns, record {index}");
        }
    }
}

#[test]
fn rows_of_zeros_and_of_ones_are_right_at_the_width_of_doublepir() {
    let columns = 150_000;
    for byte in [0x00, 0xff] {
        let params = Params::for_double_with(2 * columns, 1, 2).unwrap();
        assert!(params.log2_failure() <= -40.0 && params.query_bits() < 32);
        let records = vec![[byte]; 2 * columns];
        let seed = Seed([9; 32]);
        let database = Database::from_records(&params, &records).unwrap();
        let (server, hint) = double::Server::setup(database, &params, &seed).unwrap();
        let client = double::Client::new(&params, &seed, &hint).unwrap();
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        for index in indices(2 * columns) {
            let (secret, query) = client.query(&mut rng, index).unwrap();
            let found = client.recover(secret, &server.answer(&query).unwrap());
            assert_eq!(found.unwrap(), [byte], "record {index}");
        }
    }
}
