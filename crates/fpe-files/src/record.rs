//! Reads records of CSV (RFC 4180) with their bytes, so that all other fields are written as they
//! were read. The `csv` crate gives the values of fields, but not their original bytes.

use crate::Error;
use std::{
    borrow::Cow,
    io::{BufRead, ErrorKind},
    ops::Range,
};
use zeroize::{Zeroize, Zeroizing};

/// The longest record that is kept in memory, in bytes.
const MAX_RECORD: usize = 1 << 24;

/// One record at a time: the blank lines before it, its fields, and its line end.
#[derive(Default)]
pub(crate) struct Record {
    bytes: Zeroizing<Vec<u8>>,
    fields: Vec<Range<usize>>,
    line: u64,
    place: Place,
}

/// The current position of the reader.
#[derive(Default)]
struct Place {
    state: State,
    /// The first byte of the field within the record.
    start: usize,
    /// The number of line ends so far, and true if the previous byte was a carriage return.
    line_ends: u64,
    after_return: bool,
    /// The line of the last quotation mark that opened a field.
    quote_line: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Before the first field of a record; blank lines are skipped here.
    #[default]
    Before,
    /// Before a field.
    Start,
    /// In a field without quotation marks, or after a closing one.
    Plain,
    /// After a quotation mark that is not closed yet.
    Quoted,
    /// After a quotation mark that closes the field, or is the first of two that stand for one.
    Closing,
}

impl Record {
    /// Reads the next record into this value; false at the end of the input. The last record may be
    /// blank lines without a field.
    ///
    /// # Errors
    /// [`Error::Quote`] if a quotation mark is not closed. [`Error::LineLength`] for a record of
    /// more than 16 MiB. [`Error::Stream`] if reading fails.
    pub(crate) fn read(&mut self, input: &mut impl BufRead, delimiter: u8) -> Result<bool, Error> {
        self.bytes.clear();
        self.fields.clear();
        (self.place.state, self.place.start) = (State::Before, 0);
        self.line = self.place.line_ends + 1;
        loop {
            let chunk = match input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            let len = self.bytes.len();
            if chunk.is_empty() {
                return self.end(true);
            }
            let end = (len..).zip(chunk).find_map(|(at, &byte)| {
                let ended = self.step(at, byte, delimiter);
                ended.then_some(at + 1 - len)
            });
            let used = end.unwrap_or(chunk.len());
            self.bytes.extend_from_slice(&chunk[..used]);
            input.consume(used);
            if self.bytes.len() > MAX_RECORD {
                return self.end(false);
            }
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Processes byte `at` of the record; true if it ends the record.
    fn step(&mut self, at: usize, byte: u8, delimiter: u8) -> bool {
        let place = &mut self.place;
        let line = place.line_ends + 1;
        let is_end = matches!(byte, b'\r' | b'\n');
        // A carriage return and a line feed together are one line end.
        if is_end && !(byte == b'\n' && place.after_return) {
            place.line_ends += 1;
        }
        place.after_return = byte == b'\r';
        place.state = match place.state {
            State::Before if is_end => {
                place.start = at + 1;
                self.line = place.line_ends + 1;
                State::Before
            }
            State::Before | State::Start if byte == b'"' => {
                place.quote_line = line;
                State::Quoted
            }
            State::Quoted if byte == b'"' => State::Closing,
            State::Quoted => State::Quoted,
            State::Closing if byte == b'"' => State::Quoted,
            _ if byte == delimiter || is_end => {
                self.fields.push(place.start..at);
                place.start = at + 1;
                State::Start
            }
            _ => State::Plain,
        };
        is_end && place.state == State::Start
    }

    /// Ends a record that has no line end: at the end of the input, or if it is too long.
    fn end(&mut self, end_of_input: bool) -> Result<bool, Error> {
        match self.place.state {
            State::Quoted => Err(Error::Quote {
                line: self.place.quote_line,
                column: self.fields.len() + 1,
            }),
            _ if !end_of_input => Err(Error::LineLength {
                line: self.line,
                max: MAX_RECORD as u64,
            }),
            State::Before => Ok(!self.bytes.is_empty()),
            State::Start | State::Plain | State::Closing => {
                self.fields.push(self.place.start..self.bytes.len());
                Ok(true)
            }
        }
    }

    /// All bytes of the record.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes before and after field `i`.
    pub(crate) fn around(&self, i: usize) -> (&[u8], &[u8]) {
        let Range { start, end } = self.fields[i];
        (&self.bytes[..start], &self.bytes[end..])
    }

    /// The number of fields; 0 for blank lines.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The line that the record begins on, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// True if field `i` is in quotation marks.
    pub(crate) fn is_quoted(&self, i: usize) -> bool {
        self.bytes[self.fields[i].clone()].starts_with(b"\"")
    }

    /// The value of field `i`, without quotation marks around it.
    ///
    /// # Errors
    /// [`Error::AfterQuote`] if there is text after the closing quotation mark: it would be lost.
    pub(crate) fn value(&self, i: usize) -> Result<Cow<'_, [u8]>, Error> {
        let field = &self.bytes[self.fields[i].clone()];
        let Some(quoted) = field.strip_prefix(b"\"") else {
            return Ok(Cow::Borrowed(field));
        };
        let after_quote = Error::AfterQuote {
            line: self.line,
            column: i + 1,
        };
        let mut value = Vec::with_capacity(quoted.len());
        let mut bytes = quoted.iter();
        while let Some(&byte) = bytes.next() {
            match (byte, byte == b'"' && bytes.as_slice().starts_with(b"\"")) {
                (b'"', true) => {
                    bytes.next();
                    value.push(b'"');
                }
                (b'"', false) if bytes.as_slice().is_empty() => return Ok(Cow::Owned(value)),
                (b'"', false) => break,
                _ => value.push(byte),
            }
        }
        value.zeroize();
        Err(after_quote)
    }
}

/// `value` as a CSV field. It gets quotation marks if it needs them or `quoted` is true.
pub(crate) fn field(value: &str, quoted: bool, delimiter: u8) -> Cow<'_, str> {
    let special = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\r' | b'\n');
    if quoted || value.bytes().any(special) {
        return Cow::Owned(format!("\"{}\"", value.replace('"', "\"\"")));
    }
    Cow::Borrowed(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::BufReader;

    /// All records, through a buffer of `buffer` bytes.
    fn records(input: &[u8], buffer: usize) -> Result<Vec<Record>, Error> {
        let mut input = BufReader::with_capacity(buffer, input);
        let (mut records, mut line_ends) = (Vec::new(), Place::default());
        loop {
            let mut record = Record {
                place: line_ends,
                ..Record::default()
            };
            if !record.read(&mut input, b',')? {
                return Ok(records);
            }
            line_ends = std::mem::take(&mut record.place);
            records.push(record);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn values_are_those_of_the_csv_crate_and_no_byte_is_lost(
            input in "[ab\",\r\n]{0,40}|((\"([a,\n]|\"\"){0,3}\"|b{0,2}),){0,3}(\r\n|\n|a){0,3}",
            buffer in 1usize..9,
        ) {
            let Ok(records) = records(input.as_bytes(), buffer) else {
                return Ok(());
            };
            let bytes: Vec<u8> = records.iter().flat_map(|record| record.bytes().to_vec()).collect();
            prop_assert_eq!(bytes, input.as_bytes());
            let mut reader = csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(input.as_bytes());
            let mut expected = reader.byte_records();
            for record in records.iter().filter(|record| record.len() > 0) {
                let values = expected.next().unwrap().unwrap();
                prop_assert_eq!(record.len(), values.len());
                for (i, expected) in values.iter().enumerate() {
                    if let Ok(value) = record.value(i) {
                        prop_assert_eq!(&*value, expected);
                    }
                    let (before, after) = record.around(i);
                    prop_assert!(before.len() + after.len() <= record.bytes().len());
                }
            }
            prop_assert!(expected.next().is_none());
        }

        #[test]
        fn fields_hold_any_value(value in "[ab\",\r\n]{0,9}", quoted: bool) {
            let line = format!("x,{},y\n", field(&value, quoted, b','));
            let records = records(line.as_bytes(), 4).unwrap();
            prop_assert_eq!(records.len(), 1);
            prop_assert_eq!(&*records[0].value(1).unwrap(), value.as_bytes());
            prop_assert!(records[0].is_quoted(1) || !quoted);
        }
    }

    #[test]
    fn lines_are_counted_by_any_line_end() {
        let lines = |input: &str| -> Vec<u64> {
            let records = records(input.as_bytes(), 3).unwrap();
            records.iter().map(Record::line).collect()
        };
        assert_eq!(lines("a\nb\nc"), [1, 2, 3]);
        assert_eq!(lines("a\r\n\r\nb\r\nc\r\n"), [1, 3, 4, 5]);
        assert_eq!(lines("a\rb\r\rc"), [1, 2, 4]);
        assert_eq!(lines("\"a\n\n\"\nb"), [1, 4]);
    }

    #[test]
    fn quotation_marks_must_be_closed_and_end_their_field() {
        let error = |input: &str| records(input.as_bytes(), 5).err();
        let quote = error("a,b\n1,\"2\n3,4\n");
        assert!(matches!(quote, Some(Error::Quote { line: 2, column: 2 })));
        let quote = error("a,b\n\"1\n2\",\"3\n");
        assert!(matches!(quote, Some(Error::Quote { line: 3, column: 2 })));
        let long = [b"\"".to_vec(), vec![b'a'; MAX_RECORD + 10]].concat();
        let quote = records(&long, 1 << 16).err();
        assert!(matches!(quote, Some(Error::Quote { line: 1, column: 1 })));
        let too_long = records(&long[1..], 1 << 16).err();
        assert!(matches!(too_long, Some(Error::LineLength { line: 1, .. })));
        let behind = &records(b"x,\"a\"b,y\n", 4).unwrap()[0];
        assert!(matches!(
            behind.value(1),
            Err(Error::AfterQuote { line: 1, column: 2 })
        ));
        assert_eq!(&*behind.value(2).unwrap(), b"y");
    }
}
