//! The writers of an index, and what they added.

use crate::times::shown;
use serde::Serialize;
use sordino_search::{SignedManifest, digest, manifest};

/// A writer that the owner names.
#[derive(Serialize)]
pub(super) struct Writer {
    /// The digest of its signing key, as `sordino keys show` has it.
    key: String,
    /// The time at which its right ends, in seconds since 1970.
    until: u64,
    /// The number of labels that it may add under; no label counts as one.
    labels: usize,
}

/// An addition.
#[derive(Serialize)]
pub(super) struct Added {
    version: u64,
    records: u64,
    /// The digest of its writer's signing key.
    key: String,
    /// The time that the writer stated, in seconds since 1970.
    time: u64,
}

impl Writer {
    pub(super) fn new(writer: &manifest::Writer) -> Self {
        Self {
            key: named(&writer.public),
            until: writer.until,
            labels: writer.labels.len(),
        }
    }

    pub(super) fn text(&self) -> String {
        let Self { key, until, labels } = self;
        format!("{key} under {labels} label(s) until {}", shown(*until))
    }
}

impl Added {
    pub(super) fn text(&self) -> String {
        let Self {
            version,
            records,
            key,
            time,
        } = self;
        format!(
            "version {version}: {records} record(s) by {key}, {}",
            shown(*time)
        )
    }
}

/// The additions since the owner's last change.
pub(super) fn added(manifest: &SignedManifest) -> Vec<Added> {
    let additions = manifest.additions();
    let additions = additions.map(|(writer, addition)| Added {
        version: addition.version,
        records: addition.records(),
        key: named(&writer.public),
        time: addition.time,
    });
    additions.collect()
}

/// Lines of a report, each below the one before.
pub(super) fn listed(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.collect();
    match lines.is_empty() {
        true => "none".to_owned(),
        false => lines.join(&format!("\n{:<20} ", "")),
    }
}

fn named(public: &[u8]) -> String {
    digest::short(&digest::of(public))
}
