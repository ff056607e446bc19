//! `sordino keys grant`, `revoke`, `group` and `list`: the readers of an index that has its own.

use crate::owned_index::{OwnedArgs, OwnedIndex};
use crate::{Error, Output, random};
use clap::Args;
use serde::Serialize;
use sordino_search::{AccessReport, AnyDisk, Change, Store};
use std::path::{Path, PathBuf};

/// Arguments of `sordino keys grant`.
#[derive(Args, Debug)]
pub(super) struct Grant {
    #[command(flatten)]
    at: At,
    /// The reader's name, of the owner's choosing; the server does not learn it.
    reader: String,
    /// The reader's public key file. A reader of the index needs none.
    #[arg(long, value_name = "READER_PUBLIC_KEY")]
    public: Option<PathBuf>,
    /// A label whose records the reader may read. May be given several times. Every reader may read records without a
    /// label.
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
    /// A group that the reader joins. May be given several times.
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
}

/// Arguments of `sordino keys revoke`.
#[derive(Args, Debug)]
pub(super) struct Revoke {
    #[command(flatten)]
    at: At,
    /// The reader's name.
    reader: String,
    /// A label to take from the reader. May be given several times. Without labels and groups the reader loses all
    /// access.
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
    /// A group that the reader leaves. May be given several times.
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
}

/// Arguments of `sordino keys group`.
#[derive(Args, Debug)]
pub(super) struct Group {
    #[command(flatten)]
    at: At,
    /// The group's name.
    group: String,
    /// A label that the group may read. May be given several times. The group may read no other labels.
    #[arg(
        long,
        value_name = "LABEL",
        required_unless_present_any = ["none", "remove"]
    )]
    label: Vec<String>,
    /// The group may read no label. Its readers keep the labels that they were granted themselves.
    #[arg(long, conflicts_with_all = ["label", "remove"])]
    none: bool,
    /// Remove the group.
    #[arg(long, conflicts_with = "label")]
    remove: bool,
}

/// Arguments of `sordino keys list`.
#[derive(Args, Debug)]
pub(super) struct List {
    #[command(flatten)]
    at: At,
}

/// An index and its owner's key.
#[derive(Args, Debug)]
struct At {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
    #[command(flatten)]
    owned: OwnedArgs,
}

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    version: u64,
    readers: Vec<Reader>,
    groups: Vec<Members>,
    labels: Vec<Label>,
    /// Records under the key that readers share: no reader of its own can read them until the index is compacted.
    shared_key: u64,
}

#[derive(Serialize)]
struct Reader {
    name: String,
    /// The digest of the public key; none of who was revoked.
    key: Option<String>,
    labels: Vec<String>,
    groups: Vec<String>,
    records: u64,
    /// Records that it lost and can read until the index is compacted.
    until_compacted: u64,
}

#[derive(Serialize)]
struct Members {
    group: String,
    labels: Vec<String>,
    readers: Vec<String>,
}

#[derive(Serialize)]
struct Label {
    label: String,
    generations: usize,
    records: u64,
    /// Stored rows of records that were deleted, replaced or given another label.
    stale: u64,
    older_keys: u64,
}

pub(super) fn grant(args: &Grant, output: Output) -> Result<(), Error> {
    let public = args
        .public
        .as_deref()
        .map(super::reader_public)
        .transpose()?;
    let change = Change::grant(&args.reader, public.as_ref(), &args.label, &args.group);
    args.at.change(change, output)
}

pub(super) fn revoke(args: &Revoke, output: Output) -> Result<(), Error> {
    let change = match args.label.is_empty() && args.group.is_empty() {
        true => Change::revoke(&args.reader),
        false => Change::withdraw(&args.reader, &args.label, &args.group),
    };
    args.at.change(change, output)
}

pub(super) fn group(args: &Group, output: Output) -> Result<(), Error> {
    let change = match args.remove {
        true => Change::ungroup(&args.group),
        false => Change::group(&args.group, &args.label),
    };
    args.at.change(change, output)
}

pub(super) fn list(args: &List, output: Output) -> Result<(), Error> {
    let owned = args.at.open(output)?;
    args.at.report(&owned, output)
}

/// The names of an index's labels.
pub(crate) fn labels_of(store: &Store<AnyDisk>) -> Vec<String> {
    let access = store.access();
    let labels = access.into_iter().flat_map(|access| access.labels);
    labels.map(|label| label.name).collect()
}

impl At {
    fn open(&self, output: Output) -> Result<OwnedIndex, Error> {
        let keys = super::owner(&self.key)?;
        self.owned.open(&self.index, (&self.key, &keys), output)
    }

    fn change(&self, change: Change<'_>, output: Output) -> Result<(), Error> {
        let mut store = self.open(output)?;
        let before = labels_of(&store);
        let mut rng = random()?;
        let made = store.change(|store| store.change_access(&mut rng, change));
        made.map_err(Error::index(&self.index))?;
        for label in labels_of(&store) {
            if !before.contains(&label) && !label.is_empty() {
                output.note(&format!("label {label} is new: no record has it so far"));
            }
        }
        self.report(&store, output)
    }

    fn report(&self, store: &Store<AnyDisk>, output: Output) -> Result<(), Error> {
        let Some(access) = store.access() else {
            let none = Report {
                index: self.index.clone(),
                version: store.version(),
                readers: Vec::new(),
                groups: Vec::new(),
                labels: Vec::new(),
                shared_key: store.len() as u64,
            };
            return output.report(&none, || {
                let (path, records) = (self.index.display(), none.shared_key);
                format!("{path}: no readers of its own: anyone who has a reader.key of this owner reads all {records} \
                    records")
            });
        };
        let report = Report::new(&self.index, store.version(), &access);
        output.report(&report, || report.text())
    }
}

impl Report {
    fn new(index: &Path, version: u64, access: &AccessReport) -> Self {
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

    fn text(&self) -> String {
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
            // One with a comma is not to be read as two.
            let quoted = |name: &String| match name.contains(',') {
                true => format!("{name:?}"),
                false => name.clone(),
            };
            let names: Vec<String> = names.iter().map(quoted).collect();
            names.join(", ")
        }
    }
}
