//! Files that are read where they lie.

#![expect(unsafe_code, reason = "mapping a file that others might change")]

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::Error;

/// A file that is read where it lies.
pub(crate) struct Mapped {
    map: Mmap,
    file: File,
}

impl Mapped {
    /// # Safety
    /// Nobody may write to the file or shorten it while it is mapped.
    pub(crate) unsafe fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path)?;
        // SAFETY: the caller keeps the file as it is.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self { map, file })
    }

    /// All of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Refuses a file that is not as long as it was when it was mapped.
    pub(super) fn check(&self) -> Result<(), Error> {
        let found = usize::try_from(self.file.metadata()?.len()).unwrap_or(usize::MAX);
        if found == self.map.len() {
            return Ok(());
        }
        Err(Error::MessageLength {
            found,
            expected: self.map.len(),
        })
    }
}
