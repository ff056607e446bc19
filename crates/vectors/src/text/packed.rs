//! Decompresses texts that gzip or zstd compressed.

use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder;

use crate::Error;

/// The first bytes of gzip and zstd files. No text begins with them.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The byte-order marks of UTF-16, which Excel writes.
const UTF_16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// The first bytes of files that no text begins with, and what to do with one whose name ends like a text's.
const OTHERS: [(&[u8], &str); 4] = [
    (
        b"PAR1",
        "it is Parquet: rename it to .parquet, or name the format (--format parquet)",
    ),
    (
        b"ARROW1",
        "it is Arrow: rename it to .arrow, or name the format (--format arrow)",
    ),
    (
        b"\x93NUMPY",
        "it is a NumPy array: rename it to .npy, or name the format (--format npy)",
    ),
    (
        b"PK\x03\x04",
        "it is a zip archive, as Excel's files are: unpack it, or export CSV",
    ),
];

/// The text, decompressed while it is read.
pub(super) fn unpacked(bytes: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>, Error> {
    let mut bytes = BufReader::with_capacity(1 << 16, bytes);
    let start = bytes.fill_buf().map_err(Error::Read)?;
    if start.starts_with(&GZIP) {
        return Ok(Box::new(MultiGzDecoder::new(bytes)));
    }
    if start.starts_with(&ZSTD) {
        let text = Decoder::with_buffer(bytes).map_err(Error::Read)?;
        return Ok(Box::new(text));
    }
    if UTF_16.iter().any(|mark| start.starts_with(mark)) {
        return Err(Error::Table {
            format: "text",
            why: "it is UTF-16: expected UTF-8, as `iconv -f UTF-16 -t UTF-8 FILE` makes it"
                .to_owned(),
        });
    }
    if let Some((_, why)) = OTHERS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Err(Error::Table {
            format: "text",
            why: (*why).to_owned(),
        });
    }
    Ok(Box::new(bytes))
}
