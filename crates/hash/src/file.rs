//! Hashes whole files.

use std::path::Path;

use blake3::{Hash, Hasher};

use crate::Error;

/// Hashes a whole file on one thread. It uses a memory map where that is faster (the official crate's `update_mmap`).
///
/// # Errors
/// [`Error::File`] if the file cannot be opened, mapped or read.
///
/// # Security
/// No process may change the file meanwhile. On Unix, if another process shortens the file while it is mapped, this
/// process ends with a bus error. Read a file that you do not trust into memory first.
///
/// # Examples
/// ```
/// let path = std::env::temp_dir().join("sordino-hash-example");
/// std::fs::write(&path, b"contents")?;
/// assert_eq!(sordino_hash::hash_file(&path)?, sordino_hash::hash(b"contents"));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn hash_file(path: impl AsRef<Path>) -> Result<Hash, Error> {
    finish(path.as_ref(), |hasher, path| {
        hasher.update_mmap(path).map(|_| ())
    })
}

/// Like [`hash_file`], on all threads of the current rayon pool. This is faster for files of many megabytes in the
/// page cache, and slower on a spinning disk.
///
/// # Errors
/// The errors of [`hash_file`].
///
/// # Security
/// See [`hash_file`].
#[cfg(feature = "rayon")]
pub fn par_hash_file(path: impl AsRef<Path>) -> Result<Hash, Error> {
    finish(path.as_ref(), |hasher, path| {
        hasher.update_mmap_rayon(path).map(|_| ())
    })
}

fn finish(
    path: &Path,
    update: impl FnOnce(&mut Hasher, &Path) -> std::io::Result<()>,
) -> Result<Hash, Error> {
    let mut hasher = Hasher::new();
    update(&mut hasher, path).map_err(|source| Error::File {
        path: path.into(),
        source,
    })?;
    Ok(hasher.finalize())
}
