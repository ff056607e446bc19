//! The records of a file, as they are read.

use super::left_out::LeftOut;
use super::missing_members::Unseen;
use super::rounding::Rounded;
use super::{exported, vectors};
use crate::index::ids::Ids;
use crate::index::values::{Attribute, Payloads};
use indicatif::ProgressBar;
use sordino_search::payload::MOST_PAYLOAD;
use sordino_search::vectors::Reader;
use sordino_search::{Attributes, Batch, Column, Error as Search, Id, IdKind, Metric};
use std::collections::VecDeque;

/// The name of the column of ids that the index must contain, and a test whether it contains one.
type Known<'a> = (String, Box<dyn Fn(&Id) -> bool + 'a>);

/// The records of a file, in chunks.
pub(in crate::index) struct Records<'a> {
    pub(super) reader: Reader,
    /// The first chunk, if it was read already.
    pub(super) first: Option<vectors::Chunk>,
    pub(super) kind: IdKind,
    /// Ids from a separate file.
    pub(super) ids: Option<Ids>,
    pub(super) payloads: Payloads,
    pub(super) attributes: Vec<Attribute>,
    /// The label of the wanted records, in a file with labels.
    pub(super) wanted: Option<Option<String>>,
    /// The row of the first record of the chunk that is being read.
    pub(super) read: usize,
    pub(super) unseen: Unseen,
    pub(super) rounded: Rounded,
    /// True if records that cannot be read are left out.
    pub(super) skip: bool,
    pub(super) left_out: LeftOut,
    /// The metric that vectors must fit, if others are left out.
    pub(super) metric: Option<Metric>,
    /// The id of the file's first row, if ids are row numbers. A left-out row keeps its number.
    pub(super) first_number: Option<u64>,
    /// Parts of chunks that contain a record which cannot be read.
    pub(super) waiting: VecDeque<vectors::Chunk>,
    /// The ids of the index, if only its records are wanted.
    pub(super) known: Option<Known<'a>>,
    /// The number of records that were not left out.
    pub(super) kept: usize,
}

impl<'a> Records<'a> {
    pub(in crate::index) fn dim(&self) -> usize {
        self.reader.dim()
    }

    pub(in crate::index) fn kind(&self) -> IdKind {
        self.kind
    }

    pub(in crate::index) fn len_hint(&self) -> Option<u64> {
        self.reader.len_hint()
    }

    /// The requested members that no record has, known after all records were read.
    pub(in crate::index) fn unseen(&self) -> Unseen {
        self.unseen.clone()
    }

    /// The loss by rounding, known after all records were read.
    pub(in crate::index) fn rounded(&self) -> Rounded {
        self.rounded.clone()
    }

    /// The records that were left out, known after all records were read.
    pub(in crate::index) fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    /// The same records for an index of this metric. If records may be left out, those that the metric cannot compare are
    /// left out too.
    pub(in crate::index) fn of_metric(mut self, metric: Metric) -> Self {
        self.metric = Some(metric).filter(|_| self.skip);
        self
    }

    /// The same records. The index must contain the ids in this column.
    pub(in crate::index) fn of_known(
        self,
        column: &str,
        is_there: impl Fn(&Id) -> bool + 'a,
    ) -> Self {
        let known: Option<Known<'a>> = Some((column.to_owned(), Box::new(is_there)));
        Self { known, ..self }
    }

    /// The same records. If they have no ids, the file's first row gets this number.
    pub(in crate::index) fn numbered_from(self, first_number: Option<u64>) -> Self {
        Self {
            first_number,
            ..self
        }
    }

    /// The same records, counted by a progress bar.
    pub(in crate::index) fn counted(
        self,
        bar: &ProgressBar,
    ) -> impl Iterator<Item = Result<Batch, Search>> {
        self.inspect(|batch| {
            if let Ok(batch) = batch {
                bar.inc(batch.len() as u64);
            }
        })
    }

    /// The wanted records of a chunk, if there are any.
    fn batch(&mut self, chunk: vectors::Chunk) -> Result<Option<Batch>, Search> {
        self.read = usize::try_from(chunk.first).unwrap_or(usize::MAX);
        let next = self.read + chunk.vectors.len();
        if let Some(metric) = self.metric {
            metric.check(&chunk.vectors, self.read)?;
        }
        self.check_kind(&chunk)?;
        let own = match &self.ids {
            None => chunk.ids.or_else(|| self.numbers(chunk.first, next)),
            Some(ids) => {
                let (found, expected) = (ids.list.len(), next);
                let own = ids.list.get(self.read..next);
                Some(own.ok_or(Search::Ids { found, expected })?.to_vec())
            }
        };
        self.check_known(own.as_deref().unwrap_or_default())?;
        let rows = chunk.vectors.len();
        let names = self.payloads.columns();
        let names = names.chain(self.attributes.iter().map(|it| it.name.clone()));
        for (name, column) in names.zip(&chunk.values) {
            self.unseen.saw(&name, column);
        }
        let lines = chunk.lines.is_some();
        let mut values = chunk.values.into_iter();
        let count = self.payloads.columns().len();
        let payloads: Vec<Column> = values.by_ref().take(count).collect();
        let attributes = self.attributes.iter().zip(values.by_ref());
        let attributes = attributes.map(|(it, column)| {
            it.check(&column, self.read, lines)?;
            it.read(column, self.read, lines)
        });
        let attributes: Vec<(String, Column)> = attributes.collect::<Result<_, _>>()?;
        let attributes = Attributes::new(rows, attributes)?;
        let mut batch = match own {
            Some(ids) => Batch::new(ids, chunk.vectors)?,
            None => chunk.vectors.into(),
        };
        if !attributes.is_none() {
            batch = batch.with_attributes(attributes)?;
        }
        if !payloads.is_empty() {
            let payloads = self.payloads.of(payloads, rows).map_err(|at| {
                self.wrong_payload(at, "a payload in the form that `index export` names")
            })?;
            self.check(&payloads)?;
            batch = batch.with_payloads(payloads)?;
        }
        let Some(wanted) = &self.wanted else {
            return Ok(Some(batch));
        };
        let labels = values
            .next()
            .and_then(|column| exported::labels_of(&column));
        let labels = labels.into_iter().flatten().zip(0..);
        let kept: Vec<usize> = labels
            .filter_map(|(label, at)| (label == *wanted).then_some(at))
            .collect();
        (!kept.is_empty()).then(|| batch.select(&kept)).transpose()
    }
}

impl Records<'_> {
    /// The ids of the rows up to `next`. Some rows before them may have been left out.
    fn numbers(&self, first: u64, next: usize) -> Option<Vec<Id>> {
        let numbered = self.skip && self.kind == IdKind::Number;
        let zero = self.first_number.filter(|_| numbered)?;
        let end = zero.checked_add(u64::try_from(next).ok()?)?;
        Some((zero + first..end).map(Id::from).collect())
    }

    /// Names the first id whose kind differs from the first record's, because lines of JSON may hold numbers and
    /// texts.
    fn check_kind(&self, chunk: &vectors::Chunk) -> Result<(), vectors::Error> {
        let ids = chunk.ids.iter().flatten();
        let mut others = (chunk.first..)
            .zip(ids)
            .filter(|(_, id)| id.kind() != self.kind);
        let Some((row, id)) = others.next() else {
            return Ok(());
        };
        let expected = match self.kind {
            IdKind::Text => {
                "a text, as the first record has (to take all ids as texts: --id-kind text)"
            }
            IdKind::Number => {
                "a whole number, as the first record has (to take all ids as texts: --id-kind text)"
            }
            IdKind::Uuid => "a UUID, as the first record has",
        };
        let found = format!("the {} {:?}", id.kind().name(), id.to_string());
        Err(vectors::Error::IdRow {
            row,
            found,
            expected,
        })
    }

    /// If the index must contain all ids, refuses the next ids when one is missing. The error names the first missing
    /// one.
    fn check_known(&self, ids: &[Id]) -> Result<(), vectors::Error> {
        let Some((column, is_there)) = &self.known else {
            return Ok(());
        };
        let Some(at) = ids.iter().position(|id| !is_there(id)) else {
            return Ok(());
        };
        Err(vectors::Error::Text {
            row: (self.read + at) as u64,
            column: column.clone(),
            found: format!("{} is not in the index", ids[at]),
            expected: "ids of its records: `sordino index add` adds others, with their vectors, and --on-error skip leaves them out",
        })
    }

    /// Refuses a batch with a payload that is too long. The error names the first such payload.
    fn check(&self, payloads: &[Vec<u8>]) -> Result<(), Search> {
        let long = |payload: &Vec<u8>| payload.len() > MOST_PAYLOAD;
        let Some(at) = payloads.iter().position(long) else {
            return Ok(());
        };
        Err(self.wrong_payload(at, "a payload of at most 1048572 bytes"))
    }

    /// The error of a payload of the batch that is being read.
    fn wrong_payload(&self, at: usize, expected: &'static str) -> Search {
        let columns: Vec<String> = self.payloads.columns().collect();
        let value = vectors::Error::Value {
            row: (self.read + at) as u64,
            column: columns.join(","),
            expected,
        };
        value.into()
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Batch, Search>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let before = self.waiting.pop_front().or_else(|| self.first.take());
            let next = before.map(Ok).or_else(|| {
                self.left_out.sort();
                self.reader.next()
            });
            self.rounded.set(self.reader.loss());
            let faults = self.reader.take_faults();
            faults.iter().for_each(|fault| self.left_out.add(fault));
            let Some(chunk) = next else {
                if self.left_out.are_most(self.kept) {
                    // `LeftOut::say` replaces this error: it names the records that were left out.
                    return Some(Err(vectors::Error::NoVectors.into()));
                }
                // A report that cannot be written stops the change, not only the command.
                if let Err(error) = self.left_out.end() {
                    return Some(Err(error.into()));
                }
                let found = self.ids.as_ref()?.list.len();
                let expected = usize::try_from(self.reader.position()).unwrap_or(usize::MAX);
                return (found != expected).then_some(Err(Search::Ids { found, expected }));
            };
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => return Some(Err(error.into())),
            };
            let kept = self.skip.then(|| chunk.clone());
            match (self.batch(chunk).transpose(), kept) {
                (Some(Err(Search::Vectors(fault))), Some(chunk)) if fault.row().is_some() => {
                    if let Err(error) = self.leave_out(chunk, fault) {
                        return Some(Err(error.into()));
                    }
                }
                (Some(batch), _) => {
                    self.kept += batch.as_ref().map_or(0, Batch::len);
                    return Some(batch);
                }
                (None, _) => (),
            }
        }
    }
}

impl Records<'_> {
    /// Leaves out a chunk's only record, or searches the chunk's halves for the faulty one.
    fn leave_out(
        &mut self,
        chunk: vectors::Chunk,
        fault: vectors::Error,
    ) -> Result<(), vectors::Error> {
        let rows = chunk.vectors.len();
        if rows > 1 {
            let (first, last) = chunk.split(rows / 2)?;
            self.waiting.push_front(last);
            self.waiting.push_front(first);
            return Ok(());
        }
        let line = chunk.lines.and_then(|lines| lines.first().copied());
        self.left_out.add(&match line {
            Some(line) => fault.in_line(line),
            None => fault,
        });
        Ok(())
    }
}
