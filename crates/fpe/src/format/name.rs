//! Formats by name, for command lines and configuration files.

use super::{Check, Format, notation};
use crate::{Alphabet, Error};
use alloc::format;
use core::str::FromStr;

/// | name | format |
/// |---|---|
/// | `pan`, `pan-luhn`, `ssn`, `date`, `uuid`, `email`, `email-lower` | the preset |
/// | `pan:FIRST,LAST` | [`Format::pan`], keeping these numbers of digits: `pan:8,4` for issuers of eight digits |
/// | `phone:N` | [`Format::phone`], keeping `N` digits |
/// | `date:YYYY-MM-DD..YYYY-MM-DD`, `date:YYYY..YYYY` | [`Format::date_range`], of whole years |
/// | `pattern:TEXT` | [`Format::pattern`]: `pattern:AB-{keep upper:2}-{digits:6}` keeps `AB-`, two letters and the hyphen |
/// | `digits`, `hex`, `lower`, `upper`, `alphanumeric`, `printable` | all symbols, of that alphabet |
/// | `orcid` | digits in groups, with the check of ISO 7064 MOD 11-2 |
/// | `alphabet:SYMBOLS` | all symbols, of this alphabet |
///
/// ```
/// use sordino_fpe::Format;
///
/// assert_eq!("phone:3".parse(), Ok(Format::phone(3)));
/// ```
impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let unknown = Error::Format {
            what: "no format has this name: expected pan, pan:FIRST,LAST, pan-luhn, ssn, phone:KEPT, date, date:FIRST..LAST, uuid, \
                   email, email-lower, digits, hex, lower, upper, alphanumeric, printable, orcid, alphabet:SYMBOLS or pattern:TEXT",
        };
        if let Some(symbols) = name.strip_prefix("alphabet:") {
            return Ok(Self::text("alphabet", Alphabet::new(symbols)?, ""));
        }
        if let Some(text) = name.strip_prefix("pattern:") {
            return notation::pattern(text);
        }
        if let Some(kept) = name.strip_prefix("pan:") {
            return kept_of_card(kept);
        }
        if let Some(keep) = name.strip_prefix("phone:") {
            let keep = keep.parse().map_err(|_| Error::Format {
                what: "phone is to be followed by the number of digits to keep",
            })?;
            return Ok(Self::phone(keep));
        }
        if let Some(range) = name.strip_prefix("date:") {
            let (first, last) = range.split_once("..").ok_or(Error::Format {
                what: "date is to be followed by the first day or year, two dots and the last: date:1900..2099",
            })?;
            let is_year =
                |text: &str| text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
            if is_year(first) && is_year(last) {
                return Self::date_range(&format!("{first}-01-01"), &format!("{last}-12-31"));
            }
            return Self::date_range(first, last);
        }
        if let Some(alphabet) = notation::alphabet(name) {
            return Ok(Self::text(name, alphabet, ""));
        }
        Ok(match name {
            "pan" => Self::pan(),
            "pan-luhn" => Self::pan_luhn(),
            "ssn" => Self::ssn(),
            "date" => Self::date(),
            "uuid" => Self::uuid(),
            "email" => Self::email(),
            "email-lower" => Self::email_lower(),
            "phone" => {
                return Err(Error::Format {
                    what: "phone is to be followed by the number of digits to keep, such as phone:4",
                });
            }
            "orcid" => Self::text(name, Alphabet::DECIMAL, "-").check(Check::Mod11_2),
            _ => return Err(unknown),
        })
    }
}

/// A card format that keeps these numbers of first and last digits.
fn kept_of_card(kept: &str) -> Result<Format, Error> {
    let numbers = kept.split_once(',');
    let numbers = numbers.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    match numbers {
        // This pair must give the preset, so that both names give the same ciphertexts.
        Some((6, 4)) => Ok(Format::pan()),
        Some((first, last)) if first <= 12 && last <= 12 => Ok(Format::pan().keep(first, last)),
        _ => Err(Error::Format {
            what: "pan is to be followed by the numbers of first and of last digits to keep, each at most 12, such as pan:8,4",
        }),
    }
}
