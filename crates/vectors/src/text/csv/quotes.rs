//! Finds quotation marks that are not closed, and the kind of line end.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::FORMAT;
use crate::Error;
use crate::text::MAX_RECORD;

/// Follows the quotation marks and line ends of a file while its bytes are read.
#[derive(Clone, Default)]
pub(super) struct Quotes {
    /// The line of the field whose quotation mark is open; 0 if no mark is open.
    open: Arc<AtomicU64>,
    at_end: Arc<AtomicBool>,
    /// The line of the first field that has text after its closing quotation mark; 0 if there is no such field.
    goes_on: Arc<AtomicU64>,
    /// True if the first line ends with a carriage return and a line feed.
    two_byte_ends: Arc<AtomicBool>,
}

impl Quotes {
    pub(super) fn followed<R: Read>(&self, bytes: R, delimiter: u8) -> Followed<R> {
        Followed {
            bytes,
            delimiter,
            quotes: self.clone(),
            field: Field::Start,
            after_return: false,
            line: 1,
            first_line: true,
            record: 0,
        }
    }

    /// The line of a record after the header. If lines end with two characters, the decoder counts a record as
    /// beginning before the second of them.
    pub(super) fn line(&self, at: &csv::Position) -> u64 {
        at.line() + u64::from(self.two_byte_ends.load(Ordering::Relaxed))
    }

    /// Refuses a file that ended within quotation marks, since its last record may contain many other records. Also
    /// refuses a file with text after a closing quotation mark.
    pub(super) fn check(&self) -> Result<(), Error> {
        let line = self.goes_on.load(Ordering::Relaxed);
        if line > 0 {
            return Err(Error::Table {
                format: FORMAT,
                why: format!(
                    "in line {line} a field goes on after its closing quotation mark: write a quotation mark within a field twice \
                     (in Spark: option(\"escape\", \"\\\"\"))"
                ),
            });
        }
        let line = self.open.load(Ordering::Relaxed);
        if line == 0 || !self.at_end.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Error::Table {
            format: FORMAT,
            why: format!(
                "the quotation mark that opens a field in line {line} is not closed: all that follows it would be that field"
            ),
        })
    }
}

/// The position of a byte in a field, as RFC 4180 defines it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Start,
    Plain,
    Quoted,
    /// After a quotation mark within quotation marks, which closes the field or is the first of two that stand for one.
    Closing,
}

pub(super) struct Followed<R> {
    bytes: R,
    delimiter: u8,
    quotes: Quotes,
    field: Field,
    after_return: bool,
    line: u64,
    first_line: bool,
    /// The size in bytes of the record so far.
    record: usize,
}

impl<R: Read> Read for Followed<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let len = self.bytes.read(into)?;
        for &byte in &into[..len] {
            self.record += 1;
            self.field = match (self.field, byte) {
                (Field::Start, b'"') => {
                    self.quotes.open.store(self.line, Ordering::Relaxed);
                    Field::Quoted
                }
                (Field::Quoted, b'"') => Field::Closing,
                (Field::Closing, b'"') => Field::Quoted,
                (Field::Quoted, _) => Field::Quoted,
                (_, b'\r' | b'\n') => {
                    if byte == b'\n' && self.first_line {
                        self.first_line = false;
                        let two = &self.quotes.two_byte_ends;
                        two.store(self.after_return, Ordering::Relaxed);
                    }
                    self.record = 0;
                    Field::Start
                }
                (_, byte) if byte == self.delimiter => Field::Start,
                (field, _) => {
                    if field == Field::Closing && self.quotes.goes_on.load(Ordering::Relaxed) == 0 {
                        self.quotes.goes_on.store(self.line, Ordering::Relaxed);
                    }
                    Field::Plain
                }
            };
            self.after_return = byte == b'\r';
            self.line += u64::from(byte == b'\n');
        }
        if self.record > MAX_RECORD {
            let why = format!(
                "the record before line {} is longer than 32 MiB",
                self.line + 1
            );
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why));
        }
        if self.field != Field::Quoted {
            self.quotes.open.store(0, Ordering::Relaxed);
        }
        let end = len == 0 && !into.is_empty();
        self.quotes.at_end.fetch_or(end, Ordering::Relaxed);
        Ok(len)
    }
}
