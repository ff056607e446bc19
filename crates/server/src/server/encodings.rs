//! Encoded databases that a server keeps in a folder. At its next start it maps them.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sordino_ckks::column::{Database, Hint, Segments};
use sordino_index::digest::{self, Digest};
use sordino_index::manifest::PartKind;
use sordino_index::shard::Shard;
use sordino_index::{Error, OwnerPublicKey};

/// The smallest size in bytes of a database that is kept. Smaller ones are encoded quickly. A mapped one holds a file open,
/// and its public polynomials take as much memory as a block.
const LEAST: usize = 1 << 19;

/// The largest number of files of an index that are mapped, since each is held open. Other databases are encoded, and stay
/// in memory.
const MOST: usize = 256;

/// A folder in which servers keep what they encode of an index, about seven bytes a coordinate. It also has the encoded hint of
/// scanned pages. The next server maps these files and scores them in place. That takes a fraction of the time of encoding, and
/// hardly any memory except the system's file cache.
///
/// A file whose hint does not belong to its vectors is damaged, and is made again.
///
/// # Security
/// A server trusts the folder like its own memory. No other program may change the files while a server runs: if a file is
/// shortened, the server is killed. The folder is created for its owner only, and refused if other users may write there. It
/// reveals as much as the index's parts, and for some time as much as parts of former versions.
#[derive(Clone)]
pub struct Encodings(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    fault: Box<dyn Fn(&Error) + Send + Sync>,
    /// True after a mapped file was found shortened and this was reported.
    cut: AtomicBool,
}

impl Encodings {
    /// Keeps encoded databases in this folder, which is created if it does not exist. If something cannot be written or mapped
    /// there, `fault` is called once for each version, and the data is served from memory. If a file is shortened while it is
    /// mapped, this is reported once. Searches are then refused until the server is opened again.
    ///
    /// # Errors
    /// [`Error::File`] if the folder does not exist and cannot be created, or other users may write there.
    pub fn new(
        folder: impl Into<PathBuf>,
        fault: impl Fn(&Error) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let folder = folder.into();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&folder)
            .map_err(|error| {
                let why = format!("it cannot be the folder of encoded vectors: {error}");
                io::Error::new(error.kind(), why)
            })
            .and_then(|()| check_alone(&folder))
            .map_err(at(&folder))?;
        let fault = Box::new(fault);
        let cut = AtomicBool::new(false);
        Ok(Self(Arc::new(Inner { folder, fault, cut })))
    }

    /// Reports once that a mapped file was shortened. From then on nothing is answered from it.
    pub(super) fn look(&self, answers: &[Result<Vec<u8>, Error>]) {
        let cut = answers.iter().find_map(|answer| match answer {
            Err(error @ Error::Ckks(sordino_ckks::Error::Changed { .. })) => Some(error),
            _ => None,
        });
        if let Some(error) = cut
            && !self.0.cut.swap(true, Ordering::Relaxed)
        {
            (self.0.fault)(error);
        }
    }
}

/// Refuses a folder of another user, and a folder in which other users may write.
#[cfg(unix)]
fn check_alone(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let found = fs::metadata(folder)?;
    let denied = |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if found.permissions().mode() & 0o022 != 0 {
        return denied(
            "other users may write in the folder of encoded vectors: run `chmod go-w` on it",
        );
    }
    // On Linux this shows the user of the process. On other systems the owner is not checked.
    let own = fs::metadata("/proc/self").map(|process| process.uid());
    if own.is_ok_and(|own| found.uid() != own && found.uid() != 0) {
        return denied(
            "another user owns the folder of encoded vectors and can write there: run `chown` on it",
        );
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_alone(_: &Path) -> io::Result<()> {
    Ok(())
}

impl fmt::Debug for Encodings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Encodings").field(&self.0.folder).finish()
    }
}

/// The files of one index, or of a shard of it, while a server opens a version.
pub(super) struct Shelf<'a> {
    encodings: Option<&'a Encodings>,
    /// The beginning of its files' names.
    prefix: String,
    named: HashSet<String>,
    /// The number of mapped databases, including the databases of the version before.
    mapped: usize,
    /// True if something could not be kept, which was reported. Nothing else is tried then.
    failed: bool,
    /// Names of files that contradict the manifest. They are no longer read.
    contradicted: HashSet<String>,
}

impl<'a> Shelf<'a> {
    /// The files of an index of this owner. Another owner could make an index with the same id, so the owner's key is part of the
    /// names.
    pub(super) fn new(
        encodings: Option<&'a Encodings>,
        owner: Option<&OwnerPublicKey>,
        index: &[u8; 16],
        shard: Shard,
    ) -> Self {
        let owner = owner.map_or_else(Vec::new, |owner| owner.to_bytes().to_vec());
        let of = hex(&digest::of(&[&owner[..], index].concat())[..16]);
        let shelf = Self {
            encodings,
            prefix: format!("{of}-{}-{}-", shard.number(), shard.of()),
            named: HashSet::new(),
            mapped: 0,
            failed: false,
            contradicted: HashSet::new(),
        };
        // Unfinished files remain if an earlier server was killed while it wrote.
        shelf.remove(|unfinished, _| unfinished);
        shelf
    }

    /// The name of the encoding of bytes `range` of a part, for `segments`. It is marked as in use, so that clearing keeps it.
    pub(super) fn name(&mut self, part: &Digest, range: Range<u64>, segments: &Segments) -> String {
        let fields = [
            &part[..],
            &range.start.to_le_bytes(),
            &range.end.to_le_bytes(),
            segments.seed(),
            &(segments.dim() as u64).to_le_bytes(),
        ];
        let name = self.prefix.clone() + &hex(&digest::of(&fields.concat()));
        self.named.insert(name.clone());
        name
    }

    /// The database of this name and its hint's bytes. It is mapped if a whole file of it exists, or otherwise encoded now and
    /// kept. `expected` is the digest of the hint, if the manifest names it. Otherwise the digest from the time of writing is
    /// expected.
    ///
    /// # Errors
    /// The errors of `encode`. [`Error::Digest`] if the hint of the encoded database is not the expected one.
    pub(super) fn database(
        &mut self,
        name: &str,
        expected: Option<&Digest>,
        segments: &Segments,
        encode: impl FnOnce() -> Result<(Database, Hint), Error>,
    ) -> Result<(Database, Vec<u8>), Error> {
        let encoded = || {
            let (database, hint) = encode()?;
            let hint = hint.to_bytes();
            if let Some(expected) = expected {
                digest::check(PartKind::RowsHint.name(), &hint, expected)?;
            }
            Ok((database, hint))
        };
        let Some(encodings) = self.encodings else {
            return encoded();
        };
        if self.mapped >= MOST {
            return encoded();
        }
        let path = encodings.0.folder.join(name);
        if !self.contradicted.contains(name)
            && let Ok(kept) = mapped(&path, expected, segments)
        {
            self.mapped += 1;
            return Ok(kept);
        }
        let (database, hint) = encoded()?;
        if self.failed || database.encoded_len() < LEAST {
            return Ok((database, hint));
        }
        let kept = write(&path, |file| database.write_to(file))
            .and_then(|()| write(&hint_path(&path), |file| file.write_all(&digest::of(&hint))))
            .and_then(|()| mapped(&path, expected, segments));
        match kept {
            Ok(kept) => {
                self.mapped += 1;
                Ok(kept)
            }
            Err(error) => {
                self.failed = true;
                (encodings.0.fault)(&at(&path)(error));
                Ok((database, hint))
            }
        }
    }

    /// Marks a database shared with the previous version as in use.
    pub(super) fn share(&mut self, database: &Database) {
        self.mapped += usize::from(self.encodings.is_some() && database.encoded_len() >= LEAST);
    }

    /// Stops reading the files of these names, because they contradict the manifest. The databases are then encoded again.
    /// Returns false if no folder is in use.
    pub(super) fn distrust(&mut self, names: &[String]) -> bool {
        self.contradicted.extend(names.iter().cloned());
        self.mapped = 0;
        self.encodings.is_some()
    }

    /// Removes the files of the index, or of its shard, that are not in use, because they belong to other versions. A server of
    /// such a version that has mapped them keeps its mapping.
    pub(super) fn clear(self) {
        self.remove(|unfinished, name| unfinished || !self.named.contains(name));
    }

    /// Removes the files of the index, or of its shard, for which `goes(is_unfinished, name)` is true. Files that
    /// another process is writing stay.
    fn remove(&self, goes: impl Fn(bool, &str) -> bool) {
        let Some(Encodings(inner)) = self.encodings else {
            return;
        };
        for entry in fs::read_dir(&inner.folder).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let Some(name) = file.to_str().filter(|name| name.starts_with(&self.prefix)) else {
                continue;
            };
            let (unfinished, name) = match name.rsplit_once('.') {
                None => (false, name),
                Some((name, HINT)) => (false, name),
                Some((name, _)) => (true, name),
            };
            let path = entry.path();
            if goes(unfinished, name) && !(unfinished && is_written(&path)) {
                // A failed removal is tried again with the next version.
                drop(fs::remove_file(path));
            }
        }
    }
}

/// True if a process is writing this file, which it then holds locked.
fn is_written(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_err())
}

/// Writes a file under a temporary name that no other process uses, and renames it when the disk has all of it. Otherwise
/// data that is not on the disk yet could be lost, and a mapping would read zeros.
fn write(path: &Path, contents: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let random = RandomState::new().build_hasher().finish();
    let unfinished = path.with_extension(format!("{random:016x}"));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&unfinished)?;
    // Without locks another server may take this file for one that a dead server left. The renaming then fails.
    drop(file.try_lock());
    let written = contents(&mut file)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&unfinished, path));
    written.inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

fn at(path: &Path) -> impl Fn(io::Error) -> Error {
    move |source| Error::File {
        path: path.to_owned(),
        source,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The suffix of a file with the digest of a database's hint.
const HINT: &str = "hint";

fn hint_path(path: &Path) -> PathBuf {
    path.with_extension(HINT)
}

/// The database in a file and its hint.
///
/// # Errors
/// [`Error`] if the database or its hint does not exist, is damaged, or is not encoded for `segments`.
#[expect(unsafe_code, reason = "files that others might change")]
fn mapped(
    path: &Path,
    expected: Option<&Digest>,
    segments: &Segments,
) -> io::Result<(Database, Vec<u8>)> {
    let expected = match expected {
        Some(expected) => expected.to_vec(),
        None => {
            let mut beside = Vec::new();
            let file = File::open(hint_path(path))?;
            file.take(size_of::<Digest>() as u64 + 1)
                .read_to_end(&mut beside)?;
            beside
        }
    };
    // SAFETY: it was written under another name and is not written again, and no one else may write in the folder.
    let (database, hint) = unsafe { Database::map_file(path) }.map_err(io::Error::other)?;
    let same = database.version() == 0
        && database.params() == segments.params()
        && database.dim() == segments.dim()
        && database.seed() == segments.seed();
    if same {
        let hint = hint.to_bytes();
        if digest::of(&hint)[..] == expected[..] {
            return Ok((database, hint));
        }
    }
    let why = "encoded vectors are not those that were written";
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}
