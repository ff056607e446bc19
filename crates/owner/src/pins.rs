//! The memory of an owner: the newest version of each of its indexes that it has made or seen. The keeper of an index can put an older
//! version back, which the owner has signed; so the owner keeps this memory where they cannot write, beside its key.
//!
//! ```text
//! sordino-owner-pins-1
//! <the index's id> <version> <digest of its manifest> <its place>        for each index, and each place that it is in
//! ```
//!
//! A place is a folder or an address; control characters and per cent signs in it are written as %XX.
//!
//! # The order of a change
//! The store makes a version the newest, and then it is remembered. A crash between the two leaves the version before remembered, from
//! which the new one follows; the next opening remembers that. The change was not reported as made until then.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sordino_index::{Disk, Error, Files, Index, OwnerFault, OwnerKeys};

use crate::store::Store;

mod line;

use line::Line;

/// The file's first line.
const HEAD: &str = "sordino-owner-pins-1";

/// The longest file: some hundred thousand indexes.
const MAX_FILE: u64 = 64 << 20;

/// Versions that an owner remembers, in a file that its processes share, or in memory.
///
/// # Security
/// The first version that is seen of an index is taken as it is. From then on no older version, no other history and no other index is
/// opened in its place, unless the caller says that it was restored. The file is no secret; who can write it can undo that.
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
    /// In memory, for as long as this lives.
    #[must_use]
    pub fn in_memory() -> Self {
        let kept = Mutex::new(Kept::Here(Vec::new()));
        Self { kept }
    }

    /// In a file, which need not be there yet.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let kept = Mutex::new(Kept::File(path));
        Self { kept }
    }

    /// In the file beside an owner's key file, whose name ends in `.pins`. Of a link it is beside the file that it leads to.
    #[must_use]
    pub fn beside(key: &Path) -> Self {
        let mut path = key.canonicalize().unwrap_or_else(|_| key.to_owned());
        path.as_mut_os_string().push(".pins");
        Self::at(&path)
    }

    /// Moves what is in memory to a file, where it is from now on. What is in a file stays there.
    ///
    /// # Errors
    /// [`OwnerFault::Pins`].
    pub fn move_to(&self, file: &Self) -> Result<(), Error> {
        let mut kept = self.kept();
        let Kept::Here(lines) = &*kept else {
            return Ok(());
        };
        let Kept::File(path) = &*file.kept() else {
            return Ok(());
        };
        in_file(path, |all| {
            for line in lines {
                line::put(all, &line.place, line.pin);
            }
            Ok(())
        })?;
        *kept = Kept::File(path.clone());
        Ok(())
    }

    /// The name of a folder's place.
    #[must_use]
    pub fn place(folder: &Path) -> String {
        let whole = folder.canonicalize();
        let whole = whole.or_else(|_| std::path::absolute(folder));
        let whole = whole.unwrap_or_else(|_| folder.to_owned());
        whole.to_string_lossy().into_owned()
    }

    /// Refuses a memory that cannot be read or written, before a change that it should remember.
    ///
    /// # Errors
    /// [`OwnerFault::Pins`].
    pub fn check(&self) -> Result<(), Error> {
        self.with(|_| Ok(()))
    }

    /// True if an index is known in this place.
    ///
    /// # Errors
    /// [`OwnerFault::Pins`].
    pub fn knows(&self, place: &str) -> Result<bool, Error> {
        self.with(|lines| Ok(lines.iter().any(|line| line.place == place)))
    }

    /// Opens a store in a place, if its version is the one that is known or follows from it. That is known then.
    ///
    /// # Errors
    /// Those of [`Store::open_on`]; [`OwnerFault::Pins`] if the memory cannot be read or written.
    pub fn open<D: Disk + Clone>(
        &self,
        disk: D,
        dir: &Path,
        place: &str,
        keys: &OwnerKeys,
    ) -> Result<Store<D>, Error> {
        let manifest = Index::manifest_on(disk.clone(), dir, &keys.public())?;
        let pin = self.with(|lines| Ok(line::expected(lines, place, &manifest)))?;
        let store = Store::open_on(disk, dir, keys, pin.as_ref())?;
        self.put(place, &store)?;
        Ok(store)
    }

    /// Opens a store that was restored on purpose: whatever version is there is the one that is known from now on.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), but for [`OwnerFault::Undone`].
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
            line::put(lines, place, store.pin());
            Ok(())
        })?;
        Ok(store)
    }

    /// Makes changes, and remembers the version that they lead to, also where a later one of them failed.
    ///
    /// # Errors
    /// Those of `change`; [`OwnerFault::Unpinned`] if the version is made and cannot be remembered.
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
        // A change that failed is the graver one to tell of: the next opening remembers the version.
        let changed = changed?;
        remembered?;
        Ok(changed)
    }

    /// Remembers the version of a store, which was made just now.
    ///
    /// # Errors
    /// [`OwnerFault::Unpinned`].
    pub fn remember<D: Disk>(&self, place: &str, store: &Store<D>) -> Result<(), Error> {
        self.put(place, store).map_err(|source| {
            let (version, source) = (store.version(), Box::new(source));
            OwnerFault::Unpinned { version, source }.into()
        })
    }

    /// Remembers a store's version, unless another process has remembered a newer one by now; the next opening sees which of the
    /// two there is.
    fn put<D: Disk>(&self, place: &str, store: &Store<D>) -> Result<(), Error> {
        let mut pin = store.pin();
        self.with(|lines| {
            if let Some(known) = line::newest(lines, &pin.index) {
                if known.version > pin.version {
                    pin = known;
                } else {
                    store.check_pin(&known)?;
                }
            }
            line::put(lines, place, pin);
            Ok(())
        })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads and changes the lines, while nobody else does.
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Line>) -> Result<T, Error>) -> Result<T, Error> {
        match &mut *self.kept() {
            Kept::Here(lines) => {
                let mut changed = lines.clone();
                let done = work(&mut changed)?;
                *lines = changed;
                Ok(done)
            }
            Kept::File(path) => in_file(path, work),
        }
    }
}

/// Reads and changes the lines of a file, while no other process does.
fn in_file<T>(
    path: &Path,
    work: impl FnOnce(&mut Vec<Line>) -> Result<T, Error>,
) -> Result<T, Error> {
    let failed = |error: io::Error| refused(path, error.to_string());
    // A file that cannot be made beside it could not be put in its place: a memory that cannot be written is noticed before a change.
    let _held = hold(path).map_err(failed)?;
    let before = read(path)?;
    let mut lines = before.clone();
    let done = work(&mut lines)?;
    if lines != before {
        write(path, &lines).map_err(failed)?;
    }
    Ok(done)
}

fn refused(path: &Path, why: String) -> Error {
    let path = path.to_owned();
    OwnerFault::Pins { path, why }.into()
}

/// Waits until nobody else works on the file, and keeps others from it until this is dropped.
fn hold(path: &Path) -> io::Result<File> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(beside(path, ".lock"))?;
    file.lock()?;
    Ok(file)
}

fn read(path: &Path) -> Result<Vec<Line>, Error> {
    let bytes = match Files.read(path, MAX_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes.map_err(|error| refused(path, error.to_string()))?,
    };
    let text = std::str::from_utf8(&bytes).ok();
    let text = text.filter(|text| text.len() as u64 <= MAX_FILE);
    let lines = text.and_then(|text| text.strip_prefix(HEAD)?.strip_prefix('\n'));
    let lines = lines.and_then(|lines| lines.lines().map(Line::parse).collect());
    lines.ok_or_else(|| {
        let why = "not a file of versions as an owner remembers them: look at it, and put it right or move it away";
        refused(path, why.to_owned())
    })
}

/// Puts a whole file in the place of the old one.
fn write(path: &Path, lines: &[Line]) -> io::Result<()> {
    let mut text = format!("{HEAD}\n");
    for line in lines {
        text += &line.to_string();
        text.push('\n');
    }
    let new = beside(path, ".new");
    let written = Files.write(&new, text.as_bytes());
    let written = written.and_then(|()| Files.sync(&new));
    written
        .and_then(|()| Files.rename(&new, path))
        .inspect_err(|_| drop(Files.remove(&new)))?;
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    // It is in its place by now: a folder that may not be read, or of a file system without this, is none to fail for.
    match Files.sync_dir(folder.unwrap_or(Path::new("."))) {
        Err(error) if is_for_want_of_syncing(&error) => Ok(()),
        synced => synced,
    }
}

fn is_for_want_of_syncing(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
