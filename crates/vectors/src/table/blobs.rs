//! Columns of bytes, which do not tell their number type. They are read as 32-bit floats, unless they look like another type.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::schema::shortened;
use super::strings::bytes;
use crate::Error;

/// The number of rows that are inspected.
const ROWS: usize = 1024;

/// Vectors contain no 32-bit floats beyond this bound.
const MOST: f32 = 1e30;

/// The smallest number of different 16-bit halves by which 16-bit floats are recognised.
const HALVES: usize = 32;

const EXPECTED: &str = "little-endian floats of 32 bits (in Python: numpy.asarray(vector, 'float32').tobytes()), or lists of numbers";

/// Refuses bytes that do not look like 32-bit floats. Read as such, they would be wrong vectors that no search finds.
pub(super) fn check(column: &ArrayRef, name: &str) -> Result<(), Error> {
    let column = match column.as_any_dictionary_opt() {
        Some(dictionary) => dictionary.values(),
        None => column,
    };
    let rows = (0..column.len().min(ROWS)).filter(|&at| !column.is_null(at));
    let blobs: Vec<&[u8]> = rows.filter_map(|at| bytes(column, at)).collect();
    let words = || blobs.iter().flat_map(|blob| blob.as_chunks::<4>().0);
    let found = if are_doubles(&blobs) {
        "bytes that look like floats of 64 bits"
    } else if are_halves(words().map(|word| u32::from_le_bytes(*word))) {
        "bytes that look like floats of 16 bits"
    } else if words().any(|word| is_beyond(f32::from_le_bytes(*word))) {
        "bytes of which some would be floats beyond 1e30"
    } else {
        return Ok(());
    };
    Err(Error::ColumnType {
        column: shortened(name),
        found: found.to_owned(),
        expected: EXPECTED,
    })
}

fn is_beyond(x: f32) -> bool {
    x.is_finite() && x.abs() > MOST
}

/// True for bytes that are plausible vectors of 64-bit floats, and not of 32-bit floats. Either the low halves of doubles
/// are arbitrary bits, so that three of five floats are larger than any coordinate of an embedding. Or the last 29 bits of
/// doubles are 0, because the doubles were floats or whole numbers. A single vector of one number is not enough to decide.
fn are_doubles(blobs: &[&[u8]]) -> bool {
    let odd = |x: f32| !(x == 0.0 || (1e-15..1e15).contains(&x.abs()));
    let usual = |x: f64| x == 0.0 || (1e-9..1e9).contains(&x.abs());
    let (mut all, mut fit, mut far, mut round, mut full) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    for blob in blobs {
        let (doubles, rest) = blob.as_chunks::<8>();
        if !rest.is_empty() {
            return false;
        }
        for bits in doubles.iter().map(|double| u64::from_le_bytes(*double)) {
            let x = f64::from_bits(bits);
            // In this case, neither reading gives a number.
            if !x.is_finite() {
                continue;
            }
            let [b0, b1, b2, b3, ..] = bits.to_le_bytes();
            all += 1;
            fit += u64::from(usual(x));
            far += u64::from(odd(f32::from_le_bytes([b0, b1, b2, b3])));
            round += u64::from(bits & 0x1fff_ffff == 0);
            full += u64::from(x != 0.0);
        }
    }
    // One of a hundred may be an unusual number.
    let doubles = fit * 100 >= all * 99;
    doubles && full > 1 && (far * 16 >= all || round == all)
}

/// True for words whose halves are plausible 16-bit floats of vectors: from 2^-14 to 64, or 0. Among arbitrary bits, a
/// third of the halves are not.
fn are_halves(words: impl Iterator<Item = u32>) -> bool {
    let (mut all, mut fit, mut different) = (0_u64, 0_u64, BTreeSet::new());
    for word in words {
        let low = word & 0xffff;
        let exponent = (low >> 10) & 31;
        all += 1;
        fit += u64::from((1..=21).contains(&exponent) || low & 0x7fff == 0);
        if different.len() < HALVES {
            different.insert(low);
        }
    }
    different.len() >= HALVES && fit * 100 >= all * 98
}
