//! `sordino fpe`: its arguments, and what they set going.

mod error;
mod key;
mod output;
mod stream;

pub use error::Error;
pub use key::{KEY_FILE_PREFIX, generate_key, read_key};
pub use stream::{Column, Table, Transform, transform_csv, transform_lines};

use crate::Output;
use clap::{Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use output::Destination;
use serde::Serialize;
use sordino_fpe::Format;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Read},
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
        /// Where to write it; a file that exists is not written over.
        #[arg(long)]
        output: PathBuf,
        /// The size of the AES key.
        #[arg(long, value_enum, default_value = "256")]
        bits: Bits,
    },
    /// Encrypt lines, or one column of a CSV file.
    Encrypt(Fields),
    /// Decrypt lines, or one column of a CSV file.
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

/// What to encrypt or decrypt, and with what.
#[derive(clap::Args, Debug)]
struct Fields {
    /// The key file, as `keygen` makes it.
    #[arg(long)]
    key_file: PathBuf,
    /// The format of the field: pan, pan-luhn, ssn, phone:N, date, uuid, email, digits...
    #[arg(long)]
    format: Format,
    /// The tweak: any text, the same to decrypt as to encrypt.
    #[arg(long, default_value = "")]
    tweak: String,
    /// Also takes the tweak of each record from this column.
    #[arg(long, requires = "column")]
    tweak_column: Option<String>,
    /// The column to work on: its name, or with --no-header its number from 1. Makes the input CSV.
    #[arg(long)]
    column: Option<String>,
    /// The CSV input has no header.
    #[arg(long, requires = "column")]
    no_header: bool,
    /// What separates the CSV fields.
    #[arg(long, default_value = ",", requires = "column")]
    delimiter: char,
    /// Let empty fields pass.
    #[arg(long)]
    keep_empty: bool,
    /// Also take formats with fewer than a million values.
    #[arg(long)]
    allow_small_domain: bool,
    /// Read this file instead of standard input.
    #[arg(long)]
    input: Option<PathBuf>,
    /// Write this file, when all is done, instead of standard output.
    #[arg(long)]
    output: Option<PathBuf>,
}

/// What was written, for scripts.
#[derive(Serialize)]
struct Written {
    output: PathBuf,
}

/// Runs `sordino fpe`. The values are the output, where no file is named for them; so as JSON it
/// says no more than which file was written.
///
/// # Errors
/// Whatever kept it from its work; no error holds a value or a key.
pub fn run(args: Args, output: Output) -> Result<(), crate::Error> {
    let written = match args.command {
        Command::Keygen { output, bits } => {
            let bytes = match bits {
                Bits::Aes128 => 16,
                Bits::Aes192 => 24,
                Bits::Aes256 => 32,
            };
            generate_key(&output, bytes)?;
            Some(output)
        }
        Command::Encrypt(fields) => fields.run(true)?,
        Command::Decrypt(fields) => fields.run(false)?,
    };
    match written.filter(|_| output.is_json()) {
        Some(file) => output.report(&Written { output: file }, String::new),
        None => Ok(()),
    }
}

impl Fields {
    /// The file that was written, if one was named.
    fn run(self, encrypt: bool) -> Result<Option<PathBuf>, Error> {
        let key = read_key(&self.key_file)?;
        let format = if self.allow_small_domain {
            self.format.allow_small_domain()
        } else {
            self.format
        };
        let cipher = format.cipher(&key).map_err(Error::Parameters)?;
        let transform = Transform {
            cipher,
            encrypt,
            tweak: self.tweak.into_bytes(),
            keep_empty: self.keep_empty,
        };
        let (input, len): (Box<dyn Read>, _) = match &self.input {
            None => (Box::new(io::stdin().lock()), None),
            Some(path) => {
                let file = File::open(path).map_err(Error::at(path))?;
                let len = file.metadata().ok().map(|data| data.len());
                (Box::new(file), len)
            }
        };
        let progress = progress(len);
        let mut input = BufReader::new(progress.wrap_read(input));
        let mut output = Destination::new(self.output.clone())?;
        let done = match self.column {
            None => transform_lines(&transform, &mut input, &mut output),
            Some(column) => {
                let table = Table {
                    column: Column::new(&column, !self.no_header)?,
                    tweak_column: self
                        .tweak_column
                        .map(|name| Column::new(&name, !self.no_header))
                        .transpose()?,
                    header: !self.no_header,
                    delimiter: u8::try_from(self.delimiter).map_err(|_| Error::Delimiter)?,
                };
                transform_csv(
                    &transform,
                    &table,
                    &mut input as &mut dyn BufRead,
                    &mut output,
                )
            }
        };
        progress.finish_and_clear();
        done?;
        output.finish()?;
        Ok(self.output)
    }
}

/// A bar where the length is known, else a count; neither where standard error is no terminal.
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
