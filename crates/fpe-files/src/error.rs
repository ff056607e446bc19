//! The reasons why the work on a file stops.

use std::borrow::Cow;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The reason why the work stopped. No message holds a value or a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Standard input or output could not be read or written.
    #[error("standard input or output: {0}")]
    Stream(#[from] io::Error),
    /// The content of a file has a fault.
    #[error("{path}: {source}", path = path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The fault.
        source: Box<Self>,
    },
    /// The key file does not have the documented form.
    #[error("{path}: {why}", path = path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The fault, and what was expected.
        why: &'static str,
    },
    /// A key file was to be created, but the file exists.
    #[error(
        "{path}: the file exists already, and keys are never overwritten: choose another name, or move the file away",
        path = path.display()
    )]
    KeyExists {
        /// The file.
        path: PathBuf,
    },
    /// The key and the format do not fit together.
    #[error("{0}")]
    Parameters(sordino_fpe::Error),
    /// The delimiter cannot separate fields.
    #[error(
        "the delimiter: expected one ASCII character other than a quotation mark or a line end"
    )]
    Delimiter,
    /// The input has no such column. For text, the message does not show the names, which are values if there is no header.
    #[error("the input has no column {column} among its {columns} columns{}", hint.as_deref().unwrap_or_default())]
    NoColumn {
        /// The column's name, or its number from 1.
        column: String,
        /// The number of columns.
        columns: usize,
        /// Advice on what to try.
        hint: Option<Cow<'static, str>>,
    },
    /// The input has no column names, and the text is not a column number.
    #[error("column {column} of an input without a header: expected its number, from 1")]
    ColumnNumber {
        /// The text that was given.
        column: String,
    },
    /// The input is compressed.
    #[error(
        "the input is compressed by gzip: expected text, as `gunzip -c FILE | sordino fpe ...` gives it"
    )]
    Compressed,
    /// The input is an archive.
    #[error(
        "the input is a zip archive, as Excel's .xlsx is: expected text; export the sheet as CSV UTF-8"
    )]
    Archive,
    /// The input is a Parquet file, and is read as text.
    #[error(
        "the input is a Parquet file, which cannot come through a pipe: name it with --input and --input-format parquet"
    )]
    ParquetAsText,
    /// The input is in an encoding other than UTF-8.
    #[error(
        "the input is UTF-16, as Excel's \"Unicode text\" and `>` of PowerShell are: expected UTF-8, as \
         `iconv -f UTF-16 -t UTF-8 FILE | sordino fpe ...` gives it"
    )]
    Utf16,
    /// Two columns have the requested name.
    #[error(
        "the input has column {column} twice, as number {first} and as number {second}: rename one of them"
    )]
    ColumnTwice {
        /// The column's name.
        column: String,
        /// The number of the first of them, from 1.
        first: usize,
        /// The number of the second, from 1.
        second: usize,
    },
    /// The same column gives the values and their tweaks. A result would then not tell the tweak that
    /// decrypts it.
    #[error(
        "column {column} is named by --column and by --tweak-column: a value cannot be decrypted by itself, so name \
         another column for the tweaks"
    )]
    OwnTweak {
        /// The column's name, or its number from 1.
        column: String,
    },
    /// A value was refused.
    #[error("line {line}, column {column}: {source}{}", Expected(*source, expected))]
    Value {
        /// The line, from 1.
        line: u64,
        /// The field, from 1.
        column: usize,
        /// The reason.
        source: sordino_fpe::Error,
        /// The values that the format accepts, in words.
        expected: &'static str,
    },
    /// A value is empty, and [empty values are not allowed](crate::Transform::keep_empty).
    #[error(
        "{place}: the value is empty: expected {expected}, or --keep-empty, which lets empty values pass"
    )]
    Empty {
        /// The line or row, from 1, and the column with its name, if it has one.
        place: String,
        /// The values of the format in words.
        expected: &'static str,
    },
    /// A value is not UTF-8.
    #[error(
        "line {line}, column {column}: not UTF-8: expected text in UTF-8, as `iconv -f WINDOWS-1252 -t UTF-8 FILE` gives it, or with the \
         encoding that the file has"
    )]
    NotUtf8 {
        /// The line, from 1.
        line: u64,
        /// The field, from 1.
        column: usize,
    },
    /// A line is not a JSON object.
    #[error(
        "line {line}, character {character}: expected one JSON object in each line, as `jq -c '.[]' FILE` makes them of an array"
    )]
    Json {
        /// The line, from 1.
        line: u64,
        /// The character at which the parser found the fault.
        character: usize,
    },
    /// Two members of an object have the requested name. Programs differ in which of them they use.
    #[error(
        "line {line}: the object has member {member:?} twice, with values at character {first} and at character {second}"
    )]
    MemberTwice {
        /// The line, from 1.
        line: u64,
        /// The member's name.
        member: String,
        /// The byte of the line at which the first value begins, from 1.
        first: usize,
        /// The byte at which the second value begins, from 1.
        second: usize,
    },
    /// An object does not have the requested member. The message does not show its names, which may be values.
    #[error(
        "line {line}: the object has no member {member:?}: expected it at the top level, or --keep-empty, which lets records without it pass"
    )]
    NoMember {
        /// The line, from 1.
        line: u64,
        /// The member's name.
        member: String,
    },
    /// A member is not a string.
    #[error(
        "line {line}: member {member:?} is not a string: write numbers as strings, because leading zeros count"
    )]
    NoText {
        /// The line, from 1.
        line: u64,
        /// The member's name.
        member: String,
    },
    /// A Parquet file could not be read or written.
    #[error("cannot read or write Parquet: {why}")]
    Parquet {
        /// The library's message.
        why: String,
    },
    /// A column does not hold text.
    #[error(
        "column {column} holds {found}: expected text. DuckDB converts it: `COPY (SELECT * REPLACE (CAST(\"{column}\" AS VARCHAR) \
         AS \"{column}\") FROM 'IN.parquet') TO 'OUT.parquet'`. So does pandas: `frame[{column:?}] = frame[{column:?}].astype(\"string\")`"
    )]
    ColumnType {
        /// The column's name.
        column: String,
        /// The column's type.
        found: String,
    },
    /// A value of a Parquet file was refused.
    #[error("{place}: {source}{}", Expected(*source, expected))]
    Row {
        /// The row, from 1, and the column.
        place: Box<str>,
        /// The reason.
        source: sordino_fpe::Error,
        /// The values of the format in words.
        expected: &'static str,
    },
    /// A record does not have the number of fields of the first record.
    #[error("line {line}: {found} fields, expected {expected}")]
    Fields {
        /// The line, from 1.
        line: u64,
        /// The number of its fields.
        found: u64,
        /// The number of fields of the first record.
        expected: u64,
    },
    /// A quotation mark opens a field and is not closed, so the records after it cannot be recognised.
    #[error("line {line}, column {column}: the quotation mark that opens the field is not closed")]
    Quote {
        /// The line of the quotation mark, from 1.
        line: u64,
        /// The field, from 1.
        column: usize,
    },
    /// There is text between a closing quotation mark and the end of its field.
    #[error("line {line}, column {column}: text after the closing quotation mark")]
    AfterQuote {
        /// The line, from 1.
        line: u64,
        /// The field, from 1.
        column: usize,
    },
    /// A line is too long for a value, or a record is too long to keep in memory.
    #[error("line {line}: longer than {max} bytes")]
    LineLength {
        /// The line, from 1.
        line: u64,
        /// The longest length that is accepted.
        max: u64,
    },
}

impl Error {
    /// Adds the file's name to an error of the system.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }

    /// Adds the file's name to an error that only names a place in the file.
    #[must_use]
    pub fn within(self, path: Option<&Path>) -> Self {
        match (path, self) {
            (
                Some(path),
                error @ (Self::Value { .. }
                | Self::Empty { .. }
                | Self::NotUtf8 { .. }
                | Self::Fields { .. }
                | Self::Quote { .. }
                | Self::AfterQuote { .. }
                | Self::LineLength { .. }
                | Self::Json { .. }
                | Self::MemberTwice { .. }
                | Self::ColumnTwice { .. }
                | Self::NoMember { .. }
                | Self::NoText { .. }
                | Self::Parquet { .. }
                | Self::ColumnType { .. }
                | Self::Row { .. }
                | Self::Compressed
                | Self::Archive
                | Self::ParquetAsText
                | Self::Utf16
                | Self::NoColumn { .. }),
            ) => Self::Input {
                path: path.to_owned(),
                source: Box::new(error),
            },
            (_, error) => error,
        }
    }
}

/// What to do with a value that is too short to be encrypted.
const SHORT: &str =
    "; --on-error keep leaves such values in clear, --on-error skip leaves out their records";

/// Completes an error that only names the place of a fault: adds the values that the format expects, or says what to do
/// with the value.
struct Expected(sordino_fpe::Error, &'static str);

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            sordino_fpe::Error::Symbol { .. } | sordino_fpe::Error::OutOfRange => {
                write!(f, ": expected {}", self.1)
            }
            sordino_fpe::Error::FewSymbols { .. } => f.write_str(SHORT),
            sordino_fpe::Error::Length { found, min, .. } if found < min => f.write_str(SHORT),
            _ => Ok(()),
        }
    }
}
