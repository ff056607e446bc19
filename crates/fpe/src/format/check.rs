//! Check digits by Luhn (ISO/IEC 7812-1, Annex B) and by ISO/IEC 7064.

use crate::Error;
use core::{
    fmt::{self, Write},
    ops::Deref,
};

/// A check digit system.
///
/// ```
/// use sordino_fpe::Check;
///
/// assert!(Check::Luhn.verify("4111111111111111"));
/// assert!(Check::Mod11_2.verify("000000021694233X"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Cards and IMEI: the check is one digit, which follows a text of digits.
    Luhn,
    /// ISO 7064 MOD 11-2 (ORCID, ISNI): the check is a digit or `X`, which follows a text of
    /// digits.
    Mod11_2,
    /// ISO 7064 MOD 37-2 (blood donations): the check is a digit, a capital letter or `*`, which
    /// follows a text of digits and capital letters.
    Mod37_2,
    /// ISO 7064 MOD 97-10: the check is two digits, which follow a text of digits.
    Mod97_10,
    /// ISO 7064 MOD 11,10: the check is one digit, which follows a text of digits.
    Mod11_10,
    /// ISO 7064 MOD 27,26: the check is one capital letter, which follows a text of capital
    /// letters.
    Mod27_26,
    /// ISO 7064 MOD 37,36 (music releases): the check is a digit or a capital letter, which follows
    /// a text of digits and capital letters.
    Mod37_36,
}

/// A check of one or two symbols, as [`Check::width`] says. It derefs to its symbols and displays
/// them.
///
/// ```
/// use sordino_fpe::Check;
///
/// let check = Check::Mod97_10.compute("794".chars())?;
/// assert_eq!((check.len(), check.to_string()), (2, "44".to_owned()));
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckSymbols(Symbols);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symbols {
    One([char; 1]),
    Two([char; 2]),
}

impl Deref for CheckSymbols {
    type Target = [char];

    fn deref(&self) -> &[char] {
        match &self.0 {
            Symbols::One(symbols) => symbols,
            Symbols::Two(symbols) => symbols,
        }
    }
}

impl fmt::Display for CheckSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|&symbol| f.write_char(symbol))
    }
}

/// The symbols of ISO 7064 in the order of their values.
const SYMBOLS: &[u8; 37] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*";

impl Check {
    /// The number of symbols of the check at the end of a text: 1 or 2.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            Self::Mod97_10 => 2,
            _ => 1,
        }
    }

    /// The value of a symbol in the computation of the check.
    fn value(self, symbol: char) -> Option<u32> {
        let (digits, letters) = match self {
            Self::Mod37_2 | Self::Mod37_36 => (true, Some(10)),
            Self::Mod27_26 => (false, Some(0)),
            _ => (true, None),
        };
        match symbol {
            '0'..='9' if digits => Some(u32::from(symbol) - u32::from('0')),
            'A'..='Z' => letters.map(|first| u32::from(symbol) - u32::from('A') + first),
            _ => None,
        }
    }

    /// True if the check can be computed over this symbol.
    pub(super) fn covers(self, symbol: char) -> bool {
        self.value(symbol).is_some()
    }

    /// True if this symbol can be a symbol of the check.
    pub(super) fn ends_in(self, symbol: char) -> bool {
        let own = match self {
            Self::Mod11_2 => symbol == 'X',
            Self::Mod37_2 => symbol == '*',
            _ => false,
        };
        own || self.covers(symbol)
    }

    /// The check of `symbols`, which must not include the check.
    ///
    /// # Errors
    /// [`Error::Symbol`] with the index of the first symbol for which the check is not defined.
    pub fn compute(self, symbols: impl IntoIterator<Item = char>) -> Result<CheckSymbols, Error> {
        let value = |(index, c)| self.value(c).ok_or(Error::Symbol { index });
        let values = symbols.into_iter().enumerate().map(value);
        let symbol = |value: u32| char::from(SYMBOLS[value as usize]);
        let one = |value: u32| CheckSymbols(Symbols::One([symbol(value)]));
        Ok(match self {
            Self::Luhn => {
                // The distance of a digit from the end determines if it is doubled. So both
                // possible sums are kept.
                let (mut now, mut next) = (0, 0);
                for a in values {
                    let a = a?;
                    let doubled = 2 * a / 10 + 2 * a % 10;
                    (now, next) = (next + doubled, now + a);
                }
                one((10 - now % 10) % 10)
            }
            Self::Mod11_2 => match (12 - pure(11, 2, values)?) % 11 {
                10 => CheckSymbols(Symbols::One(['X'])),
                check => one(check),
            },
            Self::Mod37_2 => one((38 - pure(37, 2, values)?) % 37),
            Self::Mod97_10 => {
                let check = (98 - pure(97, 10, values)? * 10 % 97) % 97;
                CheckSymbols(Symbols::Two([symbol(check / 10), symbol(check % 10)]))
            }
            Self::Mod11_10 => one(hybrid(10, values)?),
            Self::Mod27_26 => one(hybrid(26, values)? + 10),
            Self::Mod37_36 => one(hybrid(36, values)?),
        })
    }

    /// True if a text ends with the check of everything before it.
    #[must_use]
    pub fn verify(self, text: &str) -> bool {
        let len = text.chars().count();
        let Some(body) = len.checked_sub(self.width()) else {
            return false;
        };
        let check = self.compute(text.chars().take(body));
        let found = text.chars().skip(body);
        check.is_ok_and(|check| check.iter().copied().eq(found))
    }
}

/// A pure system of modulus `m` and radix `r`: the weighted sum, which must be 1 with the check.
fn pure(
    m: u32,
    r: u32,
    mut values: impl Iterator<Item = Result<u32, Error>>,
) -> Result<u32, Error> {
    values.try_fold(0, |p, a| Ok((p + a?) * r % m))
}

/// A hybrid system of moduli `m` and `m + 1`: the value of the check.
fn hybrid(m: u32, mut values: impl Iterator<Item = Result<u32, Error>>) -> Result<u32, Error> {
    let p = values.try_fold(m, |p, a| {
        let s = match (p + a?) % m {
            0 => m,
            s => s,
        };
        Ok::<_, Error>(2 * s % (m + 1))
    })?;
    Ok((m + 1 - p) % m)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_numbers() {
        for (check, text) in [
            (Check::Luhn, "79927398713"),
            (Check::Luhn, "4111111111111111"),
            (Check::Luhn, "378282246310005"),
            (Check::Luhn, "490154203237518"),
            (Check::Mod11_2, "07940"),
            (Check::Mod11_2, "0000000218250097"),
            (Check::Mod11_2, "000000021694233X"),
            (Check::Mod37_2, "G123498654321H"),
            (Check::Mod97_10, "79444"),
            (Check::Mod11_10, "07945"),
            (Check::Mod37_36, "A12425GABC1234002M"),
        ] {
            assert!(check.verify(text), "{check:?} {text}");
        }
    }

    /// Each system promises to detect every single wrong symbol.
    #[test]
    fn single_errors_are_found() {
        for check in [
            Check::Luhn,
            Check::Mod11_2,
            Check::Mod37_2,
            Check::Mod97_10,
            Check::Mod11_10,
            Check::Mod27_26,
            Check::Mod37_36,
        ] {
            let symbols: &[u8] = match check {
                Check::Mod27_26 => &SYMBOLS[10..36],
                Check::Mod37_2 | Check::Mod37_36 => &SYMBOLS[..36],
                _ => &SYMBOLS[..10],
            };
            let body: Vec<char> = (0..12)
                .map(|i| symbols[i * 7 % symbols.len()].into())
                .collect();
            let tail = check.compute(body.iter().copied()).unwrap();
            let whole: Vec<char> = body.iter().chain(tail.iter()).copied().collect();
            let verify = |x: &[char]| check.verify(&x.iter().collect::<String>());
            assert!(verify(&whole));
            for i in 0..body.len() {
                for &other in symbols.iter().filter(|&&s| char::from(s) != whole[i]) {
                    let mut wrong = whole.clone();
                    wrong[i] = other.into();
                    assert!(!verify(&wrong), "{check:?} {i}");
                }
            }
        }
        assert!(!Check::Luhn.verify(""));
        assert!(!Check::Luhn.verify("12a4"));
        assert_eq!(
            Check::Mod27_26.compute("AB1".chars()),
            Err(Error::Symbol { index: 2 })
        );
        assert_eq!(
            Check::Luhn.compute("12A".chars()),
            Err(Error::Symbol { index: 2 })
        );
    }
}
