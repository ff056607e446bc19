//! Tests of queries as messages: which messages are read back, which are refused, and what they reveal if the generator
//! repeats itself.

use chacha20::ChaCha20Rng;
use proptest::prelude::*;
use rand_core::SeedableRng;
use sordino_lwe::{Client, Error, Params, Query, Seed, Shape, Table};

const SEED: Seed = Seed([173; 32]);

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([5; 32])
}

fn shape() -> Shape {
    Shape::new(2, 3, 40).unwrap()
}

fn query(message: &[i16]) -> Query {
    let client = Client::new(&Params::module_1536(), shape(), &SEED);
    client.query(&mut rng(), message).unwrap().1
}

#[test]
fn a_query_comes_back_and_its_length_is_fixed_by_the_shape() {
    let sent = query(&[7; 80]);
    let bytes = sent.to_bytes();
    assert_eq!(bytes.len(), Query::encoded_len(shape()));
    assert_eq!(bytes.len(), 24 + 80 * 4);
    assert_eq!(Query::from_bytes(&bytes).unwrap(), sent);
    assert_eq!(query(&[0; 80]).to_bytes().len(), bytes.len());
}

#[test]
fn what_is_no_query_is_refused() {
    let bytes = query(&[7; 80]).to_bytes();
    let changed = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        Query::from_bytes(&bytes).unwrap_err()
    };
    assert_eq!(changed(0, b'T'), Error::Kind);
    assert_eq!(
        changed(4, 9),
        Error::FormatVersion {
            found: 9,
            expected: 1
        }
    );
    assert_eq!(changed(5, 77), Error::UnknownSet { found: 77 });
    assert_eq!(changed(6, 1), Error::Kind);
    assert_eq!(changed(7, 1), Error::Kind);
    assert_eq!(
        changed(8, 3),
        Error::MessageLength {
            found: 344,
            expected: 24 + 3 * 160
        }
    );
    assert_eq!(
        changed(8, 0),
        Error::Shape {
            what: "groups",
            found: 0,
            most: 1024
        }
    );
    assert_eq!(
        changed(15, 0xff),
        Error::Shape {
            what: "columns of a group",
            found: 0xff00_0028,
            most: 8192
        }
    );
    for len in 0..bytes.len() {
        let error = Query::from_bytes(&bytes[..len]).unwrap_err();
        assert!(
            matches!(error, Error::Kind | Error::MessageLength { .. }),
            "{len}: {error}"
        );
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(
        Query::from_bytes(&longer).unwrap_err(),
        Error::MessageLength {
            found: 345,
            expected: 344
        }
    );
    // The head names the largest possible shape, but no words follow it.
    let mut bomb = bytes[..24].to_vec();
    bomb[8..16].copy_from_slice(&[0, 2, 0, 0, 0, 32, 0, 0]);
    assert_eq!(
        Query::from_bytes(&bomb).unwrap_err(),
        Error::MessageLength {
            found: 24,
            expected: 24 + (4 << 22)
        }
    );
    bomb[9] = 4;
    assert_eq!(
        Query::from_bytes(&bomb).unwrap_err(),
        Error::Shape {
            what: "words of a query",
            found: 1 << 23,
            most: 1 << 22
        }
    );
}

#[test]
fn queries_rows_and_messages_of_another_shape_are_refused() {
    let params = Params::module_1536();
    let sent = query(&[7; 80]);
    let refused = |groups, columns| {
        let shape = Shape::new(groups, 3, columns).unwrap();
        Table::zeroed(&params, shape, &SEED)
            .answer(&sent)
            .unwrap_err()
    };
    assert_eq!(
        refused(3, 40),
        Error::Mismatch {
            what: "groups",
            found: 2,
            expected: 3
        }
    );
    assert_eq!(
        refused(2, 39),
        Error::Mismatch {
            what: "columns of a group",
            found: 40,
            expected: 39
        }
    );
    let other = Table::zeroed(&params, shape(), &Seed([9; 32]));
    assert!(matches!(
        other.answer(&sent).unwrap_err(),
        Error::Epoch { .. }
    ));

    let mut table = Table::zeroed(&params, shape(), &SEED);
    assert_eq!(table.answer(&sent).unwrap(), [0; 6]);
    assert!(table.answer_batch(&[]).unwrap().is_empty());
    assert_eq!(
        table.set(6, &[0; 40]).unwrap_err(),
        Error::Shape {
            what: "rows",
            found: 7,
            most: 6
        }
    );
    assert_eq!(
        table.set(0, &[0; 41]).unwrap_err(),
        Error::Length {
            what: "row",
            found: 41,
            expected: 40
        }
    );
    let client = Client::new(&params, shape(), &SEED);
    assert_eq!(
        client.query(&mut rng(), &[0; 40]).unwrap_err(),
        Error::Length {
            what: "message",
            found: 40,
            expected: 80
        }
    );
    for (groups, rows, columns) in [
        (0, 1, 1),
        (1, 0, 1),
        (1, 1, 0),
        (1025, 1, 1),
        (1, 1, 8193),
        (1024, 1, 8192),
    ] {
        assert!(matches!(
            Shape::new(groups, rows, columns),
            Err(Error::Shape { .. })
        ));
    }
}

#[test]
fn a_generator_that_repeats_itself_does_not_repeat_a_secret() {
    let (mut first, mut second) = ([7; 80], [7; 80]);
    (first[3], second[3]) = (1, 2);
    assert_eq!(query(&first), query(&first));
    let (first, second) = (query(&first).to_bytes(), query(&second).to_bytes());
    let equal = first[24..]
        .iter()
        .zip(&second[24..])
        .filter(|(a, b)| a == b)
        .count();
    assert!(equal < 16, "{equal} of 320 bytes are equal");
}

/// Some groups of a table give the whole table's answers and hints for these groups, and take the
/// whole table's queries.
#[test]
fn groups_apart_answer_as_in_the_whole() {
    let params = Params::module_1536();
    let row = |row: usize| -> Vec<i32> {
        let row = i32::try_from(row).unwrap();
        let entries = (0..40).map(|column| (row * 7919 + column * 104_729) % (1 << 17));
        entries.collect()
    };
    let mut whole = Table::zeroed(&params, shape(), &SEED);
    for at in 0..6 {
        whole.set(at, &row(at)).unwrap();
    }
    let sent = query(&[5; 80]);
    let (answer, hint) = (whole.answer(&sent).unwrap(), whole.hint(0..6));
    for groups in [0..1, 1..2, 0..2] {
        let mut part = Table::part(&params, shape(), groups.clone(), &SEED).unwrap();
        let rows = 3 * groups.start..3 * groups.end;
        for (at, of) in rows.clone().enumerate() {
            part.set(at, &row(of)).unwrap();
        }
        assert!(part.set(rows.len(), &row(0)).is_err());
        assert_eq!(part.answer(&sent).unwrap(), answer[rows.clone()]);
        let n = params.n();
        assert_eq!(part.hint(0..rows.len()), hint[n * rows.start..n * rows.end]);
        let alone = Shape::new(groups.len(), 3, 40).unwrap();
        let own = Client::new(&params, alone, &SEED);
        let own = own
            .query(&mut rng(), &vec![5; 40 * groups.len()])
            .unwrap()
            .1;
        assert_eq!(part.check(&own).is_ok(), groups.len() == 2);
    }
    for groups in [0..0, 1..1, 1..3, 2..3] {
        assert!(Table::part(&params, shape(), groups, &SEED).is_err());
    }
}

#[test]
fn nothing_secret_is_printed() {
    let client = Client::new(&Params::module_1536(), shape(), &SEED);
    let (secret, query) = client.query(&mut rng(), &[12_345; 80]).unwrap();
    let table = Table::zeroed(client_params(), shape(), &SEED);
    for printed in [
        format!("{client:?}"),
        format!("{secret:?}"),
        format!("{query:?}"),
        format!("{table:?}"),
    ] {
        assert!(printed.len() < 300, "{printed}");
        for content in ["12345", "12_345", "173, 173"] {
            assert!(!printed.contains(content), "{printed}");
        }
    }
}

fn client_params() -> &'static Params {
    const PARAMS: Params = Params::module_1536();
    &PARAMS
}

proptest! {
    #[test]
    fn decoding_never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..200), head: bool) {
        if head && bytes.len() > 8 {
            bytes[..8].copy_from_slice(b"SLWE\x01\x01\0\0");
        }
        if let Ok(query) = Query::from_bytes(&bytes) {
            prop_assert_eq!(query.to_bytes(), bytes);
        }
    }

    #[test]
    fn answers_are_the_products_of_rows_and_words(
        groups in 1..4usize,
        rows in 1..9usize,
        columns in prop_oneof![1..70usize, 500..530usize],
        seed: [u8; 32],
    ) {
        use rand_core::Rng;
        let mut rng = ChaCha20Rng::from_seed(seed);
        let shape = Shape::new(groups, rows, columns).unwrap();
        let params = Params::module_1536();
        let mut table = Table::zeroed(&params, shape, &SEED);
        let entry = |rng: &mut ChaCha20Rng| rng.next_u32().cast_signed() >> 14;
        let entries: Vec<Vec<i32>> = (0..shape.answers())
            .map(|_| (0..columns).map(|_| entry(&mut rng)).collect())
            .collect();
        for (row, entries) in entries.iter().enumerate() {
            // Entries are integers mod 2^18.
            let others: Vec<i32> = entries.iter().map(|x| x.wrapping_add(3 << 18)).collect();
            table.set(row, &others).unwrap();
        }
        let client = Client::new(&params, shape, &SEED);
        let queries: Vec<Query> = (0..6)
            .map(|i| client.query(&mut rng, &vec![i; shape.words()]).unwrap().1)
            .collect();
        let answers = table.answer_batch(&queries).unwrap();
        for (query, answer) in queries.iter().zip(&answers) {
            prop_assert_eq!(&table.answer(query).unwrap(), answer);
            let words: Vec<u32> = query.to_bytes()[24..]
                .chunks_exact(4)
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect();
            for (row, &answer) in answer.iter().enumerate() {
                let words = &words[row / rows * columns..][..columns];
                let exact = entries[row].iter().zip(words).fold(0u32, |sum, (&x, &word)| {
                    sum.wrapping_add(x.cast_unsigned().wrapping_mul(word))
                });
                prop_assert_eq!(answer, exact);
            }
        }
    }
}
