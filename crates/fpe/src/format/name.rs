//! Formats by name, as a command line or a configuration has them.

use super::{Check, Format};
use crate::{Alphabet, Error};
use core::str::FromStr;

/// | name | format |
/// |---|---|
/// | `pan`, `pan-luhn`, `ssn`, `date`, `uuid`, `email` | the preset |
/// | `phone:N` | [`Format::phone`], keeping `N` digits |
/// | `date:YYYY-MM-DD..YYYY-MM-DD` | [`Format::date_range`] |
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
            what: "no format has this name",
        };
        if let Some(symbols) = name.strip_prefix("alphabet:") {
            return Ok(Self::text("alphabet", Alphabet::new(symbols)?, ""));
        }
        if let Some(keep) = name.strip_prefix("phone:") {
            let keep = keep.parse().map_err(|_| Error::Format {
                what: "phone is to be followed by the number of digits to keep",
            })?;
            return Ok(Self::phone(keep));
        }
        if let Some(range) = name.strip_prefix("date:") {
            let (first, last) = range.split_once("..").ok_or(Error::Format {
                what: "date is to be followed by the first day, two dots and the last day",
            })?;
            return Self::date_range(first, last);
        }
        let all = |alphabet| Self::text(name, alphabet, "");
        Ok(match name {
            "pan" => Self::pan(),
            "pan-luhn" => Self::pan_luhn(),
            "ssn" => Self::ssn(),
            "date" => Self::date(),
            "uuid" => Self::uuid(),
            "email" => Self::email(),
            "digits" => all(Alphabet::DECIMAL),
            "hex" => all(Alphabet::HEX),
            "lower" => all(Alphabet::LOWER),
            "upper" => all(Alphabet::UPPER),
            "alphanumeric" => all(Alphabet::ALPHANUMERIC),
            "printable" => all(Alphabet::PRINTABLE),
            "orcid" => Self::text(name, Alphabet::DECIMAL, "-").check(Check::Mod11_2),
            _ => return Err(unknown),
        })
    }
}
