//! `sordino index add` with a writer's key.

use super::super::advice::{ENOUGH, among_added};
use super::{Args, Report};
use crate::place::Place;
use crate::times::now;
use crate::{Error, Output, random};
use sordino_search::{Compaction, WriterKeys, WriterStore};

pub(super) fn add(args: &Args, keys: &WriterKeys, output: Output) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::Arguments(why.to_owned()));
    if args.policy.compaction() != Compaction::default() {
        return refused("compacting is the owner's: a writer adds records, and does nothing else");
    }
    let place = Place::of(&args.index)?;
    let named = Error::index(&args.index);
    let store = WriterStore::open_on(place.disk(), place.root(), keys, None);
    let mut store = store.map_err(&named)?;
    let mut layout = args.input.layout(Some(store.manifest().ids))?;
    if !store.manifest().has_payloads() {
        layout.leave_guessed_payloads();
    }
    if !args.input.has_ids(&layout) {
        return refused(
            "a writer names the id of each record (--ids, --id-column): numbers that follow could belong to records that it cannot read",
        );
    }
    if store.manifest().has_payloads() && !layout.has_payloads() && !args.leave_empty {
        return refused(
            "records of the index have payloads, and these would come without: name them with --payload-column, or add --leave-empty",
        );
    }
    if !layout.labels().is_empty() {
        return refused(
            "an exported file with labels is added by the owner: a writer adds under one label at a time",
        );
    }
    let records = args.input.records(layout.clone(), None)?;
    let records = records.of_metric(store.manifest().metric);
    records.announce(&layout, output);
    let (unseen, rounded) = (records.unseen(), records.rounded());
    let left_out = records.left_out();
    let bar = output.progress(records.len_hint(), "adding");
    let records = records.counted(&bar);
    let mut rng = random()?;
    let label = args.label.as_deref();
    let added = store.add(&mut rng, now(), label, records, &mut |_| ());
    bar.finish_and_clear();
    let left_out = left_out.say(&args.input.file, output)?;
    let added = added.map_err(args.input.named(&args.index))?;
    unseen.say(&args.input.file, output);
    let report = Report {
        index: args.index.clone(),
        version: added.version,
        added: added.records,
        left_out,
        replaced: 0,
        relabelled: 0,
        records: store.len(),
        label: args.label.clone(),
        segments: store.manifest().segments().len(),
        first_id: None,
        recall: added.recall,
        rounding: rounded.say(&args.input.file, output),
    };
    output.report(&report, || {
        let mut text = format!(
            "{}: version {}, {} added; {} records that this writer can read; {} more additions until the owner's next change",
            args.index.display(),
            report.version,
            report.added,
            report.records,
            store.additions_left()
        );
        if let Some(recall) = report.recall.filter(|recall| *recall < ENOUGH) {
            text += &among_added(store.manifest().k, recall);
        }
        text
    })
}
