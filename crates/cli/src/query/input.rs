//! The vectors to search for, in the order in which they arrive.

use super::columns::Columns;
use crate::{Error, file_args::path, stdio::stdin};
use sordino_search::vectors::{self, FileOptions, numbers, to_f32};
use sordino_search::{Error as Search, Id, Vectors};
use std::{
    io::{BufRead, Read},
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    sync::{Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

/// The largest number of bytes of a line of text, which is more than 8192 numbers need.
const MAX_LINE: u64 = 1 << 19;

/// The number of vectors that are read ahead.
const AHEAD: usize = 64;

/// The time between two checks whether the command must stop.
const TICK: Duration = Duration::from_millis(50);

/// A vector to search for.
pub(super) struct Query {
    /// The vector's number, from 0.
    pub(super) number: usize,
    /// The vector, or the reason why its line has none.
    pub(super) vector: Result<Vec<f32>, Error>,
    pub(super) place: Place,
    /// The query's id in the file.
    pub(super) id: Option<Id>,
}

/// The source of a vector.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Argument,
    Row(PathBuf, u64),
    Line(usize),
}

impl Place {
    /// Adds the place to an error of a vector that cannot be searched for.
    pub(super) fn named(&self, error: Error) -> Error {
        let why = match &error {
            // The error names row 0 of a set with only this vector, so the row is replaced by the
            // place.
            Error::Search(Search::Vectors(vectors::Error::ZeroVector { .. })) => {
                "the zero vector, which has no direction".to_owned()
            }
            Error::Search(Search::Dimension { .. } | Search::Vectors(_)) => error.to_string(),
            _ => return error,
        };
        self.wrong(why)
    }

    fn wrong(&self, why: String) -> Error {
        let place = self.to_string();
        Error::Query { place, why }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Argument => f.write_str("--vector"),
            Self::Row(path, row) => write!(f, "{}, row {row}", path.display()),
            Self::Line(line) => write!(f, "standard input, line {line}"),
        }
    }
}

/// A vector with its place and its id, or the reason why a line has no vector.
type Given = (Place, Result<Vec<f32>, Error>, Option<Id>);

/// A query, or an error after which no query follows.
type Item = Result<Given, Error>;

/// The queries of a command, in their order. A separate thread reads a few of them in advance.
pub(super) struct Queries {
    /// The number of queries, if it is known in advance.
    len: Option<usize>,
    coming: Mutex<Coming>,
}

struct Coming {
    /// The first query, which was read before anything else was done.
    first: Option<Given>,
    taken: usize,
    rest: Receiver<Item>,
    reading: Option<JoinHandle<()>>,
}

impl Queries {
    /// The queries in the arguments, or otherwise on standard input. Waits for the first one.
    pub(super) fn open(
        text: Option<&str>,
        file: Option<&Path>,
        columns: Columns<'_>,
        options: FileOptions,
    ) -> Result<Self, Error> {
        // Only files have formats, so a format alone is the format of standard input.
        let standard = options.format.map(|_| path(Path::new("-")));
        match (text, file.or(standard.as_deref())) {
            (Some(text), _) => {
                let vector = coordinates(text, &Place::Argument)?;
                let vector = Vectors::new(vector.len(), vector)?;
                let one = (Place::Argument, Ok(vector.as_slice().to_vec()), None);
                Self::start(Some(1), move || std::iter::once(Ok(one)))
            }
            (None, Some(path)) => {
                let reader = columns.open(path, &options)?;
                let len = reader.len_hint().and_then(|len| usize::try_from(len).ok());
                let path = path.to_owned();
                Self::start(len, move || rows(reader, path))
            }
            (None, None) => {
                let input = stdin()?;
                Self::start(None, move || lines(input.lock()))
            }
        }
    }

    /// Reads on a separate thread, so that the command can be stopped while it waits for input.
    fn start<I: Iterator<Item = Item>>(
        len: Option<usize>,
        items: impl FnOnce() -> I + Send + 'static,
    ) -> Result<Self, Error> {
        let (send, rest) = mpsc::sync_channel(AHEAD);
        let read = move || {
            for item in items() {
                let last = item.is_err();
                // When the command ends, there is no receiver.
                if send.send(item).is_err() || last {
                    return;
                }
            }
        };
        let reading = std::thread::Builder::new().spawn(read)?;
        let first = rest.recv().map_err(|_| {
            let why = "no vectors on standard input: expected one a line, or --file, or --vector";
            Error::Arguments(why.to_owned())
        })??;
        let coming = Mutex::new(Coming {
            first: Some(first),
            taken: 0,
            rest,
            reading: Some(reading),
        });
        Ok(Self { len, coming })
    }

    /// The number of queries, if it is known in advance.
    pub(super) fn len(&self) -> Option<usize> {
        self.len
    }

    /// The next query. `None` if there is none, or if `stop` returns true.
    pub(super) fn next(&self, stop: impl Fn() -> bool) -> Result<Option<Query>, Error> {
        let mut coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
        let (place, vector, id) = match coming.first.take() {
            Some(first) => first,
            None => loop {
                if stop() {
                    return Ok(None);
                }
                match coming.rest.recv_timeout(TICK) {
                    Ok(item) => break item?,
                    Err(RecvTimeoutError::Timeout) => (),
                    Err(RecvTimeoutError::Disconnected) => {
                        // The thread has ended. If it panicked, the panic continues here.
                        let ended = coming.reading.take().map_or(Ok(()), JoinHandle::join);
                        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                        return Ok(None);
                    }
                }
            },
        };
        let number = coming.taken;
        coming.taken += 1;
        Ok(Some(Query {
            number,
            vector,
            place,
            id,
        }))
    }
}

/// The vectors of a file, read in chunks, and the faults of rows that the reader leaves out, in the order of the
/// file.
fn rows(mut reader: vectors::Reader, path: PathBuf) -> impl Iterator<Item = Item> {
    let named = Error::vectors(&path);
    // The number of rows read or left out so far.
    let mut passed = 0;
    let chunks = std::iter::from_fn(move || {
        let chunk = reader.next();
        let mut faults = reader.take_faults().into_iter();
        let start = passed;
        passed = reader.position();
        let fault = |(row, fault): (u64, vectors::Error)| {
            let (place, why) = (path.display().to_string(), fault.to_string());
            let wrong = Err(Error::Query { place, why });
            Ok((Place::Row(path.clone(), row), wrong, None))
        };
        let chunk = match chunk {
            Some(Ok(chunk)) => chunk,
            Some(Err(error)) => {
                let faults = (start..).zip(faults).map(fault);
                return Some(faults.chain([Err(named(error))]).collect());
            }
            None => {
                let faults: Vec<Item> = (start..).zip(faults).map(fault).collect();
                return (!faults.is_empty()).then_some(faults);
            }
        };
        let before = (start..chunk.first).zip(faults.by_ref());
        let mut items: Vec<Item> = before.map(fault).collect();
        let end = chunk.first + chunk.vectors.len() as u64;
        let mut ids = chunk.ids.into_iter().flatten();
        let rows = (chunk.first..).zip(chunk.vectors.rows());
        items.extend(rows.map(|(row, vector)| {
            let place = Place::Row(path.clone(), row);
            Ok((place, Ok(vector.to_vec()), ids.next()))
        }));
        items.extend((end..).zip(faults).map(fault));
        Some(items)
    });
    chunks.flatten()
}

/// One vector per line. Empty lines are skipped.
fn lines(mut input: impl BufRead) -> impl Iterator<Item = Item> {
    let mut line = 0;
    std::iter::from_fn(move || {
        loop {
            line += 1;
            let place = Place::Line(line);
            match text(&mut input, &place) {
                Err(error) => return Some(Err(error)),
                Ok(None) => return None,
                Ok(Some(Ok(text))) if text.trim().is_empty() => (),
                Ok(Some(text)) => {
                    let vector = text.and_then(|text| coordinates(&text, &place));
                    return Some(Ok((place, vector, None)));
                }
            }
        }
    })
}

/// The next line, or the reason why it cannot be read. `None` at the end.
fn text(input: &mut impl BufRead, place: &Place) -> Result<Option<Result<String, Error>>, Error> {
    let mut bytes = Vec::new();
    let mut limited = (&mut *input).take(MAX_LINE + 1);
    if limited.read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if bytes.len() as u64 > MAX_LINE {
        if !bytes.ends_with(b"\n") {
            input.skip_until(b'\n')?;
        }
        let why = format!("longer than {MAX_LINE} bytes");
        return Ok(Some(Err(place.wrong(why))));
    }
    let text = String::from_utf8(bytes);
    Ok(Some(text.map_err(|_| {
        place.wrong("is not text in UTF-8".to_owned())
    })))
}

/// The coordinates in a text. No message shows them, because a query is secret.
fn coordinates(text: &str, place: &Place) -> Result<Vec<f32>, Error> {
    let numbers = numbers::parse(text).map_err(|error| place.wrong(error.to_string()))?;
    let vector: Vec<f32> = numbers.into_iter().map(to_f32).collect();
    match vector.iter().position(|x| !x.is_finite()) {
        None => Ok(vector),
        Some(at) => {
            let why = "is not a finite number of 32 bits: expected -3.4e38 to 3.4e38";
            Err(place.wrong(format!("number {} {why}", at + 1)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_in_every_spelling() {
        for text in ["1,-2.5,3e0", " 1 -2.5\t3 ", "[1, -2.5, 3]", "{1;-2.5;3}"] {
            let found = coordinates(text, &Place::Argument).unwrap();
            assert_eq!(found, [1.0, -2.5, 3.0], "{text}");
        }
        let two: Result<Vec<_>, _> = lines(&b"1 2\n\n[3, 4]\r\n"[..]).collect();
        let two = two.unwrap().into_iter();
        let two: Vec<_> = two.map(|(_, vector, _)| vector.unwrap()).collect();
        assert_eq!(two, [[1.0, 2.0], [3.0, 4.0]]);
    }

    #[test]
    fn the_fault_is_said_without_the_query() {
        let error = |text: &str| {
            let mut all = lines(text.as_bytes()).map(|item| item.unwrap().1);
            all.find_map(Result::err).unwrap().to_string()
        };
        assert_eq!(
            error("1 2\n1 secret\n"),
            "standard input, line 2: number 2 is not one: expected numbers such as -0.5 or 1e-3"
        );
        assert!(error("1 2\n0,5 0,25\n").contains("line 2: commas and, at number 2, white space"));
        assert!(error("1,,2").contains("line 1: nothing where number 2 should be"));
        assert!(error("[]").contains("line 1: no numbers"));
        assert!(error("1 nan").contains("number 2 is not a finite number of 32 bits"));
        assert!(error("1e99").contains("number 1 is not a finite number of 32 bits"));
        assert!(error(&"1 ".repeat(1 << 19)).contains("longer than"));
    }

    #[test]
    fn lines_after_a_bad_one_are_read() {
        let long = format!("1 2\n{}\n", "3 ".repeat(1 << 20));
        let text = [long.as_bytes(), b"x\n\xff\n4 5\n"].concat();
        let found = lines(&text[..]).map(|item| item.unwrap());
        let found: Vec<_> = found
            .map(|(place, vector, _)| (place.to_string(), vector.is_ok()))
            .collect();
        let at = |line: usize, good| (format!("standard input, line {line}"), good);
        let expected = [
            at(1, true),
            at(2, false),
            at(3, false),
            at(4, false),
            at(5, true),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn queries_come_in_order_and_with_their_numbers() {
        let some = || (0..200).map(|at| Ok((Place::Line(at), Ok(vec![1.0]), None)));
        let queries = Queries::start(None, some).unwrap();
        for number in 0..200 {
            let query = queries.next(|| false).unwrap().unwrap();
            assert_eq!(query.number, number);
            assert!(matches!(query.place, Place::Line(line) if line == number));
        }
        assert!(queries.next(|| false).unwrap().is_none());
        assert!(Queries::start(None, std::iter::empty).is_err());
    }

    /// An input that sends nothing does not prevent the command from ending.
    #[test]
    fn whoever_waits_can_be_stopped() {
        let (hold, held) = mpsc::channel::<()>();
        let queries = Queries::start(None, move || {
            let first = std::iter::once(Ok((Place::Argument, Ok(vec![1.0]), None)));
            first.chain(std::iter::from_fn(move || {
                held.recv().ok()?;
                None
            }))
        });
        let queries = queries.unwrap();
        assert!(queries.next(|| false).unwrap().is_some());
        assert!(queries.next(|| true).unwrap().is_none());
        drop(hold);
        assert!(queries.next(|| false).unwrap().is_none());
    }
}
