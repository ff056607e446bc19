//! Numbers as arguments. A number out of its range is refused with the argument's name.

use sordino_search::SecondLook;
use sordino_search::manifest::{MAX_DIM, MAX_K};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The largest number of threads that a command starts.
const MAX_THREADS: usize = 1024;

/// Parses the number of vectors of an index.
pub(crate) fn vectors(text: &str) -> Result<usize, String> {
    within(text, 1..=u32::MAX as usize)
}

/// Parses the number of coordinates of a vector.
pub(crate) fn coordinates(text: &str) -> Result<usize, String> {
    within(text, 1..=MAX_DIM as usize)
}

/// Parses the number of results of a search.
pub(crate) fn results(text: &str) -> Result<usize, String> {
    within(text, 1..=MAX_K as usize)
}

/// Parses the number of candidates of a second look.
pub(crate) fn candidates(text: &str) -> Result<u32, String> {
    within(text, 1..=SecondLook::MOST)
}

/// Parses the number of bytes that a record has in addition to its vector.
pub(crate) fn beside(text: &str) -> Result<usize, String> {
    within(text, 0..=1 << 20)
}

/// Parses a number that must be at least one.
pub(crate) fn some(text: &str) -> Result<usize, String> {
    within(text, 1..=u32::MAX as usize)
}

/// Parses a number of threads, or 0 for the number of processors.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    within(text, 0..=MAX_THREADS)
}

/// Parses a number of requests per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    within(text, 0.001..=1e9)
}

/// Parses a score.
pub(crate) fn score(text: &str) -> Result<f32, String> {
    let number = text.parse().ok();
    number
        .filter(|number: &f32| number.is_finite())
        .ok_or_else(|| "expected a finite number".to_owned())
}

/// Parses a share between 0 and 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    number
        .filter(|&number: &f64| number > 0.0 && number < 1.0)
        .ok_or_else(|| "expected a number above 0 and below 1".to_owned())
}

/// Parses the number of searches of a client.
pub(crate) fn searches(text: &str) -> Result<u64, String> {
    within(text, 0..=u64::MAX)
}

/// The digits of a whole number that may be written with underscores, an exponent or a unit: `1_000_000`, `1e6`, `1.5M`.
fn plain(text: &str) -> Option<String> {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let unit = |power| text.get(..text.len() - 1).map(|number| (number, power));
    let (number, power) = match text.bytes().last()? {
        b'k' | b'K' => unit(3)?,
        b'M' => unit(6)?,
        _ => {
            let (number, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
            let power = power.strip_prefix('+').unwrap_or(power);
            (number, power.parse().ok().filter(|_| digits(power))?)
        }
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if power > 0 && !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (number, ""),
    };
    let grouped = whole
        .split('_')
        .all(|group| !group.is_empty() && digits(group));
    let fraction = fraction.trim_end_matches('0');
    // No accepted number has more digits.
    let zeros = power.min(20_usize).checked_sub(fraction.len())?;
    let whole = whole.replace('_', "");
    (grouped && digits(fraction)).then(|| format!("{whole}{fraction}{}", "0".repeat(zeros)))
}

fn within<T: FromStr + PartialOrd + Display>(
    text: &str,
    range: RangeInclusive<T>,
) -> Result<T, String> {
    let number = text.parse().ok().or_else(|| plain(text)?.parse().ok());
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
        for wrong in [
            "0", "1025", "-1", "ten", "", "2e3", "1.5", "1_", "1.", "1.0005e3",
        ] {
            let error = results(wrong).unwrap_err();
            assert_eq!(error, "expected a number from 1 to 1024", "{wrong}");
        }
        for million in [
            "1e6",
            "1E+6",
            "1_000_000",
            "1M",
            "1000k",
            "1.0e6",
            "0.001e9",
        ] {
            assert_eq!(vectors(million), Ok(1_000_000), "{million}");
        }
        for wrong in [
            "1,000,000",
            "1e",
            "e6",
            "M",
            "1__0",
            "_1",
            "1e-6",
            "1.2.3M",
            "1e99",
            "1e_6",
            "+1M",
        ] {
            assert!(vectors(wrong).is_err(), "{wrong}");
        }
        assert_eq!(searches("1.5k"), Ok(1500));
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
