//! Converts Rust's errors to exceptions. Each kind of error has its own class in `sordino._errors`.

use std::any::Any;
use std::path::Path;

use pyo3::prelude::*;
use sordino_net::{Error as Net, Refusal};
use sordino_search::vectors::Error as Vectors;
use sordino_search::{Error as Search, OwnerFault};

/// An exception of this class of `sordino._errors`.
pub(crate) fn raise(py: Python<'_>, class: &str, message: impl Into<String>) -> PyErr {
    let made = py
        .import("sordino._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((message.into(),)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// The exception for a panic.
pub(crate) fn panicked(py: Python<'_>, payload: &(dyn Any + Send)) -> PyErr {
    let message = format!("a bug in sordino, please report it: {}", words(payload));
    raise(py, "InternalError", message)
}

/// The message of a panic.
fn words(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}

/// Converts an error of a search or an index to an exception.
pub(crate) fn search(py: Python<'_>, error: &Search) -> PyErr {
    if let Search::AfterBadReply(then) = error {
        let then = search(py, then).get_type(py);
        let made = py
            .import("sordino._errors")
            .and_then(|module| module.getattr("_after_wrong")?.call1((then,)))
            .and_then(|class| class.call1((error.to_string(),)));
        return made.map_or_else(|error| error, PyErr::from_value);
    }
    // A network error has a more specific class than a failed request.
    if let Some(error) = Net::of(error) {
        return net(py, error);
    }
    let raised = raise(py, search_class(error), error.to_string());
    match error {
        Search::File { path, source } => of_file(py, raised, path, source.raw_os_error()),
        Search::NoIndex { path } => of_file(py, raised, path, Some(ENOENT)),
        Search::Exists { path } => of_file(py, raised, path, Some(EEXIST)),
        _ => raised,
    }
}

/// The error numbers of every Unix for a missing file and for an existing file.
const ENOENT: i32 = 2;
const EEXIST: i32 = 17;

/// Adds the file and the error number to an error, as Python's own exceptions have them.
fn of_file(py: Python<'_>, error: PyErr, path: &Path, code: Option<i32>) -> PyErr {
    let value = error.value(py);
    let set = value
        .setattr("filename", path.as_os_str())
        .and_then(|()| value.setattr("errno", code));
    // If these cannot be set, the error keeps its message.
    set.map_or_else(|other| other, |()| error.clone_ref(py))
}

/// Converts a network error to an exception.
pub(crate) fn net(py: Python<'_>, error: &Net) -> PyErr {
    let raised = raise(py, net_class(error), error.to_string());
    match error {
        Net::File { path, source } => of_file(py, raised, path, source.raw_os_error()),
        _ => raised,
    }
}

/// Converts an error of vectors to an exception.
pub(crate) fn vectors(py: Python<'_>, error: &Vectors) -> PyErr {
    raise(py, vectors_class(error), error.to_string())
}

/// Converts an error of an owner's questions to an exception.
pub(crate) fn questions(py: Python<'_>, error: &Vectors) -> PyErr {
    raise(py, vectors_class(error), format!("questions: {error}"))
}

/// The class of a file error; a missing file has its own class.
fn file_class(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => "MissingFileError",
        _ => "FileError",
    }
}

fn search_class(error: &Search) -> &'static str {
    match error {
        Search::File { source, .. } => file_class(source),
        Search::Vectors(error) => vectors_class(error),
        Search::Ids { .. }
        | Search::RepeatedId { .. }
        | Search::IdKind { .. }
        | Search::NoIds { .. }
        | Search::NoNextId { .. } => "IdsError",
        Search::UnknownId { .. } => "UnknownIdError",
        Search::Segments { .. } => "SegmentsError",
        Search::Locked { .. } => "LockedError",
        Search::Exists { .. } | Search::Occupied { .. } => "ExistsError",
        Search::NoIndex { .. } => "NoIndexError",
        Search::NothingLeft { .. } => "NothingLeftError",
        Search::Unsure { .. } => "UnsureError",
        Search::Overtaken { .. } => "OvertakenError",
        Search::Dimension { .. } => "DimensionError",
        Search::K { .. } | Search::Candidates(_) | Search::Results { .. } => "KError",
        Search::Recall(_) | Search::Owner(OwnerFault::Questions { .. }) => "RecallError",
        Search::Count { .. }
        | Search::TooLarge { .. }
        | Search::Room { .. }
        | Search::Memory { .. } => "TooLargeError",
        Search::Malformed { .. } | Search::Lost { .. } => "MalformedError",
        Search::FormatVersion { .. } => "FormatVersionError",
        Search::Digest { .. } => "DigestError",
        Search::Signature => "SignatureError",
        Search::Rollback { .. } => "RollbackError",
        Search::NotNext(wrong) if wrong.found < wrong.there => "RollbackError",
        Search::Fork { .. } | Search::NotNext(_) => "ForkError",
        Search::OtherIndex { .. } => "OtherIndexError",
        Search::Gap { .. } => "GapError",
        Search::Owner(OwnerFault::QuestionDimension { .. }) => "DimensionError",
        // The fault inside determines the class.
        Search::Owner(OwnerFault::Undone(fault)) => search_class(fault),
        Search::Owner(OwnerFault::OtherServed { .. }) => "OtherIndexError",
        Search::Owner(OwnerFault::Pins { .. }) => "FileError",
        Search::Payload { .. } | Search::PayloadCount { .. } => "PayloadError",
        Search::Stale { .. } => "StaleError",
        Search::Mode { .. } => "ModeError",
        Search::Access(_) | Search::NoReader => "AccessError",
        Search::Attribute { .. } | Search::AttributeCount { .. } => "AttributesError",
        Search::Filter(_) => "FilterError",
        Search::Log(_) => "IntegrityError",
        Search::Transport { .. } => "NetworkError",
        // A server that has forgotten a session refuses the request.
        Search::Session => "RefusedError",
        Search::BadReply => "SearchError",
        _ => "Error",
    }
}

fn vectors_class(error: &Vectors) -> &'static str {
    match error {
        Vectors::File { source, .. } | Vectors::Read(source) => file_class(source),
        Vectors::Folder { .. } => "FileError",
        Vectors::Id { .. }
        | Vectors::IdRow { .. }
        | Vectors::IdsShape { .. }
        | Vectors::IdLine { .. } => "IdsError",
        Vectors::NoVectors => "EmptyError",
        Vectors::NotFinite { .. } => "NotFiniteError",
        Vectors::ZeroVector { .. } => "ZeroVectorError",
        Vectors::Norm { .. } => "NormError",
        Vectors::RaggedMatrix { .. } | Vectors::WideVectors { .. } => "ShapeError",
        _ => "FormatError",
    }
}

fn net_class(error: &Net) -> &'static str {
    match error {
        Net::Listen { .. } | Net::Start(_) => "ListenError",
        Net::Address { .. } => "AddressError",
        Net::Roots | Net::Certificate(_) => "CertificateError",
        Net::File { source, .. } => file_class(source),
        Net::KeyFile { .. } | Net::KeyExists { .. } => "KeyFileError",
        Net::KeyKind { .. } | Net::KeyLength { .. } | Net::ReaderKey(_) => "KeyKindError",
        Net::Limits(_) | Net::Shards { .. } | Net::NoShard { .. } | Net::GathersNothing => {
            "InputError"
        }
        Net::Shard { source, .. } => match &**source {
            Search::Position { .. } => "InputError",
            source => search_class(source),
        },
        Net::Connect(_) | Net::Unreachable(_) => "UnreachableError",
        Net::Broken(_) => "BrokenError",
        Net::Refused(Refusal::Rate | Refusal::Busy) => "BusyError",
        Net::Refused(_) => "RefusedError",
        Net::Stale { .. } => "StaleError",
        Net::Status { .. } => "StatusError",
        Net::Reply(_) => "ReplyError",
        Net::Deadline { .. } | Net::Drain { .. } => "DeadlineError",
        Net::Overtaken => "OvertakenError",
        _ => "NetworkError",
    }
}
