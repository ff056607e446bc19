//! The terms that decide how clients fetch payloads: the rate of the line, and the server's cores and memory.

use std::fmt;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::Serialize;
use sordino_search::Error;
use sordino_search::manifest::Manifest;
use sordino_search::payload::FetchKind;
use sordino_search::plan::{Bytes, Conditions};

/// The way in which the payloads of an index are fetched, for reports.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Fetched {
    /// The way's name.
    way: &'static str,
    /// The number of pages that hold all compressed payloads, and the bytes of one page.
    pages: u32,
    page_bytes: u32,
    /// The number of pages that a search fetches.
    of_a_search: u32,
    /// The pages of the longest payload. If a search has room for fewer pages, the payload arrives shortened.
    longest: u32,
    /// The number of bytes that a client downloads once for payloads.
    bytes_once: u64,
}

impl Fetched {
    /// The ways in which a version's payloads and exact vectors are fetched, if it has any.
    pub(crate) fn of(manifest: &Manifest) -> Result<Option<Self>, Error> {
        let Some(payloads) = &manifest.payloads else {
            return Ok(None);
        };
        let parts = manifest.parts()?;
        let given = parts.iter().filter(|part| part.holder.is_given());
        let own = given.filter(|part| manifest.all_payloads().any(|it| it.has(&part.digest)));
        Ok(Some(Self {
            way: payloads.fetch.kind().name(),
            pages: payloads.pages,
            page_bytes: payloads.form.page_len,
            of_a_search: payloads.fetched,
            longest: payloads.longest,
            bytes_once: own.map(|part| part.len).sum(),
        }))
    }
}

impl Delivery {
    /// The line of a report that says how payloads are fetched. It is empty if records have no
    /// payloads.
    pub(crate) fn line(self, fetched: Option<Fetched>) -> String {
        let Some(fetched) = fetched else {
            return String::new();
        };
        let asked = self.fetch.map(|name| FetchKind::from(name).name());
        let other = match asked.filter(|asked| *asked != fetched.way) {
            Some(asked) => {
                format!(" (not by --fetch, {asked}: it does not serve them in --max-memory)")
            }
            None => String::new(),
        };
        format!("\npayloads: {fetched}{other}")
    }
}

impl fmt::Display for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (once, pages, len) = (Bytes(self.bytes_once), self.pages, self.page_bytes);
        write!(f, "{}, {once} once, {pages} pages of {len} B", self.way)?;
        if self.way != FetchKind::Download.name() {
            write!(f, ", {} a search", self.of_a_search)?;
        }
        if self.longest > 1 {
            write!(f, ", the longest payload in {}", self.longest)?;
        }
        Ok(())
    }
}

/// Options for the way to payloads.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// The rate of the link between client and server, such as 20Mbit/s. Payloads are then fetched in the way that
    /// makes clients wait least.
    #[arg(long, value_name = "RATE", default_value_t = Line(1e8))]
    line: Line,
    /// Cores of the server that work on one search.
    #[arg(long, value_name = "CORES", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    server_cores: u32,
    /// The most memory of the server that payloads may take, such as 8GB.
    #[arg(long, value_name = "BYTES", default_value_t = Memory::MOST)]
    max_memory: Memory,
    /// Fetch payloads in this way, if the memory allows it. `sordino plan` compares all ways.
    #[arg(long, value_enum)]
    fetch: Option<FetchName>,
}

/// A way to fetch payloads.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FetchName {
    /// All of them are downloaded once.
    Download,
    /// SimplePIR: a hint is downloaded once.
    Pir,
    /// Retrieval without a hint: the fewest bytes, and the most work for the server.
    Hintless,
    /// A scan of all payloads: a short hint is downloaded once.
    Scan,
}

impl FetchName {
    /// The name that `--fetch` has for a way.
    pub(crate) fn word(kind: FetchKind) -> &'static str {
        match kind {
            FetchKind::Download => "download",
            FetchKind::Pir => "pir",
            FetchKind::Hintless => "hintless",
            FetchKind::Scan => "scan",
            // The workspace has no other ways.
            other => other.name(),
        }
    }
}

impl From<FetchName> for FetchKind {
    fn from(name: FetchName) -> Self {
        match name {
            FetchName::Download => Self::Download,
            FetchName::Pir => Self::Pir,
            FetchName::Hintless => Self::Hintless,
            FetchName::Scan => Self::Scan,
        }
    }
}

impl Delivery {
    /// The conditions for a client that makes `searches` searches.
    pub(crate) fn conditions(self, searches: u64) -> Conditions {
        let conditions = Conditions::default()
            .searches(searches)
            .line(self.line.0)
            .cores(self.server_cores)
            .memory(self.max_memory.0);
        match self.fetch {
            Some(name) => conditions.prefer(name.into()),
            None => conditions,
        }
    }
}

/// The rate of a line, in bits per second each way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line(f64);

impl Line {
    /// Bits per second.
    pub(crate) fn rate(self) -> f64 {
        self.0
    }
}

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

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Memory(u64);

impl Memory {
    /// 16 GiB.
    pub(crate) const MOST: Self = Self(16 << 30);

    pub(crate) fn bytes(self) -> u64 {
        self.0
    }
}

/// Units of memory. A number is shown in the first unit of which it is a multiple.
const UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("B", 1),
];

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = UNITS.iter().find_map(|(unit, bytes)| {
            let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            number.checked_mul(*bytes)
        });
        bytes.map(Self).ok_or_else(|| {
            "expected a whole number of bytes such as 8GB, in kB, MB, GB or GiB".to_owned()
        })
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |unit: &&(&str, u64)| self.0.is_multiple_of(unit.1);
        let (name, bytes) = UNITS.iter().find(whole).unwrap_or(&("B", 1));
        write!(f, "{}{name}", self.0 / bytes)
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

    #[test]
    fn memory_is_read_as_it_is_written() {
        for (text, bytes) in [
            ("16GiB", 16 << 30),
            ("8GB", 8_000_000_000),
            ("0B", 0),
            ("5 MB", 5_000_000),
        ] {
            let read: Memory = text.parse().unwrap();
            assert_eq!(read.0, bytes);
            assert_eq!(read.to_string().parse(), Ok(read));
        }
        for text in ["", "8", "GB", "-1GB", "1.5GB", "99999999999GB", "8Gbit"] {
            assert!(text.parse::<Memory>().is_err(), "{text}");
        }
    }
}
