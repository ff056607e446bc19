//! A folder of earlier downloads, for the next connection.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sordino_index::digest::Digest;
use sordino_index::manifest::Part;
use sordino_index::{Error, digest};

/// The suffix of the names of files that are being written.
const TEMPORARY: &str = ".tmp";

/// A folder that keeps what clients download once. Any number of processes share it.
///
/// Every file is named by its digest and checked against it when it is read, so a damaged or foreign file counts as
/// missing. If the files exceed the limit, those that were unused for longest are removed.
///
/// # Security
/// The files hold only data that the server has sent, so its operator knows all of it. If a client does not ask for
/// some parts, the server learns that this client, or a client with the same folder, has asked before.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

impl Cache {
    /// A cache of at most `limit` bytes in this folder, which is created when the first part is kept.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> Self {
        Self {
            folder: folder.into(),
            limit,
        }
    }

    /// The bytes of a part, if the cache has it undamaged.
    pub(crate) fn get(&self, part: &Part) -> Option<Vec<u8>> {
        let path = self.path(&part.digest);
        // Opening a pipe would wait for its writer, so the kind is checked first.
        let is_file = fs::metadata(&path).ok()?.is_file();
        let file = is_file.then(|| File::open(&path).ok()).flatten()?;
        // A file that is too long is not the part, so it is not read to its end.
        let len = usize::try_from(part.len).ok()?;
        let held = usize::try_from(file.metadata().ok()?.len()).ok()?;
        let mut bytes = Vec::with_capacity(held.min(len));
        let read = (&file)
            .take(part.len.saturating_add(1))
            .read_to_end(&mut bytes);
        let whole = read.is_ok() && bytes.len() == len;
        if !whole || digest::check(part.kind.name(), &bytes, &part.digest).is_err() {
            drop(fs::remove_file(&path));
            return None;
        }
        // The file counts as used now, so others are removed before it. If its time cannot be changed, the only
        // effect is that the file is removed earlier.
        drop(file.set_modified(SystemTime::now()));
        Some(bytes)
    }

    /// Keeps a checked part. If the cache cannot be written, nothing is kept, and the part is downloaded again the
    /// next time.
    pub(crate) fn put(&self, digest: &Digest, bytes: &[u8]) {
        if bytes.len() as u64 <= self.limit {
            drop(self.write(digest, bytes));
        }
    }

    /// Removes what exceeds the limit, the least recently used first, and remains of interrupted writing.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be read or a file cannot be removed.
    pub fn trim(&self) -> Result<(), Error> {
        let failed = |source| Error::File {
            path: self.folder.clone(),
            source,
        };
        let mut files = match entries(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            files => files.map_err(failed)?,
        };
        files.sort_by_key(|file| file.used);
        let mut bytes: u64 = files.iter().map(|file| file.len).sum();
        for file in files {
            if bytes > self.limit || file.is_stale() {
                bytes -= file.len;
                match fs::remove_file(&file.path) {
                    // Another process has removed the file.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    removed => removed.map_err(failed)?,
                }
            }
        }
        Ok(())
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(name(digest))
    }

    /// Writes a file under a temporary name and renames it, so that a reader finds all of it or nothing.
    fn write(&self, digest: &Digest, bytes: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.folder)?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let aside = format!("{}-{}-{count}{TEMPORARY}", name(digest), std::process::id());
        let aside = self.folder.join(aside);
        let written = private(&aside).and_then(|mut file| file.write_all(bytes));
        let placed = written.and_then(|()| fs::rename(&aside, self.path(digest)));
        placed.inspect_err(|_| drop(fs::remove_file(&aside)))
    }
}

/// A new file that only its owner can read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file of a cache.
struct Entry {
    path: PathBuf,
    len: u64,
    used: SystemTime,
}

impl Entry {
    /// True for an unfinished file whose writing must have ended long ago.
    fn is_stale(&self) -> bool {
        let age = self.used.elapsed().unwrap_or_default();
        let unfinished = self.path.to_string_lossy().ends_with(TEMPORARY);
        unfinished && age.as_secs() > 3600
    }
}

/// The files of a folder that belong to a cache. It ignores all others.
fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(is_ours);
        // A file that another process has removed meanwhile does not count.
        if let (true, Ok(metadata)) = (ours, entry.metadata()) {
            files.push(Entry {
                path: entry.path(),
                len: metadata.len(),
                used: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            });
        }
    }
    Ok(files)
}

/// True for the names of parts, and of files that are being written.
fn is_ours(name: &str) -> bool {
    let digest = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    digest(name) || (name.ends_with(TEMPORARY) && name.get(..64).is_some_and(digest))
}

/// A part's file name.
fn name(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::manifest::{Holder, PartKind};
    use std::time::Duration;

    fn part(bytes: &[u8]) -> Part {
        Part {
            kind: PartKind::Rows,
            len: bytes.len() as u64,
            digest: digest::of(bytes),
            holder: Holder::Everyone,
            segment: None,
        }
    }

    fn used(cache: &Cache, bytes: &[u8], seconds_ago: u64) {
        let file = File::options()
            .write(true)
            .open(cache.path(&digest::of(bytes)));
        let time = SystemTime::now() - Duration::from_secs(seconds_ago);
        file.expect("a file").set_modified(time).expect("a time");
    }

    #[test]
    fn parts_come_back_whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(dir.path().join("new"), 1 << 20);
        let bytes = b"some bytes".repeat(100);
        assert_eq!(cache.get(&part(&bytes)), None);
        cache.put(&digest::of(&bytes), &bytes);
        assert_eq!(cache.get(&part(&bytes)).as_ref(), Some(&bytes));
        let path = cache.path(&digest::of(&bytes));
        let damages: [fn(&mut Vec<u8>); 4] = [
            |bytes| bytes[7] ^= 1,
            |bytes| bytes.truncate(999),
            |bytes| bytes.push(0),
            Vec::clear,
        ];
        for damage in damages {
            let mut damaged = bytes.clone();
            damage(&mut damaged);
            fs::write(&path, &damaged).expect("room");
            assert_eq!(cache.get(&part(&bytes)), None);
            // The damaged file was removed, so that it is not read again.
            assert!(!path.exists());
        }
        // A folder instead of a file, and a file instead of the folder.
        fs::create_dir(&path).expect("room");
        assert_eq!(cache.get(&part(&bytes)), None);
        cache.put(&digest::of(&bytes), &bytes);
        let cache = Cache::new(dir.path().join("file"), 1 << 20);
        fs::write(dir.path().join("file"), b"").expect("room");
        cache.put(&digest::of(&bytes), &bytes);
        assert_eq!(cache.get(&part(&bytes)), None);
        assert!(cache.trim().is_err());
    }

    #[test]
    fn the_least_recently_used_go_first_and_foreign_files_stay() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(dir.path(), 2500);
        assert!(Cache::new(dir.path().join("none"), 1).trim().is_ok());
        let parts: Vec<Vec<u8>> = (0..4u8).map(|byte| vec![byte; 1000]).collect();
        for (bytes, ago) in parts.iter().zip([400, 300, 200, 100]) {
            cache.put(&digest::of(bytes), bytes);
            used(&cache, bytes, ago);
        }
        let foreign = dir.path().join("thesis.tmp");
        fs::write(&foreign, b"mine").expect("room");
        let left = dir.path().join(format!("{}-1-1.tmp", "0".repeat(64)));
        fs::write(&left, b"").expect("room");
        // Reading the oldest makes it the newest.
        assert!(cache.get(&part(&parts[0])).is_some());
        cache.trim().expect("a folder");
        let here: Vec<bool> = parts
            .iter()
            .map(|p| cache.get(&part(p)).is_some())
            .collect();
        assert_eq!(here, [true, false, false, true]);
        assert!(foreign.exists() && left.exists());
        let old = SystemTime::now() - Duration::from_secs(7200);
        let file = File::options().write(true).open(&left).expect("a file");
        file.set_modified(old).expect("a time");
        cache.trim().expect("a folder");
        assert!(foreign.exists() && !left.exists());
        // A part that is longer than the limit is not kept.
        let long = vec![9; 2501];
        cache.put(&digest::of(&long), &long);
        assert!(cache.get(&part(&long)).is_none());
    }
}
