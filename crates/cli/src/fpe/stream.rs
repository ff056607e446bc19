//! From reader to writer, one value at a time.

use super::Error;
use csv::{ByteRecord, ErrorKind, ReaderBuilder, WriterBuilder};
use sordino_fpe::FormatCipher;
use std::io::{BufRead, Read, Write};
use zeroize::Zeroizing;

/// The longest line that is taken for a value, in bytes.
const MAX_LINE: u64 = 1 << 20;

/// What is done to every value.
#[derive(Debug)]
pub struct Transform {
    /// The format under its key.
    pub cipher: FormatCipher,
    /// Encrypt, or else decrypt.
    pub encrypt: bool,
    /// The tweak of all values.
    pub tweak: Vec<u8>,
    /// Whether empty values pass.
    pub keep_empty: bool,
}

impl Transform {
    /// One value, with a tweak of its own after the common one.
    fn value(&self, own: &[u8], value: &[u8], line: u64, column: usize) -> Result<String, Error> {
        let value = str::from_utf8(value).map_err(|_| Error::NotUtf8 { line, column })?;
        if value.is_empty() && self.keep_empty {
            return Ok(String::new());
        }
        // The length separates the common tweak from the record's own.
        let mut tweak = (self.tweak.len() as u64).to_be_bytes().to_vec();
        tweak.extend_from_slice(&self.tweak);
        tweak.extend_from_slice(own);
        let result = if self.encrypt {
            self.cipher.encrypt(&tweak, value)
        } else {
            self.cipher.decrypt(&tweak, value)
        };
        result.map_err(|source| Error::Value {
            line,
            column,
            source,
        })
    }
}

/// Every line is a value; line ends stay as they are.
///
/// # Errors
/// [`Error::Value`], [`Error::NotUtf8`], [`Error::LineLength`] with the line; [`Error::Stream`].
pub fn transform_lines(
    transform: &Transform,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<(), Error> {
    let mut buffer = Zeroizing::new(Vec::new());
    for line in 1.. {
        buffer.clear();
        if input
            .by_ref()
            .take(MAX_LINE + 1)
            .read_until(b'\n', &mut buffer)?
            == 0
        {
            break;
        }
        if buffer.len() as u64 > MAX_LINE {
            return Err(Error::LineLength {
                line,
                max: MAX_LINE,
            });
        }
        let value = buffer.strip_suffix(b"\n").unwrap_or(&buffer);
        let value = value.strip_suffix(b"\r").unwrap_or(value);
        let result = transform.value(b"", value, line, 1)?;
        output.write_all(result.as_bytes())?;
        output.write_all(&buffer[value.len()..])?;
    }
    Ok(output.flush()?)
}

/// A column by name or by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Its name in the header.
    Name(String),
    /// Its number from 0.
    Number(usize),
}

impl Column {
    /// A name where there is a header, else a number from 1.
    ///
    /// # Errors
    /// [`Error::NoColumn`] for what is no such number.
    pub fn new(text: &str, header: bool) -> Result<Self, Error> {
        if header {
            return Ok(Self::Name(text.into()));
        }
        let number = text
            .parse()
            .ok()
            .and_then(|number: usize| number.checked_sub(1));
        number.map(Self::Number).ok_or_else(|| Error::NoColumn {
            column: text.into(),
        })
    }

    /// Its number among the fields of the first record.
    fn find(&self, first: &ByteRecord) -> Result<usize, Error> {
        let (found, column) = match self {
            Self::Name(name) => {
                let found = first.iter().position(|field| field == name.as_bytes());
                (found, name.clone())
            }
            Self::Number(number) => {
                let found = (*number < first.len()).then_some(*number);
                (found, (number + 1).to_string())
            }
        };
        found.ok_or(Error::NoColumn { column })
    }
}

/// What of a CSV file is worked on.
#[derive(Clone, Debug)]
pub struct Table {
    /// The column of the values.
    pub column: Column,
    /// The column of the records' own tweaks.
    pub tweak_column: Option<Column>,
    /// Whether the first record is a header.
    pub header: bool,
    /// What separates the fields.
    pub delimiter: u8,
}

/// One column of CSV (RFC 4180). All other fields pass, with quotes where they are needed.
///
/// # Errors
/// [`Error::Value`], [`Error::NotUtf8`], [`Error::Fields`] with the line; [`Error::NoColumn`];
/// [`Error::Stream`].
pub fn transform_csv(
    transform: &Transform,
    table: &Table,
    input: &mut dyn BufRead,
    output: &mut impl Write,
) -> Result<(), Error> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .delimiter(table.delimiter)
        .from_reader(input);
    let mut writer = WriterBuilder::new()
        .delimiter(table.delimiter)
        .from_writer(output);
    let mut record = ByteRecord::new();
    let mut columns = None;
    while reader.read_byte_record(&mut record).map_err(error)? {
        let line = record.position().map_or(0, csv::Position::line);
        let (column, tweak) = match columns {
            Some(columns) => columns,
            None => {
                let column = table.column.find(&record)?;
                let tweak = table
                    .tweak_column
                    .as_ref()
                    .map(|column| column.find(&record));
                let found = (column, tweak.transpose()?);
                columns = Some(found);
                if table.header {
                    writer.write_byte_record(&record).map_err(error)?;
                    continue;
                }
                found
            }
        };
        let own = tweak
            .and_then(|tweak| record.get(tweak))
            .unwrap_or_default();
        let value = record.get(column).unwrap_or_default();
        let result = transform.value(own, value, line, column + 1)?;
        for (i, field) in record.iter().enumerate() {
            let field = if i == column {
                result.as_bytes()
            } else {
                field
            };
            writer.write_field(field).map_err(error)?;
        }
        writer.write_record(None::<&[u8]>).map_err(error)?;
    }
    Ok(writer.flush()?)
}

/// An error of the CSV layer, without its text.
fn error(error: csv::Error) -> Error {
    let line = error.position().map_or(0, csv::Position::line);
    match error.into_kind() {
        ErrorKind::Io(source) => Error::Stream(source),
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => Error::Fields {
            line,
            found: len,
            expected: expected_len,
        },
        _ => Error::NotUtf8 { line, column: 0 },
    }
}
