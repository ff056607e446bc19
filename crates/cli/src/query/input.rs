//! The vectors to search for, one after another, as they come.

use crate::Error;
use sordino_search::{Error as Search, Vectors, vectors};
use std::{
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    sync::{Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

/// The longest line of text: 8192 numbers, generously.
const MAX_LINE: u64 = 1 << 19;

/// Vectors that are read before they are asked for.
const AHEAD: usize = 64;

/// The pause between looks at whether the command is to stop.
const TICK: Duration = Duration::from_millis(50);

/// A vector to search for.
pub(super) struct Query {
    /// Its number, from 0.
    pub(super) number: usize,
    pub(super) vector: Vec<f32>,
    place: Place,
}

/// Where a vector was given.
#[derive(Clone, Debug)]
enum Place {
    Argument,
    Row(PathBuf, usize),
    Line(usize),
}

impl Query {
    /// Names the place of a vector that cannot be searched for.
    pub(super) fn named(&self, error: Error) -> Error {
        let why = match &error {
            // The row that it names is that of a set with this one vector.
            Error::Search(Search::Vectors(vectors::Error::ZeroVector { .. })) => {
                "the zero vector, which has no direction".to_owned()
            }
            Error::Search(Search::Dimension { .. } | Search::Vectors(_)) => error.to_string(),
            _ => return error,
        };
        let place = self.place.to_string();
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

type Item = Result<(Place, Vec<f32>), Error>;

/// The queries of a command, in their order. They are read by a thread of its own, a few ahead.
pub(super) struct Queries {
    /// Their number, where it is known beforehand.
    len: Option<usize>,
    coming: Mutex<Coming>,
}

struct Coming {
    /// The one that was waited for before anything else was done.
    first: Option<(Place, Vec<f32>)>,
    taken: usize,
    rest: Receiver<Item>,
    reading: Option<JoinHandle<()>>,
}

impl Queries {
    /// The queries of the arguments, or else of standard input. Waits for the first of them.
    pub(super) fn open(text: Option<&str>, file: Option<&Path>) -> Result<Self, Error> {
        match (text, file) {
            (Some(text), _) => {
                let vector = numbers(text, &Place::Argument)?;
                let vector = Vectors::new(vector.len(), vector)?;
                let one = (Place::Argument, vector.as_slice().to_vec());
                Self::start(Some(1), move || std::iter::once(Ok(one)))
            }
            (None, Some(path)) => {
                let reader = vectors::Reader::open(path).map_err(Error::vectors(path))?;
                let len = reader.len_hint().and_then(|len| usize::try_from(len).ok());
                let path = path.to_owned();
                Self::start(len, move || rows(reader, path))
            }
            (None, None) => Self::start(None, || lines(io::stdin().lock())),
        }
    }

    /// Reads on a thread of its own: where it waits for input, the command can still be stopped.
    fn start<I: Iterator<Item = Item>>(
        len: Option<usize>,
        items: impl FnOnce() -> I + Send + 'static,
    ) -> Result<Self, Error> {
        let (send, rest) = mpsc::sync_channel(AHEAD);
        let read = move || {
            for item in items() {
                let last = item.is_err();
                // Nobody receives any more when the command ends.
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

    /// Their number, where it is known beforehand.
    pub(super) fn len(&self) -> Option<usize> {
        self.len
    }

    /// The next query, if there is one; none, too, when `stop` says so.
    pub(super) fn next(&self, stop: impl Fn() -> bool) -> Result<Option<Query>, Error> {
        let mut coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
        let (place, vector) = match coming.first.take() {
            Some(first) => first,
            None => loop {
                if stop() {
                    return Ok(None);
                }
                match coming.rest.recv_timeout(TICK) {
                    Ok(item) => break item?,
                    Err(RecvTimeoutError::Timeout) => (),
                    Err(RecvTimeoutError::Disconnected) => {
                        // It has ended, and not by a fault of the program.
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
        }))
    }
}

/// The vectors of a file, read a chunk at a time.
fn rows(reader: vectors::Reader, path: PathBuf) -> impl Iterator<Item = Item> {
    let named = Error::vectors(&path);
    let mut row = 0;
    reader.flat_map(move |chunk| -> Vec<Item> {
        match chunk {
            Ok(chunk) => {
                let rows = (row..).zip(chunk.vectors.rows());
                row += chunk.vectors.len();
                rows.map(|(row, vector)| Ok((Place::Row(path.clone(), row), vector.to_vec())))
                    .collect()
            }
            Err(error) => vec![Err(named(error))],
        }
    })
}

/// A vector a line; empty lines are passed over.
fn lines(mut input: impl BufRead) -> impl Iterator<Item = Item> {
    let (mut line, mut dim) = (0, 0);
    std::iter::from_fn(move || {
        loop {
            line += 1;
            match vector(&mut input, line, &mut dim) {
                Ok(Some(vector)) if vector.is_empty() => (),
                Ok(Some(vector)) => return Some(Ok((Place::Line(line), vector))),
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    })
}

/// The vector of the next line, empty if the line is; none at the end.
fn vector(
    input: &mut impl BufRead,
    line: usize,
    dim: &mut usize,
) -> Result<Option<Vec<f32>>, Error> {
    let place = Place::Line(line);
    let mut text = String::new();
    let mut limited = input.take(MAX_LINE + 1);
    if limited.read_line(&mut text)? == 0 {
        return Ok(None);
    }
    if text.len() as u64 > MAX_LINE {
        let why = format!("{place}: longer than {MAX_LINE} bytes");
        return Err(Error::Arguments(why));
    }
    let vector = numbers(&text, &place)?;
    if !vector.is_empty() && *dim > 0 && vector.len() != *dim {
        let found = vector.len();
        let why = format!("{place}: {found} numbers, expected {dim}, like the first");
        return Err(Error::Arguments(why));
    }
    *dim = (*dim).max(vector.len());
    Ok(Some(vector))
}

/// Numbers separated by commas or spaces, in brackets or not: so JSON's lists are read too.
fn numbers(text: &str, place: &Place) -> Result<Vec<f32>, Error> {
    let text = text.trim();
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let words = inner.unwrap_or(text).split([',', ' ', '\t']);
    let words = (1..).zip(words.filter(|word| !word.is_empty()));
    // The word itself is not shown: a query is secret.
    words
        .map(|(at, word)| {
            let number = word.parse().map_err(|_| {
                let why = "is not a number; numbers are separated by commas or spaces";
                Error::Arguments(format!("{place}: number {at} {why}"))
            })?;
            if f32::is_finite(number) {
                return Ok(number);
            }
            let why = format!("{place}: number {at} is not a finite number");
            Err(Error::Arguments(why))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_in_every_spelling() {
        for text in ["1,-2.5,3e0", " 1 -2.5\t3 ", "[1, -2.5, 3]", "1, -2.5,3,"] {
            let found = numbers(text, &Place::Argument).unwrap();
            assert_eq!(found, [1.0, -2.5, 3.0], "{text}");
        }
        let two: Result<Vec<_>, _> = lines(&b"1 2\n\n[3, 4]\r\n"[..]).collect();
        let two: Vec<_> = two.unwrap().into_iter().map(|(_, vector)| vector).collect();
        assert_eq!(two, [[1.0, 2.0], [3.0, 4.0]]);
    }

    #[test]
    fn the_fault_is_said_without_the_query() {
        let error = |text: &str| {
            let all: Result<Vec<_>, _> = lines(text.as_bytes()).collect();
            all.unwrap_err().to_string()
        };
        assert_eq!(
            error("1 2\n1 secret\n"),
            "standard input, line 2: number 2 is not a number; numbers are separated by commas or spaces"
        );
        assert!(error("1 2\n\n1\n").contains("line 3: 1 numbers, expected 2"));
        assert!(error("1 nan").contains("number 2 is not a finite number"));
        assert!(error("1e99").contains("number 1 is not a finite number"));
        assert!(error(&"1 ".repeat(1 << 19)).contains("longer than"));
    }

    #[test]
    fn queries_come_in_order_and_with_their_numbers() {
        let some = || (0..200).map(|at| Ok((Place::Line(at), vec![1.0])));
        let queries = Queries::start(None, some).unwrap();
        for number in 0..200 {
            let query = queries.next(|| false).unwrap().unwrap();
            assert_eq!(query.number, number);
            assert!(matches!(query.place, Place::Line(line) if line == number));
        }
        assert!(queries.next(|| false).unwrap().is_none());
        assert!(Queries::start(None, std::iter::empty).is_err());
    }

    /// An input that gives nothing for now does not keep the command from ending.
    #[test]
    fn whoever_waits_can_be_stopped() {
        let (hold, held) = mpsc::channel::<()>();
        let queries = Queries::start(None, move || {
            let first = std::iter::once(Ok((Place::Argument, vec![1.0])));
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
