//! Encoded databases that are kept in a folder from one start to the next, which maps them.

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

/// The least size in bytes of a database that is kept. Shorter ones are encoded in a moment. A mapped one holds a file
/// open and its public polynomials, which weigh as much as a block.
const LEAST: usize = 1 << 19;

/// Files of an index that are mapped at most, since each is held open: others are encoded, and stay in memory.
const MOST: usize = 256;

/// A folder in which servers keep what they encode of an index, about seven bytes a coordinate. It also has the encoded
/// hint of pages that are scanned. The next server maps it and scores it where it lies. That takes a fraction of the
/// time of encoding, and little memory but the system's cache of files.
///
/// A file whose hint is not its vectors' hint is damaged, and made again.
///
/// # Security
/// A server trusts the folder like its own memory. No other program may change the files while a server runs: a file
/// that is cut short ends the server. The folder is made for its owner alone, and refused if others may write there. It
/// holds what the index's parts hold, and for a while what the parts of former versions held.
#[derive(Clone)]
pub struct Encodings(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    fault: Box<dyn Fn(&Error) + Send + Sync>,
    /// True once a mapped file was found cut, which was reported.
    cut: AtomicBool,
}

impl Encodings {
    /// Keeps encoded databases in this folder, which is made if it is missing. What cannot be written or mapped there
    /// is reported to `fault`, once a version, and served from memory. A file that is cut while it is mapped is
    /// reported once: searches are refused until the server is opened again.
    ///
    /// # Errors
    /// [`Error::File`] if there is no such folder and it cannot be made, or others than its owner may write there.
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

    /// Reports, once, that a mapped file was cut. From then on nothing is answered from it.
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

/// Refuses a folder of another user, and one in which others may write.
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
    // On Linux this says which user the process has. Elsewhere that is not checked.
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

/// The files of one index, or of a shard of it, while a version is opened.
pub(super) struct Shelf<'a> {
    encodings: Option<&'a Encodings>,
    /// The beginning of its files' names.
    prefix: String,
    named: HashSet<String>,
    /// Databases that are mapped, with the databases of the version before.
    mapped: usize,
    /// Something could not be kept, which was reported: nothing else is tried.
    failed: bool,
    /// Names of files that the manifest contradicts: they are no longer read.
    contradicted: HashSet<String>,
}

impl<'a> Shelf<'a> {
    /// The files of an index of this owner: another owner can make one of the same id, whose rows its server never saw.
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
        // Also where the server before was ended while it wrote, again and again.
        shelf.remove(|unfinished, _| unfinished);
        shelf
    }

    /// The name of what is encoded from bytes `range` of a part, as `segments` are. It stays when the rest is cleared.
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

    /// The database of this name and its hint's bytes, mapped if there is a whole file of it, or encoded now and kept.
    /// `expected` is the digest of the hint, if the manifest names it. Otherwise the digest from when the file was
    /// written is expected.
    ///
    /// # Errors
    /// The errors of `encode`, and [`Error::Digest`] if what it encodes has a hint that differs from the expected one.
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

    /// Stops reading the files of these names, which the manifest contradicts: the databases are encoded again. False if no folder is used.
    pub(super) fn distrust(&mut self, names: &[String]) -> bool {
        self.contradicted.extend(names.iter().cloned());
        self.mapped = 0;
        self.encodings.is_some()
    }

    /// Removes the files of the index, or of its shard, that were not named: they are of other versions. A server of such
    /// a version that has them mapped keeps them.
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
                // It is tried again with the next version.
                drop(fs::remove_file(path));
            }
        }
    }
}

/// True if a process is writing this file, and so has locked it.
fn is_written(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_err())
}

/// Writes a file under a temporary name, which no other process takes, and renames it when the disk has all of it. What
/// is not on the disk yet could be lost, and read as zeros, while it is mapped.
fn write(path: &Path, contents: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let random = RandomState::new().build_hasher().finish();
    let unfinished = path.with_extension(format!("{random:016x}"));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&unfinished)?;
    // Where there are no locks another server may take it for a dead one's, and the renaming fails.
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

/// The end of the name of a file that has the digest of a database's hint.
const HINT: &str = "hint";

fn hint_path(path: &Path) -> PathBuf {
    path.with_extension(HINT)
}

/// The database in a file and its hint.
///
/// # Errors
/// If they are not there, damaged, or not encoded as `segments` are.
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
