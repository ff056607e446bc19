//! The memory of a reader between runs, so that a server cannot go back.
//!
//! One line of JSON: the index's id, and the newest version seen with its manifest's digest.

use crate::{Error, whole::Whole};
use serde::{Deserialize, Serialize};
use sordino_search::Pin;
use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// Longer than any such file.
const MAX_FILE: u64 = 1 << 12;

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
    /// Reads a pin file; there need not be one yet.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let seen = Self::stored(path)?;
        let path = path.to_owned();
        Ok(Self { path, seen })
    }

    /// The content of a pin file, if there is one.
    fn stored(path: &Path) -> Result<Option<Pin>, Error> {
        let mut text = String::new();
        match File::open(path) {
            Ok(file) => {
                let read = file.take(MAX_FILE).read_to_string(&mut text);
                read.map_err(Error::at(path))?;
                let line: Option<Line> = serde_json::from_str(&text).ok();
                let pin = line.and_then(|line| line.pin());
                // It is a promise to the user, so it is not guessed at.
                pin.map(Some).ok_or_else(|| Error::KeyFile {
                    path: path.to_owned(),
                    why: "not a pin file: look at it, and remove it to trust the server anew",
                })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::at(path)(error)),
        }
    }

    /// The newest version seen, if any.
    pub(crate) fn seen(&self) -> Option<&Pin> {
        self.seen.as_ref()
    }

    /// Remembers what a client has followed the index to, unless another process has seen a newer version
    /// meanwhile: one that began earlier and ends later must not take the others back.
    pub(crate) fn remember(&mut self, new: Pin) -> Result<(), Error> {
        if self.seen == Some(new) {
            return Ok(());
        }
        let newer = |stored: &Pin| stored.index == new.index && stored.version >= new.version;
        // From the look at what is stored until it is replaced.
        let _lock = self.locked()?;
        if Self::stored(&self.path)?.is_none_or(|stored| !newer(&stored)) {
            self.write(&Line::of(&new))?;
        }
        self.seen = Some(new);
        Ok(())
    }

    /// Waits until no other process writes this pin. The lock is on a file beside it, for the pin itself is replaced; it ends
    /// with the process, whatever ends that.
    fn locked(&self) -> Result<File, Error> {
        let mut path = self.path.clone().into_os_string();
        path.push(".lock");
        let file = File::options().create(true).append(true).open(&path);
        let locked = file.and_then(|file| match file.lock() {
            // A file system without locks: as safe as its users are careful.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
            _ => Ok(file),
        });
        locked.map_err(Error::at(Path::new(&path)))
    }

    /// Puts a whole file in the place of the old one.
    fn write(&self, new: &Line) -> Result<(), Error> {
        let line = serde_json::to_string(new).map_err(io::Error::from)?;
        let written = Whole::new(&self.path).and_then(|mut file| {
            writeln!(file, "{line}")?;
            file.finish()
        });
        written.map_err(Error::at(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin");
        let mut file = PinFile::read(&path).unwrap();
        assert_eq!(file.seen(), None);
        for version in [3, 4] {
            let pin = Pin {
                index: [0xab; 16],
                version,
                manifest: [7; 32],
            };
            file.remember(pin).unwrap();
            file = PinFile::read(&path).unwrap();
            assert_eq!(file.seen(), Some(&pin));
        }
    }

    #[test]
    fn a_command_that_ends_late_does_not_go_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin");
        let pin = |version| Pin {
            index: [0xab; 16],
            version,
            manifest: [7; 32],
        };
        PinFile::read(&path).unwrap().remember(pin(3)).unwrap();
        let (mut early, mut late) = (PinFile::read(&path).unwrap(), PinFile::read(&path).unwrap());
        late.remember(pin(6)).unwrap();
        early.remember(pin(5)).unwrap();
        assert_eq!(PinFile::read(&path).unwrap().seen(), Some(&pin(6)));
        early.remember(pin(7)).unwrap();
        assert_eq!(PinFile::read(&path).unwrap().seen(), Some(&pin(7)));
    }

    #[test]
    fn commands_that_end_together_never_go_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin");
        let one = |first: u64| {
            for version in (first..120).step_by(4) {
                let pin = Pin {
                    index: [0xab; 16],
                    version,
                    manifest: [7; 32],
                };
                PinFile::read(&path).unwrap().remember(pin).unwrap();
                let stored = PinFile::read(&path).unwrap();
                assert!(stored.seen().unwrap().version >= version);
            }
        };
        std::thread::scope(|scope| {
            for first in 1..5 {
                scope.spawn(move || one(first));
            }
        });
        assert_eq!(PinFile::read(&path).unwrap().seen().unwrap().version, 119);
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
        assert!(PinFile::read(&path).is_err());
    }
}
