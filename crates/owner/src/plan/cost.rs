//! The bytes that a client transfers.

use std::fmt;

/// The bytes that a client transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The bytes that are transferred once: downloaded or, in retrieval without a hint, the uploaded keys of a
    /// session.
    pub once: u64,
    /// The number of bytes sent for each query.
    pub up: u64,
    /// The number of bytes received for each query.
    pub down: u64,
}

impl Cost {
    /// The sum of both costs.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            once: self.once + other.once,
            up: self.up + other.up,
            down: self.down + other.down,
        }
    }

    /// Four fifths of the total bytes for this number of queries. A mode with lower recall is worth using only if it
    /// transfers fewer bytes than this.
    pub(crate) fn saving_a_fifth(&self, queries: u64) -> u64 {
        let total = self.total(queries);
        total - total.div_ceil(5)
    }

    /// Total bytes for this number of queries.
    #[must_use]
    pub fn total(&self, queries: u64) -> u64 {
        (self.up + self.down)
            .saturating_mul(queries)
            .saturating_add(self.once)
    }
}

/// The number of queries after which downloading everything costs less. `None` if it never does, 0 if it
/// does from the start.
#[must_use]
pub fn break_even(cost: &Cost, download: &Cost) -> Option<u64> {
    match download.once.checked_sub(cost.once) {
        None => Some(0),
        Some(saved) => saved.checked_div(cost.up + cost.down),
    }
}

/// A number of bytes for reports: powers of 1000, three digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..1_000 => return f.pad(&format!("{} B", self.0)),
            1_000..1_000_000 => (1e3, "kB"),
            1_000_000..1_000_000_000 => (1e6, "MB"),
            _ => (1e9, "GB"),
        };
        let value = self.0 as f64 / scale;
        let digits = if value < 9.995 {
            2
        } else {
            usize::from(value < 99.95)
        };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_well() {
        let text = [0, 999, 1_000, 99_960, 12_345_678, 999_999, 5_000_000_000]
            .map(|b| Bytes(b).to_string());
        assert_eq!(
            text,
            [
                "0 B", "999 B", "1.00 kB", "100 kB", "12.3 MB", "1000 kB", "5.00 GB"
            ]
        );
    }
}
