//! Encoded databases that are kept in a folder from one start to the next, which maps them.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sordino_ckks::column::{Database, Hint, Segments};
use sordino_index::Error;
use sordino_index::digest::{self, Digest};
use sordino_index::shard::Shard;

/// Age of an unfinished file that nobody can be writing any more.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder in which servers keep what they encode of an index, about seven bytes a coordinate. The next server maps it and
/// scores it where it lies, which takes a fraction of the time of encoding, and no memory but the system's cache of files.
///
/// A file whose hint is not the one that was computed when it was written is damaged, and made anew.
///
/// # Security
/// The folder is believed as the server's memory is, and the files must not be changed by anybody else while a server
/// runs: one that is cut short ends it. The folder is made for its owner alone. It holds nothing that the index's parts do not.
#[derive(Clone)]
pub struct Encodings(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    fault: Box<dyn Fn(&Error) + Send + Sync>,
    written: AtomicU64,
}

impl Encodings {
    /// Keeps encoded databases in this folder, which is made if it is not there. What cannot be written there is told to
    /// `fault`, and served from memory.
    ///
    /// # Errors
    /// [`Error::File`] if there is no such folder and it cannot be made.
    pub fn new(
        folder: impl Into<PathBuf>,
        fault: impl Fn(&Error) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let folder = folder.into();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(at(&folder))?;
        Ok(Self(Arc::new(Inner {
            folder,
            fault: Box::new(fault),
            written: AtomicU64::new(0),
        })))
    }
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
}

impl<'a> Shelf<'a> {
    pub(super) fn new(encodings: Option<&'a Encodings>, index: &[u8; 16], shard: Shard) -> Self {
        let index = u128::from_be_bytes(*index);
        Self {
            encodings,
            prefix: format!("{index:032x}-{}-{}-", shard.number(), shard.of()),
            named: HashSet::new(),
        }
    }

    /// The name of what is encoded of bytes `range` of a part, as `segments` are. It stays when the rest is cleared.
    pub(super) fn name(
        &mut self,
        part: &Digest,
        range: std::ops::Range<u64>,
        segments: &Segments,
    ) -> String {
        let fields = [
            &part[..],
            &range.start.to_le_bytes(),
            &range.end.to_le_bytes(),
            segments.seed(),
            &(segments.dim() as u64).to_le_bytes(),
        ];
        let name = digest::of(&fields.concat());
        let name = name.iter().map(|byte| format!("{byte:02x}"));
        let name = self.prefix.clone() + &name.collect::<String>();
        self.named.insert(name.clone());
        name
    }

    /// The database of this name and its hint's bytes: mapped if there is a whole file of it, or encoded now and kept.
    pub(super) fn database(
        &self,
        name: &str,
        segments: &Segments,
        encode: impl FnOnce() -> Result<(Database, Hint), Error>,
    ) -> Result<(Database, Vec<u8>), Error> {
        let Some(encodings) = self.encodings else {
            return encode().map(|(database, hint)| (database, hint.to_bytes()));
        };
        let path = encodings.0.folder.join(name);
        if let Some(kept) = mapped(&path, segments) {
            return Ok(kept);
        }
        let (database, hint) = encode()?;
        let hint = hint.to_bytes();
        if database.is_empty() {
            return Ok((database, hint));
        }
        match encodings.write(&path, &database, &hint) {
            Ok(()) => Ok(mapped(&path, segments).unwrap_or((database, hint))),
            Err(error) => {
                (encodings.0.fault)(&error);
                Ok((database, hint))
            }
        }
    }

    /// Removes the files of the index, or of its shard, that were not named: they are of other versions. A server of such
    /// a version that has them mapped keeps them.
    pub(super) fn clear(self) {
        let Some(Encodings(inner)) = self.encodings else {
            return;
        };
        for entry in fs::read_dir(&inner.folder).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let Some(name) = file.to_str().filter(|name| name.starts_with(&self.prefix)) else {
                continue;
            };
            let stays = match name.rsplit_once('.') {
                None => self.named.contains(name),
                Some((name, "hint")) => self.named.contains(name),
                Some(_) => entry
                    .metadata()
                    .and_then(|data| data.modified())
                    .is_ok_and(|at| at.elapsed().is_ok_and(|age| age < ABANDONED)),
            };
            if !stays {
                // It is tried again with the next version.
                drop(fs::remove_file(entry.path()));
            }
        }
    }
}

impl Encodings {
    /// Writes a database's file, which has its name when it is whole. Nothing waits for the disk: after a crash a file that
    /// lacks something has another hint.
    fn write(&self, path: &Path, database: &Database, hint: &[u8]) -> Result<(), Error> {
        let number = self.0.written.fetch_add(1, Ordering::Relaxed);
        let unfinished = path.with_extension(format!("{}-{number}", std::process::id()));
        let beside = hint_path(path);
        let written = File::create_new(&unfinished)
            .and_then(|file| database.write_to(file))
            .and_then(|()| fs::write(&beside, digest::of(hint)))
            .and_then(|()| fs::rename(&unfinished, path));
        written.map_err(|error| {
            drop(fs::remove_file(&unfinished));
            at(path)(error)
        })
    }
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::File {
        path: path.to_owned(),
        source,
    }
}

/// The file of the digest of a database's hint.
fn hint_path(path: &Path) -> PathBuf {
    path.with_extension("hint")
}

/// The database in a file and its hint, if they are there, whole, and encoded as `segments` are.
#[expect(unsafe_code, reason = "files that others might change")]
fn mapped(path: &Path, segments: &Segments) -> Option<(Database, Vec<u8>)> {
    let mut expected = Vec::new();
    let beside = File::open(hint_path(path)).ok()?;
    beside.take(33).read_to_end(&mut expected).ok()?;
    // SAFETY: it was written under another name and is not written again, and the folder is for nobody else.
    let database = unsafe { Database::map_file(path) }.ok()?;
    let same = database.params() == segments.params()
        && database.dim() == segments.dim()
        && database.seed() == segments.seed();
    if !same {
        return None;
    }
    let hint = database.hint().to_bytes();
    (digest::of(&hint)[..] == expected[..]).then_some((database, hint))
}
