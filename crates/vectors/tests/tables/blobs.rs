//! Columns of bytes, which do not state the type of their numbers.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, BinaryArray, DictionaryArray, Int8Array, StringArray};
use half::f16;
use sordino_vectors::{Error, Format, Reader, Vectors};

use crate::others::{named, stream, table};

/// The numbers of a column with these bytes.
fn read(rows: &[Vec<u8>]) -> Result<Vec<f32>, Error> {
    let blobs: ArrayRef = Arc::new(BinaryArray::from_iter_values(rows));
    let bytes = stream(&table(vec![("v", blobs)]));
    let reader = Reader::from_bytes_columns(Format::Arrow, bytes, &named(Some("v"), None, &[]))?;
    assert!(reader.reads_bytes());
    Ok(Vectors::collect(reader)?.as_slice().to_vec())
}

fn refused(rows: &[Vec<u8>]) -> String {
    let error = read(rows).unwrap_err();
    assert_eq!(error.row(), None, "{error}");
    error.to_string()
}

/// Rows of numbers, as the bytes of each row.
fn rows<const N: usize>(
    count: u16,
    dim: u16,
    number: impl Fn(f64) -> f64,
    bytes: impl Fn(f64) -> [u8; N],
) -> Vec<Vec<u8>> {
    let row = |row: u16| {
        let numbers = (0..dim).map(|at| number(f64::from(row * dim + at + 1)));
        numbers.flat_map(&bytes).collect()
    };
    (0..count).map(row).collect()
}

fn sine(x: f64) -> f64 {
    (x / 7.0).sin()
}

fn single(x: f64) -> [u8; 4] {
    sordino_vectors::to_f32(x).to_le_bytes()
}

/// The bytes of doubles could be read as twice the number of floats. Searches in such vectors would
/// find nothing.
#[test]
fn bytes_of_doubles_are_no_floats() {
    let from_float = |x: f64| f64::from(sordino_vectors::to_f32(sine(x)));
    for (count, dim) in [(1, 64), (5, 8), (20, 4), (40, 2), (40, 1)] {
        for bytes in [
            rows(count, dim, sine, f64::to_le_bytes),
            rows(count, dim, from_float, f64::to_le_bytes),
            rows(count, dim, |x| x, f64::to_le_bytes),
            rows(count, dim, |x| (x * 3.3).round() / 10.0, f64::to_le_bytes),
        ] {
            let error = refused(&bytes);
            assert!(error.contains("look like floats of 64 bits"), "{error}");
            assert!(
                error.contains("numpy.asarray(vector, 'float32')"),
                "{error}"
            );
        }
    }
    // Doubles are still recognised if a row has values that are not numbers.
    let mut bytes = rows(20, 4, sine, f64::to_le_bytes);
    bytes[3] = f64::NAN.to_le_bytes().repeat(4);
    assert!(refused(&bytes).contains("of 64 bits"));
}

#[test]
fn bytes_of_other_numbers_are_no_floats() {
    let half = |x: f64| f16::from_f64(sine(x) / 20.0).to_le_bytes();
    let error = refused(&rows(20, 16, |x| x, half));
    assert!(error.contains("look like floats of 16 bits"), "{error}");
    let big = |x: f64| sordino_vectors::to_f32(sine(x)).to_be_bytes();
    // Bytes with all values.
    let byte = |x: f64| [f64::to_le_bytes(x * x)[6]];
    for bytes in [rows(20, 8, |x| x, big), rows(20, 16, |x| x, byte)] {
        let error = refused(&bytes);
        assert!(
            error.contains("floats beyond 1e30: expected little-endian"),
            "{error}"
        );
    }
}

/// Floats of any size are read, and also small integers, and floats with zeros between them.
#[test]
fn floats_are_read_as_they_are() {
    let sparse = |x: f64| if x % 2.0 == 0.0 { 0.0 } else { sine(x) };
    let wide = |x: f64| 10_f64.powf(x % 60.0 - 30.0);
    let tenth = |x: f64| (x % 10.0) / 10.0;
    let usual: [&dyn Fn(f64) -> f64; 6] = [&sine, &sparse, &wide, &tenth, &|x| x, &|x| x / 512.0];
    for (at, number) in usual.iter().enumerate() {
        for (count, dim) in [(1, 4), (2, 128), (50, 3), (50, 16)] {
            let bytes = rows(count, dim, number, single);
            let expected: Vec<f32> = bytes
                .concat()
                .as_chunks::<4>()
                .0
                .iter()
                .map(|x| f32::from_le_bytes(*x))
                .collect();
            let found = read(&bytes).unwrap_or_else(|error| panic!("{at} {count} {dim}: {error}"));
            assert_eq!(found, expected);
        }
    }
}

/// A column of vectors may be dictionary-encoded, as pandas does for categories.
#[test]
fn texts_of_a_dictionary_are_vectors() {
    let texts = Arc::new(StringArray::from(vec!["[1, 2]", "[3, 4]"]));
    let keys = Int8Array::from(vec![1, 0, 1]);
    let column: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys, texts));
    let bytes = stream(&table(vec![("v", column)]));
    let reader = Reader::from_bytes_columns(Format::Arrow, bytes, &named(Some("v"), None, &[]));
    let found = Vectors::collect(reader.unwrap()).unwrap();
    assert_eq!(found.as_slice(), [3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
}
