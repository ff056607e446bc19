use sordino_lattice::matrix::Backend;

use super::ByteTable;
use crate::public::epoch;
use crate::{Params, Query, Seed};

/// The words that a test can distinguish easily.
fn words(seed: u64, len: usize) -> Vec<u32> {
    let word = |at: u64| {
        (at + seed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .to_le_bytes()
    };
    (0..len as u64)
        .map(|at| u32::from_le_bytes(*word(at << 8).last_chunk().unwrap()))
        .collect()
}

/// Groups of several queries fill panels, and leave a few columns beyond the last full panel.
#[test]
fn every_backend_gives_the_products() {
    let params = Params::module_1536_bytes();
    let shapes: &[(usize, usize, usize, usize)] = if cfg!(miri) {
        &[(3, 5, 70, 1)]
    } else {
        &[
            (1, 1, 1, 1),
            (3, 50, 130, 1),
            (10, 20, 2100, 3),
            (7, 9, 64, 4),
        ]
    };
    for &(groups, rows, columns, count) in shapes {
        let shape = params.shape(groups, rows, columns).unwrap();
        let bytes: Vec<u8> = words(1, rows * columns)
            .iter()
            .map(|word| word.to_le_bytes()[3])
            .collect();
        let seed = Seed([7; 32]);
        let mut table = ByteTable::from_slice(&params, shape, &seed, &bytes).unwrap();
        let queries: Vec<Query> = (2..)
            .take(count)
            .map(|i| Query::new(params, shape, epoch(&seed), words(i, shape.words())))
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
            let found = table.answer_batch(&queries).unwrap();
            assert_eq!(found, expected, "{backend:?}");
            assert_eq!(table.answer(&queries[0]).unwrap(), expected[0]);
        }
    }
}
