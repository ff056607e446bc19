//! Fields that are integers of a range: social security numbers and dates.

use super::{FormatCipher, calendar, slots::Slots};
use crate::Error;
use alloc::{format, string::String, vec::Vec};
use zeroize::Zeroizing;

impl FormatCipher {
    /// Treats a social security number as an index into the valid ones.
    pub(super) fn ssn<const ENCRYPT: bool>(
        &self,
        tweak: &[u8],
        text: &str,
    ) -> Result<String, Error> {
        let (areas, groups, serials) = (898, 99, 9999);
        let mut digits = Zeroizing::new(Vec::with_capacity(9));
        let separator = text
            .chars()
            .nth(3)
            .filter(|c| text.len() == 11 && "- ".contains(*c));
        for (index, c) in text.chars().enumerate() {
            match c.to_digit(10) {
                Some(digit)
                    if digits.len() < 9 && !(text.len() == 11 && matches!(index, 3 | 6)) =>
                {
                    digits.push(digit);
                }
                None if separator == Some(c) && matches!(index, 3 | 6) => {}
                _ => return Err(Error::Symbol { index }),
            }
        }
        if digits.len() != 9 {
            let index = text.chars().count();
            return Err(Error::Symbol { index });
        }
        let number = |x: &[u32]| x.iter().fold(0, |n, x| 10 * n + x);
        let place = |i: usize| {
            i + usize::from(separator.is_some()) * (usize::from(i >= 3) + usize::from(i >= 5))
        };
        let (area, group, serial) = (
            number(&digits[..3]),
            number(&digits[3..5]),
            number(&digits[5..]),
        );
        // Areas 001 to 665 and 667 to 899.
        let area = match area {
            1..=665 => area - 1,
            667..=899 => area - 2,
            _ => return Err(Error::Symbol { index: 0 }),
        };
        for (part, index) in [(group, 3), (serial, 5)] {
            if part == 0 {
                return Err(Error::Symbol {
                    index: place(index),
                });
            }
        }
        let x = (area * groups + group - 1) * serials + serial - 1;
        let tweak = self.tweak(tweak, &[], &Slots::default());
        let size = u128::from(areas * groups * serials);
        let x = self.integer::<ENCRYPT>(&tweak, size, x.into())?;
        let x = u32::try_from(x).map_err(|_| Error::OutOfRange)?;
        let (area, group, serial) = (x / serials / groups, x / serials % groups, x % serials);
        let area = area + if area < 665 { 1 } else { 2 };
        let between = separator.map_or(String::new(), String::from);
        let (group, serial) = (group + 1, serial + 1);
        Ok(format!("{area:03}{between}{group:02}{between}{serial:04}"))
    }

    pub(super) fn date<const ENCRYPT: bool>(
        &self,
        tweak: &[u8],
        text: &str,
        first: u32,
        last: u32,
    ) -> Result<String, Error> {
        let day = calendar::day_number(text).map_err(|index| Error::Symbol { index })?;
        // The text has the same separator twice, or none.
        let between = text.get(4..5).filter(|_| text.len() == 10).unwrap_or("");
        let x = day
            .checked_sub(first)
            .filter(|_| day <= last)
            .ok_or(Error::OutOfRange)?;
        let tweak = self.tweak(tweak, &[], &Slots::default());
        let size = u128::from(last - first) + 1;
        let x = self.integer::<ENCRYPT>(&tweak, size, x.into())?;
        let x = u32::try_from(x).map_err(|_| Error::OutOfRange)?;
        let (y, m, d) = calendar::date(first + x);
        Ok(format!("{y:04}{between}{m:02}{between}{d:02}"))
    }
}
