//! The newest log that a reader has seen.

use crate::Error;
use crate::files::{hold, read, target, write_private};
use serde::{Deserialize, Serialize};
use sordino_search::log::Head;
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// The file with the newest head is smaller than this, in bytes.
const MAX_FILE: u64 = 1 << 12;

/// The newest head that a reader has seen, in a file that is locked for other commands.
pub(super) struct SeenFile {
    path: PathBuf,
    pub(super) head: Option<Head>,
    _held: File,
}

/// The line of JSON in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    count: u64,
    root: String,
}

impl SeenFile {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let path = target(path);
        let held = hold(&path)?;
        let head = match read(&path, MAX_FILE) {
            Ok(bytes) => {
                let line: Option<Line> = serde_json::from_slice(&bytes).ok();
                let mut root = [0; 32];
                let head = line.and_then(|line| {
                    hex::decode_to_slice(&line.root, &mut root).ok()?;
                    let count = line.count;
                    Some(Head { count, root })
                });
                // The file protects the user, so a damaged file is an error, and no default
                // replaces it.
                Some(head.ok_or_else(|| Error::Memory {
                    path: path.clone(),
                    why: "not a file that --seen wrote: look at it; if you remove it, the next check trusts the log as \
                        it is",
                })?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::at(&path)(error)),
        };
        Ok(Self {
            path,
            head,
            _held: held,
        })
    }

    pub(super) fn remember(&self, head: Head) -> Result<(), Error> {
        let line = Line {
            count: head.count,
            root: hex::encode(head.root),
        };
        let mut text = serde_json::to_vec(&line).map_err(io::Error::from)?;
        text.push(b'\n');
        write_private(&self.path, &text)
    }
}
