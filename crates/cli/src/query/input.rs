//! The vectors to search for.

use crate::Error;
use sordino_search::{Error as Search, Vectors, vectors};
use std::{
    io::{self, BufRead, Read},
    path::Path,
};

/// The longest line of text: 4096 numbers, generously.
const MAX_LINE: u64 = 1 << 18;

/// The queries of the arguments, or else of standard input.
pub(super) fn queries(text: Option<&str>, file: Option<&Path>) -> Result<Vectors, Error> {
    match (text, file) {
        (Some(text), _) => {
            let vector = numbers(text, 1)?;
            Ok(Vectors::new(vector.len(), vector)?)
        }
        (None, Some(path)) => Vectors::open(path).map_err(Error::vectors(path)),
        (None, None) => lines(&mut io::stdin().lock()).map_err(|error| match error {
            Error::Search(Search::Vectors(vectors::Error::NoVectors)) => {
                let why =
                    "no vectors on standard input: expected one a line, or --file, or --vector";
                Error::Arguments(why.to_owned())
            }
            error => error,
        }),
    }
}

/// A vector a line; empty lines are passed over.
fn lines(input: &mut impl BufRead) -> Result<Vectors, Error> {
    let (mut data, mut dim) = (Vec::new(), 0);
    for line in 1.. {
        let mut text = String::new();
        let mut limited = input.by_ref().take(MAX_LINE + 1);
        if limited.read_line(&mut text)? == 0 {
            break;
        }
        if text.len() as u64 > MAX_LINE {
            let why = format!("line {line} of standard input is longer than {MAX_LINE} bytes");
            return Err(Error::Arguments(why));
        }
        let vector = numbers(&text, line)?;
        if vector.is_empty() {
            continue;
        }
        if dim > 0 && vector.len() != dim {
            let why = format!(
                "line {line} has {} numbers; expected {dim}, like the first",
                vector.len()
            );
            return Err(Error::Arguments(why));
        }
        dim = vector.len();
        data.extend(vector);
    }
    Ok(Vectors::new(dim, data)?)
}

/// Numbers separated by commas or spaces, in brackets or not: so JSON's lists are read too.
fn numbers(text: &str, line: usize) -> Result<Vec<f32>, Error> {
    let text = text.trim();
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let words = inner.unwrap_or(text).split([',', ' ', '\t']);
    let words = words.filter(|word| !word.is_empty());
    // The word itself is not shown: a query is secret.
    words
        .enumerate()
        .map(|(at, word)| {
            let wrong = || Error::Arguments(format!("line {line}: number {} is not a number; numbers are separated by commas or spaces", at + 1));
            let number: f32 = word.parse().map_err(|_| wrong())?;
            if !number.is_finite() {
                let (row, column) = (line - 1, at);
                return Err(vectors::Error::NotFinite { row, column }.into());
            }
            Ok(number)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_in_every_spelling() {
        for text in ["1,-2.5,3e0", " 1 -2.5\t3 ", "[1, -2.5, 3]", "1, -2.5,3,"] {
            assert_eq!(numbers(text, 1).unwrap(), [1.0, -2.5, 3.0], "{text}");
        }
        let two = lines(&mut &b"1 2\n\n[3, 4]\r\n"[..]).unwrap();
        assert_eq!((two.dim(), two.as_slice()), (2, &[1.0, 2.0, 3.0, 4.0][..]));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_query() {
        let error = |text: &str| lines(&mut text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error("1 2\n1 secret\n"),
            "line 2: number 2 is not a number; numbers are separated by commas or spaces"
        );
        assert!(error("1 2\n1\n").contains("line 2 has 1 numbers"));
        assert!(error("1 nan").contains("column 1 is not a finite number"));
        assert!(error("1e99").contains("column 0 is not a finite number"));
        assert!(error("").contains("no vectors"));
        assert!(error(&"1 ".repeat(1 << 18)).contains("longer than"));
    }
}
