//! Reads the metadata that pandas stores in a table.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use serde_json::Value;

/// The index of the table that pandas wrote.
#[derive(Clone)]
pub(super) enum Index {
    /// One of the file's columns.
    Column(String),
    /// Numbers that only the metadata holds.
    Range(Range),
}

/// Numbers with equal steps between them, under a name.
#[derive(Clone)]
pub(super) struct Range {
    pub(super) name: String,
    start: i64,
    step: i64,
    /// The number of numbers, which is the number of the table's rows unless another program took rows away or added some.
    pub(super) len: u64,
}

impl Index {
    /// The index of a table; `None` if it was several columns, or a range without a name.
    pub(super) fn of(said: &str) -> Option<Self> {
        let said: Value = serde_json::from_str(said).ok()?;
        match &said.get("index_columns")?.as_array()?[..] {
            [Value::String(name)] => Some(Self::Column(name.clone())),
            [range] if range.get("kind")? == "range" => Range::of(range).map(Self::Range),
            _ => None,
        }
    }

    pub(super) fn range(&self) -> Option<&Range> {
        match self {
            Self::Column(_) => None,
            Self::Range(range) => Some(range),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Column(name) => name,
            Self::Range(range) => &range.name,
        }
    }
}

impl Range {
    fn of(said: &Value) -> Option<Self> {
        let number = |key| said.get(key)?.as_i64();
        let (start, stop, step) = (number("start")?, number("stop")?, number("step")?);
        let way = (i128::from(stop) - i128::from(start)) * i128::from(step.signum());
        let len = u128::try_from(way).unwrap_or(0);
        Some(Self {
            name: said.get("name")?.as_str()?.to_owned(),
            start,
            step,
            len: u64::try_from(len.div_ceil(u128::from(step.unsigned_abs().max(1)))).ok()?,
        })
    }

    /// The numbers of `rows` rows from row `first` on. If there are more rows than numbers, the numbers continue, and
    /// [`check`](Self::check) refuses the table.
    pub(super) fn numbers(&self, first: u64, rows: usize) -> ArrayRef {
        let number = |row: u64| {
            self.start
                .wrapping_add(self.step.wrapping_mul(row.cast_signed()))
        };
        Arc::new(Int64Array::from_iter_values(
            (first..).take(rows).map(number),
        ))
    }

    /// Refuses a table with another number of rows. `all` is true if these are all of its rows.
    pub(super) fn check(&self, rows: u64, all: bool) -> Result<(), String> {
        if rows < self.len && !all || rows == self.len {
            return Ok(());
        }
        let (name, len) = (&self.name, self.len);
        let more = if all { "" } else { " or more" };
        Err(format!(
            "the index {name} of pandas is a range of {len} numbers, and the table has {rows} rows{more}: write {name} as a column, \
             or the table without pandas' metadata (table.replace_schema_metadata())"
        ))
    }
}
