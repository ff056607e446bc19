//! The counts for an operator. They are sums over all clients, and no label names a client. See [`Metrics`] for
//! what they still reveal.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use sordino_index::manifest::Manifest;

#[cfg(feature = "tls")]
use super::certificate::CertificateInfo;
use super::counts::{ByIndex, seconds};
use crate::Refusal;

/// The counts of one service.
///
/// # Security
/// The only labels are the reason of a refusal, a shard's number, an index's public name and the serial number of the server's
/// certificate. They contain no client, key, address, size or time of a single request. But on a quiet server, a count that
/// grows by one reveals a request, so the port is only for the operator.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) answered: Counter,
    refused: Family<Reason, Counter>,
    pub(crate) receiving: Gauge,
    pub(crate) in_flight: Gauge,
    pub(crate) connections: Gauge,
    pub(crate) closed: Counter,
    pub(crate) replaced: Counter,
    batch: Histogram,
    scan: Histogram,
    verify: Histogram,
    shard: Family<Number, Histogram, fn() -> Histogram>,
    shard_again: Family<Number, Counter>,
    shard_missing: Family<Number, Counter>,
    shard_hedged: Family<Number, Counter>,
    index: Family<Index, Gauge>,
    #[cfg(feature = "tls")]
    certificate: Family<Certificate, Gauge>,
    pub(crate) by_index: ByIndex,
    version: Gauge,
    records: Gauge,
    resident: Gauge,
    uptime: Gauge<f64, AtomicU64>,
    start: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Index {
    /// The beginning of the index's id.
    index: String,
}

#[cfg(feature = "tls")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Certificate {
    serial: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: Refusal,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Number {
    /// The shard's number, from 1.
    shard: u16,
}

impl EncodeLabelValue for Refusal {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        self.name().encode(encoder)
    }
}

impl Metrics {
    pub(crate) fn new() -> Arc<Self> {
        let mut registry = Registry::with_prefix("sordino");
        let by_index = ByIndex::new(&mut registry);
        let mut metrics = Self {
            registry,
            by_index,
            answered: Counter::<u64, AtomicU64>::default(),
            refused: Family::default(),
            receiving: Gauge::default(),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
            closed: Counter::default(),
            replaced: Counter::default(),
            batch: Histogram::new(exponential_buckets(1.0, 2.0, 7)),
            scan: seconds(),
            verify: seconds(),
            shard: Family::new_with_constructor(seconds),
            shard_again: Family::default(),
            shard_missing: Family::default(),
            shard_hedged: Family::default(),
            index: Family::default(),
            #[cfg(feature = "tls")]
            certificate: Family::default(),
            version: Gauge::default(),
            records: Gauge::default(),
            resident: Gauge::default(),
            uptime: Gauge::default(),
            start: Instant::now(),
        };
        for reason in Refusal::ALL {
            // All reasons are registered now, so that a series does not first appear with its first
            // event.
            drop(metrics.refused.get_or_create(&Reason { reason }));
        }
        let registry = &mut metrics.registry;
        registry.register("answered", "Requests answered", metrics.answered.clone());
        registry.register("refused", "Requests refused", metrics.refused.clone());
        let help = "Requests being received or verified";
        registry.register("receiving", help, metrics.receiving.clone());
        let help = "Requests in flight";
        registry.register("in_flight", help, metrics.in_flight.clone());
        let help = "Open connections";
        registry.register("connections", help, metrics.connections.clone());
        let help = "Connections closed because there were too many, or too many new ones, of all or of one address";
        registry.register("connections_refused", help, metrics.closed.clone());
        let help = "Versions of the index put in place";
        registry.register("replaced", help, metrics.replaced.clone());
        let help = "Requests answered by one scan";
        registry.register("batch", help, metrics.batch.clone());
        let help = "Time of a scan";
        registry.register_with_unit("scan", help, Unit::Seconds, metrics.scan.clone());
        let help = "Time of verifying a batch of signatures";
        registry.register_with_unit("verify", help, Unit::Seconds, metrics.verify.clone());
        let help = "Time of a shard's part of a reply";
        registry.register_with_unit("shard", help, Unit::Seconds, metrics.shard.clone());
        let help = "Requests that a shard was asked again";
        registry.register("shard_again", help, metrics.shard_again.clone());
        let help = "Requests that a shard did not answer when it was asked again";
        registry.register("shard_missing", help, metrics.shard_missing.clone());
        let help = "Requests that a second server of a shard got because the first was late";
        registry.register("shard_hedged", help, metrics.shard_hedged.clone());
        #[cfg(feature = "tls")]
        registry.register_with_unit(
            "certificate_expiry",
            "Time since 1970 after which clients refuse the server's certificate",
            Unit::Seconds,
            metrics.certificate.clone(),
        );
        registry.register("index", "The index that is served", metrics.index.clone());
        registry.register("version", "The version served", metrics.version.clone());
        let help = "Records that are stored, deleted ones included";
        registry.register("records", help, metrics.records.clone());
        let help = "Memory of the process that is in use";
        registry.register_with_unit("resident", help, Unit::Bytes, metrics.resident.clone());
        let help = "Time since the service was made";
        registry.register_with_unit("uptime", help, Unit::Seconds, metrics.uptime.clone());
        Arc::new(metrics)
    }

    /// Records the version in place.
    pub(crate) fn serves(&self, manifest: &Manifest) {
        let index = hex::encode(&manifest.index[..4]);
        self.index.clear();
        self.index.get_or_create(&Index { index }).set(1);
        self.version
            .set(i64::try_from(manifest.version).unwrap_or(i64::MAX));
        self.records.set(i64::from(manifest.n));
    }

    /// Records the server's certificate; `None` if it has none.
    #[cfg(feature = "tls")]
    pub(crate) fn certificate(&self, info: Option<&CertificateInfo>) {
        self.certificate.clear();
        let Some(CertificateInfo {
            serial, expires, ..
        }) = info
        else {
            return;
        };
        let seconds = expires.duration_since(std::time::UNIX_EPOCH);
        let seconds = seconds.map_or(0, |time| time.as_secs());
        let serial = serial.clone();
        let gauge = self.certificate.get_or_create(&Certificate { serial });
        gauge.set(i64::try_from(seconds).unwrap_or(i64::MAX));
    }

    pub(crate) fn refused(&self, reason: Refusal) {
        self.refused.get_or_create(&Reason { reason }).inc();
    }

    #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
    pub(crate) fn scanned(&self, requests: usize, took: Duration) {
        self.batch.observe(requests as f64);
        self.scan.observe(took.as_secs_f64());
    }

    /// Records that the data is on this number of shards. Their series begin now, not with their
    /// first event.
    pub(crate) fn gathers(&self, shards: u16) {
        for shard in 1..=shards {
            drop(self.shard.get_or_create(&Number { shard }));
            drop(self.shard_again.get_or_create(&Number { shard }));
            drop(self.shard_missing.get_or_create(&Number { shard }));
            drop(self.shard_hedged.get_or_create(&Number { shard }));
        }
    }

    /// Records that a shard gave its part of a reply.
    pub(crate) fn shard(&self, shard: u16, took: Duration) {
        let seconds = self.shard.get_or_create(&Number { shard });
        seconds.observe(took.as_secs_f64());
    }

    /// Records that a second server of a shard was asked because the first was late.
    pub(crate) fn shard_hedged(&self, shard: u16) {
        self.shard_hedged.get_or_create(&Number { shard }).inc();
    }

    /// Records that a shard did not give its part, the first time or when it was asked again.
    pub(crate) fn shard_failed(&self, shard: u16, again: bool) {
        let counts = match again {
            false => &self.shard_again,
            true => &self.shard_missing,
        };
        counts.get_or_create(&Number { shard }).inc();
    }

    pub(crate) fn verified(&self, took: Duration) {
        self.verify.observe(took.as_secs_f64());
    }

    /// All counts in the OpenMetrics text form.
    pub(crate) fn text(&self) -> String {
        self.uptime.set(self.start.elapsed().as_secs_f64());
        self.resident.set(resident());
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// The bytes of memory that the process uses, or 0 if the system does not report them in this form.
fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<i64>().ok());
    kib.unwrap_or(0) * 1024
}
