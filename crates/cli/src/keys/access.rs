//! `sordino keys grant`, `revoke`, `group` and `list`: readers with their own keys.

mod report;

use crate::owned_index::{OwnedArgs, OwnedIndex};
use crate::times::to_come;
use crate::{Error, Output, random};
use clap::Args;
use report::Report;
use sordino_search::{AnyDisk, Change, Store};
use std::path::PathBuf;

/// Arguments of `sordino keys grant`.
#[derive(Args, Debug)]
pub(super) struct Grant {
    #[command(flatten)]
    at: At,
    /// The reader's name, of the owner's choosing; the server does not learn it.
    reader: String,
    /// The public key file of the reader or writer. A reader of the index needs none.
    #[arg(long, value_name = "PUBLIC_KEY")]
    public: Option<PathBuf>,
    /// A label whose records the reader may read. May be given several times. Every reader may read records without a
    /// label.
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
    /// A group that the reader joins. May be given several times.
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    /// The reader is a writer: it may add records under these labels, or, where none is given, records without a label.
    #[arg(long, requires = "until", conflicts_with = "group")]
    write: bool,
    /// The time at which the right to add records ends, under all labels: such as 2027-06-30T00:00:00Z.
    #[arg(long, value_name = "TIME", requires = "write", value_parser = to_come)]
    until: Option<u64>,
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
    /// Take away only the right to add records. The reader can still read what it could before.
    #[arg(long, conflicts_with_all = ["label", "group"])]
    write: bool,
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

pub(super) fn grant(args: &Grant, output: Output) -> Result<(), Error> {
    let public = args.public.as_deref();
    if let Some(until) = args.until {
        let public = public.map(super::writer_public).transpose()?;
        let change = Change::grant_writer(&args.reader, public.as_ref(), &args.label, until);
        return args.at.change(change, output);
    }
    let public = public.map(super::reader_public).transpose()?;
    let change = Change::grant(&args.reader, public.as_ref(), &args.label, &args.group);
    args.at.change(change, output)
}

pub(super) fn revoke(args: &Revoke, output: Output) -> Result<(), Error> {
    let change = match args.label.is_empty() && args.group.is_empty() {
        true if args.write => Change::stop_writing(&args.reader),
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
