//! The newest version of each index that an owner has made or seen. An index's keeper can put back an older version that the
//! owner signed. So the owner stores these versions where the keeper cannot write, next to its key.
//!
//! ```text
//! sordino-owner-pins-1
//! <the index's id> <version> <digest of its manifest> <its place>        for each index, and each place that it is in
//! ```
//!
//! A place is a folder or an address. %XX is a control character or a per cent sign in it. A zero byte, which no name has, and two
//! digits stand for a byte of a folder's name that is not UTF-8. A folder opened by a second path has a second line for that path.
//!
//! # The order of a change
//! The store first makes a version the newest, and then the owner remembers it. After a crash between the two, the owner
//! remembers the version before, from which the new one follows. The next opening remembers the new one. Until then the store
//! did not report the change as done.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rand_core::CryptoRng;
use sordino_index::{Disk, Error, Index, OwnerFault, Pin, SignedManifest};
use sordino_vault::OwnerKeys;

use crate::store::Store;

mod file;
mod line;
mod place;
mod pull;

use line::Line;

/// Versions that an owner remembers, in a file that its processes share, or in memory.
///
/// # Security
/// The first version of an index that the owner sees is accepted without a check. From then on no older version, no other history
/// and no other index is opened there, unless the caller says that it was restored. The file is not secret, but an
/// attacker who can write it can undo this protection.
#[derive(Debug)]
pub struct Pins {
    kept: Mutex<Kept>,
}

#[derive(Debug)]
enum Kept {
    Here(Vec<Line>),
    File(PathBuf),
}

impl Default for Pins {
    fn default() -> Self {
        Self::in_memory()
    }
}

impl Pins {
    /// Pins in memory, for the life of this value.
    #[must_use]
    pub fn in_memory() -> Self {
        let kept = Mutex::new(Kept::Here(Vec::new()));
        Self { kept }
    }

    /// Pins in a file, which need not exist yet.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let kept = Mutex::new(Kept::File(path));
        Self { kept }
    }

    /// Pins in the file next to an owner's key file, with the suffix `.pins`. If the key file is a link, the pins are
    /// next to the file that it points to.
    #[must_use]
    pub fn beside(key: &Path) -> Self {
        let mut path = key.canonicalize().unwrap_or_else(|_| key.to_owned());
        path.as_mut_os_string().push(".pins");
        Self::at(&path)
    }

    /// Copies the known versions to a file, and uses that file from now on. If the file knows a newer version of an index, that
    /// one stays.
    ///
    /// # Errors
    /// [`OwnerFault::Pins`] if the memory cannot be read or written.
    pub fn move_to(&self, file: &Self) -> Result<(), Error> {
        let path = match &*file.kept() {
            Kept::File(path) => path.clone(),
            Kept::Here(_) => return Ok(()),
        };
        let mut kept = self.kept();
        let own = match &*kept {
            Kept::Here(lines) => lines.clone(),
            Kept::File(own) if *own == path => return Ok(()),
            // A file on a read-only disk is copied, too.
            Kept::File(own) => file::read(own)?,
        };
        file::change(&path, |all| {
            for line in &own {
                line::raise(all, &line.place, line.pin);
            }
            Ok(())
        })?;
        if matches!(*kept, Kept::Here(_)) {
            *kept = Kept::File(path);
        }
        Ok(())
    }

    /// The name of a folder's place. A folder that does not exist has the name that it gets when it is created.
    #[must_use]
    pub fn place(folder: &Path) -> String {
        place::name(folder)
    }

    /// Refuses a version found in a place, if it is older than the known version of the index there, or belongs to another index.
    /// It need not follow from the known one, and is not remembered.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check). [`OwnerFault::Undone`] if the version is older or of another index.
    pub fn check_found(&self, place: &str, manifest: &SignedManifest) -> Result<(), Error> {
        let known = line::expected(&self.lines()?, &[place.to_owned()], manifest);
        let checked = known.iter().try_for_each(|pin| pin.check(manifest));
        checked.map_err(|fault| OwnerFault::Undone(Box::new(fault)).into())
    }

    /// Checks that this memory can be read and written, before a change that it must remember.
    ///
    /// # Errors
    /// [`OwnerFault::Pins`] if the memory cannot be read or written.
    pub fn check(&self) -> Result<(), Error> {
        self.with(|_| Ok(()))
    }

    /// True if an index is known in this place.
    ///
    /// # Errors
    /// [`OwnerFault::Pins`] if the memory cannot be read or written.
    pub fn knows(&self, place: &str) -> Result<bool, Error> {
        self.with(|lines| Ok(lines.iter().any(|line| line.place == place)))
    }

    /// The known versions from which the version `found` must follow in a folder. They are of the index that was there
    /// before. In a new folder, they are of the index of `found`.
    ///
    /// # Errors
    /// [`OwnerFault::Pins`] if the memory cannot be read or written.
    pub fn expected(&self, dir: &Path, found: &SignedManifest) -> Result<Vec<Pin>, Error> {
        let places = places(&Self::place(dir), dir);
        Ok(line::expected(&self.lines()?, &places, found))
    }

    /// Opens a store in a place, if its version is the known one or follows from it. It then becomes the known version.
    ///
    /// # Errors
    /// The errors of [`Store::open_on`]; [`OwnerFault::Pins`] if the memory cannot be read or written.
    pub fn open<D: Disk + Clone>(
        &self,
        disk: D,
        dir: &Path,
        place: &str,
        keys: &OwnerKeys,
    ) -> Result<Store<D>, Error> {
        let first = Index::manifest_on(disk.clone(), dir, &keys.public())?;
        let seen = Pin::of(&first);
        let places = places(place, dir);
        let known = self.with(|lines| Ok(line::expected(lines, &places, &first)))?;
        let mut pin = known.first().copied();
        loop {
            // The store is read again, because it may now show something different.
            let store = Store::open_on(disk.clone(), dir, keys, Some(&pin.unwrap_or(seen)))?;
            store.check_pin(&seen)?;
            let known = |lines: &[Line]| line::expected(lines, &places, store.manifest());
            match self.put(&places, &store, pin, known)? {
                None => return Ok(store),
                // Another process has made a newer version meanwhile.
                Some(newer) => pin = Some(newer),
            }
        }
    }

    /// Opens a store that was restored on purpose. Its version then becomes the known one.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open), except for [`OwnerFault::Undone`].
    pub fn open_restored<D: Disk + Clone>(
        &self,
        disk: D,
        dir: &Path,
        place: &str,
        keys: &OwnerKeys,
    ) -> Result<Store<D>, Error> {
        self.check()?;
        let store = Store::open_on(disk, dir, keys, None)?;
        self.with(|lines| {
            for place in places(place, dir) {
                line::put(lines, &place, store.pin());
            }
            Ok(())
        })?;
        Ok(store)
    }

    /// Opens a store without the additions that writers made after a version, like [`Store::take_back`], and remembers the new
    /// version.
    ///
    /// # Errors
    /// The errors of [`Store::take_back`]. The errors of [`check`](Self::check) and [`remember`](Self::remember).
    pub fn take_back<D: Disk + Clone, R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        disk: D,
        (dir, place): (&Path, &str),
        keys: &OwnerKeys,
        (version, revoked): (u64, Option<&str>),
    ) -> Result<Store<D>, Error> {
        let first = Index::manifest_on(disk.clone(), dir, &keys.public())?;
        let places = places(place, dir);
        let known = self.with(|lines| Ok(line::expected(lines, &places, &first)))?;
        let store = Store::take_back(rng, disk, dir, keys, (version, known.first()), revoked)?;
        self.remember(place, &store)?;
        Ok(store)
    }

    /// Makes changes, and remembers the version that they lead to, even if a later change failed.
    ///
    /// # Errors
    /// The errors of `change`. [`OwnerFault::Unpinned`] if the version was made but cannot be remembered.
    pub fn change<D: Disk, T, E: From<Error>>(
        &self,
        place: &str,
        store: &mut Store<D>,
        change: impl FnOnce(&mut Store<D>) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = store.version();
        let changed = change(store);
        if store.version() == before {
            return changed;
        }
        let remembered = self.remember(place, store);
        // The error of a failed change is more important. The next opening remembers the version.
        let changed = changed?;
        remembered?;
        Ok(changed)
    }

    /// Remembers the version of a store that was just made.
    ///
    /// # Errors
    /// [`OwnerFault::Unpinned`] if the version cannot be remembered.
    pub fn remember<D: Disk>(&self, place: &str, store: &Store<D>) -> Result<(), Error> {
        let index = store.manifest().index;
        let known = |lines: &[Line]| line::newest(lines, &index).into_iter().collect();
        let places = places(place, store.root());
        let put = self.put(&places, store, None, known);
        // Another process may have remembered a newer version by now. The next opening finds out which of the two exists.
        let put =
            put.and_then(|newer| newer.map_or(Ok(()), |newer| self.remember_new(place, newer)));
        put.map_err(|source| {
            let (version, source) = (store.version(), Box::new(source));
            OwnerFault::Unpinned { version, source }.into()
        })
    }

    /// Remembers the version of an index that was just made in this place, even if the place had another index before.
    ///
    /// # Errors
    /// [`OwnerFault::Pins`] if the memory cannot be read or written.
    pub fn remember_new(&self, place: &str, pin: Pin) -> Result<(), Error> {
        self.with(|lines| {
            line::raise(lines, place, pin);
            Ok(())
        })
    }

    /// Remembers a store's version if it follows from the `known` one, or returns the known one if that is newer.
    /// `sure` is the version with which the store was already compared. Other processes may change the lines while this
    /// method reads the versions between, so a slow store does not make them wait.
    fn put<D: Disk>(
        &self,
        places: &[String],
        store: &Store<D>,
        sure: Option<Pin>,
        known: impl Fn(&[Line]) -> Vec<Pin>,
    ) -> Result<Option<Pin>, Error> {
        let own = store.pin();
        let mut sure = vec![sure.unwrap_or(own)];
        loop {
            let other = self.with(|lines| {
                let mut known = known(lines).into_iter();
                let other = known.find(|known| *known != own && !sure.contains(known));
                if other.is_none() {
                    for place in places {
                        line::put(lines, place, own);
                    }
                }
                Ok(other)
            })?;
            match other {
                None => return Ok(None),
                Some(known) if known.index == own.index && known.version > own.version => {
                    return Ok(Some(known));
                }
                Some(known) => {
                    store.check_pin(&known)?;
                    sure.push(known);
                }
            }
        }
    }

    /// The current lines, which other processes may change.
    fn lines(&self) -> Result<Vec<Line>, Error> {
        match &*self.kept() {
            Kept::Here(lines) => Ok(lines.clone()),
            Kept::File(path) => file::read(path),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads and changes the lines, while other processes are kept out.
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Line>) -> Result<T, Error>) -> Result<T, Error> {
        match &mut *self.kept() {
            Kept::Here(lines) => {
                let mut changed = lines.clone();
                let done = work(&mut changed)?;
                *lines = changed;
                Ok(done)
            }
            Kept::File(path) => file::change(path, work),
        }
    }
}

/// The names of a place. If it is a folder on this machine, the path by which it was opened comes first. The
/// reason is that a link to the folder may later point to another index.
fn places(place: &str, dir: &Path) -> Vec<String> {
    let mut places = vec![place.to_owned()];
    let given = std::path::absolute(dir).map(|given| line::name(&given));
    if let Ok(given) = given
        && given != place
        && Pins::place(dir) == place
    {
        places.insert(0, given);
    }
    places
}
