//! Times and durations as arguments: RFC 3339, and numbers with units.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The seconds in ten years, the longest validity of anything issued here.
const TEN_YEARS: u64 = 3650 * 86_400;

/// The size in bytes of an offset such as `+02:00`.
const OFFSET: usize = 6;

/// Seconds since 1970 of a time such as `2026-11-27T08:30:00Z`, or the seconds themselves.
pub(crate) fn instant(text: &str) -> Result<u64, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    rfc3339(text).ok_or_else(|| {
        "expected a time such as 2026-11-27T08:30:00Z or 2026-11-27T09:30:00+01:00 (RFC 3339), or seconds since 1970".to_owned()
    })
}

/// The time of [`instant`], which must be in the future.
pub(crate) fn to_come(text: &str) -> Result<u64, String> {
    let (time, now) = (instant(text)?, now());
    if time > now {
        return Ok(time);
    }
    Err(format!("it has passed: it is {} now", shown(now)))
}

/// The time, in seconds since 1970.
pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| elapsed.as_secs())
}

/// A time in seconds since 1970, as RFC 3339 writes it.
pub(crate) fn shown(seconds: u64) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    // RFC 3339 has no form for times after the year 9999.
    let time = time.filter(|_| seconds < 253_402_300_800);
    time.map_or_else(
        || format!("{seconds} s after 1970"),
        |time| humantime::format_rfc3339_seconds(time).to_string(),
    )
}

fn rfc3339(text: &str) -> Option<u64> {
    let (time, east) = match text.strip_suffix(['Z', 'z']) {
        Some(time) => (time, 0),
        None => {
            let (time, offset) = text.split_at_checked(text.len().checked_sub(OFFSET)?)?;
            (time, east(offset)?)
        }
    };
    // After its offset was removed, the time has no zone.
    let has_zone = time.ends_with(['Z', 'z']) || time.ends_with("+00:00");
    let time = humantime::parse_rfc3339_weak(time)
        .ok()
        .filter(|_| !has_zone)?;
    let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    seconds.checked_add_signed(-east)
}

/// Seconds east of Greenwich of an offset such as `+02:00`.
fn east(offset: &str) -> Option<i64> {
    let (sign, clock) = match offset.split_at_checked(1)? {
        ("+", clock) => (1, clock),
        ("-", clock) => (-1, clock),
        _ => return None,
    };
    let (hours, minutes) = clock.split_once(':')?;
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes): (i64, i64) = match digits(hours) && digits(minutes) {
        true => (hours.parse().ok()?, minutes.parse().ok()?),
        false => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The seconds of a duration such as `30d`, `1w` or `1h 30m`, at least one.
pub(crate) fn lifetime(text: &str) -> Result<u64, String> {
    let seconds = whole(text).filter(|seconds| (1..=TEN_YEARS).contains(seconds));
    seconds.ok_or_else(|| {
        "expected a number and a unit such as 90s, 45m, 24h, 30d or 2w, at most ten years"
            .to_owned()
    })
}

/// The seconds by which clocks may differ, such as `30s`. Zero is allowed.
pub(crate) fn leeway(text: &str) -> Result<u64, String> {
    let seconds = whole(text).filter(|seconds| (0..=3600).contains(seconds));
    seconds
        .ok_or_else(|| "expected a number and a unit such as 30s or 2m, at most an hour".to_owned())
}

fn whole(text: &str) -> Option<u64> {
    let time = humantime::parse_duration(text).ok();
    let time = time.filter(|time: &Duration| time.subsec_nanos() == 0)?;
    Some(time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_bounds() {
        for (text, seconds) in [
            ("90s", 90),
            ("1w", 7 * 86_400),
            ("1h 30m", 5400),
            ("30d", 30 * 86_400),
            ("3650d", TEN_YEARS),
        ] {
            assert_eq!(lifetime(text), Ok(seconds), "{text}");
        }
        for wrong in [
            "",
            "d",
            "0h",
            "1",
            "1x",
            "3651d",
            "-1h",
            "1é",
            "1500ms",
            "18446744073709551615d",
        ] {
            assert!(lifetime(wrong).is_err(), "{wrong}");
        }
        assert_eq!((leeway("0s"), leeway("2m")), (Ok(0), Ok(120)));
        assert!(leeway("2h").is_err() && leeway("60").is_err());
    }

    #[test]
    fn times_are_rfc_3339_or_seconds() {
        for (text, seconds) in [
            ("1700000000", 1_700_000_000),
            ("2023-11-14T22:13:20Z", 1_700_000_000),
            ("2023-11-14T23:13:20+01:00", 1_700_000_000),
            ("2023-11-14T16:43:20-05:30", 1_700_000_000),
            ("2023-11-14 22:13:20.9Z", 1_700_000_000),
        ] {
            assert_eq!(instant(text), Ok(seconds), "{text}");
        }
        for wrong in [
            "",
            "-1",
            "Z",
            "today",
            "2023-11-14",
            "2023-11-14T22:13:20",
            "2023-11-14T22:13:20ZZ",
            "2023-11-14T22:13:20Z+01:00",
            "2023-11-14T22:13:20+1:000",
            "2023-11-14T22:13:20+24:00",
            "1970-01-01T00:00:00+01:00",
            "2023-13-14T22:13:20Z",
            "2023-11-14T22:13:2é",
        ] {
            assert!(instant(wrong).is_err(), "{wrong}");
        }
    }
}
