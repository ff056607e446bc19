//! `sordino index add`.

mod writer;

use super::advice::{ENOUGH, after_change, among_added};
use super::input::{Input, Layout, Rounding};
use super::labels::Labelled;
use super::list::QUOTING;
use super::policy::Policy;
use crate::keys::{Author, labels_of};
use crate::owned_index::{OwnedArgs, OwnedIndex};
use crate::{Error, Output, keys, random};
use clap::Args as ClapArgs;
use serde::Serialize;
use sordino_search::{Added, Disk, Id, IdKind, Store};
use std::path::PathBuf;

/// Arguments of `sordino index add`.
#[derive(ClapArgs, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{QUOTING}"))]
pub(super) struct Args {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    #[command(flatten)]
    input: Input,
    /// The label of all these records. Only readers who were granted this label can read them (`sordino keys grant`).
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// The owner's key file, or a writer's: it adds records that are not there yet.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// Leave payloads or attributes empty that records of the index have and these lack. A replaced record loses its
    /// own.
    #[arg(long)]
    leave_empty: bool,
    #[command(flatten)]
    owned: OwnedArgs,
    #[command(flatten)]
    policy: Policy,
}

const EXAMPLES: &str = "\
Examples:
  sordino index add base.index more.npy --key owner.key
  sordino index add base.index changed.parquet --key owner.key --id-column id --payload-column text
  sordino index add base.index books.parquet --key owner.key --id-column id --label finance
  sordino index add base.index notes.parquet --key agent.key --id-column id

With a writer's key (`sordino keys new writer`) records are added that are not there yet, under a label that the owner granted the writer to write
under. They come with ids.

If records of the index have payloads or attributes, records with ids must bring theirs, or need --leave-empty.
Vectors without ids get the numbers after the highest id of the index, so that a file added twice is stored twice. The
whole file is one change: after an interruption the index is as before. In an exported file with labels, each label is
a change of its own, which reads the file once.";

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    version: u64,
    added: usize,
    /// Records of the file that could not be read.
    left_out: usize,
    /// Records whose ids existed.
    replaced: usize,
    /// Records that had another label before. That label's readers can read them until the index is compacted.
    relabelled: usize,
    records: usize,
    label: Option<String>,
    segments: usize,
    /// The first of the numbers that records without ids got.
    first_id: Option<u64>,
    /// The recall among these records, measured with some of them held out, if there are enough.
    recall: Option<f64>,
    /// The loss by rounding to 32 bits, if it is large for many vectors.
    rounding: Option<Rounding>,
}

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let keys = match keys::author(&args.key)? {
        Author::Owner(keys) => keys,
        Author::Writer(keys) => return writer::add(args, &keys, output),
    };
    let mut store = args.owned.open(&args.index, (&args.key, &keys), output)?;
    let (before, recall) = (labels_of(&store), store.recall());
    let mut layout = args.input.layout(Some(store.manifest().ids))?;
    if !store.manifest().has_payloads() {
        layout.leave_guessed_payloads();
    }
    args.check_guessed_ids(&store, &layout)?;
    args.check_complete(&store, &layout)?;
    args.check_whole_ids(&store)?;
    if store.manifest().has_payloads() && args.input.has_ids(&layout) && !args.leave_empty {
        layout.require_payloads();
    }
    let first_id = store.next_number().filter(|_| !args.input.has_ids(&layout));
    let (added, rounding, left_out) = match layout.labels().is_empty() {
        true => args.add(&mut store, layout, output)?,
        // An exported file has 32-bit numbers, so nothing was rounded.
        false => (args.add_each(&mut store, &layout, output)?, None, 0),
    };
    let report = Report {
        index: args.index.clone(),
        version: added.version,
        added: added.records,
        left_out,
        replaced: added.replaced,
        relabelled: added.relabelled,
        records: store.len(),
        label: args.label.clone(),
        segments: store.manifest().segments().len(),
        first_id,
        recall: added.recall,
        rounding,
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
                text += &format!("\nlabel {label} is new: no reader was granted it so far");
            }
        }
        if report.relabelled > 0 {
            let old =
                "and the readers of that label can still read them until the index is compacted";
            text += &format!(
                "\n{} had another label before or none, {old}",
                report.relabelled
            );
        }
        if let Some(recall) = report.recall.filter(|recall| *recall < ENOUGH) {
            text += &among_added(store.manifest().k, recall);
        }
        text + &after_change(recall, &store)
    })
}

impl Args {
    /// Refuses ids from a column that no option names, if the index's ids may be row numbers. The index's ids may be
    /// row numbers if no id is above the number of rows. Without this check, unrelated records would be replaced.
    fn check_guessed_ids<D: Disk>(&self, store: &Store<D>, layout: &Layout) -> Result<(), Error> {
        let Some(column) = layout.guessed_ids() else {
            return Ok(());
        };
        let next = store.next_number().unwrap_or(u64::MAX);
        // Row numbers begin at 0. Stored vectors include those that were deleted.
        if next > u64::from(store.manifest().n) || !store.contains(0u64) {
            return Ok(());
        }
        Err(Error::Arguments(format!(
            "records of {} have the ids 0 to {}, which may be row numbers. Say --id-column {column} if the ids of {} \
             mean the same records, or --no-guess to give its records the next numbers",
            self.index.display(),
            next - 1,
            self.input.file.display()
        )))
    }

    /// Refuses texts such as 5.0 as new ids of an index that has 5. If a column lacks some values, programs write its
    /// whole numbers in this way, and each record would be in the index twice. Programs do so with all ids of a column,
    /// so this function reads only the first records.
    fn check_whole_ids<D: Disk>(&self, store: &Store<D>) -> Result<(), Error> {
        let kind = store.manifest().ids;
        if kind != IdKind::Text {
            return Ok(());
        }
        let ids = self.input.again(Some(kind)).next().and_then(|it| it.ids);
        let other = |id: &Id| {
            let Id::Text(text) = id else { return None };
            let whole = text.strip_suffix(".0")?;
            let there = store.contains(Id::Text(whole.into())) && !store.contains(id.clone());
            there.then(|| whole.to_owned())
        };
        match ids.iter().flatten().find_map(other) {
            Some(id) => Err(Error::Arguments(format!(
                "{}: it has the id {id}.0, and {} has {id}: write whole numbers to the file (in pandas, df['id'].astype('Int64') keeps them \
                 whole where some are missing)",
                self.input.file.display(),
                self.index.display()
            ))),
            None => Ok(()),
        }
    }

    /// Refuses to replace records, without an explicit option, by records that lack the index's
    /// payloads or attributes.
    fn check_complete<D: Disk>(&self, store: &Store<D>, layout: &Layout) -> Result<(), Error> {
        if self.leave_empty || !self.input.has_ids(layout) {
            return Ok(());
        }
        let mut lacking = Vec::new();
        if store.manifest().has_payloads() && !layout.has_payloads() {
            lacking.push("payloads (--payload-column)".to_owned());
        }
        let known = store.attributes().map_err(Error::index(&self.index))?;
        let known = known.columns().map(|(name, _)| name);
        let unnamed: Vec<&str> = known.filter(|name| !layout.has_attribute(name)).collect();
        if !unnamed.is_empty() {
            lacking.push(format!("attributes {} (--attribute)", unnamed.join(", ")));
        }
        if lacking.is_empty() {
            return Ok(());
        }
        Err(Error::Arguments(format!(
            "records of {} have {}, and these would come without: a record that is replaced would lose its own. Name them, add \
             --exported if `sordino index export` wrote the file, or --leave-empty",
            self.index.display(),
            lacking.join(" and ")
        )))
    }

    /// Adds all records in one change.
    fn add(
        &self,
        store: &mut OwnedIndex,
        layout: Layout,
        output: Output,
    ) -> Result<(Added, Option<Rounding>, usize), Error> {
        let records = self.input.records(layout.clone(), None)?;
        let records = records
            .of_metric(store.manifest().metric)
            .numbered_from(store.next_number());
        records.announce(&layout, output);
        let (unseen, rounded) = (records.unseen(), records.rounded());
        let left_out = records.left_out();
        let bar = output.progress(records.len_hint(), "adding");
        let records = records.counted(&bar);
        let label = self.label.as_deref();
        let mut rng = random()?;
        let added = store.change(|store| {
            store.compact_after(self.policy.compaction());
            store.add_labelled(&mut rng, label, records, &mut |_| ())
        });
        bar.finish_and_clear();
        let left_out = left_out.say(&self.input.file, output)?;
        let added = added.map_err(self.input.named(&self.index))?;
        unseen.say(&self.input.file, output);
        let rounding = rounded.say(&self.input.file, output);
        Ok((added, rounding, left_out))
    }

    /// Adds records under the labels that the file states.
    fn add_each(
        &self,
        store: &mut OwnedIndex,
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
            let why = "its records have labels of their own: leave out --label";
            return Err(Error::Arguments(format!("{file}: {why}")));
        }
        let mode = store.manifest().mode.kind().name();
        let otherwise = "grant a reader first (`sordino keys grant`)";
        labelled.check(mode, store.access().is_some(), otherwise)?;
        labelled.announce(output);
        let mut rng = random()?;
        store.change(|store| {
            store.compact_after(self.policy.compaction());
            labelled.add(store, &mut rng, true)
        })
    }
}
