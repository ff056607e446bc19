//! A line between client and server, and the time that bytes take on it.

use serde::Serialize;
use sordino_search::plan::Row;
use std::fmt;
use std::str::FromStr;

/// The rate of a line, in bits per second each way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line(f64);

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
        let rate = units.iter().find_map(|(unit, scale)| {
            let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            Some(number * scale)
        });
        rate.filter(|rate| (1e3..=1e12).contains(rate))
            .map(Self)
            .ok_or_else(|| {
                "expected a rate such as 20Mbit/s, in kbit/s, Mbit/s or Gbit/s".to_owned()
            })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s", self.0 / 1e6)
    }
}

/// Seconds that one mode takes on a line, bytes and computing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Seconds {
    /// Before the first search.
    pub(super) once: f64,
    /// Each search.
    pub(super) search: f64,
    /// All searches of a client, one after the other.
    pub(super) in_all: f64,
}

impl Line {
    /// Bits per second.
    pub(super) fn rate(self) -> f64 {
        self.0
    }

    /// The time that a mode takes for so many searches.
    pub(super) fn seconds(self, row: &Row, queries: u64) -> Seconds {
        Seconds {
            once: row.once_seconds(self.0),
            search: row.search_seconds(self.0),
            in_all: row.seconds(self.0, queries),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read() {
        let line: Line = "20Mbit/s".parse().unwrap();
        assert_eq!((line, line.to_string().as_str()), (Line(2e7), "20 Mbit/s"));
        assert_eq!("1.5 Gbit/s".parse(), Ok(Line(1.5e9)));
        for wrong in [
            "20",
            "20MB/s",
            "-1Mbit/s",
            "nan Mbit/s",
            "0kbit/s",
            "Mbit/s",
        ] {
            assert!(wrong.parse::<Line>().is_err(), "{wrong}");
        }
    }
}
