//! Numbers as arguments. What is out of bounds is refused with the argument's name.

use sordino_search::SecondLook;
use sordino_search::manifest::{MAX_DIM, MAX_K};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Threads that a command starts at most.
const MAX_THREADS: usize = 1024;

/// Vectors of an index.
pub(crate) fn vectors(text: &str) -> Result<usize, String> {
    within(text, 1..=u32::MAX as usize)
}

/// Coordinates of a vector.
pub(crate) fn coordinates(text: &str) -> Result<usize, String> {
    within(text, 1..=MAX_DIM as usize)
}

/// Results of a search.
pub(crate) fn results(text: &str) -> Result<usize, String> {
    within(text, 1..=MAX_K as usize)
}

/// Candidates of a second look.
pub(crate) fn candidates(text: &str) -> Result<u32, String> {
    within(text, 1..=SecondLook::MOST)
}

/// Bytes that a record has beside its vector.
pub(crate) fn beside(text: &str) -> Result<usize, String> {
    within(text, 0..=1 << 20)
}

/// Things of which there must be one at least.
pub(crate) fn some(text: &str) -> Result<usize, String> {
    within(text, 1..=u32::MAX as usize)
}

/// Threads, or 0 for as many as there are processors.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    within(text, 0..=MAX_THREADS)
}

/// Requests per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    within(text, 0.001..=1e9)
}

/// A score.
pub(crate) fn score(text: &str) -> Result<f32, String> {
    let number = text.parse().ok();
    number
        .filter(|number: &f32| number.is_finite())
        .ok_or_else(|| "expected a finite number".to_owned())
}

/// A part of a whole.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    number
        .filter(|&number: &f64| number > 0.0 && number < 1.0)
        .ok_or_else(|| "expected a number above 0 and below 1".to_owned())
}

fn within<T: FromStr + PartialOrd + Display>(
    text: &str,
    range: RangeInclusive<T>,
) -> Result<T, String> {
    let number = text.parse().ok();
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (least, most) = range.into_inner();
            format!("expected a number from {least} to {most}")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_said() {
        assert_eq!(results("1024"), Ok(1024));
        assert_eq!(vectors("4294967295"), Ok(4_294_967_295));
        for wrong in ["0", "1025", "-1", "ten", "", "1e3"] {
            let error = results(wrong).unwrap_err();
            assert_eq!(error, "expected a number from 1 to 1024", "{wrong}");
        }
        for wrong in ["0", "nan", "inf", "-1"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        assert_eq!(score("-1.5"), Ok(-1.5));
        for wrong in ["nan", "NaN", "inf", "-inf", "1e39", "", "x"] {
            assert!(score(wrong).is_err(), "{wrong}");
        }
        assert_eq!(share("0.95"), Ok(0.95));
        assert!(["0", "1", "nan"].iter().all(|wrong| share(wrong).is_err()));
        assert!(threads("0").is_ok() && threads("100000").is_err());
    }
}
