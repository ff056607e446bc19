//! Check digits: Luhn's (ISO/IEC 7812-1, Annex B) and those of ISO/IEC 7064.

use crate::Error;

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
    /// Cards, IMEI: one digit after digits.
    Luhn,
    /// ISO 7064 MOD 11-2 (ORCID, ISNI): a digit or `X` after digits.
    Mod11_2,
    /// ISO 7064 MOD 37-2 (blood donations): a digit, a capital or `*` after digits and capitals.
    Mod37_2,
    /// ISO 7064 MOD 97-10: two digits after digits.
    Mod97_10,
    /// ISO 7064 MOD 11,10: one digit after digits.
    Mod11_10,
    /// ISO 7064 MOD 27,26: one capital after capitals.
    Mod27_26,
    /// ISO 7064 MOD 37,36 (releases of music): a digit or a capital after digits and capitals.
    Mod37_36,
}

/// The symbols of ISO 7064 in the order of their values.
const SYMBOLS: &[u8; 37] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*";

impl Check {
    /// Symbols that the check takes at the end.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Mod97_10 => 2,
            _ => 1,
        }
    }

    /// No check is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        false
    }

    /// The check of `symbols`, which are without it: [`Check::len`] of the returned characters.
    ///
    /// # Errors
    /// [`Error::Symbol`] with the index of the first symbol that the system does not have.
    pub fn compute(self, symbols: impl IntoIterator<Item = char>) -> Result<[char; 2], Error> {
        let (letters, numbers) = match self {
            Self::Mod37_2 | Self::Mod37_36 => (10, 10),
            Self::Mod27_26 => (0, 0),
            _ => (36, 10),
        };
        let value = |(index, c): (usize, char)| -> Result<u32, Error> {
            match c {
                '0'..='9' if numbers > 0 => Ok(u32::from(c) - u32::from('0')),
                'A'..='Z' if letters < 36 => Ok(u32::from(c) - u32::from('A') + letters),
                _ => Err(Error::Symbol { index }),
            }
        };
        let values = symbols.into_iter().enumerate().map(value);
        let symbol = |value: u32| char::from(SYMBOLS[value as usize]);
        Ok(match self {
            Self::Luhn => {
                // Whether a digit is doubled depends on its distance from the end: keep both sums.
                let (mut now, mut next) = (0, 0);
                for a in values {
                    let a = a?;
                    let doubled = 2 * a / 10 + 2 * a % 10;
                    (now, next) = (next + doubled, now + a);
                }
                [symbol((10 - now % 10) % 10), ' ']
            }
            Self::Mod11_2 => match (12 - pure(11, 2, values)?) % 11 {
                10 => ['X', ' '],
                check => [symbol(check), ' '],
            },
            Self::Mod37_2 => [symbol((38 - pure(37, 2, values)?) % 37), ' '],
            Self::Mod97_10 => {
                let check = (98 - pure(97, 10, values)? * 10 % 97) % 97;
                [symbol(check / 10), symbol(check % 10)]
            }
            Self::Mod11_10 => [symbol(hybrid(10, values)?), ' '],
            Self::Mod27_26 => [symbol(hybrid(26, values)? + 10), ' '],
            Self::Mod37_36 => [symbol(hybrid(36, values)?), ' '],
        })
    }

    /// Whether a text ends with the check of what comes before.
    #[must_use]
    pub fn verify(self, text: &str) -> bool {
        let len = text.chars().count();
        let Some(body) = len.checked_sub(self.len()) else {
            return false;
        };
        let check = self.compute(text.chars().take(body));
        let found = text.chars().skip(body);
        check.is_ok_and(|check| check.into_iter().take(self.len()).eq(found))
    }
}

/// A pure system of modulus `m` and radix `r`: the weighted sum, to be 1 with the check.
fn pure(
    m: u32,
    r: u32,
    mut values: impl Iterator<Item = Result<u32, Error>>,
) -> Result<u32, Error> {
    values.try_fold(0, |p, a| Ok((p + a?) * r % m))
}

/// A hybrid system of moduli `m` and `m + 1`: the check.
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

    /// What every one of the systems promises: a wrong symbol is found, and those of ISO 7064
    /// also find two neighbours exchanged (hybrid and Luhn's but for some pairs).
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
            let whole: Vec<char> = body.iter().chain(&tail[..check.len()]).copied().collect();
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
