//! Reports the readers and what each can read.

use crate::times::shown;
use serde::Serialize;
use sordino_search::AccessReport;
use std::path::{Path, PathBuf};

/// The name that stands for records without a label.
const UNLABELLED: &str = "";

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) index: PathBuf,
    pub(super) version: u64,
    pub(super) readers: Vec<Reader>,
    pub(super) groups: Vec<Members>,
    pub(super) labels: Vec<Label>,
    /// The number of records under the shared key: readers with their own keys cannot read them until the index
    /// is compacted.
    pub(super) shared_key: u64,
}

#[derive(Serialize)]
pub(super) struct Reader {
    name: String,
    /// The digest of the public key; `None` for a revoked reader.
    key: Option<String>,
    labels: Vec<String>,
    groups: Vec<String>,
    records: u64,
    /// The right to add records, if the reader has one.
    writes: Option<Writes>,
    /// The number of records that the reader lost and can still read until the index is compacted.
    until_compacted: u64,
}

#[derive(Serialize)]
pub(super) struct Writes {
    /// The labels. An empty name means records without a label.
    labels: Vec<String>,
    /// The time at which the right ends, in seconds since 1970.
    until: u64,
}

#[derive(Serialize)]
pub(super) struct Members {
    group: String,
    labels: Vec<String>,
    readers: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Label {
    label: String,
    generations: usize,
    records: u64,
    /// The number of stored rows of records that were deleted, replaced or given another label.
    stale: u64,
    older_keys: u64,
}

impl Report {
    pub(super) fn new(index: &Path, version: u64, access: &AccessReport) -> Self {
        let readers = access.readers.iter().map(|reader| Reader {
            name: reader.name.clone(),
            key: reader.key.clone(),
            labels: reader.labels.clone(),
            groups: reader
                .groups
                .iter()
                .map(|(group, _)| group.clone())
                .collect(),
            records: reader.records,
            writes: reader.writing.as_ref().map(|it| Writes {
                labels: it.labels.clone(),
                until: it.until,
            }),
            until_compacted: reader.until_compacted,
        });
        let groups = access.groups.iter().map(|(group, labels)| {
            let own = access.readers.iter();
            let own = own.filter(|reader| reader.groups.iter().any(|(it, _)| it == group));
            Members {
                group: group.clone(),
                labels: labels.clone(),
                readers: own.map(|reader| reader.name.clone()).collect(),
            }
        });
        let labels = access.labels.iter().map(|label| Label {
            label: label.name.clone(),
            generations: label.generations,
            records: label.records,
            stale: label.stale,
            older_keys: label.older,
        });
        Self {
            index: index.to_owned(),
            version,
            readers: readers.collect(),
            groups: groups.collect(),
            labels: labels.collect(),
            shared_key: access.shared,
        }
    }

    pub(super) fn text(&self) -> String {
        let mut lines = vec![format!(
            "{}: version {}",
            self.index.display(),
            self.version
        )];
        for reader in &self.readers {
            lines.push(reader.text());
        }
        if self.readers.is_empty() {
            lines.push("no readers: only the owner can read it".to_owned());
        }
        for Members {
            group,
            labels,
            readers,
        } in &self.groups
        {
            let (labels, readers) = (listed(labels), listed(readers));
            lines.push(format!("group {group}: labels {labels}; readers {readers}"));
        }
        for label in &self.labels {
            lines.push(label.text());
        }
        if self.shared_key > 0 {
            lines.push(format!(
                "{} records are under the key of reader.key files, and no reader here can read them: `sordino index compact`",
                self.shared_key
            ));
        }
        lines.join("\n")
    }
}

impl Reader {
    fn text(&self) -> String {
        let Self {
            name,
            records,
            until_compacted,
            ..
        } = self;
        let mut text = match &self.key {
            Some(key) => {
                let (labels, groups) = (listed(&self.labels), listed(&self.groups));
                format!(
                    "{name}: reads {records} records; labels {labels}; groups {groups}; key {key}"
                )
            }
            None => format!("{name}: revoked"),
        };
        if let Some(Writes { labels, until }) = &self.writes {
            let named = |label: &String| match &label[..] {
                UNLABELLED => "no label".to_owned(),
                label => label.to_owned(),
            };
            let labels: Vec<String> = labels.iter().map(named).collect();
            text += &format!("; writes under {} until {}", listed(&labels), shown(*until));
        }
        if *until_compacted > 0 {
            text += &format!(
                "; can still read {until_compacted} that it may not, until `sordino index compact`"
            );
        }
        text
    }
}

impl Label {
    fn text(&self) -> String {
        let Self {
            label,
            records,
            stale,
            older_keys,
            ..
        } = self;
        let name = match &label[..] {
            "" => "without a label".to_owned(),
            label => format!("label {label}"),
        };
        let mut text = format!("{name}: {records} records");
        if *stale > 0 {
            text += &format!(
                "; {stale} that were deleted, replaced or given another label can be read too, until `sordino index compact`"
            );
        }
        if *older_keys > 0 {
            text += &format!("; {older_keys} of all that is stored are under older keys");
        }
        text
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => {
            // A name with a comma is quoted, so that it is not read as two names.
            let quoted = |name: &String| match name.contains(',') {
                true => format!("{name:?}"),
                false => name.clone(),
            };
            let names: Vec<String> = names.iter().map(quoted).collect();
            names.join(", ")
        }
    }
}
