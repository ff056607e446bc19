//! `sordino index add`.

use super::input::{Input, Layout};
use super::labels::Labelled;
use super::policy::Policy;
use crate::keys::labels_of;
use crate::place::Place;
use crate::{Error, Output, keys, random};
use clap::Args as ClapArgs;
use serde::Serialize;
use sordino_search::{Added, Disk, Store};
use std::path::PathBuf;

/// Arguments of `sordino index add`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    #[command(flatten)]
    input: Input,
    /// The label of all these records: only readers who were granted it can read them (`sordino keys grant`).
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
    #[command(flatten)]
    policy: Policy,
}

const EXAMPLES: &str = "\
Examples:
  sordino index add base.index more.npy --key owner.key
  sordino index add base.index changed.parquet --key owner.key --id-column id --payload-column text
  sordino index add base.index books.parquet --key owner.key --id-column id --label finance

Without ids, vectors get the numbers after the highest id of the index, so the same file added twice is
there twice. The file is one change, however long it is: if it is interrupted, the index is as before. Of an exported file
whose records have labels, each label is a change of its own, and is read from the file in a pass of its own.";

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    version: u64,
    added: usize,
    /// Those of them whose ids were there.
    replaced: usize,
    /// Those that had another label before, which its readers can read until the index is compacted.
    relabelled: usize,
    records: usize,
    label: Option<String>,
    segments: usize,
    /// The first of the numbers that records without ids got.
    first_id: Option<u64>,
}

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let keys = keys::owner(&args.key)?;
    let mut store = Place::of(&args.index)?
        .store(&keys)
        .map_err(Error::index(&args.index))?;
    store.compact_after(args.policy.compaction());
    let before = labels_of(&store);
    let layout = args.input.layout(Some(store.manifest().ids))?;
    let first_id = store.next_number().filter(|_| !args.input.has_ids());
    let added = match layout.labels().is_empty() {
        true => args.add(&mut store, layout, output)?,
        false => args.add_each(&mut store, &layout, output)?,
    };
    let report = Report {
        index: args.index.clone(),
        version: added.version,
        added: added.records,
        replaced: added.replaced,
        relabelled: added.relabelled,
        records: store.len(),
        label: args.label.clone(),
        segments: store.manifest().segments().len(),
        first_id,
    };
    output.report(&report, || {
        let mut text = format!(
            "{}: version {}, {} added, {} of them replaced; {} records in {} segment(s)",
            args.index.display(),
            report.version,
            report.added,
            report.replaced,
            report.records,
            report.segments
        );
        for label in labels_of(&store) {
            if !before.contains(&label) && !label.is_empty() {
                text += &format!("\nlabel {label} is new: nobody was granted it so far");
            }
        }
        if report.relabelled > 0 {
            let old = "which readers of that can read until the index is compacted";
            text += &format!(
                "\n{} had another label before or none, {old}",
                report.relabelled
            );
        }
        text
    })
}

impl Args {
    /// Adds all records in one change.
    fn add<D: Disk>(
        &self,
        store: &mut Store<D>,
        layout: Layout,
        output: Output,
    ) -> Result<Added, Error> {
        let records = self.input.records(layout, None)?;
        let unseen = records.unseen();
        let bar = output.progress(records.len_hint(), "adding");
        let records = records.inspect(|batch| {
            if let Ok(batch) = batch {
                bar.inc(batch.len() as u64);
            }
        });
        let label = self.label.as_deref();
        let added = store.add_labelled(&mut random()?, label, records, &mut |_| ());
        bar.finish_and_clear();
        let added = added.map_err(self.input.named(&self.index))?;
        unseen.say(&self.input.file, output);
        Ok(added)
    }

    /// Adds records under the labels that the file has for them.
    fn add_each<D: Disk>(
        &self,
        store: &mut Store<D>,
        layout: &Layout,
        output: Output,
    ) -> Result<Added, Error> {
        let labelled = Labelled {
            input: &self.input,
            layout,
            index: &self.index,
        };
        if self.label.is_some() {
            let file = self.input.file.display();
            let why = "its records have labels of their own, so --label has no place";
            return Err(Error::Arguments(format!("{file}: {why}")));
        }
        let mode = store.manifest().mode.kind().name();
        let otherwise = "grant somebody first (`sordino keys grant`)";
        labelled.check(mode, store.access().is_some(), otherwise)?;
        labelled.announce(output);
        labelled.add(store, &mut random()?, true)
    }
}
