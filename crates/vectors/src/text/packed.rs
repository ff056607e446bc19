//! Decompresses texts that gzip or zstd compressed.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder;

use crate::Error;

/// The first bytes of gzip and zstd files. No text begins with them.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The byte-order marks of UTF-16, which Excel writes.
const UTF_16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// The text, decompressed while it is read.
pub(super) fn unpacked(bytes: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>, Error> {
    let mut bytes = BufReader::with_capacity(1 << 16, bytes);
    let start = bytes.fill_buf().map_err(Error::Read)?;
    if start.starts_with(&GZIP) {
        return Ok(Box::new(Whole(MultiGzDecoder::new(bytes))));
    }
    if start.starts_with(&ZSTD) {
        let text = Decoder::with_buffer(bytes).map_err(Error::Read)?;
        return Ok(Box::new(Whole(text)));
    }
    if UTF_16.iter().any(|mark| start.starts_with(mark)) {
        return Err(Error::Table {
            format: "text",
            why: "it is UTF-16: expected UTF-8, as `iconv -f UTF-16 -t UTF-8 FILE` makes it"
                .to_owned(),
        });
    }
    Ok(Box::new(bytes))
}

/// Decompressed bytes, whose errors say that the file is not whole.
struct Whole<R>(R);

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out).map_err(|error| {
            let why = match error.kind() {
                ErrorKind::UnexpectedEof => "was cut short",
                ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::Other => "is damaged",
                _ => return error,
            };
            let why = format!("the compressed file {why}: copy or download it again ({error})");
            io::Error::new(error.kind(), why)
        })
    }
}
