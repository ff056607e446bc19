//! Times in the form that messages show.

use std::time::{Duration, UNIX_EPOCH};

/// The last second of the year 9999. RFC 3339 has no later times.
const LAST: u64 = 253_402_300_799;

/// The text in RFC 3339 of a time in seconds since 1970. Times after the year 9999 get the text of that year's last
/// second.
///
/// ```
/// assert_eq!(sordino_token::rfc3339(1_700_000_000), "2023-11-14T22:13:20Z");
/// ```
#[must_use]
pub fn rfc3339(seconds: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(LAST));
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_a_time() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        for late in [LAST, LAST + 1, u64::MAX] {
            assert_eq!(rfc3339(late), "9999-12-31T23:59:59Z");
        }
    }
}
