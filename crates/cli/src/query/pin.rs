//! What a reader remembers of an index between runs, so that a server cannot go back.
//!
//! One line of JSON: the index's id, and the newest version seen with its manifest's digest.

use crate::Error;
use serde::{Deserialize, Serialize};
use sordino_search::Error as Search;
use sordino_search::manifest::SignedManifest;
use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// Longer than any such file.
const MAX_FILE: u64 = 1 << 12;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    index: String,
    version: u64,
    manifest: String,
}

/// A pin file.
pub(super) struct Pin {
    path: PathBuf,
    seen: Option<Seen>,
}

impl Pin {
    /// Reads a pin file; there need not be one yet.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let mut text = String::new();
        let seen = match File::open(path) {
            Ok(file) => {
                let read = file.take(MAX_FILE).read_to_string(&mut text);
                read.map_err(Error::at(path))?;
                let seen = serde_json::from_str(&text);
                // It is a promise to the user, so it is not guessed at.
                Some(seen.map_err(|_| Error::KeyFile {
                    path: path.to_owned(),
                    why: "not a pin file: look at it, and remove it to trust the server anew",
                })?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::at(path)(error)),
        };
        let path = path.to_owned();
        Ok(Self { path, seen })
    }

    /// The newest version seen, 0 if none.
    pub(super) fn version(&self) -> u64 {
        self.seen.as_ref().map_or(0, |seen| seen.version)
    }

    /// Checks that an index goes on from what was seen, and remembers it.
    pub(super) fn follow(&mut self, manifest: &SignedManifest) -> Result<(), Error> {
        let new = Seen {
            index: hex::encode(manifest.index),
            version: manifest.version,
            manifest: hex::encode(manifest.digest()),
        };
        if self.check(&new)? {
            return Ok(());
        }
        self.write(&new)?;
        self.seen = Some(new);
        Ok(())
    }

    /// Whether it is what was seen last; an error if it does not follow from that.
    fn check(&self, new: &Seen) -> Result<bool, Error> {
        let Some(seen) = &self.seen else {
            return Ok(false);
        };
        if seen.index != new.index {
            return Err(Error::OtherIndex {
                found: new.index.clone(),
                pinned: seen.index.clone(),
            });
        }
        if new.version < seen.version {
            let (found, pinned) = (new.version, seen.version);
            return Err(Search::Rollback { found, pinned }.into());
        }
        if new.version == seen.version && new.manifest != seen.manifest {
            let version = new.version;
            return Err(Search::Fork { version }.into());
        }
        Ok(new.version == seen.version)
    }

    /// Puts a whole file in the place of the old one.
    fn write(&self, new: &Seen) -> Result<(), Error> {
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let at = || Error::at(&self.path);
        let mut file = NamedTempFile::new_in(folder).map_err(at())?;
        let line = serde_json::to_string(new).map_err(io::Error::from)?;
        writeln!(file, "{line}").map_err(at())?;
        file.as_file().sync_all().map_err(at())?;
        file.persist(&self.path)
            .map_err(|error| at()(error.error))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(index: &str, version: u64, manifest: &str) -> Seen {
        Seen {
            index: index.into(),
            version,
            manifest: manifest.into(),
        }
    }

    #[test]
    fn what_was_seen_is_not_gone_back_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin");
        let mut pin = Pin::read(&path).unwrap();
        assert_eq!(pin.version(), 0);
        assert!(!pin.check(&seen("a", 3, "m3")).unwrap());
        pin.write(&seen("a", 3, "m3")).unwrap();
        pin = Pin::read(&path).unwrap();
        assert_eq!(pin.version(), 3);
        assert!(pin.check(&seen("a", 3, "m3")).unwrap());
        assert!(!pin.check(&seen("a", 4, "m4")).unwrap());
        for wrong in [
            seen("a", 2, "m2"),
            seen("a", 3, "other"),
            seen("b", 9, "m9"),
        ] {
            let error = pin.check(&wrong).unwrap_err();
            assert_eq!(error.exit_code(), crate::INTEGRITY, "{error}");
        }
    }

    #[test]
    fn a_damaged_pin_is_not_guessed_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin");
        for text in [
            "",
            "{}",
            "{\"index\":\"a\",\"version\":-1,\"manifest\":\"\"}",
            "\u{0}",
        ] {
            std::fs::write(&path, text).unwrap();
            assert!(Pin::read(&path).is_err(), "{text}");
        }
        std::fs::write(&path, [0xff; 5000]).unwrap();
        assert!(Pin::read(&path).is_err());
    }
}
