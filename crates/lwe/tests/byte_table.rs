//! Tests of tables of bytes: their answers, the values after column packing, and the queries that they refuse.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking; random words are cut to bytes"
)]

use chacha20::ChaCha12Rng;
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use sordino_ckks::column;
use sordino_lwe::{ByteTable, Client, Error, Params, Query, Seed, Shape, Table, decode_bytes};

const SEED: Seed = Seed([3; 32]);

fn params() -> Params {
    Params::module_1536_bytes()
}

fn rng() -> ChaCha12Rng {
    ChaCha12Rng::from_seed([1; 32])
}

fn shape(groups: usize, rows: usize, columns: usize) -> Shape {
    params().shape(groups, rows, columns).unwrap()
}

fn random(shape: Shape, seed: u8) -> Vec<u8> {
    let mut bytes = vec![0; shape.rows() * shape.columns()];
    ChaCha12Rng::from_seed([seed; 32]).fill_bytes(&mut bytes);
    bytes
}

fn table(shape: Shape, bytes: &[u8]) -> ByteTable {
    ByteTable::from_slice(&params(), shape, &SEED, bytes).unwrap()
}

fn query(shape: Shape, wanted: &[usize]) -> Query {
    let client = Client::new(&params(), shape, &SEED);
    let message = client.select(wanted).unwrap();
    client.query(&mut rng(), &message).unwrap().1
}

/// The words of a query, read from its message.
fn words(query: &Query) -> Vec<u32> {
    let bytes = query.to_bytes();
    let words = bytes[24..].as_chunks().0.iter().copied();
    words.map(u32::from_le_bytes).collect()
}

#[test]
fn wanted_columns_come_back() {
    let (params, outer) = (params(), column::Params::modular_26_t128());
    let shape = shape(10, 512, 4096);
    let bytes = random(shape, 2);
    let table = table(shape, &bytes);
    let hint = table.hint(0..10, 0..512);
    let (hint, download) =
        column::Database::encode_modular(&outer, SEED, &hint, params.n()).unwrap();
    let client = Client::new(&params, shape, &SEED);
    let reader = column::Client::new(&outer, SEED, params.n(), shape.answers(), &download).unwrap();
    // The query asks for the first column, the last, one column twice, and one column that does not exist.
    let wanted = [0, 4095, 7, 7, 2048, 1000, 63, 64, 4000, 4096];
    let message = client.select(&wanted).unwrap();
    let (secret, b) = client.query(&mut rng(), &message).unwrap();
    let (outer_secret, enc_s) = reader
        .encrypt_modular(&mut rng(), &secret.into_negated())
        .unwrap();
    // The server's part.
    let b = Query::from_bytes(&b.to_bytes()).unwrap();
    let y = table.answer(&b).unwrap();
    let reply = hint.score_onto(&[enc_s], &[&y]).unwrap().remove(0);
    // The client's part.
    let values = reader.decrypt_modular(outer_secret, &reply).unwrap();
    let found = decode_bytes(&values);
    for (g, (found, &column)) in found.chunks_exact(512).zip(&wanted).enumerate() {
        let expected = match bytes.chunks_exact(512).nth(column) {
            Some(column) => column.to_vec(),
            None => vec![128; 512],
        };
        assert_eq!(found, expected, "column {column}, asked for by group {g}");
    }
}

#[test]
fn values_are_rounded_to_the_nearest_byte() {
    for byte in 0..=255u8 {
        let value = (i64::from(byte) - 128) << 18;
        let around = [value, value + (1 << 17) - 1, value - (1 << 17)];
        assert_eq!(decode_bytes(&around), [byte; 3]);
    }
    // Noise below -2^25 wraps around.
    assert_eq!(decode_bytes(&[(1 << 25) - 1]), [0]);
    assert_eq!(decode_bytes(&[i64::MAX, i64::MIN]).len(), 2);
}

#[test]
fn selections_are_one_at_the_wanted_columns() {
    let shape = shape(3, 1, 70);
    let client = Client::new(&params(), shape, &SEED);
    let message = client.select(&[69, 0, 70]).unwrap();
    let ones: Vec<usize> = (0..210).filter(|&at| message[at] != 0).collect();
    assert_eq!((ones, message[69]), (vec![69, 70], 1));
    for wanted in [&[][..], &[1, 2], &[1, 2, 3, 4]] {
        let error = Error::Length {
            what: "wanted columns",
            found: wanted.len(),
            expected: 3,
        };
        assert_eq!(client.select(wanted).unwrap_err(), error);
    }
}

/// The hint of a table of bytes equals the hint of a table of 18-bit entries whose groups are all equal. This holds for each
/// part of the hint.
#[test]
fn hints_are_those_of_equal_groups() {
    for (groups, rows, columns) in [
        (1, 1, 1),
        (3, 7, 600),
        (2, 40, 513),
        (5, 18, 64),
        (2, 5, 8192),
    ] {
        let shape = shape(groups, rows, columns);
        let bytes = random(shape, 4);
        let found = table(shape, &bytes);
        let entries = Params::module_1536();
        let equal = Shape::new(groups, rows, columns).unwrap();
        let mut expected = Table::zeroed(&entries, equal, &SEED);
        for at in 0..groups * rows {
            let row = bytes.iter().skip(at % rows).step_by(rows);
            let row: Vec<i32> = row.map(|&byte| i32::from(byte) - 128).collect();
            expected.set(at, &row).unwrap();
        }
        let expected = expected.hint(0..groups * rows);
        assert_eq!(found.hint(0..groups, 0..rows), expected);
        let n = params().n();
        for (some, part) in [
            (0..groups, rows / 2..rows),
            (groups - 1..groups, 0..rows),
            (0..1, rows / 3..rows.div_ceil(2)),
        ] {
            let own = found.hint(some.clone(), part.clone());
            let rows = some.flat_map(|g| part.clone().map(move |i| g * rows + i));
            let own_expected: Vec<i32> = rows
                .flat_map(|row| expected[row * n..][..n].to_vec())
                .collect();
            assert_eq!(own, own_expected);
        }
        assert!(found.hint(0..groups, 0..0).is_empty());
        assert!(found.hint(0..0, 0..rows).is_empty());
    }
}

#[test]
fn shards_answer_with_their_rows() {
    let whole = shape(2, 100, 300);
    let bytes = random(whole, 5);
    let sent = query(whole, &[7, 299]);
    let full = table(whole, &bytes);
    let (answer, n) = (full.answer(&sent).unwrap(), params().n());
    for rows in [0..100, 0..33, 33..34, 34..100] {
        let columns = bytes.chunks_exact(100).map(|column| &column[rows.clone()]);
        let shard =
            ByteTable::from_columns(&params(), shape(2, rows.len(), 300), &SEED, columns).unwrap();
        let own = [
            &answer[rows.clone()],
            &answer[100 + rows.start..100 + rows.end],
        ]
        .concat();
        assert_eq!(shard.answer(&sent).unwrap(), own);
        let hint = shard.hint(0..2, 0..rows.len());
        assert_eq!(hint, full.hint(0..2, rows.clone()));
        assert_eq!(hint.len(), 2 * rows.len() * n);
    }
}

/// A table with one matrix per group answers each group as a table of only that group's matrix
/// does.
#[test]
fn every_group_meets_its_own_matrix() {
    for (groups, rows, columns) in [(1, 3, 5), (3, 7, 70), (4, 40, 513)] {
        let shape = shape(groups, rows, columns);
        let matrices: Vec<Vec<u8>> = (0..4).take(groups).map(|g| random(shape, g)).collect();
        let all = matrices.iter().flat_map(|it| it.chunks_exact(rows));
        let own = ByteTable::from_groups(&params(), shape, &SEED, all).unwrap();
        let sent: Vec<Query> = (0..3)
            .map(|at| query(shape, &vec![at % columns; groups]))
            .collect();
        let (answers, hint) = (
            own.answer_batch(&sent).unwrap(),
            own.hint(0..groups, 0..rows),
        );
        let n = params().n();
        let mut scanned = 0;
        for (g, bytes) in matrices.iter().enumerate() {
            let alike = table(shape, bytes);
            scanned += alike.scanned_len();
            for (sent, answer) in sent.iter().zip(&answers) {
                let expected = alike.answer(sent).unwrap();
                let of_group = g * rows..(g + 1) * rows;
                assert_eq!(answer[of_group.clone()], expected[of_group]);
                assert_eq!(own.answer(sent).unwrap(), *answer);
            }
            let of_group = alike.hint(g..g + 1, 0..rows);
            assert_eq!(hint[g * rows * n..][..rows * n], of_group);
            assert_eq!(own.hint(g..g + 1, rows / 2..rows), of_group[rows / 2 * n..]);
        }
        assert_eq!(own.scanned_len(), scanned);
    }
    let own = shape(2, 3, 70);
    let made = |count| ByteTable::from_groups(&params(), own, &SEED, vec![[0u8; 3]; count]);
    assert!(made(140).is_ok());
    for found in [0, 70, 139, 141] {
        let error = Error::Length {
            what: "columns",
            found,
            expected: 140,
        };
        assert_eq!(made(found).map(|_| ()).unwrap_err(), error);
    }
}

#[test]
fn columns_that_do_not_fit_are_refused() {
    let own = shape(2, 3, 70);
    let column = vec![[0u8; 3]; 71];
    let build =
        |columns: &[[u8; 3]]| ByteTable::from_columns(&params(), own, &SEED, columns).map(|_| ());
    assert_eq!(build(&column[..70]), Ok(()));
    let count = |found| Error::Length {
        what: "columns",
        found,
        expected: 70,
    };
    assert_eq!(build(&column[..69]), Err(count(69)));
    assert_eq!(build(&column), Err(count(71)));
    assert_eq!(build(&[]), Err(count(0)));
    let longer = ByteTable::from_columns(&params(), own, &SEED, vec![[0u8; 4]; 70]);
    let length = Error::Length {
        what: "column",
        found: 4,
        expected: 3,
    };
    assert_eq!(longer.unwrap_err(), length);
    for len in [0, 209, 211] {
        let error = ByteTable::from_slice(&params(), own, &SEED, &vec![0; len]).unwrap_err();
        let expected = Error::Length {
            what: "table of bytes",
            found: len,
            expected: 210,
        };
        assert_eq!(error, expected);
    }
    let other = ByteTable::from_slice(&Params::module_1536(), own, &SEED, &[0; 210]);
    let set = Error::Mismatch {
        what: "parameter sets",
        found: 1,
        expected: 2,
    };
    assert_eq!(other.unwrap_err(), set);
    // Only the other set allows this shape.
    let wide = Shape::new(65, 1, 1).unwrap();
    let error = ByteTable::from_slice(&params(), wide, &SEED, &[0]).unwrap_err();
    assert!(matches!(
        error,
        Error::Shape {
            found: 65,
            most: 64,
            ..
        }
    ));
}

#[test]
fn shapes_are_within_the_limits_of_their_set() {
    for (groups, rows, columns) in [(64, 1 << 24, 1 << 16), (32, 1, 1 << 17), (1, 1, 1)] {
        let shape = shape(groups, rows, columns);
        assert_eq!(
            (shape.groups(), shape.rows(), shape.columns()),
            (groups, rows, columns)
        );
    }
    for (groups, rows, columns) in [
        (0, 1, 1),
        (1, 0, 1),
        (1, 1, 0),
        (65, 1, 1),
        (1, (1 << 24) + 1, 1),
        (1, 1, (1 << 17) + 1),
        (64, 1, (1 << 16) + 1),
    ] {
        let refused = params().shape(groups, rows, columns);
        assert!(matches!(refused, Err(Error::Shape { .. })));
    }
    assert_eq!(Params::module_1536().shape(3, 4, 5), Shape::new(3, 4, 5));
    assert!(Params::module_1536().shape(1, 1, 8193).is_err());
}

#[test]
fn hostile_queries_are_refused() {
    let own = shape(2, 3, 70);
    let table = table(own, &random(own, 6));
    let sent = query(own, &[1, 2]);
    assert_eq!(table.answer(&sent).unwrap().len(), 6);
    assert!(table.answer_batch(&[]).unwrap().is_empty());
    let mismatch = |what, found, expected| Error::Mismatch {
        what,
        found,
        expected,
    };
    let refused = |query: &Query| table.answer(query).unwrap_err();
    // The table refuses queries for other shapes.
    assert_eq!(
        refused(&query(shape(3, 3, 70), &[1, 2, 3])),
        mismatch("groups", 3, 2)
    );
    assert_eq!(
        refused(&query(shape(2, 3, 71), &[1, 2])),
        mismatch("columns of a group", 71, 70)
    );
    // The table refuses the query of a client with another seed.
    let other = Client::new(&params(), own, &Seed([9; 32]));
    let other = other.query(&mut rng(), &[0; 140]).unwrap().1;
    assert!(matches!(refused(&other), Error::Epoch { .. }));
    // The first check of a batch refuses the whole batch if one query is bad.
    assert!(table.answer_batch(&[sent.clone(), other]).is_err());
    // A table refuses queries of the other set. This holds for a table of either set.
    let entries = Client::new(&Params::module_1536(), Shape::new(2, 3, 70).unwrap(), &SEED);
    let entries = entries.query(&mut rng(), &[0; 140]).unwrap().1;
    assert_eq!(refused(&entries), mismatch("parameter sets", 1, 2));
    let zeros = Table::zeroed(&Params::module_1536(), Shape::new(2, 3, 70).unwrap(), &SEED);
    assert_eq!(
        zeros.answer(&sent).unwrap_err(),
        mismatch("parameter sets", 2, 1)
    );

    // Truncated messages are refused, and heads that claim more than there is or may be.
    let bytes = sent.to_bytes();
    for len in 0..bytes.len() {
        let error = Query::from_bytes(&bytes[..len]).unwrap_err();
        assert!(
            matches!(error, Error::Kind | Error::MessageLength { .. }),
            "{len}: {error}"
        );
    }
    let head = |groups: u32, columns: u32| {
        let mut head = bytes[..24].to_vec();
        head[8..12].copy_from_slice(&groups.to_le_bytes());
        head[12..16].copy_from_slice(&columns.to_le_bytes());
        Query::from_bytes(&head).unwrap_err()
    };
    let bomb = Error::MessageLength {
        found: 24,
        expected: 24 + (4 << 22),
    };
    assert_eq!(head(32, 1 << 17), bomb);
    for (groups, columns) in [
        (0, 70),
        (65, 70),
        (2, (1 << 17) + 1),
        (64, 1 << 17),
        (u32::MAX, u32::MAX),
    ] {
        assert!(matches!(head(groups, columns), Error::Shape { .. }));
    }
    // The same head under the other set has that set's limits.
    let mut narrow = bytes[..24].to_vec();
    narrow[5] = 1;
    narrow[12..16].copy_from_slice(&(1u32 << 17).to_le_bytes());
    assert!(matches!(
        Query::from_bytes(&narrow).unwrap_err(),
        Error::Shape { most: 8192, .. }
    ));
}

#[test]
fn nothing_stored_is_printed() {
    let own = shape(2, 3, 70);
    let printed = format!("{:?}", table(own, &[173; 210]));
    assert!(
        printed.len() < 300 && !printed.contains("173, 173"),
        "{printed}"
    );
}

proptest! {
    #[test]
    fn answers_are_the_products_of_digits_and_words(
        groups in 1..12usize,
        rows in 1..70usize,
        columns in prop_oneof![1..70usize, 500..530usize, 2040..2060usize],
        count in 1..4usize,
        seed: u8,
    ) {
        let shape = shape(groups, rows, columns);
        let bytes = random(shape, seed);
        let table = table(shape, &bytes);
        let client = Client::new(&params(), shape, &SEED);
        let queries: Vec<Query> = (0..count)
            .map(|i| client.query(&mut rng(), &vec![i as i16; shape.words()]).unwrap().1)
            .collect();
        let answers = table.answer_batch(&queries).unwrap();
        prop_assert_eq!(answers.len(), count);
        for (query, answer) in queries.iter().zip(&answers) {
            let words = words(query);
            prop_assert_eq!(answer.len(), groups * rows);
            for (at, &answer) in answer.iter().enumerate() {
                let words = &words[at / rows * columns..][..columns];
                let row = bytes.iter().skip(at % rows).step_by(rows);
                let exact = row.zip(words).fold(0u32, |sum, (&byte, &word)| {
                    let digit = (i32::from(byte) - 128).cast_unsigned();
                    sum.wrapping_add(digit.wrapping_mul(word))
                });
                prop_assert_eq!(answer, exact);
            }
        }
    }
}
