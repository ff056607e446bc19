//! Finds out what a file's first bytes say about its format, if they contradict its name.

use std::io::{Cursor, Read};

use crate::error::format::sqlite;
use crate::{Error, Format};

/// The number of bytes at the start of a file that tell its format.
pub(super) const START: u64 = 48;

const ZIP: &[u8] = b"PK\x03\x04";

/// The first bytes of other content, which no text has, and what to do with such a file. Capitals do not matter.
const OTHERS: [(&[u8], &str); 8] = [
    (
        b"PAR1\x15",
        "it is Parquet: rename it to .parquet, or name the format (--format parquet)",
    ),
    (
        b"ARROW1\0\0",
        "it is Arrow: rename it to .arrow, or name the format (--format arrow)",
    ),
    (
        b"\x93NUMPY",
        "it is a NumPy array: rename it to .npy, or name the format (--format npy)",
    ),
    (
        ZIP,
        "it is a zip archive, as Excel's files are: unpack it, or export CSV",
    ),
    (
        b"\x89HDF\r\n",
        "it is HDF5: rename it to .hdf5, and the error will name the command that converts it",
    ),
    (
        b"version https://git-lfs.",
        "it is a pointer of Git LFS, not the file: fetch the file, with `git lfs pull`",
    ),
    (
        b"<!doctype html",
        "it is a web page, not the file: download the file itself, for example from its page's link to the raw file",
    ),
    (
        b"<html",
        "it is a web page, not the file: download the file itself, for example from its page's link to the raw file",
    ),
];

/// The first bytes of compressed files, and the programs that unpack them.
const PACKED: [(&[u8], &str); 2] = [(b"\x1f\x8b", "gunzip"), (b"\x28\xb5\x2f\xfd", "unzstd")];

const SQLITE: &[u8] = b"SQLite format 3";

/// Refuses content that is evidently of another format, and returns all bytes.
pub(super) fn checked(
    format: Format,
    mut bytes: Box<dyn Read + Send>,
) -> Result<Box<dyn Read + Send>, Error> {
    let mut start = Vec::new();
    let read = (&mut bytes).take(START).read_to_end(&mut start);
    read.map_err(Error::Read)?;
    check(format, &start)?;
    Ok(Box::new(Cursor::new(start).chain(bytes)))
}

/// Refuses a file's first bytes if they are evidently of another format.
pub(super) fn check(format: Format, start: &[u8]) -> Result<(), Error> {
    let (name, own): (_, &[u8]) = match format {
        #[cfg(feature = "arrow")]
        Format::Parquet => ("Parquet", b"PAR1\x15"),
        #[cfg(feature = "arrow")]
        Format::Arrow => ("Arrow", b"ARROW1\0\0"),
        Format::Npy => (".npy", b"\x93NUMPY"),
        format if format.is_table() => ("text", b""),
        // A number of vectors may have the same bytes as a short mark.
        _ => ("binary", &start[..start.len().min(4)]),
    };
    let fits = |mark: &[u8]| {
        let begins = start.get(..mark.len());
        // The reader of NumPy's files says how to take an array out of such an archive.
        let known = mark == own || (mark == ZIP && format == Format::Npy);
        begins.is_some_and(|begins| begins.eq_ignore_ascii_case(mark)) && !known
    };
    if fits(SQLITE) {
        let why = format!("it is an SQLite database: {}", sqlite());
        return Err(Error::Table { format: name, why });
    }
    // Texts are unpacked as they are read, and a number of vectors may have the same bytes.
    let mut packed = PACKED.iter().filter(|_| format.has_mark());
    if let Some((_, program)) = packed.find(|(mark, _)| fits(mark)) {
        let ending = name.trim_start_matches('.').to_lowercase();
        let why =
            format!("all of it is compressed: unpack it, with `{program} < FILE > base.{ending}`");
        return Err(Error::Table { format: name, why });
    }
    match OTHERS.iter().find(|(mark, _)| fits(mark)) {
        Some((_, why)) => Err(Error::Table {
            format: name,
            why: (*why).to_owned(),
        }),
        None => Ok(()),
    }
}
