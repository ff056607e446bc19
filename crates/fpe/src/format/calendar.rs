//! Day numbers of the Gregorian calendar.

/// Days from 1 January of the year 1 (day 0) to a date. The text is `YYYY-MM-DD`, or has slashes, dots or
/// nothing instead of the hyphens. The error has the index of the first character that cannot belong to a date.
pub(super) fn day_number(text: &str) -> Result<u32, usize> {
    let bytes = text.as_bytes();
    let between = usize::from(bytes.len() != 8 || !bytes[4].is_ascii_digit());
    let (month, day) = (4 + between, 6 + 2 * between);
    let end = day + 2;
    let bad = |i: usize, byte: u8| match i {
        4 if between == 1 => !b"-/.".contains(&byte),
        7 if between == 1 => byte != bytes[4],
        _ => !byte.is_ascii_digit(),
    };
    let wrong = bytes
        .iter()
        .enumerate()
        .position(|(i, &byte)| i >= end || bad(i, byte));
    if wrong.is_some() || bytes.len() != end {
        return Err(wrong.unwrap_or(bytes.len()));
    }
    let number = |x: &[u8]| x.iter().fold(0, |n, x| 10 * n + u32::from(x - b'0'));
    let (y, m, d) = (
        number(&bytes[..4]),
        number(&bytes[month..month + 2]),
        number(&bytes[day..]),
    );
    match (y, m, d) {
        (0, ..) => Err(0),
        (_, 0 | 13.., _) => Err(month),
        (y, m, d) if d == 0 || d > month_len(y, m) => Err(day),
        (y, m, d) => Ok(before_year(y) + (1..m).map(|m| month_len(y, m)).sum::<u32>() + d - 1),
    }
}

/// The date of a day number, as `(year, month, day)`.
pub(super) fn date(day: u32) -> (u32, u32, u32) {
    // 400 years have 146,097 days, so this gives the year or the one before it.
    let mut y = day / 146_097 * 400 + day % 146_097 * 400 / 146_097 + 1;
    if before_year(y + 1) <= day {
        y += 1;
    }
    let mut rest = day - before_year(y);
    let mut m = 1;
    while rest >= month_len(y, m) {
        rest -= month_len(y, m);
        m += 1;
    }
    (y, m, rest + 1)
}

/// Days before 1 January of year `y >= 1`.
fn before_year(y: u32) -> u32 {
    let y = y - 1;
    365 * y + y / 4 - y / 100 + y / 400
}

fn month_len(y: u32, m: u32) -> u32 {
    let leap = y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    match m {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_ten_thousand_years_comes_back() {
        let mut day = 0;
        for y in 1..=9999 {
            for m in 1..=12 {
                for d in 1..=month_len(y, m) {
                    assert_eq!(date(day), (y, m, d));
                    day += 1;
                }
            }
        }
        assert_eq!(day, 3_652_059);
        assert_eq!(day_number("9999-12-31"), Ok(day - 1));
        assert_eq!(day_number("0001-01-01"), Ok(0));
        assert_eq!(day_number("1970-01-01"), Ok(719_162));
        for text in ["2000-02-29", "2000/02/29", "2000.02.29", "20000229"] {
            assert_eq!(day_number(text), Ok(730_178));
        }
    }

    #[test]
    fn what_is_no_date_is_refused_by_its_place() {
        for (text, index) in [
            ("", 0),
            ("2000-01-0", 9),
            ("2000-01-011", 10),
            ("2000/01-01", 7),
            ("2000_01_01", 4),
            ("2000010", 4),
            ("200001011", 4),
            ("20001301", 4),
            ("20000230", 6),
            ("2000010x", 7),
            ("2o00-01-01", 1),
            ("0000-01-01", 0),
            ("2000-13-01", 5),
            ("2000-00-01", 5),
            ("1900-02-29", 8),
            ("2001-04-31", 8),
            ("2001-04-00", 8),
            ("2001-04-\u{e9}", 8),
        ] {
            assert_eq!(day_number(text), Err(index), "{text}");
        }
    }
}
