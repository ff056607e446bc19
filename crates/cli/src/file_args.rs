//! The options that say how to read a file of vectors if its name does not.

use clap::Args;
use sordino_search::vectors::{FileOptions, Format};
use std::path::{Path, PathBuf};

/// The options of a file of vectors.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FileArgs {
    /// The format of the file, regardless of its name: npy, fvecs, bvecs, fbin, u8bin, i8bin, parquet, arrow, jsonl,
    /// json, csv or tsv. A file `-` is standard input.
    #[arg(long = "format", id = "file_format", value_name = "FORMAT", value_parser = format)]
    format: Option<Format>,
    /// The sign between fields of CSV: comma, tab, semicolon, pipe or space, or the sign itself.
    #[arg(long, value_name = "SIGN", value_parser = delimiter)]
    delimiter: Option<u8>,
}

impl FileArgs {
    /// The options as they were given, each after a space.
    pub(crate) fn given(&self) -> String {
        const NAMES: [&str; 12] = [
            "npy", "fvecs", "bvecs", "fbin", "u8bin", "i8bin", "parquet", "arrow", "jsonl", "json",
            "csv", "tsv",
        ];
        let is = |name: &&str| self.format.is_some() && Format::named(name).ok() == self.format;
        let format = NAMES
            .into_iter()
            .find(is)
            .map(|name| format!(" --format {name}"));
        let delimiter = self.delimiter.map(|sign| match sign {
            b'\'' => " --delimiter \"'\"".to_owned(),
            sign => format!(" --delimiter '{}'", char::from(sign)),
        });
        format.into_iter().chain(delimiter).collect()
    }

    pub(crate) fn options(&self) -> FileOptions {
        FileOptions {
            format: self.format,
            delimiter: self.delimiter,
            ..FileOptions::default()
        }
    }
}

/// The file that an option names. `-` means standard input or output, as no option does.
pub(crate) fn named<F: AsRef<Path>>(file: Option<F>) -> Option<F> {
    file.filter(|file| file.as_ref() != Path::new("-"))
}

/// The path of a file; `-` is standard input.
pub(crate) fn path(file: &Path) -> PathBuf {
    let file = if file == Path::new("-") {
        Path::new("/dev/stdin")
    } else {
        file
    };
    file.to_owned()
}

fn format(name: &str) -> Result<Format, String> {
    let name = name.trim_start_matches('.').to_lowercase();
    Format::named(&name).map_err(|error| error.to_string())
}

/// The delimiter that a text names.
pub(crate) fn delimiter(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("comma", _) => Ok(b','),
        ("tab" | r"\t", _) => Ok(b'\t'),
        ("semicolon", _) => Ok(b';'),
        ("pipe", _) => Ok(b'|'),
        ("space", _) => Ok(b' '),
        (_, [sign]) if sign.is_ascii() && !sign.is_ascii_alphanumeric() && !b"\"\r\n".contains(sign) => {
            Ok(*sign)
        }
        _ => Err("expected comma, tab, semicolon, pipe, space, or one ASCII sign other than a letter, a digit or a quote".to_owned()),
    }
}
