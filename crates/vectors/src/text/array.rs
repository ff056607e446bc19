//! Reads a JSON array, one element at a time.

use std::io::{BufRead, BufReader, Read};

use serde::de::IgnoredAny;

use super::jsonl::not_json;
use super::{MARK, MAX_RECORD, Written, fault, lines};
use crate::Error;

/// The elements of the array in a file, as written. If a file begins with an object, its lines are returned
/// instead.
pub(super) fn elements(bytes: Box<dyn Read + Send>) -> Result<Written, Error> {
    let mut input = BufReader::with_capacity(1 << 16, bytes);
    if input.fill_buf().map_err(Error::Read)?.starts_with(MARK) {
        input.consume(MARK.len());
    }
    let mut line = 1;
    let begins = loop {
        let Some(&byte) = input.fill_buf().map_err(Error::Read)?.first() else {
            return Err(Error::NoVectors);
        };
        if !byte.is_ascii_whitespace() {
            break byte;
        }
        line += u64::from(byte == b'\n');
        input.consume(1);
    };
    if begins != b'[' {
        let before = line - 1;
        let lines = lines(Box::new(input));
        let lines = lines.map(move |read| {
            let (line, text) = read?;
            Ok((before + line, text))
        });
        return Ok(Box::new(lines));
    }
    input.consume(1);
    let mut elements = Elements {
        input,
        line,
        done: false,
    };
    Ok(Box::new(std::iter::from_fn(move || elements.next())))
}

fn checked(line: u64, element: &[u8]) -> Result<(), Error> {
    serde_json::from_slice::<IgnoredAny>(element).map_err(|error| Error::Table {
        format: "JSON",
        why: format!(
            "the element that begins in line {line} is not JSON{}: {error}; of lines of JSON (.jsonl) single ones can be left out",
            not_json(element)
        ),
    })?;
    Ok(())
}

struct Elements {
    input: BufReader<Box<dyn Read + Send>>,
    line: u64,
    done: bool,
}

impl Elements {
    /// The next element, which must be JSON. Reading stops after an element that is not JSON: its end is unknown, and
    /// it may include other elements.
    fn next(&mut self) -> Option<Result<(u64, Vec<u8>), Error>> {
        if self.done {
            return None;
        }
        let element = self.element().and_then(|element| match &element {
            Some((line, text)) => checked(*line, text).map(|()| element),
            None => Ok(None),
        });
        self.done |= !matches!(element, Ok(Some(_)));
        element.transpose()
    }

    fn element(&mut self) -> Result<Option<(u64, Vec<u8>)>, Error> {
        let (mut element, mut begins) = (Vec::new(), self.line);
        let (mut depth, mut quoted, mut escaped) = (0u32, false, false);
        loop {
            let Some(&byte) = self.input.fill_buf().map_err(Error::Read)?.first() else {
                return Err(Error::Read(std::io::Error::new(
                    std::io::ErrorKind::UnexpectedEof,
                    "the JSON array is not closed: the file was cut short",
                )));
            };
            self.input.consume(1);
            self.line += u64::from(byte == b'\n');
            if quoted {
                (quoted, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            } else {
                match byte {
                    b'"' => quoted = true,
                    b'[' | b'{' => depth += 1,
                    b',' if depth == 0 => return Ok(Some((begins, element))),
                    b']' if depth == 0 => {
                        self.end()?;
                        return Ok((!element.is_empty()).then_some((begins, element)));
                    }
                    b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => (),
                }
            }
            if element.is_empty() {
                if byte.is_ascii_whitespace() {
                    continue;
                }
                begins = self.line;
            }
            element.push(byte);
            if element.len() > MAX_RECORD {
                return Err(Error::Table {
                    format: "JSON",
                    why: format!("an element that begins in line {begins} is longer than 32 MiB"),
                });
            }
        }
    }

    /// Checks that only white space follows the array.
    fn end(&mut self) -> Result<(), Error> {
        self.done = true;
        loop {
            let rest = self.input.fill_buf().map_err(Error::Read)?;
            if rest.is_empty() {
                return Ok(());
            }
            if !rest.iter().all(u8::is_ascii_whitespace) {
                let why = "something follows the JSON array: expected one array".to_owned();
                return Err(fault(self.line, why));
            }
            let len = rest.len();
            self.input.consume(len);
        }
    }
}
