//! Records that cannot be read: what to do with them, and how to report them.

use crate::{Error, Output};
use clap::Args;
use serde_json::{Value, json};
use sordino_search::vectors;
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;

/// The largest number of records that are reported on the terminal.
const SHOWN: usize = 10;

/// The choice for records that cannot be read.
#[derive(Args, Clone, Debug)]
pub(in crate::index) struct OnErrorArgs {
    /// What to do with a record that cannot be read, for instance with a wrong number, a wrong dimension or no id.
    /// `stop` ends the command. `skip` leaves out these records and shows the first ten. `report=FILE` leaves them out and
    /// writes all of them to a new file, one JSON object on each line, and their number at the end. A fault of the whole
    /// file always ends the command, and so does an id that comes twice. Nothing is changed if more than half of the records
    /// would be left out.
    #[arg(long, value_name = "stop|skip|report=FILE", default_value = "stop")]
    on_error: OnError,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OnError {
    Stop,
    Skip,
    Report(PathBuf),
}

impl FromStr for OnError {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.strip_prefix("report=")) {
            ("stop", _) => Ok(Self::Stop),
            ("skip", _) => Ok(Self::Skip),
            (_, Some(file)) if !file.is_empty() => Ok(Self::Report(file.into())),
            _ => Err("expected stop, skip or report=FILE"),
        }
    }
}

impl OnErrorArgs {
    /// True if records that cannot be read are left out.
    pub(super) fn skips(&self) -> bool {
        self.on_error != OnError::Stop
    }

    /// Starts with no left-out records, and opens the file to which they are written.
    pub(super) fn left_out(&self) -> Result<LeftOut, Error> {
        let report = match &self.on_error {
            OnError::Stop | OnError::Skip => None,
            OnError::Report(path) => {
                let file = File::create_new(path).map_err(|error| match error.kind() {
                    ErrorKind::AlreadyExists => Error::Arguments(format!(
                        "{}: the file exists already, and --on-error overwrites none: name another file, or move it away",
                        path.display()
                    )),
                    _ => Error::at(path)(error),
                })?;
                Some((path.clone(), BufWriter::new(file)))
            }
        };
        let left_out = LeftOut::default();
        left_out.0.borrow_mut().report = report;
        Ok(left_out)
    }
}

/// Records that were left out.
#[derive(Clone, Default)]
pub(in crate::index) struct LeftOut(Rc<RefCell<List>>);

#[derive(Default)]
struct List {
    count: usize,
    first: Vec<String>,
    /// Faults of the rows that are being read. They are found out of order, and sorted later.
    unsorted: Vec<(u64, String, Value)>,
    /// The number of records that were kept, once all have been read.
    kept: usize,
    /// The number of all records, if more than half of them were left out.
    most_of: Option<usize>,
    report: Option<(PathBuf, BufWriter<File>)>,
    /// The report, once it is complete.
    ended: Option<PathBuf>,
    /// The error, if the report could not be written.
    failed: Option<std::io::Error>,
}

impl List {
    fn sort(&mut self) {
        self.unsorted.sort_by_key(|(place, ..)| *place);
        self.count += self.unsorted.len();
        for (_, fault, line) in self.unsorted.drain(..) {
            if self.first.len() < SHOWN {
                self.first.push(fault);
            }
            if let Some((_, report)) = &mut self.report
                && let Err(error) = writeln!(report, "{line}")
            {
                self.failed.get_or_insert(error);
            }
        }
    }
}

impl Drop for List {
    /// Removes the empty report of a change that failed.
    fn drop(&mut self) {
        self.sort();
        if let Some((path, _)) = self.report.take()
            && self.count == 0
        {
            // Only the change's own error counts.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl LeftOut {
    pub(super) fn add(&self, fault: &vectors::Error) {
        let (place, line) = match fault {
            vectors::Error::Line { line, why } => (*line, json!({"line": line, "why": why})),
            fault => {
                let row = fault.row();
                let line = json!({"row": row, "why": fault.to_string()});
                (row.unwrap_or_default(), line)
            }
        };
        let mut list = self.0.borrow_mut();
        list.unsorted.push((place, fault.to_string(), line));
    }

    /// Reports the added records in the order of the file. All rows that are read later come after these records.
    pub(super) fn sort(&self) {
        self.0.borrow_mut().sort();
    }

    /// True if these are more records than the kept ones. Such a change is refused.
    pub(super) fn are_most(&self, kept: usize) -> bool {
        self.sort();
        let mut list = self.0.borrow_mut();
        list.kept = kept;
        list.most_of = (list.count > kept).then(|| list.count + kept);
        list.most_of.is_some()
    }

    /// Ends the report file. All records have been read, and nothing was changed so far.
    ///
    /// # Errors
    /// Fails if the report cannot be written.
    pub(super) fn end(&self) -> Result<(), vectors::Error> {
        let mut list = self.0.borrow_mut();
        let Some((path, mut report)) = list.report.take() else {
            return Ok(());
        };
        let all = json!({"left_out": list.count, "kept": list.kept});
        let ended = match list.count {
            0 => Ok(()),
            _ => writeln!(report, "{all}").and_then(|()| report.flush()),
        };
        let failed = list.failed.take().map_or(ended, Err);
        if let Err(source) = failed {
            return Err(vectors::Error::File { path, source });
        }
        list.ended = Some(path);
        Ok(())
    }

    /// Reports the number of left-out records and the fault of the first, and ends the report file. Returns
    /// their number.
    ///
    /// # Errors
    /// Fails if most records were left out, or if the report cannot be written.
    pub(in crate::index) fn say(&self, file: &Path, output: Output) -> Result<usize, Error> {
        self.end()?;
        let list = self.0.borrow();
        let count = list.count;
        let place = list.ended.as_ref();
        let place = place.map_or_else(String::new, |path| format!(", all in {}", path.display()));
        if count == 0 {
            return Ok(0);
        }
        let rest = match count - list.first.len() {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        output.note(&format!(
            "warning: {}: {count} left out{place}:\n  {}{rest}",
            file.display(),
            list.first.join("\n  ")
        ));
        let Some(all) = list.most_of else {
            return Ok(count);
        };
        let first = list.first.first().map_or("", String::as_str);
        Err(Error::Columns {
            path: file.to_owned(),
            why: format!(
                "{count} of {all} records would be left out, more than half, so nothing was changed: correct the file, or take them out of \
                 it. The first: {first}"
            ),
        })
    }
}
