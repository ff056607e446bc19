//! The bytes of an operand, in memory or in a file that is scanned in place.
//!
//! Such a file is a page with its head, then the bytes in the form that scans read. So opening it only takes
//! mapping it.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use crate::pages::Pages;

#[cfg(feature = "mmap")]
mod mapped;

#[cfg(feature = "mmap")]
pub use mapped::Mapped;

/// The bytes of the head of a file. They are a whole page on common systems, whatever the page size.
pub const OFFSET: usize = 4096;

/// The bytes of an operand.
pub struct Store(Place);

enum Place {
    Memory(Pages),
    #[cfg(feature = "mmap")]
    File(Mapped),
}

/// The lengths of a mapped file before and after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The length now.
    pub found: usize,
    /// The length when the file was mapped.
    pub expected: usize,
}

impl Store {
    /// `len` zero bytes in memory.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        Self(Place::Memory(Pages::zeroed(len)))
    }

    /// A copy of `bytes` in memory, followed by zeros up to a length of `len`.
    ///
    /// # Panics
    /// Panics if `bytes` is longer than `len`.
    #[must_use]
    pub fn copied(bytes: &[u8], len: usize) -> Self {
        let mut pages = Pages::zeroed(len);
        pages[..bytes.len()].copy_from_slice(bytes);
        Self(Place::Memory(pages))
    }

    /// True if the bytes lie in a file.
    #[must_use]
    pub const fn is_mapped(&self) -> bool {
        !matches!(self.0, Place::Memory(_))
    }

    /// The bytes, without the head of a file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Place::Memory(pages) => pages,
            #[cfg(feature = "mmap")]
            Place::File(mapped) => &mapped.bytes()[OFFSET..],
        }
    }

    /// The bytes, for writing. Bytes of a file are first copied into memory, and the file stays unchanged.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        #[cfg(feature = "mmap")]
        if self.is_mapped() {
            *self = Self::copied(self.bytes(), self.bytes().len());
        }
        match &mut self.0 {
            Place::Memory(pages) => pages,
            #[cfg(feature = "mmap")]
            Place::File(_) => unreachable!("copied just now"),
        }
    }

    /// If the file no longer has the length that it had when it was mapped, both lengths; otherwise `None`.
    /// Call it before every scan.
    ///
    /// # Errors
    /// The errors of the system while it reads the length.
    pub fn changed(&self) -> io::Result<Option<Changed>> {
        match &self.0 {
            Place::Memory(_) => Ok(None),
            #[cfg(feature = "mmap")]
            Place::File(mapped) => mapped.changed(),
        }
    }
}

#[cfg(feature = "mmap")]
impl From<Mapped> for Store {
    fn from(mapped: Mapped) -> Self {
        Self(Place::File(mapped))
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("len", &self.bytes().len())
            .field("mapped", &self.is_mapped())
            .finish()
    }
}

/// Writes a new file with `contents`, and waits until it is stored.
///
/// # Errors
/// The errors of writing the file, and an error if it exists already.
pub fn write_new(
    path: &Path,
    contents: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create_new(path)?);
    contents(&mut file)?;
    file.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()
}
