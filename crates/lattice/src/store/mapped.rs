//! Files that are read in place.

#![expect(unsafe_code, reason = "mapping a file that others might change")]

use std::fs::File;
use std::io;

use memmap2::Mmap;

use super::{Changed, OFFSET};

/// A file that is mapped into memory and read in place.
pub struct Mapped {
    map: Mmap,
    file: File,
}

impl Mapped {
    /// Maps a whole file.
    ///
    /// # Errors
    /// The errors of the system. [`io::ErrorKind::UnexpectedEof`] if the file is shorter than its head.
    ///
    /// # Safety
    /// No process may write to the file or shorten it while it is mapped.
    /// [`Store::changed`](super::Store::changed) compares the length before a scan, but cannot see a change that
    /// happens during the scan.
    pub unsafe fn new(file: File) -> io::Result<Self> {
        // SAFETY: the caller keeps the file as it is.
        let map = unsafe { Mmap::map(&file)? };
        if map.len() < OFFSET {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Self { map, file })
    }

    /// All of the file, its head included.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    pub(super) fn changed(&self) -> io::Result<Option<Changed>> {
        let found = usize::try_from(self.file.metadata()?.len()).unwrap_or(usize::MAX);
        let expected = self.map.len();
        Ok((found != expected).then_some(Changed { found, expected }))
    }
}

impl std::fmt::Debug for Mapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapped")
            .field("len", &self.map.len())
            .finish_non_exhaustive()
    }
}
