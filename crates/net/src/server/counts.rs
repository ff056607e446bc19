//! Counts for each of several indexes, by name.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use sordino_index::manifest::Manifest;

use crate::IndexName;

/// A histogram from half a millisecond to four seconds.
pub(crate) fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 14))
}

/// Increases a gauge until it is dropped.
#[derive(Debug)]
pub(crate) struct GaugeGuard(Gauge);

impl GaugeGuard {
    pub(crate) fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The series that have an index's name as their label. Only open indexes have series.
#[derive(Clone, Debug)]
pub(crate) struct ByIndex {
    version: Family<Name, Gauge>,
    records: Family<Name, Gauge>,
    bytes: Family<Name, Gauge>,
    answered: Family<Name, Counter>,
    refused: Family<Name, Counter>,
    in_flight: Family<Name, Gauge>,
    scan: Family<Name, Histogram, fn() -> Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Name {
    name: String,
}

impl ByIndex {
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let by = Self {
            version: Family::default(),
            records: Family::default(),
            bytes: Family::default(),
            answered: Family::default(),
            refused: Family::default(),
            in_flight: Family::default(),
            scan: Family::new_with_constructor(seconds),
        };
        let help = "The version of an index that is served";
        registry.register("index_version", help, by.version.clone());
        let help = "Records of an index that are stored, deleted ones included";
        registry.register("index_records", help, by.records.clone());
        let help = "Stored bytes of an index";
        registry.register_with_unit("index_stored", help, Unit::Bytes, by.bytes.clone());
        let help = "Requests about an index that were answered";
        registry.register("index_answered", help, by.answered.clone());
        let help = "Requests about an index that were refused to those who may ask it";
        registry.register("index_refused", help, by.refused.clone());
        let help = "Requests about an index in flight";
        registry.register("index_in_flight", help, by.in_flight.clone());
        let help = "Time of a scan of an index";
        registry.register_with_unit("index_scan", help, Unit::Seconds, by.scan.clone());
        by
    }

    /// Starts the counts of an opened index, from zero.
    pub(crate) fn opens(&self, name: &IndexName) -> Counts {
        self.closes(name);
        let name = Name {
            name: name.to_string(),
        };
        Counts(Arc::new(Series {
            version: self.version.get_or_create(&name).clone(),
            records: self.records.get_or_create(&name).clone(),
            bytes: self.bytes.get_or_create(&name).clone(),
            answered: self.answered.get_or_create(&name).clone(),
            refused: self.refused.get_or_create(&name).clone(),
            in_flight: self.in_flight.get_or_create(&name).clone(),
            scan: self.scan.get_or_create(&name).clone(),
        }))
    }

    /// Removes the series of an index.
    pub(crate) fn closes(&self, name: &IndexName) {
        let name = &Name {
            name: name.to_string(),
        };
        for gauges in [&self.version, &self.records, &self.bytes, &self.in_flight] {
            gauges.remove(name);
        }
        for counters in [&self.answered, &self.refused] {
            counters.remove(name);
        }
        self.scan.remove(name);
    }
}

/// The counts of one index.
#[derive(Clone, Debug)]
pub(crate) struct Counts(Arc<Series>);

#[derive(Debug)]
struct Series {
    version: Gauge,
    records: Gauge,
    bytes: Gauge,
    answered: Counter,
    refused: Counter,
    in_flight: Gauge,
    scan: Histogram,
}

impl Counts {
    /// Records the version in place.
    pub(crate) fn serves(&self, manifest: &Manifest) {
        let most = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.0.version.set(most(manifest.version));
        self.0.records.set(i64::from(manifest.n));
        self.0.bytes.set(most(manifest.stored_len().unwrap_or(0)));
    }

    /// Records that an allowed request was answered, or was not.
    pub(crate) fn ended(&self, answered: bool) {
        match answered {
            true => self.0.answered.inc(),
            false => self.0.refused.inc(),
        };
    }

    pub(crate) fn scanned(&self, took: Duration) {
        self.0.scan.observe(took.as_secs_f64());
    }

    /// Counts a request in flight, until the returned guard is dropped.
    pub(crate) fn answering(&self) -> GaugeGuard {
        GaugeGuard::new(&self.0.in_flight)
    }
}
