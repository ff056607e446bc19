//! Changes that an owner's store refuses, or completes only in part.

use std::path::{Path, PathBuf};

use super::Error;
use super::words::hex;

/// The reason why an owner's store is not changed, or what is left to do after a change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnerFault {
    /// The version found is not the one that the owner knows, and does not follow from it. The fault is
    /// [`Error::Rollback`], [`Error::Fork`], [`Error::OtherIndex`] or [`Error::Gap`]. Nothing was changed.
    #[error("{}", undone(.0))]
    Undone(Box<Error>),
    /// The copy to update belongs to a different index. Nothing was changed.
    #[error(
        "the copy holds index {}, and this is index {}: choose another folder for the copy",
        hex(there),
        hex(found)
    )]
    Copy {
        /// The index to copy.
        found: [u8; 16],
        /// The index of the copy.
        there: [u8; 16],
    },
    /// The server's index is a different one. Nothing was changed.
    #[error(
        "the server has index {} at this address, and this is index {}. Push to the address of this index, which with --root \
         ends with its name, or push the folder of the server's index",
        hex(there),
        hex(found)
    )]
    OtherServed {
        /// The index to push.
        found: [u8; 16],
        /// The index of the server.
        there: [u8; 16],
    },
    /// The file in which an owner remembers versions cannot be read or written. Nothing was changed.
    #[error("{}", forgetful(path, why))]
    Pins {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A build has too few questions to measure recall with them.
    #[error(
        "{found} different questions: expected at least {expected}, because fewer say too little about the recall of others"
    )]
    Questions {
        /// The number of different questions.
        found: usize,
        /// The smallest number.
        expected: usize,
    },
    /// The questions of a build have a different dimension from the vectors.
    #[error(
        "questions of {found} dimensions: expected {expected}, like the vectors; make both with the same model"
    )]
    QuestionDimension {
        /// The dimension of the questions.
        found: usize,
        /// The dimension of the vectors.
        expected: usize,
    },
    /// A change took effect, but its owner could not record the new version.
    #[error(
        "version {version} is made, but not remembered: {source}. Until the next change is remembered, no one would notice if this \
         version were taken back"
    )]
    Unpinned {
        /// The version that the change made.
        version: u64,
        /// The reason.
        source: Box<Error>,
    },
    /// A change took effect, but the compaction that should follow it failed.
    #[error("version {version} is made, but the compaction after it failed: {source}")]
    Compaction {
        /// The version that the change made.
        version: u64,
        /// The reason.
        source: Box<Error>,
    },
}

/// The message about a version that is not the owner's, and does not follow from it.
fn undone(fault: &Error) -> String {
    let found = match fault {
        Error::Rollback { found, pinned } => format!(
            "version {found} of the index is here, and its owner knows version {pinned}: a change would undo what was revoked or \
             deleted since"
        ),
        Error::Fork { version } => format!(
            "version {version} of the index is here, which does not follow from the one that its owner knows: it is of another history"
        ),
        Error::OtherIndex { found, pinned } => format!(
            "index {} is here, and its owner knows index {} in this place",
            hex(found),
            hex(pinned)
        ),
        Error::Gap { found, pinned } => format!(
            "version {found} of the index is here, and manifests are missing that would show that it follows from version {pinned}, \
             which its owner knows"
        ),
        other => other.to_string(),
    };
    format!(
        "{found}. Nothing was changed. If you restored a backup or put this index here, say so once (--restored, in \
         Python restored=True). Then see who may read it (`sordino keys list`), and repeat the revocations and \
         deletions that are missing. If you did not, stop: the host shows an old or a different index. Write nothing \
         there, and take the newest version from a backup"
    )
}

/// The message about a file of remembered versions that cannot be used.
fn forgetful(path: &Path, why: &str) -> String {
    let path = path.display();
    format!(
        "{path}: {why}. The owner's commands remember in this file which versions they know, and change nothing without \
         it. If it cannot be written, name another file (--pins, in Python pins=)"
    )
}

/// An owner's version is older than the version of a server or a copy, or does not follow from it. An index only
/// goes forward: readers that have seen a version refuse earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotNext {
    /// The version that should be put there.
    pub found: u64,
    /// The version that is already there.
    pub there: u64,
    /// The holder of that version: the [server](Self::SERVER), or the copy.
    pub holder: &'static str,
}

impl NotNext {
    /// The server as the holder of a version.
    pub const SERVER: &'static str = "the server";
}

impl std::fmt::Display for NotNext {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            found,
            there,
            holder,
        } = self;
        if found < there {
            write!(
                out,
                "{holder} has version {there}, and this is version {found}: an index does not go back. "
            )?;
        } else {
            write!(
                out,
                "{holder} has version {there}, from which this version {found} does not follow: both were changed, each in \
                 its own way. "
            )?;
        }
        if *holder == Self::SERVER {
            write!(
                out,
                "In local mode `sordino index pull` brings the server's version here, in Python `sordino.pull`. In other modes take \
                 the folder in which its version {there} was made. What was changed here meanwhile is changed again after that. Several \
                 machines that add records need writers' keys (`sordino keys new writer`)"
            )
        } else {
            write!(out, "Take the folder in which its version {there} was made")
        }
    }
}

impl std::error::Error for NotNext {}
