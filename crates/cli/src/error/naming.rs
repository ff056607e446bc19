//! Adds file names to errors.

use super::Error;
use sordino_net::Error as Net;
use sordino_search::{Error as Search, OwnerFault, vectors};
use std::io;
use std::path::Path;

impl Error {
    /// Adds the file's name to an error of the system.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }

    /// Adds the index to an error that does not name it, and the file if one is missing.
    pub(crate) fn index(path: &Path) -> impl Fn(Search) -> Self + use<> {
        let path = path.to_owned();
        move |source| match source {
            Search::File { path, source } if is_gone(&path, &source) => Self::Gone { path },
            Search::File { .. }
            | Search::Locked { .. }
            | Search::Exists { .. }
            | Search::Occupied { .. }
            | Search::NoIndex { .. }
            | Search::Lost { .. }
            | Search::Overtaken { .. }
            | Search::Owner(OwnerFault::Pins { .. })
            | Search::Unsure { .. } => source.into(),
            source => Self::Index {
                path: path.clone(),
                source,
            },
        }
    }

    /// Names the file of vectors that an error is about.
    pub(crate) fn vectors(path: &Path) -> impl Fn(vectors::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| match source {
            // The error names the file itself.
            vectors::Error::File { .. } | vectors::Error::Folder { .. } => source.into(),
            source => Self::Vectors {
                path: path.clone(),
                source,
            },
        }
    }

    /// Names the files that an error of a certificate is about.
    pub(crate) fn certificate(files: &[&Path]) -> impl Fn(Net) -> Self + Clone + use<> {
        let files = files.iter().map(|path| path.display().to_string());
        let files = files.collect::<Vec<_>>().join(" and ");
        move |source| match source {
            Net::Certificate(_) if !files.is_empty() => Self::Certificate {
                files: files.clone(),
                source,
            },
            source => source.into(),
        }
    }

    /// Adds the file names to an error of a session. An error while connecting is reported without mentioning a request,
    /// since none was made.
    pub(crate) fn session(files: &[&Path]) -> impl Fn(Search) -> Self + Clone + use<> {
        let named = Self::certificate(files);
        move |error| match error {
            Search::Transport { kind, source } => match source.downcast::<Net>() {
                Ok(source) if source.is_of_connecting() => named(*source),
                Ok(source) => Search::Transport { kind, source }.into(),
                Err(source) => Search::Transport { kind, source }.into(),
            },
            error => error.into(),
        }
    }
}

/// True if a file is missing that a version of an index names.
fn is_gone(path: &Path, source: &io::Error) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    let named = folder.is_some_and(|folder| folder == "parts" || folder == "manifests");
    named && source.kind() == io::ErrorKind::NotFound
}
