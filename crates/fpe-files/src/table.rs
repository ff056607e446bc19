//! Transforms one column of a CSV file.

use crate::{
    Error, Transform,
    record::{Record, field},
    stream::after_mark,
};
use std::{
    fmt,
    io::{BufRead, Write},
};
use zeroize::Zeroizing;

/// A column, given by name or by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// The column's name in the header.
    Name(String),
    /// The column's number from 0.
    Number(usize),
}

impl Column {
    /// Reads `text` as a name if there is a header, and as a number from 1 otherwise.
    ///
    /// # Errors
    /// [`Error::ColumnNumber`] if the text is not such a number.
    pub fn new(text: &str, header: bool) -> Result<Self, Error> {
        if header {
            return Ok(Self::Name(text.into()));
        }
        let number = text
            .parse()
            .ok()
            .and_then(|number: usize| number.checked_sub(1));
        number.map(Self::Number).ok_or_else(|| Error::ColumnNumber {
            column: text.into(),
        })
    }

    /// The column's name, or an empty text if it has only a number.
    fn name(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Number(_) => "",
        }
    }

    /// The column's number among the fields of the first record.
    fn find(&self, first: &Record) -> Result<usize, Error> {
        let found = match self {
            Self::Name(name) => {
                let is_name = |&i: &usize| {
                    let field = first.value(i);
                    field.is_ok_and(|field| *field == *name.as_bytes())
                };
                only((0..first.len()).filter(is_name), name)?
            }
            Self::Number(number) => (*number < first.len()).then_some(*number),
        };
        found.ok_or_else(|| Error::NoColumn {
            column: self.to_string(),
            columns: first.len(),
            hint: match self {
                Self::Number(_) => None,
                Self::Name(_) => Some(hint(first).into()),
            },
        })
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Number(number) => write!(f, "{}", number + 1),
        }
    }
}

/// The advice if no field of the first record has the name. It is another delimiter if the only field seems to contain all
/// names.
fn hint(first: &Record) -> &'static str {
    let signs = [
        (b';', ": is it separated otherwise? --delimiter semicolon"),
        (b'\t', ": is it separated otherwise? --delimiter tab"),
        (b'|', ": is it separated otherwise? --delimiter pipe"),
    ];
    if first
        .value(0)
        .is_ok_and(|it| it.starts_with(b"{") || it.starts_with(b"["))
    {
        return ": is it JSON? --input-format jsonl takes one object a line";
    }
    let only = first.value(0).ok().filter(|_| first.len() == 1);
    let other = signs
        .into_iter()
        .find(|(sign, _)| only.as_ref().is_some_and(|it| it.contains(sign)));
    other.map_or(
        ": expected a name of the first line; if that line is no header, --no-header and the column's number, from 1",
        |(_, hint)| hint,
    )
}

/// The only column with a name, if there is one. If two columns have it, one of them would stay unencrypted, so that is an error.
pub(crate) fn only(
    mut found: impl Iterator<Item = usize>,
    name: &str,
) -> Result<Option<usize>, Error> {
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => Err(Error::ColumnTwice {
            column: name.to_owned(),
            first: first + 1,
            second: second + 1,
        }),
        (first, _) => Ok(first),
    }
}

/// The columns of a CSV file that are used, and the file's dialect.
#[derive(Clone, Debug)]
pub struct Table {
    /// The column of the values.
    pub column: Column,
    /// The column of the records' own tweaks.
    pub tweak_column: Option<Column>,
    /// True if the first record is a header.
    pub header: bool,
    /// The separator of the fields: an ASCII character that is neither a quotation mark nor a line end.
    pub delimiter: u8,
}

/// The columns and the number of fields, taken from the first record.
struct Layout {
    column: usize,
    tweak: Option<usize>,
    fields: usize,
}

impl Table {
    fn layout(&self, first: &Record) -> Result<Layout, Error> {
        let tweak = self.tweak_column.as_ref().map(|column| column.find(first));
        let (column, tweak) = (self.column.find(first)?, tweak.transpose()?);
        if tweak == Some(column) {
            let column = self.column.to_string();
            return Err(Error::OwnTweak { column });
        }
        Ok(Layout {
            column,
            tweak,
            fields: first.len(),
        })
    }

    /// The new field of a record, as it is written.
    fn work(
        &self,
        transform: &Transform,
        layout: &Layout,
        record: &Record,
    ) -> Result<Zeroizing<String>, Error> {
        if record.len() != layout.fields {
            return Err(Error::Fields {
                line: record.line(),
                found: record.len() as u64,
                expected: layout.fields as u64,
            });
        }
        let own = layout.tweak.map(|tweak| record.value(tweak)).transpose()?;
        let own = own.unwrap_or_default();
        let value = record.value(layout.column)?;
        let name = self.column.name();
        let at = (record.line(), layout.column + 1, name);
        let result = transform.value(&own, &value, at)?;
        let quoted = record.is_quoted(layout.column);
        Ok(Zeroizing::new(
            field(&result, quoted, self.delimiter).into_owned(),
        ))
    }
}

/// Transforms one column of CSV (RFC 4180). All other bytes stay unchanged: fields, quotation marks, blank lines, line ends, a
/// byte-order mark. The column's own fields keep their quotation marks, and get some if the result needs them. Errors of records
/// go to `refused`, unless [`Transform::on_error`] is [`crate::OnError::Stop`].
///
/// # Errors
/// With the line: [`Error::Value`] or [`Error::Empty`] if the format refuses a value, [`Error::NotUtf8`] if a value is not
/// UTF-8, [`Error::Fields`] if the number of a record's fields differs from the first record's, [`Error::AfterQuote`] if
/// text follows a closing quotation mark. [`Error::Quote`] or [`Error::LineLength`] if no record after this place can be
/// recognised. [`Error::NoColumn`] or [`Error::ColumnTwice`] if no column or two columns have the name. [`Error::OwnTweak`]
/// if the tweaks come from the column with the values. [`Error::Delimiter`] if the delimiter cannot separate fields.
/// [`Error::Stream`] if reading or writing fails.
pub fn transform_csv(
    transform: &Transform,
    table: &Table,
    input: &mut dyn BufRead,
    output: &mut impl Write,
    refused: &mut dyn FnMut(Error),
) -> Result<(), Error> {
    let delimiter = table.delimiter;
    if !delimiter.is_ascii() || matches!(delimiter, b'"' | b'\r' | b'\n') {
        return Err(Error::Delimiter);
    }
    let mut input = after_mark(input, output)?;
    let mut record = Record::default();
    let mut layout = None;
    while record.read(&mut input, delimiter)? {
        // A record without fields consists of the blank lines at the end.
        if record.len() == 0 {
            output.write_all(record.bytes())?;
            continue;
        }
        let layout = match &mut layout {
            Some(layout) => &*layout,
            none => {
                let found = none.insert(table.layout(&record)?);
                if table.header {
                    output.write_all(record.bytes())?;
                    continue;
                }
                found
            }
        };
        match table.work(transform, layout, &record) {
            Ok(result) => {
                let (before, after) = record.around(layout.column);
                for part in [before, result.as_bytes(), after] {
                    output.write_all(part)?;
                }
            }
            Err(error) => {
                if transform.refuse(error, refused)? {
                    output.write_all(record.bytes())?;
                }
            }
        }
    }
    Ok(output.flush()?)
}
