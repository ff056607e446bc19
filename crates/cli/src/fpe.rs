//! `sordino fpe`: its arguments, and the run that they describe.

mod output;
mod refusal;

use crate::{Error, Output, file_args, key_source, stdio::stdin};
use clap::{Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use output::Destination;
use refusal::{OnRefusal, tell};
use serde::Serialize;
use sordino_fpe::{AesSize, Format};
use sordino_fpe_files::{
    Column, Error as Failure, Members, Table, Transform, generate_key, parse_key, read_key,
    transform_csv, transform_json_lines, transform_lines, transform_parquet,
};
use std::{
    ffi::OsStr,
    fs::File,
    io::{self, BufReader, ErrorKind, IsTerminal, Read},
    path::PathBuf,
    time::Duration,
};

/// Arguments of `sordino fpe`.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Make a key file.
    Keygen {
        /// The key file to write. An existing file is not overwritten.
        #[arg(long)]
        output: PathBuf,
        /// The size of the AES key.
        #[arg(long, value_enum, default_value = "256")]
        bits: Bits,
    },
    /// Encrypt lines, or one column of a CSV, JSON lines or Parquet file. Everything else stays as it is.
    Encrypt(Fields),
    /// Decrypt lines, or one column of a CSV, JSON lines or Parquet file. Everything else stays as it is.
    Decrypt(Fields),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Bits {
    #[value(name = "128")]
    Aes128,
    #[value(name = "192")]
    Aes192,
    #[value(name = "256")]
    Aes256,
}

/// A form of records with columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Records {
    Csv,
    /// One JSON object a line.
    Jsonl,
    Parquet,
}

/// The values to encrypt or decrypt, with their key and format.
#[derive(clap::Args, Debug)]
struct Fields {
    /// The key file that `keygen` made; or env:NAME or command:COMMAND, as in `sordino keys --help`.
    #[arg(long)]
    key_file: PathBuf,
    /// The format of the field: pan, pan:FIRST,LAST, pan-luhn, ssn, phone:KEPT, date, date:1900..2099, uuid, email, email-lower,
    /// digits, hex, lower, upper, alphanumeric, printable (ASCII), orcid, alphabet:SYMBOLS, or a pattern such as 'pattern:AB-{keep upper:2}-{digits:6}'.
    #[arg(long)]
    format: Format,
    /// The tweak: any text. Decrypting needs the tweak that encrypted the data.
    #[arg(long, default_value = "")]
    tweak: String,
    /// Also takes the tweak of each record from this column.
    #[arg(long, requires = "column")]
    tweak_column: Option<String>,
    /// The column to work on: its name, or with --no-header its number from 1. In JSON lines, a top-level member of
    /// each object. In Parquet a column of text; a categorical one becomes plain text.
    #[arg(long)]
    column: Option<String>,
    /// The format of records, if --column is given. The default follows the name of --input, or is CSV.
    #[arg(long, value_enum, requires = "column")]
    input_format: Option<Records>,
    /// The CSV input has no header.
    #[arg(long, requires = "column")]
    no_header: bool,
    /// The separator of the CSV fields: comma, tab, semicolon, pipe or space, or the sign itself. The default is a comma,
    /// or a tab if the name of --input ends in .tsv or .tab.
    #[arg(long, requires = "column", value_parser = file_args::delimiter)]
    delimiter: Option<u8>,
    /// Let empty fields pass.
    #[arg(long)]
    keep_empty: bool,
    /// What to do with values that do not match the format. Their lines and columns are printed on standard error.
    #[arg(long, value_enum, default_value = "stop")]
    on_error: OnRefusal,
    /// Accept formats with fewer than a million values, which an attacker can find by trying.
    #[arg(long)]
    allow_small_domain: bool,
    /// Keep the first symbol of each value other than 0, so that a program that reads numbers keeps all digits.
    #[arg(long)]
    first_nonzero: bool,
    /// Bind each value to its spelling. Use this only for data of early versions, which bound separators and capitals
    /// of e-mail domains. A ciphertext whose separators changed since then decrypts to a wrong value without an
    /// error.
    #[arg(long)]
    bind_spelling: bool,
    /// Read this file instead of standard input.
    #[arg(long)]
    input: Option<PathBuf>,
    /// Write this file instead of standard output, once all is done. A pipe or a device gets results as they come.
    #[arg(long)]
    output: Option<PathBuf>,
}

/// The file that was written, for scripts.
#[derive(Serialize)]
struct Written {
    output: PathBuf,
}

/// Runs `sordino fpe`. If the user names no file, the values themselves are the output. As JSON, the command reports
/// only which file it wrote.
///
/// # Errors
/// Fails if the command cannot do its work. No error holds a value or a key.
pub fn run(args: Args, output: Output) -> Result<(), Error> {
    let written = match args.command {
        Command::Keygen { output, bits } => {
            let size = match bits {
                Bits::Aes128 => AesSize::Aes128,
                Bits::Aes192 => AesSize::Aes192,
                Bits::Aes256 => AesSize::Aes256,
            };
            generate_key(&output, size)?;
            Some(output)
        }
        Command::Encrypt(fields) => fields.run(true, output)?,
        Command::Decrypt(fields) => fields.run(false, output)?,
    };
    match written.filter(|_| output.is_json()) {
        Some(file) => output.report(&Written { output: file }, String::new),
        None => Ok(()),
    }
}

impl Fields {
    /// Runs the command. Returns the path of the written file, if the user named one.
    fn run(mut self, encrypt: bool, report: Output) -> Result<Option<PathBuf>, Error> {
        self.input = file_args::named(self.input);
        self.output = file_args::named(self.output);
        match self.work(encrypt, report) {
            // The reader of standard output has closed it, as `head` does.
            Err(Error::Fpe(Failure::Stream(error)))
                if error.kind() == ErrorKind::BrokenPipe && self.output.is_none() =>
            {
                Ok(None)
            }
            done => done.map(|()| self.output),
        }
    }

    fn work(&self, encrypt: bool, report: Output) -> Result<(), Error> {
        let key = match key_source::line(&self.key_file)? {
            Some(line) => parse_key(&line).map_err(|why| Failure::KeyFile {
                path: self.key_file.clone(),
                why,
            })?,
            None => read_key(&self.key_file)?,
        };
        let mut format = self.format.clone();
        if self.allow_small_domain {
            format = format.allow_small_domain();
        }
        if self.first_nonzero {
            format = format.first_nonzero();
        }
        if self.bind_spelling {
            format = format.bind_spelling();
        }
        let transform = Transform {
            cipher: format.cipher(&key).map_err(Failure::Parameters)?,
            encrypt,
            tweak: self.tweak.clone().into_bytes(),
            keep_empty: self.keep_empty,
            on_error: self.on_error.into(),
        };
        if self.records() != Some(Records::Csv) && (self.no_header || self.delimiter.is_some()) {
            let why = "--no-header and --delimiter need CSV, and the input is not CSV: see --input-format";
            return Err(Error::Arguments(why.to_owned()));
        }
        if self.records() == Some(Records::Parquet) {
            return self.work_on_parquet(&transform, report);
        }
        let (input, len): (Box<dyn Read>, _) = match &self.input {
            None => (Box::new(stdin()?.lock()), None),
            Some(path) => {
                let file = File::open(path).map_err(Error::at(path))?;
                let data = file.metadata().map_err(Error::at(path))?;
                if data.is_dir() {
                    return Err(Error::at(path)(ErrorKind::IsADirectory.into()));
                }
                (Box::new(file), Some(data.len()))
            }
        };
        let progress = progress(len);
        let mut input = BufReader::new(progress.wrap_read(input));
        let mut output = Destination::new(self.output.clone())?;
        let mut count = 0;
        let file = self.input.as_deref();
        let mut refused = |error: Failure| {
            count += 1;
            progress.suspend(|| tell(report, &error.within(file)));
        };
        let done = match (self.table()?, self.members()) {
            (Some(table), _) => {
                transform_csv(&transform, &table, &mut input, &mut output, &mut refused)
            }
            (_, Some(members)) => {
                transform_json_lines(&transform, &members, &mut input, &mut output, &mut refused)
            }
            (None, None) => transform_lines(&transform, &mut input, &mut output, &mut refused),
        };
        progress.finish_and_clear();
        done.map_err(|error| output.blame(self.read_from(error)))?;
        self.finish(count, output)
    }

    fn work_on_parquet(&self, transform: &Transform, report: Output) -> Result<(), Error> {
        let path = self.input.as_ref().ok_or_else(|| {
            let why = "a Parquet file cannot come through a pipe: name it with --input";
            Error::Arguments(why.to_owned())
        })?;
        let input = File::open(path).map_err(Error::at(path))?;
        let mut output = Destination::new(self.output.clone())?;
        let mut count = 0;
        let mut refused = |error: Failure| {
            count += 1;
            tell(report, &error.within(Some(path)));
        };
        let column = self.column.as_deref().unwrap_or_default();
        let columns = (column, self.tweak_column.as_deref());
        transform_parquet(transform, columns, input, &mut output, &mut refused)
            .map_err(|error| output.blame(self.read_from(error)))?;
        self.finish(count, output)
    }

    /// Adds the input's name to an error that only states a place in the input, or that the input could not
    /// be read.
    fn read_from(&self, error: Failure) -> Failure {
        match (&self.input, error) {
            (Some(path), Failure::Stream(error)) => Failure::at(path)(error),
            (path, error) => error.within(path.as_deref()),
        }
    }

    fn finish(&self, refused: u64, output: Destination) -> Result<(), Error> {
        if refused > 0 && self.on_error == OnRefusal::Report {
            return Err(Error::Arguments(format!("{refused} values were refused")));
        }
        Ok(output.finish()?)
    }

    /// The form of the records, if the input has columns.
    fn records(&self) -> Option<Records> {
        self.column.as_ref()?;
        let named = match self.ending().as_deref() {
            Some("jsonl" | "ndjson") => Records::Jsonl,
            Some("parquet") => Records::Parquet,
            _ => Records::Csv,
        };
        Some(self.input_format.unwrap_or(named))
    }

    /// The ending of the input's name, in small letters.
    fn ending(&self) -> Option<String> {
        let extension = self.input.as_ref()?.extension();
        extension.and_then(OsStr::to_str).map(str::to_lowercase)
    }

    fn usual_delimiter(&self) -> u8 {
        match self.ending().as_deref() {
            Some("tsv" | "tab") => b'\t',
            _ => b',',
        }
    }

    /// The members, if the input is JSON lines.
    fn members(&self) -> Option<Members> {
        let value = self.column.clone()?;
        (self.records() == Some(Records::Jsonl)).then(|| Members {
            value,
            tweak: self.tweak_column.clone(),
        })
    }

    /// The columns, if the input is CSV.
    fn table(&self) -> Result<Option<Table>, Failure> {
        let column = |name: &String| Column::new(name, !self.no_header);
        let Some(name) = self
            .column
            .as_ref()
            .filter(|_| self.records() == Some(Records::Csv))
        else {
            return Ok(None);
        };
        Ok(Some(Table {
            column: column(name)?,
            tweak_column: self.tweak_column.as_ref().map(column).transpose()?,
            header: !self.no_header,
            delimiter: self.delimiter.unwrap_or_else(|| self.usual_delimiter()),
        }))
    }
}

/// A progress bar if the length is known, otherwise a count. Neither appears if standard error is
/// no terminal.
fn progress(len: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match len {
        Some(len) => (
            ProgressBar::new(len),
            "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {bytes} {bytes_per_sec}",
        ),
    };
    bar.enable_steady_tick(Duration::from_millis(200));
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
