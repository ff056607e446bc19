//! Reads a vector's numbers from a text.

use crate::{Error, MAX_DIM};

/// The fault of numbers that could be read in two ways.
const DECIMAL_COMMAS: &str =
    "decimal points (0.5), and one comma, semicolon or white space between two numbers";

/// The brackets around a list: one kind from JSON, Python and NumPy, and one from Postgres.
const BRACKETS: [(char, char); 2] = [('[', ']'), ('{', '}')];

/// Reads numbers with one kind of separator: commas, semicolons or white space, including line ends. White space
/// around a comma or semicolon belongs to it. The whole list may be in `[]` or, as Postgres writes arrays, in `{}`.
///
/// A text with two kinds of separators is refused, since `0,5 0,25` means two numbers in some countries and four in
/// others. A separator without a number next to it is also refused.
///
/// Messages do not quote the numbers, which may be a secret query.
///
/// ```
/// use sordino_vectors::numbers;
///
/// for text in ["[0.5, -2]", "0.5 -2", "{0.5,-2}", "0.5; -2", "[0.5\n -2.]"] {
///     assert_eq!(numbers::parse(text)?, [0.5, -2.0]);
/// }
/// assert!(numbers::parse("0,5; -2,0").is_err() && numbers::parse("[1,,2]").is_err());
/// # Ok::<(), sordino_vectors::Error>(())
/// ```
///
/// # Errors
/// [`Error::Numbers`] if the text has another form or no number. The numbers may be infinite or NaN.
pub fn parse(text: &str) -> Result<Vec<f64>, Error> {
    if ["np.float", "array(", "tensor("]
        .iter()
        .any(|word| text.contains(word))
    {
        let save = "numbers alone: save array.tolist(), or a .npy or .parquet file";
        return Err(refused(
            "numbers within names of Python, such as np.float32(0.5)",
            save,
        ));
    }
    let inner = unwrapped(text.trim_matches(is_space))?;
    if inner.is_empty() {
        return Err(refused("no numbers", "one at least"));
    }
    if inner.contains("...") || inner.contains('\u{2026}') {
        let save = "all of them: NumPy leaves out the middle of a long array that it prints, so save array.tolist() or \
                    a .npy or .parquet file";
        return Err(refused("\"...\" in place of numbers", save));
    }
    let separator = match (inner.contains(';'), inner.contains(',')) {
        (true, true) => {
            let both = "semicolons between numbers with commas in them";
            return Err(refused(both, DECIMAL_COMMAS));
        }
        (true, false) => ';',
        (false, true) => ',',
        (false, false) => {
            let words = inner.split(is_space).filter(|word| !word.is_empty());
            return numbers(words);
        }
    };
    let parts = || {
        inner
            .split(separator)
            .map(|part| part.trim_matches(is_space))
    };
    if let Some(at) = parts().position(str::is_empty) {
        let why = format!("nothing where number {} should be", at + 1);
        return Err(refused(&why, "a number before and after each separator"));
    }
    if let Some(at) = parts().position(|part| part.contains(is_space)) {
        let sign = if separator == ';' {
            "semicolons"
        } else {
            "commas"
        };
        let why = format!(
            "{sign} and, at number {}, white space between numbers",
            at + 1
        );
        return Err(refused(&why, DECIMAL_COMMAS));
    }
    if separator == ',' && could_be_within(inner) {
        let why = "commas with white space behind them and commas without, which may stand within numbers";
        return Err(refused(why, DECIMAL_COMMAS));
    }
    numbers(parts())
}

/// True for ASCII white space. Other kinds, such as a non-breaking space, are used to separate thousands.
fn is_space(c: char) -> bool {
    c.is_ascii_whitespace()
}

/// The text inside a pair of brackets, or the whole text if it has none.
fn unwrapped(text: &str) -> Result<&str, Error> {
    for (open, close) in BRACKETS {
        match (text.strip_prefix(open), text.strip_suffix(close)) {
            (None, None) => (),
            (Some(inner), Some(_)) => {
                let inner = inner.strip_suffix(close).unwrap_or_default();
                return Ok(inner.trim_matches(is_space));
            }
            _ => {
                let why = format!("one of the brackets {open} and {close} without the other");
                return Err(refused(&why, "both or none"));
            }
        }
    }
    Ok(text)
}

fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Result<Vec<f64>, Error> {
    let read = |(at, word): (usize, &str)| {
        let number = word.parse().ok();
        number.ok_or_else(|| {
            refused(
                &format!("number {at} is not one"),
                "numbers such as -0.5 or 1e-3",
            )
        })
    };
    (1..).zip(words).map(read).collect()
}

/// True if some commas are followed by white space and others are not, and all of the latter could be within
/// numbers: `0,5, 0,25` or `1,234.5, 1,000`.
fn could_be_within(inner: &str) -> bool {
    // A longer list is not a vector, whichever way its commas are read.
    if inner.split(',').nth(3 * MAX_DIM as usize).is_some() {
        return false;
    }
    let mut groups: Vec<Vec<&str>> = Vec::new();
    for part in inner.split(',') {
        match groups.last_mut() {
            Some(last) if !part.starts_with(is_space) => last.push(part.trim_matches(is_space)),
            _ => groups.push(vec![part.trim_matches(is_space)]),
        }
    }
    let mut several = groups.iter().filter(|group| group.len() > 1).peekable();
    groups.len() > 1 && several.peek().is_some() && several.all(|group| could_be_one(group))
}

/// True if these parts, joined by commas, could be one number with a decimal comma or with thousands.
fn could_be_one(parts: &[&str]) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let [first, middle @ .., last] = parts else {
        return false;
    };
    let thousand = |text: &str| text.len() == 3 && digits(text);
    let whole = last.split(['.', 'e', 'E']).next().unwrap_or_default();
    let decimal = middle.is_empty() && digits(last.split(['e', 'E']).next().unwrap_or_default());
    digits(first.trim_start_matches(['+', '-']))
        && (decimal || thousand(whole) && middle.iter().copied().all(thousand))
}

/// True for a text in brackets that begins like a list of numbers.
#[cfg(feature = "text")]
pub(crate) fn is_list(text: &str) -> bool {
    let text = text.trim_matches(is_space);
    let pair = |(open, close)| text.strip_prefix(open)?.strip_suffix(close);
    let Some(inner) = BRACKETS.into_iter().find_map(pair) else {
        return false;
    };
    let inner = inner.trim_start_matches(is_space);
    let begins = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.');
    inner.starts_with(begins) || parse(text).is_ok()
}

fn refused(found: &str, expected: &'static str) -> Error {
    Error::Numbers {
        found: found.to_owned(),
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_list_is_read() {
        for text in [
            "1,-2.5,3e0",
            " 1 -2.5\t3 ",
            "[1, -2.5, 3]",
            "1, -2.5,3",
            "1 , -2.5 , 3",
            "1;-2.5;3",
            "1; -2.5; 3",
            "{1,-2.5,3}",
            "[ 1.   -2.5\n  3. ]",
            "[1.,\r\n -2.5,\r\n 3.]",
            "+1 -2.5 30E-1",
        ] {
            assert_eq!(parse(text).unwrap(), [1.0, -2.5, 3.0], "{text}");
        }
        assert_eq!(parse("[7]").unwrap(), [7.0]);
        assert_eq!(parse("1,2, 3,4,5").unwrap().len(), 5);
        assert_eq!(parse("0.5,1, 2").unwrap().len(), 3);
        assert_eq!(parse("1,2.5, 2").unwrap().len(), 3);
    }

    #[test]
    fn a_text_that_could_be_other_numbers_is_refused() {
        for (text, why) in [
            (
                "[0,12573; -0,1321]",
                "semicolons between numbers with commas",
            ),
            ("1,234.5; 2", "semicolons between numbers with commas"),
            ("0,1 0,2 0,3", "commas and, at number 2, white space"),
            ("1 2, 3", "commas and, at number 1, white space"),
            ("1;2 3", "semicolons and, at number 2, white space"),
            ("0,5, 0,25", "may stand within numbers"),
            ("-0,5, 1, 0,25e-3", "may stand within numbers"),
            ("1,234.5, 2,345.6", "may stand within numbers"),
            ("1,234,567.8, 2", "may stand within numbers"),
            ("[1,,2]", "nothing where number 2"),
            ("[,1]", "nothing where number 1"),
            ("1e5,", "nothing where number 2"),
            ("1;;2", "nothing where number 2"),
            ("", "no numbers"),
            (" [ ] ", "no numbers"),
            ("[0.1 ... 0.2]", "NumPy leaves out"),
            ("[np.float32(1.05), np.float32(2.5)]", "names of Python"),
            ("array([1.05, 2.5], dtype=float32)", "names of Python"),
            ("tensor([1.0500, 2.5000])", "names of Python"),
            ("[0.1, ..., 0.2]", "NumPy leaves out"),
            ("0.1 \u{2026} 0.2", "NumPy leaves out"),
            ("[1, 2", "without the other"),
            ("1, 2]", "without the other"),
            ("[1, 2}", "without the other"),
            ("[[1, 2]]", "number 1 is not one"),
            ("1 1_000", "number 2 is not one"),
            ("0x1p3", "number 1 is not one"),
            ("1\u{a0}234.5", "number 1 is not one"),
            ("1'234.5", "number 1 is not one"),
            ("\u{ff11} 2", "number 1 is not one"),
            ("1, \u{feff}2", "number 2 is not one"),
            ("[\"1\", \"2\"]", "number 1 is not one"),
            ("1 None 2", "number 2 is not one"),
            ("1 2 secret", "number 3 is not one"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(
                error.contains("expected") && !error.contains("secret"),
                "{error}"
            );
        }
    }
}
