use sordino_lattice::matrix::Backend;

use super::ByteTable;
use crate::{Client, Params, Query, Seed};

/// Groups of several queries fill panels, and leave some beside them.
#[test]
fn every_backend_gives_the_products() {
    let params = Params::module_1536_bytes();
    for (groups, rows, columns, count) in [
        (1, 1, 1, 1),
        (3, 50, 130, 1),
        (10, 20, 2100, 3),
        (7, 9, 64, 4),
    ] {
        let shape = params.shape(groups, rows, columns).unwrap();
        let byte = |at: usize| (at.wrapping_mul(0x9e37_79b9) >> 11).to_le_bytes()[0];
        let bytes: Vec<u8> = (0..rows * columns).map(byte).collect();
        let seed = Seed([7; 32]);
        let mut table = ByteTable::from_slice(&params, shape, &seed, &bytes).unwrap();
        let client = Client::new(&params, shape, &seed);
        let queries: Vec<Query> = (0..count)
            .map(|_| {
                let message = vec![1; shape.words()];
                client.query(&mut rand::rng(), &message).unwrap().1
            })
            .collect();
        let product = |query: &Query, g: usize, i: usize| {
            let row = bytes.iter().skip(i).step_by(rows);
            row.zip(query.group(g)).fold(0u32, |sum, (&byte, &word)| {
                let digit = (i32::from(byte) - 128).cast_unsigned();
                sum.wrapping_add(digit.wrapping_mul(word))
            })
        };
        let expected: Vec<Vec<u32>> = queries
            .iter()
            .map(|query| {
                let places = (0..groups).flat_map(|g| (0..rows).map(move |i| (g, i)));
                places.map(|(g, i)| product(query, g, i)).collect()
            })
            .collect();
        for backend in Backend::available_with_tiles() {
            table.backend = backend;
            assert_eq!(
                table.answer_batch(&queries).unwrap(),
                expected,
                "{backend:?}"
            );
            assert_eq!(table.answer(&queries[0]).unwrap(), expected[0]);
        }
    }
}
