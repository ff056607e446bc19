//! The memory of a reader between runs, so that a server cannot go back.
//!
//! One line of JSON: the index's id, and the newest version seen with its manifest's digest. Processes share the file:
//! all versions that it ever holds belong to one history.

use crate::Error;
use crate::files::{hold, read, target, write_private};
use clap::Args as ClapArgs;
use serde::{Deserialize, Serialize};
use sordino_search::{Cache, Error as Search, Kind, Pin, PinStore, Retry, SessionOptions};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Every pin file is shorter than this number of bytes.
const MAX_FILE: u64 = 1 << 12;

/// Options of the memory.
#[derive(ClapArgs, Debug)]
pub(crate) struct PinArgs {
    /// Remember the newest version seen in this file, and refuse older ones and other indexes.
    #[arg(long, value_name = "FILE")]
    pin: Option<PathBuf>,
    /// Connect although the server does not show that its version follows from the one in the pin file. The version
    /// must be of the same index and not older. A server that hides another history shows such a gap: ask the index's
    /// owner first.
    #[arg(long, requires = "pin")]
    over_gap: bool,
}

impl PinArgs {
    /// A session that remembers its versions in the pin file, if an option names one.
    pub(crate) fn session(
        &self,
        cache: Option<Cache>,
        retry: Retry,
    ) -> Result<SessionOptions, Error> {
        let options = SessionOptions::default().over_gap(self.over_gap);
        let options = options.cache(cache).retry(retry);
        Ok(match &self.pin {
            Some(path) => options.pins(Box::new(PinFile::read(path)?)),
            None => options,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    index: String,
    version: u64,
    manifest: String,
}

impl Line {
    fn of(pin: &Pin) -> Self {
        Self {
            index: hex::encode(pin.index),
            version: pin.version,
            manifest: hex::encode(pin.manifest),
        }
    }

    fn pin(&self) -> Option<Pin> {
        let mut pin = Pin {
            index: [0; 16],
            version: self.version,
            manifest: [0; 32],
        };
        hex::decode_to_slice(&self.index, &mut pin.index).ok()?;
        hex::decode_to_slice(&self.manifest, &mut pin.manifest).ok()?;
        Some(pin)
    }
}

/// A pin file.
pub(crate) struct PinFile {
    path: PathBuf,
    seen: Option<Pin>,
}

impl PinFile {
    /// Reads a pin file, which need not exist yet.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let path = target(path);
        let seen = Self::stored(&path)?;
        Ok(Self { path, seen })
    }

    /// The content of a pin file, if there is one.
    fn stored(path: &Path) -> Result<Option<Pin>, Search> {
        let at = |source| Search::File {
            path: path.to_owned(),
            source,
        };
        match read(path, MAX_FILE) {
            Ok(text) => {
                let line: Option<Line> = serde_json::from_slice(&text).ok();
                let pin = line.and_then(|line| line.pin());
                // The file protects the user, so a damaged file is an error, and no default
                // replaces it.
                let why = "not a pin file: look at it; if you remove it, the next search trusts what the server shows";
                let unread = || at(io::Error::new(io::ErrorKind::InvalidData, why));
                pin.map(Some).ok_or_else(unread)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(error)),
        }
    }

    /// Stores a version if the stored one is older and was checked, or if there is none. Returns the stored one if it
    /// must be checked first.
    fn put(&self, new: Pin, checked: Option<Pin>) -> Result<Option<Pin>, Search> {
        let _held = hold(&self.path).map_err(of_file)?;
        let stored = Self::stored(&self.path)?;
        match stored {
            Some(stored) if stored == new => return Ok(None),
            Some(_) if stored != checked => return Ok(stored),
            Some(stored) if stored.version > new.version => return Ok(None),
            _ => {}
        }
        let line = serde_json::to_vec(&Line::of(&new));
        let mut line = line.map_err(|error| of_file(io::Error::from(error).into()))?;
        line.push(b'\n');
        write_private(&self.path, &line).map_err(of_file)?;
        Ok(None)
    }
}

/// All versions that the file ever holds belong to one history. The file is not locked while the
/// server is asked.
impl PinStore for PinFile {
    fn newest(&self) -> Option<Pin> {
        self.seen
    }

    fn remember(
        &mut self,
        new: Pin,
        check: &mut dyn FnMut(&Pin) -> Result<(), Search>,
    ) -> Result<(), Search> {
        // A stored version belongs to the history of all versions that are stored after it.
        if self.seen == Some(new) {
            return Ok(());
        }
        let mut checked = self.seen;
        while let Some(stored) = self.put(new, checked)? {
            agrees(&new, &stored)?;
            check(&stored)?;
            checked = Some(stored);
        }
        self.seen = Some(new);
        Ok(())
    }
}

/// An error of the file, in the form that a session returns.
fn of_file(error: Error) -> Search {
    match error {
        Error::File { path, source } => Search::File { path, source },
        error => Search::transport(Kind::Local, error),
    }
}

/// Refuses two pins if no server can show that they belong to one history.
fn agrees(new: &Pin, stored: &Pin) -> Result<(), Search> {
    let (found, pinned, version) = (new.index, stored.index, new.version);
    if found != pinned {
        Err(Search::OtherIndex { found, pinned })
    } else if version == stored.version {
        Err(Search::Fork { version })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(version: u64, manifest: u8) -> Pin {
        Pin {
            index: [0xab; 16],
            version,
            manifest: [manifest; 32],
        }
    }

    /// Panics if it is called, because no other process has stored a version.
    fn alone(stored: &Pin) -> Result<(), Search> {
        panic!("{stored:?}")
    }

    fn stored(path: &Path) -> Option<Pin> {
        PinFile::read(path).unwrap().newest()
    }

    #[test]
    fn what_was_seen_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin");
        let mut file = PinFile::read(&path).unwrap();
        assert_eq!(file.newest(), None);
        for version in [3, 4] {
            file.remember(pin(version, 7), &mut alone).unwrap();
            file = PinFile::read(&path).unwrap();
            assert_eq!(file.newest(), Some(pin(version, 7)));
        }
    }

    #[test]
    fn a_command_that_ends_late_does_not_go_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin");
        let file = || PinFile::read(&path).unwrap();
        file().remember(pin(3, 7), &mut alone).unwrap();
        let (mut early, mut late) = (file(), file());
        late.remember(pin(6, 7), &mut alone).unwrap();
        // Each version that another process has stored is checked once.
        let mut asked = Vec::new();
        let mut check = |other: &Pin| {
            asked.push(other.version);
            Ok(())
        };
        early.remember(pin(5, 7), &mut check).unwrap();
        assert_eq!(stored(&path), Some(pin(6, 7)));
        early.remember(pin(7, 7), &mut check).unwrap();
        assert_eq!(stored(&path), Some(pin(7, 7)));
        late.remember(pin(8, 7), &mut check).unwrap();
        assert_eq!(stored(&path), Some(pin(8, 7)));
        assert_eq!(asked, [6, 6, 7]);
    }

    /// Two processes began with one pin, or with none, and saw different histories. The second one to remember its
    /// version gets an error.
    #[test]
    fn a_fork_between_two_processes_is_not_swallowed() {
        let folder = tempfile::tempdir().unwrap();
        for first in [None, Some(pin(3, 7))] {
            let path = folder.path().join(format!("pin {}", first.is_some()));
            if let Some(first) = first {
                PinFile::read(&path)
                    .unwrap()
                    .remember(first, &mut alone)
                    .unwrap();
            }
            let (mut one, mut two) = (PinFile::read(&path).unwrap(), PinFile::read(&path).unwrap());
            one.remember(pin(7, 1), &mut alone).unwrap();
            let refused = two.remember(pin(7, 2), &mut alone).unwrap_err();
            assert_eq!(refused.kind(), Kind::Untrusted);
            assert!(refused.to_string().contains("does not follow"), "{refused}");
            let other = Pin {
                index: [1; 16],
                ..pin(8, 1)
            };
            let refused = two.remember(other, &mut alone).unwrap_err().to_string();
            assert!(refused.contains("index abab"), "{refused}");
            // An older or a newer version belongs to another history if the server says so.
            for version in [6, 8] {
                let refused = two.remember(pin(version, 2), &mut |other| {
                    assert_eq!(*other, pin(7, 1));
                    Err(Search::Fork { version: 9 })
                });
                assert_eq!(refused.unwrap_err().kind(), Kind::Untrusted);
                assert_ne!(two.newest(), Some(pin(version, 2)));
            }
            assert_eq!(stored(&path), Some(pin(7, 1)));
        }
    }

    /// Each process uses a different name for the same file. The second one still sees what the first has stored.
    #[cfg(unix)]
    #[test]
    fn a_pin_file_behind_links_is_shared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin");
        let names = ["a", "b"].map(|name| folder.path().join(name));
        for name in &names {
            std::os::unix::fs::symlink("pin", name).unwrap();
        }
        let [mut one, mut two] = names.clone().map(|name| PinFile::read(&name).unwrap());
        one.remember(pin(7, 1), &mut alone).unwrap();
        assert!(two.remember(pin(7, 2), &mut alone).is_err());
        assert_eq!(stored(&path), Some(pin(7, 1)));
        assert!(names.iter().all(|name| name.is_symlink()));
    }

    /// While a stored version is checked, another process stores a newer one. That one is checked, too.
    #[test]
    fn a_version_that_is_stored_during_the_check_is_checked_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin");
        let mut file = PinFile::read(&path).unwrap();
        PinFile::read(&path)
            .unwrap()
            .remember(pin(4, 7), &mut alone)
            .unwrap();
        let mut asked = Vec::new();
        let mut check = |other: &Pin| {
            asked.push(other.version);
            if other.version == 4 {
                PinFile::read(&path)
                    .unwrap()
                    .remember(pin(5, 7), &mut alone)?;
            }
            Ok(())
        };
        file.remember(pin(9, 7), &mut check).unwrap();
        assert_eq!((asked, stored(&path)), (vec![4, 5], Some(pin(9, 7))));
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
            "{\"index\":\"ab\",\"version\":1,\"manifest\":\"cd\"}",
        ] {
            std::fs::write(&path, text).unwrap();
            assert!(PinFile::read(&path).is_err(), "{text}");
        }
        std::fs::write(&path, [0xff; 5000]).unwrap();
        let refused = PinFile::read(&path).err().unwrap().to_string();
        assert!(refused.contains("longer than 4096 bytes"), "{refused}");
    }
}
