//! An index that its owner changes, and the owner's memory of its versions.

use crate::place::Place;
use crate::{Error, Output, key_source};
use clap::Args as ClapArgs;
use sordino_search::{AnyDisk, OwnerKeys, Pins, Store};
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// The options of an owner's memory.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct PinsArgs {
    /// The file that remembers which versions of your indexes you know, so that no host can take a change back. The
    /// default is OWNER_KEY.pins, next to the key.
    #[arg(long, value_name = "FILE")]
    pins: Option<PathBuf>,
}

/// Options of a command that opens an index which was there before.
#[derive(ClapArgs, Debug)]
pub(crate) struct OwnedArgs {
    #[command(flatten)]
    pins: PinsArgs,
    /// Accept the version that is here and remember it as the newest, because you restored a backup or put the index
    /// here. Revocations and deletions since then are undone.
    #[arg(long)]
    restored: bool,
}

impl PinsArgs {
    /// The pins of this key file. Checks first that they can be written.
    pub(crate) fn ready(&self, key: &Path) -> Result<Pins, Error> {
        let pins = self.of(key)?;
        pins.check()?;
        Ok(pins)
    }

    fn of(&self, key: &Path) -> Result<Pins, Error> {
        match &self.pins {
            Some(path) => Ok(Pins::at(path)),
            None if key_source::is_file(key) => Ok(Pins::beside(key)),
            None => {
                let why = "the key is not a file, so no file can stand next to it: name one that remembers the versions \
                    of your indexes (--pins FILE)";
                Err(Error::Arguments(why.to_owned()))
            }
        }
    }
}

impl OwnedArgs {
    /// Arguments with these pins. They accept no older version of an index.
    pub(crate) fn remembered(pins: PinsArgs) -> Self {
        Self {
            pins,
            restored: false,
        }
    }

    /// Opens an index for its owner, if the owner knows its version or the version follows from a known one.
    pub(crate) fn open(
        &self,
        index: &Path,
        (key, keys): (&Path, &OwnerKeys),
        output: Output,
    ) -> Result<OwnedIndex, Error> {
        let pins = self.pins.of(key)?;
        let (at, named) = (Place::of(index)?, Error::index(index));
        let place = at.name();
        let known = pins.knows(&place).map_err(&named)?;
        let (disk, root) = (at.disk(), at.root());
        let store = match self.restored {
            true => pins.open_restored(disk, root, &place, keys),
            false => pins.open(disk, root, &place, keys),
        };
        let store = store.map_err(&named)?;
        let (index, version) = (index.display(), store.version());
        if self.restored {
            output.note(&format!(
                "{index}: accepted as it is: version {version} is remembered as the newest, and older ones are refused \
                 from now on"
            ));
        } else if !known {
            output.note(&format!(
                "{index}: seen for the first time: version {version} is remembered, and older ones are refused from now on"
            ));
        }
        Ok(OwnedIndex { store, pins, place })
    }
}

/// An open index. It is read as a store, and changed by [`change`](Self::change) alone.
pub(crate) struct OwnedIndex {
    store: Store<AnyDisk>,
    pins: Pins,
    place: String,
}

impl OwnedIndex {
    /// Makes a store, and remembers its version.
    pub(crate) fn made(
        store: Store<AnyDisk>,
        pins: Pins,
        place: &Place,
    ) -> Result<Self, sordino_search::Error> {
        let place = place.name();
        pins.remember(&place, &store)?;
        Ok(Self { store, pins, place })
    }

    /// Changes the index, and remembers its new version.
    pub(crate) fn change<T, E: From<sordino_search::Error>>(
        &mut self,
        change: impl FnOnce(&mut Store<AnyDisk>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.pins.change(&self.place, &mut self.store, change)
    }
}

impl Deref for OwnedIndex {
    type Target = Store<AnyDisk>;

    fn deref(&self) -> &Store<AnyDisk> {
        &self.store
    }
}
