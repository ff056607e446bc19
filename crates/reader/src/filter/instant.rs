//! Dates and instants of ISO 8601, as times.

/// A time: seconds since 1970 in UTC, and nanoseconds.
pub(super) type Time = (i64, u32);

/// The time of a date or an instant, such as `2026-01-31`, `2026-01-31 10:00` or `2026-01-31T10:00:00.5+02:00`. `None`
/// for another text. A time without a zone is in UTC, and a date is its midnight.
pub(super) fn time(text: &str) -> Option<Time> {
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (date, Some(clock)),
        None => (text, None),
    };
    let [year, month, day] = numbers::<3>(date, '-', [4, 2, 2])?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let midnight = days(year, month, day) * 86_400;
    let Some(clock) = clock else {
        return Some((midnight, 0));
    };
    let (clock, offset) = match clock.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, 0),
        None => match clock.rfind(['+', '-']) {
            Some(at) => (&clock[..at], offset(&clock[at..])?),
            None => (clock, 0),
        },
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [hour, minute, second] = match clock.len() {
        5 => {
            let [hour, minute] = numbers::<2>(clock, ':', [2, 2])?;
            [hour, minute, 0]
        }
        _ => numbers::<3>(clock, ':', [2, 2, 2])?,
    };
    if hour > 24 || minute > 59 || second > 60 || fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let nanoseconds = digits(fraction)? * 10_i64.pow(9 - u32::try_from(fraction.len()).ok()?);
    let seconds = midnight + hour * 3600 + minute * 60 + second - offset;
    Some((seconds, u32::try_from(nanoseconds).ok()?))
}

/// True for a year or a month, such as `2026` or `2026-01`.
pub(super) fn is_year_or_month(text: &str) -> bool {
    let month = numbers::<2>(text, '-', [4, 2]);
    month.is_some_and(|[_, month]| (1..=12).contains(&month))
        || numbers::<1>(text, '-', [4]).is_some()
}

/// The seconds of `+02`, `-0530` or `+02:00`.
fn offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let [hours, minutes] = match rest.len() {
        2 => [digits(rest)?, 0],
        4 => [digits(rest.get(..2)?)?, digits(rest.get(2..)?)?],
        _ => numbers::<2>(rest, ':', [2, 2])?,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Numbers with these counts of digits, separated by these characters.
fn numbers<const N: usize>(text: &str, between: char, lens: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(between);
    let mut numbers = [0; N];
    for (number, len) in numbers.iter_mut().zip(lens) {
        *number = digits(parts.next().filter(|part| part.len() == len)?)?;
    }
    parts.next().is_none().then_some(numbers)
}

fn digits(text: &str) -> Option<i64> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| all)
}

/// Days since 1970 of a date in the Gregorian calendar, computed in whole cycles of 400 years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    let since_march = (month + 9) % 12;
    let day = (153 * since_march + 2) / 5 + day - 1;
    cycle * 146_097 + year * 365 + year / 4 - year / 100 + day - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_since_1970() {
        for (text, expected) in [
            ("1970-01-01", (0, 0)),
            ("2024-07-03T09:46:40Z", (1_720_000_000, 0)),
            ("2024-07-03 09:46:40.12", (1_720_000_000, 120_000_000)),
            ("2024-07-03T11:46:40.000000001+02:00", (1_720_000_000, 1)),
            ("2024-07-03T04:16:40-0530", (1_720_000_000, 0)),
            ("2024-07-03T09:46-00", (1_719_999_960, 0)),
            ("1969-12-31T23:59:59Z", (-1, 0)),
            ("2000-02-29", (951_782_400, 0)),
            ("0001-01-01", (-62_135_596_800, 0)),
            ("9999-12-31T23:59:59Z", (253_402_300_799, 0)),
        ] {
            assert_eq!(time(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "2024",
            "2024-7-3",
            "2024-13-01",
            "2024-00-01",
            "a T-1",
            "2024-01-01T",
            "2024-01-01T25:00",
            "2024-01-01T10",
            "2024-01-01T10:00:00.",
            "2024-01-01T10:00:00.0000000001",
            "2024-01-01T10:00+2",
            "2024-01-01T10:00:00+25:00",
            "+2024-01-01",
            "2024-01-01é10:00",
            "2024-01-01T10:00é",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
